/** BI1 and BI7 of the gate itself, for any amounts. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Budget } from '../../../../src/engine/money/budget.ts';
import { budgetGate } from '../../../../src/engine/money/budget-gate.ts';
import { firstTally, tallied } from '../../../../src/engine/plan/index.ts';
import { askedOf, heldFor, moreFor, noPart, type Part } from '../../../../src/engine/money/budget-part.ts';
import type { BudgetFigures, Cost } from '../../../../src/engine/plan/index.ts';
import { objectKey, type BudgetTerms } from '../../../../src/resources/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

type Options = Parameters<typeof budgetGate>[0];

const key = objectKey('ContainerService', 'default', 'web');
const hourMs = 3_600_000;
const rarely = fc.integer({ min: 0, max: 9 }).map((draw) => draw === 0);
const micros = fc.bigInt({ min: 0n, max: 1000n });
const limit = fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 100_000 }));

const terms: fc.Arbitrary<BudgetTerms> = fc
  .record({
    hourlyMicros: fc.option(limit, { nil: undefined }),
    monthlyMicros: fc.option(limit, { nil: undefined }),
    perObjectHourlyMicros: fc.option(limit, { nil: undefined }),
    runwayHours: fc.option(limit, { nil: undefined }),
    horizonHours: fc.integer({ min: 1, max: 744 }),
    unpriced: fc.constantFrom('Allow' as const, 'Block' as const),
  })
  .map(({ horizonHours, unpriced, ...limits }) => ({
    scope: { of: 'namespace' as const },
    limits,
    timeZone: 'UTC',
    horizonHours,
    mode: 'Gate' as const,
    warnAt: [80],
    unpriced,
    shed: { graceMinutes: 15, maxPerMinute: 1, resumeBelowPercent: 90, resumeAfterMinutes: 30 },
  }));

const figures: fc.Arbitrary<BudgetFigures> = fc.record({
  burnMicros: micros,
  reservedMicros: micros,
  spentMicros: micros,
  monthLeftMs: fc.integer({ min: 1, max: 744 * hourMs }),
  balanceMicros: fc.option(fc.bigInt({ min: 0n, max: 100_000_000n }), { nil: undefined }),
});

const parts: fc.Arbitrary<Part> = fc
  .record({ burn: micros, spare: micros, reserved: micros, share: fc.integer({ min: 0, max: 4 }) })
  .map(({ share, ...part }): Part =>
    Object.assign({ ...noPart }, part, { asked: (part.reserved * BigInt(share)) / 4n }),
  );

interface World {
  readonly each: readonly {
    readonly terms: BudgetTerms;
    readonly figures: BudgetFigures;
    readonly isBroken: boolean;
  }[];
  readonly part: Part;
}

const world: fc.Arbitrary<World> = fc.record({
  each: fc.array(fc.record({ terms, figures, isBroken: rarely }), { minLength: 1, maxLength: 2 }),
  part: parts,
});

/** Objects in accounts that were not read, and the names of these. */
interface Unseen {
  readonly count: number;
  readonly accounts: readonly string[];
}

function ask(
  { each, part }: World,
  cost: Cost,
  replaces: boolean,
  tally?: Budget['tally'],
  unseen: Unseen = { count: 0, accounts: [] },
) {
  const budgets = each.map((given, index) => {
    const budget = new Budget(objectKey('Budget', 'default', `b${index}`), given.terms, given.isBroken, 0);
    budget.tally = tally;
    budget.unseen = unseen.count;
    return [budget, given.figures] as const;
  });
  const byBudget = new Map(budgets);
  const options = {
    budgets: {
      gatingOf: () => [...byBudget.keys()],
      partOf: () => part,
      figures: (budget: Budget) => byBudget.get(budget) as BudgetFigures,
      coursesOf: () => [],
    },
    about: { unreadOf: () => unseen.accounts, pricesMissingIn: () => ({ unknown: 0 }) },
    fleet: { store: { record: () => undefined } },
    clock: new ManualClock(),
  } as unknown as Options;
  return budgetGate(options, key, cost, replaces);
}

const known = { basis: 'observed', unknown: [] } as const;

test.each([
  [
    ['default/a', 'default/b'],
    'because 2 of its objects are in accounts that were not read yet: default/a, default/b',
  ],
  [[], 'because 2 of its objects are missing in what their accounts show'],
])('a budget of which objects are not seen waits for the accounts %j', (accounts, message) => {
  const cost = { ...known, beforeMicros: 0n, afterMicros: 5n };
  const shown = { burnMicros: 0n, reservedMicros: 0n, spentMicros: 0n, monthLeftMs: 1, balanceMicros: 1n };
  const [terms0] = fc.sample(terms, 1);
  const each = [{ terms: terms0 as BudgetTerms, figures: shown, isBroken: false }];
  const gate = ask({ each, part: noPart }, cost, false, undefined, { count: 2, accounts });
  expect(gate).toMatchObject({
    reason: 'AwaitingObservation',
    message: expect.stringMatching(`${message}$`),
  });
});

describe('a budget', () => {
  test('refuses nothing that makes things cheaper, whatever it is about, and though its document is invalid (BI7)', () => {
    const cheaper = fc.record({ world, less: micros, from: micros, replaces: fc.boolean() });
    fc.assert(
      fc.property(cheaper, ({ world: given, less, from, replaces }) => {
        const before = replaces ? given.part.burn : from;
        const afterMicros = before > less ? before - less : 0n;
        expect(ask(given, { ...known, beforeMicros: before, afterMicros }, replaces)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  test('lets nothing through that brings what runs and what is reserved above a limit (BI1)', () => {
    let passed = 0;
    fc.assert(
      fc.property(world, micros, ({ each, part }, increase) => {
        const gate = ask({ each, part }, { ...known, beforeMicros: 0n, afterMicros: increase }, false);
        if (gate || increase === 0n) return;
        const more = moreFor(part, increase);
        if (more === 0n) return;
        passed += 1;
        for (const { terms: given, figures: now, isBroken } of each) {
          const { hourlyMicros, monthlyMicros, runwayHours, perObjectHourlyMicros } = given.limits;
          // What its next request was reserved for is replaced.
          const then = now.burnMicros + now.reservedMicros - askedOf(part) + more;
          const aheadMs = Math.min(given.horizonHours * hourMs, now.monthLeftMs);
          const month = Number(now.spentMicros) + (Number(then) * aheadMs) / hourMs;
          expect(isBroken).toBe(false);
          expect(Number(then)).toBeLessThanOrEqual(hourlyMicros ?? Infinity);
          expect(month).toBeLessThanOrEqual((monthlyMicros ?? Infinity) + 1e-6);
          expect(Number(increase)).toBeLessThanOrEqual(perObjectHourlyMicros ?? Infinity);
          const needed = then * BigInt(runwayHours ?? 0);
          expect(needed).toBeLessThanOrEqual(now.balanceMicros ?? needed);
        }
      }),
      { numRuns: 2000 },
    );
    expect(passed).toBeGreaterThan(20);
  });

  test('states of a month what is not known of it', () => {
    const at = (text: string) => Date.parse(text);
    const counting = { timeZone: 'UTC', gapMs: 600_000, mostDays: 400 };
    const read = (text: string) => ({ at: at(text), burnMicros: 1n, balanceMicros: undefined });
    const message = (tally: Budget['tally']) => {
      const limited = {
        terms: {
          ...fc.sample(terms, 1)[0],
          limits: { monthlyMicros: 10 },
          timeZone: 'UTC',
          unpriced: 'Allow',
        },
        figures: {
          burnMicros: 1n,
          reservedMicros: 0n,
          spentMicros: 9n,
          monthLeftMs: hourMs,
          balanceMicros: undefined,
        },
        isBroken: false,
      } as World['each'][number];
      return ask(
        { each: [limited], part: noPart },
        { ...known, beforeMicros: 0n, afterMicros: 5n },
        false,
        tally,
      )?.message;
    };
    const later = firstTally(read('2026-11-12T08:00:00Z'), 'UTC');
    expect(message(later)).toContain('what this month cost before 2026-11-12T08:00:00Z is not known');
    expect(message(undefined)).toContain('what this month has cost is not known');
    const whole = tallied(later, read('2026-12-03T00:00:00Z'), counting);
    expect(message(whole)).not.toContain('not known');
  });

  test('counts of an object what is greater: what is reserved for it, or what is kept for it (BI2)', () => {
    fc.assert(
      fc.property(parts, micros, (part, increase) => {
        const settled = part.reserved - part.asked;
        const then = { ...part, reserved: settled + increase, asked: increase };
        expect(heldFor(part) - askedOf(part) + moreFor(part, increase)).toBe(heldFor(then));
      }),
    );
  });
});
