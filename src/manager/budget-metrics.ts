/**
 * Gauges of Budgets, from what their statuses show, and from the limits in force. A scrape walks the budgets, and not their members. The first ones by name have series
 * of their own, and all others share one, so the number of series is bounded.
 */
import { budget } from '../kinds/budget/declaration.ts';
import { budgetInForce, parseObjectKey } from '../resources/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';
import type { Metrics } from '../telemetry/index.ts';

export const budgetsNamed = 200;

const fields = {
  budgetHourly: 'hourlyMicros',
  budgetReserved: 'reservedMicros',
  budgetSpent: 'spentMicros',
  budgetUnpriced: 'unpricedObjects',
  budgetWaiting: 'waiting',
  budgetShed: 'shedObjects',
} as const;

const limits = { budgetHourlyLimit: 'hourlyMicros', budgetMonthLimit: 'monthlyMicros' } as const;

type BudgetMetrics = Pick<Metrics, keyof typeof fields | keyof typeof limits>;

export function setBudgets(metrics: BudgetMetrics, store: Pick<StateStore, 'recordsOfKind'>): void {
  const shown = [...Object.keys(fields), ...Object.keys(limits)] as (keyof BudgetMetrics)[];
  for (const name of shown) metrics[name].reset();
  const records: readonly ObjectRecord[] = store.recordsOfKind(budget.name);
  const sorted = records.toSorted((left, right) => (left.key < right.key ? -1 : 1));
  for (const [index, record] of sorted.entries()) {
    const { key, status } = record;
    const label = { budget: index < budgetsNamed ? nameOf(key) : 'other' };
    for (const [name, field] of Object.entries(fields))
      metrics[name as keyof typeof fields].inc(label, numberOf(status?.[field]));
    const inForce = budgetInForce(record)?.limits;
    for (const [name, field] of Object.entries(limits)) {
      const limit = numberOf(inForce?.[field]);
      if (limit > 0) metrics[name as keyof typeof limits].inc(label, limit);
    }
  }
}

function nameOf(key: ObjectRecord['key']): string {
  const { namespace, name } = parseObjectKey(key);
  return `${namespace}/${name}`;
}

/** In a cluster, anybody may have written the status. */
function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
