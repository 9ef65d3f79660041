/** `/api/v1/summary`: counts of what the reader may see, and how old the data are. */
import { rfc3339 } from '../../base/index.ts';
import type { z } from 'zod';
import { sees } from '../fleet/reader.ts';
import type { summary } from '../schemas/answers.ts';
import type { Health } from '../schemas/parts.ts';
import { burnOf, factsOf, mostAccounts, visibleAccounts, visibleBudgets } from './accounts.ts';
import type { AnswerContext } from './context.ts';
import { openProblems, suspendedBy } from './problems.ts';

export type Summary = z.infer<typeof summary>;

const problemsShown = 20;

export function summaryOf(context: AnswerContext): Summary {
  const { source, nowMs } = context;
  const { problems, objects: troubled } = openProblems(context);
  const accounts = visibleAccounts(context);
  const { phase, host = null, pid = null, startedAt, seenAt } = source.manager();
  return {
    version: source.version,
    place: source.place,
    owner: source.store.ownerName,
    manager: {
      state: phase,
      host,
      pid,
      startedAt: startedAt === undefined ? null : rfc3339(startedAt),
      seenAt: seenAt === undefined ? null : rfc3339(Math.min(seenAt, nowMs)),
    },
    ...countsOf(context),
    problems: {
      total: problems.length,
      objects: troubled,
      critical: problems.filter(({ severity }) => severity === 'critical').length,
      first: problems.slice(0, problemsShown),
    },
    suspended: suspendedBy(context),
    burnMicrosPerHour: burnOf(accounts),
    budgets: visibleBudgets(context),
    accounts: accounts.slice(0, mostAccounts).map((account) => factsOf(account, context)),
    oldestReadAt: oldestRead(accounts.map(({ readAt }) => readAt)),
    notes: [...source.notes],
  };
}

type Counts = Pick<Summary, 'objects' | 'health' | 'kinds' | 'reasons'>;
type ByHealth = Partial<Record<Health, number>>;

function countsOf({ index, reader }: AnswerContext): Counts {
  const health: ByHealth = {};
  const kinds = new Map<string, { kind: string; count: number; health: ByHealth }>();
  const reasons = new Map<string, Summary['reasons'][number]>();
  let objects = 0;
  for (const { row } of index.rows.values()) {
    if (!sees(reader, row.namespace)) continue;
    objects += 1;
    health[row.health] = (health[row.health] ?? 0) + 1;
    const kind = kinds.get(row.kind) ?? { kind: row.kind, count: 0, health: {} };
    kinds.set(row.kind, kind);
    kind.count += 1;
    kind.health[row.health] = (kind.health[row.health] ?? 0) + 1;
    if (row.health === 'Healthy') continue;
    const reason = reasons.get(row.reason) ?? { reason: row.reason, count: 0, severity: row.severity };
    reasons.set(row.reason, reason);
    reason.count += 1;
  }
  return {
    objects,
    health,
    kinds: [...kinds.values()].sort((left, right) => (left.kind < right.kind ? -1 : 1)),
    reasons: [...reasons.values()].sort(
      (left, right) => right.count - left.count || (left.reason < right.reason ? -1 : 1),
    ),
  };
}

function oldestRead(times: readonly (number | undefined)[]): string | null {
  let oldest: number | undefined;
  for (const time of times) {
    if (time === undefined) return null;
    oldest = Math.min(oldest ?? time, time);
  }
  return oldest === undefined ? null : rfc3339(oldest);
}
