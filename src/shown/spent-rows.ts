/**
 * What the groups of `cost --by` have spent in a month. Pure. Only accounts and Budgets are counted over time, so of a group it is known as
 *
 * | group                | it is the count of                                                                   |
 * |----------------------|--------------------------------------------------------------------------------------|
 * | an account           | the account, with what is not managed in it                                          |
 * | a namespace          | a Budget of all of the namespace                                                     |
 * | a label, or a fleet  | a Budget that selects just this label, in each namespace that the group is in now    |
 * | all                  | all accounts; of several Accounts with keys of one, that which was counted for longest |
 *
 * Without such a count it is unknown, and nothing is divided among groups that nobody has counted.
 */
import { budgetInForce, ownerLabel, selects, type BudgetScope } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { AccountRow, BudgetRow, CostBy } from './cost.ts';

/** Null: nobody has counted it. */
export interface Spent {
  readonly spentMicros: number | null;
  /** The part of it that nobody observed. */
  readonly estimatedMicros: number | null;
  /** At the end of the month. */
  readonly forecastMicros: number | null;
  /** RFC 3339. Since when all of it is counted. Also null in an earlier month of which each day is kept. */
  readonly countedSince: string | null;
}

export const nothingCounted: Spent = {
  spentMicros: null,
  estimatedMicros: null,
  forecastMicros: null,
  countedSince: null,
};

type Counted = Pick<BudgetRow, 'since' | 'spentMicros' | 'estimatedMicros' | 'forecastMicros'>;

/** Of one Budget. */
export interface BudgetCount {
  readonly record: ObjectRecord;
  readonly row: BudgetRow;
}

/** `namespaces`: those that the group is in. `name` null: what has no such label. */
export function spentBy(
  by: CostBy,
  accounts: readonly AccountRow[],
  budgets: readonly BudgetCount[],
): (name: string | null, namespaces: ReadonlySet<string>) => Spent {
  const label = by.by === 'label' ? by.key : ownerLabel;
  const find = (name: string, namespace: string): Counted | undefined => {
    if (by.by === 'account') return accounts.find(({ account }) => account === name);
    const isOfGroup = (scope: BudgetScope | undefined) =>
      by.by === 'namespace' ? scope?.of === 'namespace' : isJust(scope, label, name);
    const found = budgets.filter(
      ({ record, row }) => row.namespace === namespace && isOfGroup(budgetInForce(record)?.scope),
    );
    return found.map(({ row }) => row).toSorted(byTime)[0];
  };
  return (name, namespaces) => {
    if (name === null) return nothingCounted;
    const places = by.by === 'account' ? [''] : [...namespaces];
    return sumOf(places.map((namespace) => find(name, namespace)));
  };
}

/** Of all accounts. `count`: how many balances there are. */
export function spentInAll(accounts: readonly AccountRow[], count: number): Spent {
  const byBalance = Map.groupBy(accounts, ({ account, sharesWith }) => sharesWith ?? account);
  const longest = [...byBalance.values()].map((rows) => rows.toSorted(byTime)[0]);
  return longest.length < count ? nothingCounted : sumOf(longest);
}

function sumOf(parts: readonly (Counted | undefined)[]): Spent {
  const known = parts.flatMap((part) => part ?? []);
  if (known.length === 0 || known.length < parts.length) return nothingCounted;
  const sum = (field: 'spentMicros' | 'estimatedMicros' | 'forecastMicros') =>
    known.reduce<number | null>((before, part) => {
      const value = part[field];
      return before === null || value === null ? null : before + value;
    }, 0);
  return {
    spentMicros: sum('spentMicros'),
    estimatedMicros: sum('estimatedMicros'),
    forecastMicros: sum('forecastMicros'),
    countedSince: latest(known.map(({ since }) => since)),
  };
}

/** Null: of all of them, each day of an earlier month is kept. */
function latest(times: readonly (string | null)[]): string | null {
  return times.reduce((before, time) =>
    before === null || (time !== null && time > before) ? time : before,
  );
}

/** What is counted for longest comes first. */
function byTime(one: Counted, other: Counted): number {
  const [left, right] = [one.since ?? '', other.since ?? ''];
  return left < right ? -1 : Number(left > right);
}

/** It selects this label, and by nothing else. */
function isJust(scope: BudgetScope | undefined, label: string, value: string): boolean {
  if (scope?.of !== 'labels') return false;
  const { matchLabels = {}, matchExpressions = [] } = scope.selector;
  const isOne = Object.keys(matchLabels).length === 1 && matchExpressions.length === 0;
  return isOne && selects(scope.selector, { [label]: value });
}
