/** What is shown of an account, and of a budget. Pure. */
import { rfc3339 } from '../../base/index.ts';
import { accountKey, budgetInForce, managedKinds, traitsOf } from '../../resources/index.ts';
import type { ObjectRecord, ShownCapacity } from '../../state/index.ts';
import { seesAccount, seesKey } from '../fleet/reader.ts';
import { numberIn } from '../fleet/row.ts';
import { isAccountStale, type AccountNow, type ReadStore } from '../fleet/source.ts';
import { firstOfBalance } from '../../shown/shared-things.ts';
import type { z } from 'zod';
import type { accountFacts, budget, summary } from '../schemas/answers.ts';
import { shownRecord, type AnswerContext } from './context.ts';

const mostAccounts = 100;
export const mostBudgets = 100;
export const budgetKinds = managedKinds.filter((kind) => 'budget' in traitsOf(kind));

export type AccountFacts = z.infer<typeof accountFacts>;
export type BudgetFacts = z.infer<typeof budget>;
type AccountCounts = z.infer<typeof summary>['accountCounts'];

export function visibleAccounts({ index, reader }: Pick<AnswerContext, 'index' | 'reader'>): AccountNow[] {
  return index.accounts.filter((account) => seesAccount(reader, account));
}

/** The first ones, for a list that is cut: those of which something is not known now, before the others. */
export function firstAccounts(accounts: readonly AccountNow[]): AccountNow[] {
  const others = accounts.filter((account) => !isCurrent(account));
  return [...others, ...accounts.filter(isCurrent)].slice(0, mostAccounts);
}

export function accountCounts(accounts: readonly AccountNow[]): AccountCounts {
  return {
    all: accounts.length,
    current: accounts.filter(isCurrent).length,
    unread: accounts.filter(({ readAt }) => readAt === undefined).length,
  };
}

/** It was read lately, and does not fail. */
function isCurrent(account: AccountNow): boolean {
  return account.readAt !== undefined && account.failure === undefined && !isAccountStale(account);
}

/** Of the balance that ends first. */
export function shortestRunway(accounts: readonly AccountNow[]): number | null {
  const known = accounts.flatMap(({ runwaySeconds }) => runwaySeconds ?? []);
  return known.length === 0 ? null : Math.min(...known);
}

export function factsOf(account: AccountNow, { source, nowMs }: AnswerContext): AccountFacts {
  const { name, isShared, pollSeconds, longestPollSeconds, readAt, failure, requests } = account;
  const shown = source.store.record(accountKey(name))?.status?.['capacity'];
  const capacity = Array.isArray(shown) ? (shown as readonly ShownCapacity[]) : [];
  return {
    account: name,
    isShared,
    up: readAt !== undefined && failure === undefined,
    isStale: isAccountStale(account),
    readAt: readAt === undefined ? null : rfc3339(readAt),
    pollSeconds,
    longestPollSeconds,
    failure: failure ? { reason: failure.reason, message: failure.message } : null,
    requests: requests
      ? {
          perSecond: Math.round(requests.perSecond * 100) / 100,
          limitPerSecond: requests.limitPerSecond,
          waiting: requests.waiting,
          throttled: requests.throttled,
          closedUntil: requests.closedForMs > 0 ? rfc3339(nowMs + requests.closedForMs) : null,
        }
      : null,
    balanceMicros: account.balanceMicros ?? null,
    burnMicrosPerHour: account.burnMicrosPerHour ?? null,
    reservedMicrosPerHour: account.reservedMicrosPerHour ?? null,
    runwaySeconds: account.runwaySeconds ?? null,
    quotas: account.quotas.map(({ resource, used, limit }) => ({ resource, used, limit })),
    capacity: capacity.map(capacityFacts),
  };
}

function capacityFacts(shown: ShownCapacity): AccountFacts['capacity'][number] {
  const { region, geography, gpuCount, cpu, memoryGb, storageGb, state, since, failures = 0 } = shown;
  const { retryAt = null, message = null } = shown;
  return { region, geography, gpuCount, cpu, memoryGb, storageGb, state, since, failures, retryAt, message };
}

/** Fields of the status of a budget, and its limits in force. */
export function visibleBudgets(context: AnswerContext): BudgetFacts[] {
  const { index, source, reader } = context;
  const found = budgetKinds
    .flatMap((kind) => source.store.recordsOfKind(kind))
    .filter(({ key }) => seesKey(reader, key))
    .slice(0, mostBudgets)
    .map((record) =>
      budgetFacts(shownRecord(context, record), index.rows.get(record.key)?.row.health ?? 'Unknown'),
    );
  return found.sort((left, right) => (left.key < right.key ? -1 : 1));
}

function budgetFacts(record: ObjectRecord, health: BudgetFacts['health']): BudgetFacts {
  const { key, status } = record;
  const { limits = {}, mode = 'Gate' } = budgetInForce(record) ?? {};
  const month = status?.['month'];
  return {
    key,
    mode,
    health,
    month: typeof month === 'string' ? month : null,
    hourlyMicros: numberIn(status, 'hourlyMicros') ?? null,
    hourlyLimitMicros: limits.hourlyMicros ?? null,
    reservedMicros: numberIn(status, 'reservedMicros') ?? null,
    spentMicros: numberIn(status, 'spentMicros') ?? null,
    forecastMicros: numberIn(status, 'forecastMicros') ?? null,
    monthlyLimitMicros: limits.monthlyMicros ?? null,
    runwayHours: numberIn(status, 'runwayHours') ?? null,
    waiting: numberIn(status, 'waiting') ?? 0,
    members: numberIn(status, 'members') ?? 0,
  };
}

/** What the accounts cost that the reader sees, each balance once; null: none of them shows it. */
export function burnOf(
  accounts: readonly AccountNow[],
  store: Pick<ReadStore, 'identityPin'>,
): number | null {
  const shown = accounts.filter(({ burnMicrosPerHour }) => burnMicrosPerHour !== undefined);
  const first = firstOfBalance(
    shown.map(({ name }) => name),
    store,
  );
  const ofBalances = shown.filter(({ name }) => first.get(name) === name);
  return shown.length === 0
    ? null
    : ofBalances.reduce((sum, { burnMicrosPerHour = 0 }) => sum + burnMicrosPerHour, 0);
}
