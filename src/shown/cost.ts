/** What accounts cost, divided by who it is for. Pure. The sum of all rows is what the accounts cost. */
import { clampedMicros } from '../engine/plan/index.ts';
import { ownerLabel, parseObjectKey, traitsOf, type ObjectKey } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { Holding } from './survey.ts';

/** `label`: its key. */
export type CostBy =
  | { readonly by: 'namespace' | 'account' | 'fleet' }
  | { readonly by: 'label'; readonly key: string };

export interface CostRow {
  /** Null: what has none of it, such as a service without the label. */
  readonly name: string | null;
  readonly things: number;
  readonly hourlyMicros: number;
  /** Things that cost something and show no price. */
  readonly unpriced: number;
}

export interface BudgetRow {
  readonly namespace: string;
  readonly name: string;
  readonly month: string;
  readonly spentMicros: number;
  readonly estimatedMicros: number;
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

export interface CostReport {
  readonly currency: 'USD';
  readonly by: string;
  readonly rows: readonly CostRow[];
  /** What this fleet does not manage. */
  readonly unmanaged: Omit<CostRow, 'name'>;
  readonly total: Omit<CostRow, 'name'>;
  readonly budgets: readonly BudgetRow[];
}

export interface CostInputs {
  readonly accounts: readonly { readonly account: string; readonly holdings: readonly Holding[] }[];
  readonly labelsOf: (key: ObjectKey) => Readonly<Record<string, string>>;
  readonly records: Iterable<ObjectRecord>;
  /** As `2026-11`. Undefined: the present one of each budget. */
  readonly month: string | undefined;
}

interface Sum {
  things: number;
  micros: bigint;
  unpriced: number;
}

const unmanagedName = '\u0000';

/** Things that cost the same for the same. */
export interface CostItem {
  readonly account: string;
  /** The object of this fleet that manages it; undefined: none does. */
  readonly key: ObjectKey | undefined;
  readonly things: number;
  /** Of all of them; undefined: it shows no price. */
  readonly micros: bigint | undefined;
}

export function costReport({ accounts, labelsOf, records, month }: CostInputs, by: CostBy): CostReport {
  const items = accounts.flatMap(({ account, holdings }) =>
    holdings.map(({ things, value, managedBy }): CostItem => {
      const key = managedBy.is === 'fleet' ? managedBy.key : undefined;
      return { account, key, things: 1, micros: things.burn(value) };
    }),
  );
  const budgets = [...records].flatMap((record) => budgetRow(record, month) ?? []);
  return { ...costsBy(items, labelsOf, by), budgets };
}

export function costsBy(
  items: Iterable<CostItem>,
  labelsOf: CostInputs['labelsOf'],
  by: CostBy,
): Omit<CostReport, 'budgets'> {
  const sums = new Map<string | null, Sum>();
  const total: Sum = { things: 0, micros: 0n, unpriced: 0 };
  for (const { account, key, things, micros } of items) {
    const name = key === undefined ? unmanagedName : nameOf(key, account, labelsOf, by);
    const sum = sums.get(name) ?? { things: 0, micros: 0n, unpriced: 0 };
    sums.set(name, sum);
    for (const each of [sum, total]) {
      each.things += things;
      each.micros += micros ?? 0n;
      if (micros === undefined) each.unpriced += things;
    }
  }
  const unmanaged = sums.get(unmanagedName) ?? { things: 0, micros: 0n, unpriced: 0 };
  sums.delete(unmanagedName);
  const rows = [...sums]
    .map(([name, sum]): CostRow => Object.assign({ name }, shown(sum)))
    .toSorted((left, right) => right.hourlyMicros - left.hourlyMicros || compare(left.name, right.name));
  return {
    currency: 'USD',
    by: by.by === 'label' ? `label=${by.key}` : by.by,
    rows,
    unmanaged: shown(unmanaged),
    total: shown(total),
  };
}

function shown({ things, micros, unpriced }: Sum): Omit<CostRow, 'name'> {
  return { things, hourlyMicros: clampedMicros(micros), unpriced };
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
    case 'label':
      return labelsOf(key)[by.key] ?? null;
  }
}

/** As its status shows it: of the present month, or the sum of its days in an earlier one. */
function budgetRow(
  { key, status, manifest }: ObjectRecord,
  month: string | undefined,
): BudgetRow | undefined {
  const { kind, namespace, name } = parseObjectKey(key);
  const now = status?.['month'];
  if (!traitsOf(kind).budget || typeof now !== 'string') return undefined;
  const number = (field: string) => {
    const value = status?.[field];
    return typeof value === 'number' ? value : null;
  };
  const { monthlyMicros = null, hourlyMicros = null } = (manifest.spec['limits'] ?? {}) as {
    readonly monthlyMicros?: number;
    readonly hourlyMicros?: number;
  };
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
    return { ...about, ...amounts, unattributedMicros, forecastMicros, exhaustedAt };
  }
  const days = (status?.['days'] ?? []) as readonly { readonly date: string; readonly micros: number }[];
  const ofMonth = days.filter(({ date }) => date.startsWith(`${month}-`));
  if (ofMonth.length === 0) return undefined;
  const spentMicros = ofMonth.reduce((sum, { micros }) => sum + micros, 0);
  const none = { estimatedMicros: 0, unattributedMicros: null, forecastMicros: null, exhaustedAt: null };
  return { ...about, spentMicros, ...none };
}
