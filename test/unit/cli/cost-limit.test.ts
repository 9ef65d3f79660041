import { expect, test } from 'vitest';
import { costProblem } from '../../../src/cli/change/cost-limit.ts';
import type { PlanCost, WaitingCost } from '../../../src/manager/index.ts';

const cost = (deltaHourlyMicros: number, unpriced = 0): { readonly cost: PlanCost } => ({
  cost: {
    currency: 'USD',
    nowHourlyMicros: 0,
    thenHourlyMicros: deltaHourlyMicros,
    deltaHourlyMicros,
    unpriced,
    changes: 3,
  },
});

test.each([
  [5_000_000, 0, undefined],
  [-1, 0, undefined],
  [5_000_001, 0, 'the plan costs $5.00/h more, and --max-cost-increase is $5.00/h'],
])('of %d micro-USD more, with %d unknown prices, it says %s', (delta, unpriced, problem) => {
  expect(costProblem(cost(delta, unpriced), { maxCostIncrease: 5_000_000 })).toBe(problem);
});

test('an unknown price counts as too much, unless that is accepted', () => {
  const limit = { maxCostIncrease: 5_000_000 };
  expect(costProblem(cost(0, 2), limit)).toContain('2 of 3 changes have no known price');
  expect(costProblem(cost(0, 2), { ...limit, unpricedOk: true })).toBeUndefined();
  expect(costProblem(cost(10 ** 9, 2), {})).toBeUndefined();
});

function waits(
  name: string,
  deltaMicros: number,
  basis: WaitingCost['cost']['basis'] = 'observed',
): WaitingCost {
  const about = { kind: 'ContainerService', namespace: 'default', name, reason: 'Protected' } as const;
  return { ...about, cost: { beforeMicros: 0, afterMicros: deltaMicros, deltaMicros, basis } };
}

test('what waits counts, and is named: an apply does it when the wait is over', () => {
  const plan = { ...cost(3_000_000), waitingCosts: [waits('web', 2_500_000)] };
  expect(costProblem(plan, { maxCostIncrease: 5_000_000 })).toBe(
    'the plan costs $5.50/h more once what waits continues (ContainerService default/web: Protected), and --max-cost-increase is $5.00/h',
  );
  expect(costProblem(plan, { maxCostIncrease: 5_500_000 })).toBeUndefined();
  const many = ['a', 'b', 'c', 'd', 'e'].map((name) => waits(name, 1));
  expect(costProblem({ ...cost(0), waitingCosts: many }, { maxCostIncrease: 4 })).toContain(
    'default/c: Protected, and 2 more)',
  );
});

test('what waits, and has no known price, counts as too much, unless that is accepted', () => {
  const plan = { ...cost(0), waitingCosts: [waits('web', 0, 'unknown')] };
  const limit = { maxCostIncrease: 5_000_000 };
  expect(costProblem(plan, limit)).toContain('its price (ContainerService default/web: Protected)');
  expect(costProblem(plan, { ...limit, unpricedOk: true })).toBeUndefined();
});
