import { expect, test } from 'vitest';
import { budgetsNamed, setBudgets } from '../../../src/manager/budget-metrics.ts';
import { objectKey } from '../../../src/resources/index.ts';
import { newRecord, type ObjectRecord } from '../../../src/state/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';

function budget(name: string, limits: object, status: object): ObjectRecord {
  const record = newRecord(objectKey('Budget', 'shop', name), name);
  const manifest = { ...record.manifest, spec: { namespace: true, limits } };
  return { ...record, manifest, status: { observedGeneration: 1, conditions: [], ...status } };
}

async function shown(...scrapes: readonly (readonly ObjectRecord[])[]): Promise<string[]> {
  const metrics = createMetrics();
  for (const records of scrapes) setBudgets(metrics, { recordsOfKind: () => records });
  const lines = (await metrics.registry.metrics()).split('\n');
  return lines.filter((line) => line.startsWith('fleetkeeper_budget_'));
}

const counted = {
  hourlyMicros: 7,
  reservedMicros: 2,
  spentMicros: 300,
  unpricedObjects: 1,
  waiting: 4,
  // The list stops at 50.
  shedObjects: 60,
  shedding: [{ object: 'ContainerService/a' }],
};

test('a budget shows its amounts and the limits that it has', async () => {
  expect(await shown([budget('team', { hourlyMicros: 10 }, counted)])).toEqual([
    'fleetkeeper_budget_hourly_micros{budget="shop/team"} 7',
    'fleetkeeper_budget_limit_hourly_micros{budget="shop/team"} 10',
    'fleetkeeper_budget_reserved_micros{budget="shop/team"} 2',
    'fleetkeeper_budget_month_spent_micros{budget="shop/team"} 300',
    'fleetkeeper_budget_unpriced_objects{budget="shop/team"} 1',
    'fleetkeeper_budget_waiting_objects{budget="shop/team"} 4',
    'fleetkeeper_budget_shed_objects{budget="shop/team"} 60',
  ]);
});

test('the first 200 by name have series of their own, and the others share one', async () => {
  const all = Array.from({ length: budgetsNamed + 30 }, (_, index) =>
    budget(`b${String(index).padStart(4, '0')}`, { monthlyMicros: 5 }, counted),
  );
  const lines = await shown(all.toReversed());
  const spent = lines.filter((line) => line.startsWith('fleetkeeper_budget_month_spent_micros'));
  expect(spent).toHaveLength(budgetsNamed + 1);
  expect(spent.at(-1)).toBe('fleetkeeper_budget_month_spent_micros{budget="other"} 9000');
  expect(lines).toContain('fleetkeeper_budget_month_limit_micros{budget="other"} 150');
});

test('a budget that is gone, or whose status somebody has forged, shows no amount', async () => {
  const team = budget('team', { hourlyMicros: 10 }, counted);
  expect(await shown([team], [])).toEqual([]);
  const forged = budget('team', { hourlyMicros: 'much' }, { hourlyMicros: {}, shedObjects: 'all' });
  const lines = await shown([forged]);
  expect(lines).toContain('fleetkeeper_budget_hourly_micros{budget="shop/team"} 0');
  expect(lines.some((line) => line.includes('_limit_'))).toBe(false);
});
