/** The size of what a Budget in a cluster keeps of its days: in its status, and in the bookkeeping there. */
import { expect, test } from 'vitest';
import type { BudgetView } from '../../../../src/engine/index.ts';
import { countingRules, firstTally, storedTally, tallied } from '../../../../src/engine/plan/index.ts';
import type { BudgetLook } from '../../../../src/kinds/budget/kind.ts';
import { observedBudget } from '../../../../src/kinds/budget/status.ts';

const dayMs = 86_400_000;
const mostBytes = 4096;
/** 800,000 USD an hour. A day of it has the most digits that an amount of the status can have. */
const burnMicros = BigInt(Number.MAX_SAFE_INTEGER) / 24n;
const terms = { scope: { of: 'account' }, limits: {} } as unknown as BudgetView['terms'];

const sizeOf = (shown: unknown) => Buffer.byteLength(JSON.stringify(shown));

test('the days of two months of a cluster take less than 4 KiB, whatever they have cost', () => {
  const read = (day: number) => ({
    at: Date.UTC(2026, 0, 1) + day * dayMs,
    burnMicros,
    balanceMicros: undefined,
  });
  const rules = { timeZone: 'UTC', ...countingRules(30, true) };
  let tally = firstTally(read(0), 'UTC');
  for (let day = 1; day <= 100; day += 1) tally = tallied(tally, read(day), rules);
  const view = {
    left: [],
    terms,
    members: 1,
    waiting: 0,
    burnMicros,
    reservedMicros: 0n,
    unpriced: 0,
    unknown: 0,
    balanceMicros: undefined,
    monthEndsAt: Date.UTC(2026, 4, 1),
    courses: () => [],
  } as unknown as BudgetView;
  const look = { view, tally } as unknown as BudgetLook;
  const { days, ...rest } = observedBudget(look);
  expect(days).toHaveLength(62);
  expect((days as readonly { readonly micros: number }[])[0]?.micros).toBeGreaterThan(10 ** 15);
  expect(sizeOf(days)).toBeLessThan(mostBytes);
  expect(sizeOf(storedTally(tally))).toBeLessThan(mostBytes);
  expect(sizeOf(rest)).toBeLessThan(mostBytes / 4);
});
