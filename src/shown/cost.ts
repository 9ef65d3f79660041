/** What accounts cost, divided by who it is for. Pure. The sum of all rows is what the accounts cost. What was spent: spent-rows.ts. */
import { monthAt, monthEnd, rfc3339 } from '../base/index.ts';
import { amountOf, clampedMicros, microsOf, readTally, type Tally } from '../engine/plan/index.ts';
import {
  accountKey,
  budgetInForce,
  ownerLabel,
  parseObjectKey,
  traitsOf,
  type ObjectKey,
} from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import { Ahead, nothingAhead, type AheadOf, type Scheduled } from './ahead.ts';
import { nothingCounted, spentBy, spentInAll, type BudgetCount, type Spent } from './spent-rows.ts';
import { firstOfBalance, onceEach, type Held } from './shared-things.ts';
import type { KnownFleet } from './survey.ts';

/** `label`: its key. */
export type CostBy =
  | { readonly by: 'namespace' | 'account' | 'fleet' }
  | { readonly by: 'label'; readonly key: string };

export interface CostRow {
  /** Null: what has none of it, such as a service without the label. */
  readonly name: string | null;
  readonly things: number;
  readonly hourlyMicros: number;
  /** What it will cost until the month ends (UTC), with the schedules of fleets (ahead.ts). */
  readonly aheadMicros: number;
  /** Things that cost something and show no price. */
  readonly unpriced: number;
}

/** What everything in an account has cost, as the manager has counted it. Months in UTC. */
export interface AccountRow {
  readonly account: string;
  readonly month: string;
  /** RFC 3339. Counted from then on; null: an earlier month, of which each day is kept. */
  readonly since: string | null;
  readonly spentMicros: number;
  /** Null in an earlier month: it is not kept. */
  readonly estimatedMicros: number | null;
  readonly unattributedMicros: number | null;
  /** Of the present month only: spent, and what is ahead. */
  readonly forecastMicros: number | null;
  /** An earlier Account with a key of the same account at the provider: both rows are of the same money. Null: none is known. */
  readonly sharesWith: string | null;
}

export interface BudgetRow {
  readonly namespace: string;
  readonly name: string;
  readonly month: string;
  /** RFC 3339. Counted from then on, in an earlier month a date; null: an earlier month, of which each day is kept. */
  readonly since: string | null;
  readonly spentMicros: number;
  /** Null in an earlier month: it is not kept. */
  readonly estimatedMicros: number | null;
  /** Only of a budget for an account. */
  readonly unattributedMicros: number | null;
  /** Of the present month only. */
  readonly forecastMicros: number | null;
  /** RFC 3339. When the monthly limit is reached, of the present month only. */
  readonly exhaustedAt: string | null;
  /** Of a month. */
  readonly limitMicros: number | null;
  /** Now, and what an hour may cost. */
  readonly hourlyMicros: number | null;
  readonly hourlyLimitMicros: number | null;
}

export interface Costs<Group> {
  readonly currency: 'USD';
  readonly by: string;
  readonly rows: readonly (Group & Pick<CostRow, 'name'>)[];
  /** What this fleet does not manage. */
  readonly unmanaged: Group;
  readonly total: Group;
}

export type CostSum = Omit<CostRow, 'name'>;

export interface CostReport extends Costs<CostSum & Spent> {
  /** Those that a manager counts. */
  readonly accounts: readonly AccountRow[];
  readonly budgets: readonly BudgetRow[];
}

export interface CostInputs {
  readonly accounts: readonly Held[];
  readonly labelsOf: (key: ObjectKey) => Readonly<Record<string, string>>;
  /** Of Accounts and Budgets at least. */
  readonly records: Iterable<ObjectRecord>;
  /** Whose schedules count. */
  readonly fleet: KnownFleet | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** As `2026-11`. Undefined: the present one of each budget. */
  readonly month: string | undefined;
}

interface Sum {
  things: number;
  micros: bigint;
  unpriced: number;
  ahead: AheadOf;
}

const unmanagedName = '\u0000';
const timeZone = 'UTC';

/** Things that cost the same for the same. */
export interface CostItem {
  readonly account: string;
  /** The object of this fleet that manages it; undefined: none does. */
  readonly key: ObjectKey | undefined;
  readonly things: number;
  /** Of all of them; undefined: it shows no price. */
  readonly micros: bigint | undefined;
}

export function costReport(
  { accounts, labelsOf, records, month, nowMs, fleet }: CostInputs,
  by: CostBy,
): CostReport {
  const items = costItems(onceEach(accounts));
  const costs = costsBy(items, labelsOf, by, aheadAt(nowMs, fleet));
  const names = accounts.map(({ account }) => account);
  const counted = accountRows({ accounts: names, items: costItems(accounts), month, nowMs, fleet });
  const budgets = budgetCounts(records, month);
  const balances = new Set(firstOfBalance(names, fleet?.store).values());
  const spent = { counted, accounts: balances.size, budgets };
  return {
    ...withSpent(costs, items, labelsOf, by, spent),
    accounts: counted,
    budgets: budgets.map(({ row }) => row),
  };
}

/** What accounts and Budgets have counted. */
export interface CountedSpent {
  readonly counted: readonly AccountRow[];
  /** How many balances there are, counted or not. */
  readonly accounts: number;
  readonly budgets: readonly BudgetCount[];
}

/** The same costs, with what each group has spent (spent-rows.ts). `items`: those that the costs are of. */
export function withSpent(
  { rows, unmanaged, total, ...rest }: Costs<CostSum>,
  items: readonly CostItem[],
  labelsOf: CostInputs['labelsOf'],
  by: CostBy,
  { counted, accounts, budgets }: CountedSpent,
): Costs<CostSum & Spent> {
  const spentOf = spentBy(by, counted, budgets);
  const namespaces = namespacesBy(items, labelsOf, by);
  return {
    ...rest,
    rows: rows.map((row) => Object.assign({}, row, spentOf(row.name, namespaces.get(row.name) ?? new Set()))),
    unmanaged: { ...unmanaged, ...nothingCounted },
    total: { ...total, ...spentInAll(counted, accounts) },
  };
}

/** Of those that were counted. `month`: as of `CostInputs`. */
export function budgetCounts(records: Iterable<ObjectRecord>, month: string | undefined): BudgetCount[] {
  return [...records].flatMap((record) => {
    const row = budgetRow(record, month);
    return row ? [{ record, row }] : [];
  });
}

export function costItems(accounts: readonly Held[]): CostItem[] {
  return accounts.flatMap(({ account, holdings }) =>
    holdings.map(({ things, value, managedBy }): CostItem => {
      const key = managedBy.is === 'fleet' ? managedBy.key : undefined;
      return { account, key, things: 1, micros: things.burn(value) };
    }),
  );
}

/** Where the objects of each group are. */
function namespacesBy(
  items: readonly CostItem[],
  labelsOf: CostInputs['labelsOf'],
  by: CostBy,
): ReadonlyMap<string | null, ReadonlySet<string>> {
  const found = new Map<string | null, Set<string>>();
  for (const { key, account } of items) {
    if (key === undefined) continue;
    const name = nameOf(key, account, labelsOf, by);
    found.set(name, (found.get(name) ?? new Set()).add(parseObjectKey(key).namespace));
  }
  return found;
}

/** Until the month ends. */
export function aheadAt(nowMs: number, fleet: Scheduled | undefined): Ahead {
  return new Ahead(fleet, { from: nowMs, until: monthEnd(nowMs, timeZone) });
}

export function costsBy(
  items: Iterable<CostItem>,
  labelsOf: CostInputs['labelsOf'],
  by: CostBy,
  ahead: Ahead,
): Costs<CostSum> {
  const sums = new Map<string | null, Sum>();
  for (const { account, key, things, micros } of items) {
    const name = key === undefined ? unmanagedName : nameOf(key, account, labelsOf, by);
    const sum = sums.get(name) ?? emptySum();
    sums.set(name, sum);
    sum.things += things;
    sum.micros += micros ?? 0n;
    if (micros === undefined) sum.unpriced += things;
    ahead.add(sum.ahead, key, micros ?? 0n);
  }
  const shown = new Map([...sums].map(([name, sum]) => [name, shownSum(sum, ahead)]));
  const unmanaged = shown.get(unmanagedName) ?? shownSum(emptySum(), ahead);
  const total = totalOf([...shown.values()]);
  shown.delete(unmanagedName);
  const rows = [...shown]
    .map(([name, sum]): CostRow => Object.assign({ name }, sum))
    .toSorted((left, right) => right.hourlyMicros - left.hourlyMicros || compare(left.name, right.name));
  return {
    currency: 'USD',
    by: by.by === 'label' ? `label=${by.key}` : by.by,
    rows,
    unmanaged,
    total,
  };
}

function emptySum(): Sum {
  return { things: 0, micros: 0n, unpriced: 0, ahead: nothingAhead() };
}

function shownSum({ things, micros, unpriced, ahead }: Sum, of: Ahead): CostSum {
  const aheadMicros = clampedMicros(of.microsOf(ahead));
  return { things, hourlyMicros: clampedMicros(micros), aheadMicros, unpriced };
}

function totalOf(parts: readonly CostSum[]): CostSum {
  const sum = (field: keyof CostSum) => parts.reduce((before, part) => before + part[field], 0);
  return {
    things: sum('things'),
    hourlyMicros: sum('hourlyMicros'),
    aheadMicros: sum('aheadMicros'),
    unpriced: sum('unpriced'),
  };
}

/** Of each of these accounts that a manager has counted. `items`: all that is in them. */
export function accountRows({
  accounts,
  items,
  month,
  nowMs,
  fleet,
}: Pick<CostInputs, 'month' | 'nowMs'> & {
  readonly accounts: readonly string[];
  readonly items: readonly CostItem[];
  readonly fleet: Scheduled | undefined;
}): AccountRow[] {
  const inAccount = Map.groupBy(items, ({ account }) => account);
  const first = firstOfBalance(accounts, fleet?.store);
  return accounts.flatMap((account) => {
    const shared = first.get(account) ?? account;
    const sharesWith = shared === account ? null : shared;
    const record = fleet?.store.record(accountKey(account));
    const stored = record && traitsOf(parseObjectKey(record.key).kind).spent?.(record.kind);
    if (!stored) return [];
    const tally = readTally(stored);
    if (month !== undefined && month !== tally.month)
      return earlierMonth({ account, sharesWith }, tally, month);
    return {
      account,
      month: tally.month,
      since: rfc3339(tally.since),
      spentMicros: clampedMicros(microsOf(tally.spent)),
      estimatedMicros: clampedMicros(microsOf(tally.estimated)),
      unattributedMicros: clampedMicros(microsOf(tally.unattributed)),
      forecastMicros: forecastOf(tally, inAccount.get(account) ?? [], fleet, nowMs),
      sharesWith,
    };
  });
}

/** Until now at the burn of the last count. Null: the month that was counted last is over. */
function forecastOf(
  tally: Tally,
  items: readonly CostItem[],
  fleet: Scheduled | undefined,
  nowMs: number,
): number | null {
  if (tally.month !== monthAt(nowMs, timeZone)) return null;
  const ahead = aheadAt(nowMs, fleet);
  const whole = nothingAhead();
  for (const { key, micros } of items) ahead.add(whole, key, micros ?? 0n);
  const sinceCount = tally.burnMicros * BigInt(Math.max(0, Math.floor(nowMs - tally.at)));
  return clampedMicros(microsOf(tally.spent + sinceCount) + ahead.microsOf(whole));
}

function earlierMonth(
  row: Pick<AccountRow, 'account' | 'sharesWith'>,
  { days }: Tally,
  month: string,
): AccountRow[] {
  const kept = keptOf(days, month);
  if (!kept) return [];
  const since = kept.since === null ? null : `${kept.since}T00:00:00Z`;
  const unknown = { estimatedMicros: null, unattributedMicros: null, forecastMicros: null };
  return [{ ...row, month, ...kept, since, ...unknown }];
}

/** What is kept of an earlier month, and since which date, if that is not its first. `days`: amounts as of a tally. Undefined: nothing is. */
function keptOf(
  days: Iterable<readonly [date: string, amount: bigint]>,
  month: string,
): { readonly spentMicros: number; readonly since: string | null } | undefined {
  const ofMonth = [...days].filter(([date]) => date.startsWith(`${month}-`));
  if (ofMonth.length === 0) return undefined;
  const spent = ofMonth.reduce((sum, [, amount]) => sum + amount, 0n);
  const first = ofMonth.reduce((least, [date]) => (date < least ? date : least), `${month}-99`);
  return { spentMicros: clampedMicros(microsOf(spent)), since: first === `${month}-01` ? null : first };
}

function compare(left: string | null, right: string | null): number {
  return (left ?? '') < (right ?? '') ? -1 : 1;
}

function nameOf(
  key: ObjectKey,
  account: string,
  labelsOf: CostInputs['labelsOf'],
  by: CostBy,
): string | null {
  switch (by.by) {
    case 'namespace':
      return parseObjectKey(key).namespace;
    case 'account':
      return account;
    case 'fleet':
      return labelsOf(key)[ownerLabel] ?? null;
    case 'label': {
      const labels = labelsOf(key);
      return Object.hasOwn(labels, by.key) ? (labels[by.key] ?? null) : null;
    }
  }
}

/** As its status shows it: of the present month. Of an earlier one, the sum of its days that are kept. */
function budgetRow(record: ObjectRecord, month: string | undefined): BudgetRow | undefined {
  const { key, status } = record;
  const { namespace, name } = parseObjectKey(key);
  const inForce = budgetInForce(record);
  const now = status?.['month'];
  if (!inForce || typeof now !== 'string') return undefined;
  const number = (field: string) => {
    const value = status?.[field];
    return typeof value === 'number' ? value : null;
  };
  const { monthlyMicros = null, hourlyMicros = null } = inForce.limits;
  const limits = {
    limitMicros: monthlyMicros,
    hourlyMicros: number('hourlyMicros'),
    hourlyLimitMicros: hourlyMicros,
  };
  const about = { namespace, name, month: month ?? now, ...limits };
  if (month === undefined || month === now) {
    const amounts = {
      spentMicros: number('spentMicros') ?? 0,
      estimatedMicros: number('estimatedMicros') ?? 0,
    };
    const [unattributedMicros, forecastMicros] = [number('unattributedMicros'), number('forecastMicros')];
    const exhausted = status?.['exhaustedAt'];
    const exhaustedAt = typeof exhausted === 'string' ? exhausted : null;
    const since = typeof status?.['since'] === 'string' ? status['since'] : null;
    return { ...about, since, ...amounts, unattributedMicros, forecastMicros, exhaustedAt };
  }
  const kept = keptOf(daysOf(record), month);
  const none = { estimatedMicros: null, unattributedMicros: null, forecastMicros: null, exhaustedAt: null };
  return kept && { ...about, ...kept, ...none };
}

/** In a folder, the record has more days than the status. Of a record that is not trusted, the status has them. */
function daysOf({ key, kind, status }: ObjectRecord): Iterable<readonly [string, bigint]> {
  const stored = traitsOf(parseObjectKey(key).kind).spent?.(kind);
  if (stored) return readTally(stored).days;
  const shown = (status?.['days'] ?? []) as readonly { readonly date: string; readonly micros: number }[];
  return shown.map(({ date, micros }) => [date, amountOf(BigInt(micros))] as const);
}
