import { expect, test } from 'vitest';
import { costProblem } from '../../../src/cli/change/cost-limit.ts';
import type { PlanCost } from '../../../src/manager/index.ts';

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
