/** Of a long list of what is stopped for a Budget, it is shown how long it is. */
import { expect, test } from 'vitest';
import { budgetRows } from '../../../../src/cli/status/budget-text.ts';
import { observedShedding } from '../../../../src/kinds/budget/shedding.ts';
import type { StatusEntry } from '../../../../src/shown/entries.ts';
import { objectKey } from '../../../../src/resources/index.ts';
import { newRecord } from '../../../../src/state/index.ts';

const since = Date.UTC(2026, 10, 28);

function shed(count: number): Record<string, unknown> {
  const orders = Array.from({ length: count }, (_, index) => ({
    object: objectKey('ContainerService', 'shop', `app-${index}`),
    uid: 'uid',
    since,
    askedAt: since,
    phase: 'done',
    micros: '1',
  }));
  return observedShedding({ state: { orders } } as unknown as Parameters<typeof observedShedding>[0]);
}

function rowOf(status: object): string | undefined {
  const record = { ...newRecord(objectKey('Budget', 'shop', 'team'), 'uid'), status };
  const rows = budgetRows({ kind: 'Budget', record } as unknown as StatusEntry, []);
  return rows.find(([name]) => name === 'Shed:')?.[1];
}

test('60 are counted, 50 are in the status, and the first ten are named', () => {
  const status = shed(60);
  expect([status['shedObjects'], (status['shedding'] as unknown[]).length]).toEqual([60, 50]);
  expect(rowOf(status)).toMatch(/^60: ContainerService app-0, .*, ContainerService app-9 and 50 more$/);
});

test('a short list is whole, and without any nothing is shown', () => {
  expect(rowOf(shed(2))).toBe('2: ContainerService app-0, ContainerService app-1');
  expect([shed(0), rowOf(shed(0))]).toEqual([{}, undefined]);
});
