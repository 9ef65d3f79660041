/** `/api/v1/summary`: counts of what the reader may see, and how old the data are. */
import { rfc3339 } from '../../base/index.ts';
import type { z } from 'zod';
import type { summary } from '../schemas/answers.ts';
import type { Health } from '../schemas/parts.ts';
import {
  accountCounts,
  burnOf,
  factsOf,
  firstAccounts,
  shortestRunway,
  visibleAccounts,
  visibleBudgets,
} from './accounts.ts';
import { brakesOf } from './brakes.ts';
import { gapsOf, type AnswerContext } from './context.ts';
import { openProblems, suspendedBy } from './problems.ts';

export type Summary = z.infer<typeof summary>;

const problemsShown = 20;

export function summaryOf(context: AnswerContext): Summary {
  const { source, nowMs, reader } = context;
  // A token that matches no entry of the access file.
  const seesNothing = reader.namespaces?.size === 0;
  const { problems, objects: troubled } = openProblems(context);
  const accounts = visibleAccounts(context);
  const gaps = gapsOf(context);
  const { phase, host = null, pid = null, startedAt, seenAt, note = null } = source.manager();
  return {
    version: source.version,
    place: source.place,
    owner: seesNothing ? '' : source.store.ownerName,
    manager: {
      state: phase,
      host: seesNothing ? null : host,
      pid: seesNothing ? null : pid,
      startedAt: startedAt === undefined ? null : rfc3339(startedAt),
      seenAt: seenAt === undefined ? null : rfc3339(Math.min(seenAt, nowMs)),
      note,
    },
    ...countsOf(context),
    problems: {
      total: problems.length,
      objects: troubled,
      critical: problems.filter(({ severity }) => severity === 'critical').length,
      forPerson: problems.filter(({ turn, severity }) => turn === 'user' || severity === 'critical').length,
      first: problems.slice(0, problemsShown),
    },
    suspended: suspendedBy(context),
    brakes: brakesOf(context),
    burnMicrosPerHour: burnOf(accounts, source.store),
    budgets: visibleBudgets(context),
    runwaySeconds: shortestRunway(accounts),
    accounts: firstAccounts(accounts).map((account) => factsOf(account, context)),
    accountCounts: accountCounts(accounts),
    oldestReadAt: oldestRead(accounts.map(({ readAt }) => readAt)),
    notes: [...gaps.map((gap) => gap.note), ...source.notes],
    isComplete: !gaps.some(({ isOfObjects }) => isOfObjects),
  };
}

type Counts = Pick<Summary, 'objects' | 'health' | 'kinds' | 'reasons'>;
type ByHealth = Partial<Record<Health, number>>;

function countsOf({ index, reader }: AnswerContext): Counts {
  const health: ByHealth = {};
  const kinds = new Map<string, { kind: string; count: number; health: ByHealth }>();
  const reasons = new Map<string, Summary['reasons'][number]>();
  let objects = 0;
  for (const { kind: name, health: one, reason: why, severity, count } of index.counts.of(reader)) {
    objects += count;
    health[one] = (health[one] ?? 0) + count;
    const kind = kinds.get(name) ?? { kind: name, count: 0, health: {} };
    kinds.set(name, kind);
    kind.count += count;
    kind.health[one] = (kind.health[one] ?? 0) + count;
    if (one === 'Healthy') continue;
    const reason = reasons.get(why) ?? { reason: why, count: 0, severity };
    reasons.set(why, reason);
    reason.count += count;
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
