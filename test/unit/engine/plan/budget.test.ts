import { assert, integer, nat, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  byRank,
  givesWayTo,
  passedLimits,
  priorityOf,
  reached,
  roomOf,
  usdOf,
  type BudgetFigures,
  type Claim,
} from '../../../../src/engine/plan/index.ts';
import { selects, type BudgetLimits, type BudgetTerms } from '../../../../src/resources/index.ts';

const hourMs = 3_600_000;
const terms = (limits: BudgetLimits, more: Partial<BudgetTerms> = {}): BudgetTerms => ({
  scope: { of: 'namespace' },
  limits,
  timeZone: 'UTC',
  horizonHours: 24,
  mode: 'Gate',
  warnAt: [80, 95],
  unpriced: 'Allow',
  shed: { graceMinutes: 15, maxPerMinute: 1, resumeBelowPercent: 90, resumeAfterMinutes: 30 },
  ...more,
});
const figures = (more: Partial<BudgetFigures> = {}): BudgetFigures => ({
  burnMicros: 0n,
  reservedMicros: 0n,
  spentMicros: 0n,
  monthLeftMs: 100 * hourMs,
  balanceMicros: undefined,
  ...more,
});

describe('the room', () => {
  test('of an hourly limit is what burn and reservations leave of it', () => {
    const room = roomOf(terms({ hourlyMicros: 100 }), figures({ burnMicros: 60n, reservedMicros: 30n }));
    expect(room).toEqual({ limit: 'hourly', micros: 10n });
  });

  test('of a monthly limit has to last for the horizon', () => {
    const room = roomOf(terms({ monthlyMicros: 2500 }), figures({ spentMicros: 100n, burnMicros: 60n }));
    expect(room).toEqual({ limit: 'monthly', micros: 40n });
  });

  test('of a monthly limit has to last until the month ends, if that is sooner', () => {
    const near = figures({ spentMicros: 100n, burnMicros: 60n, monthLeftMs: 12 * hourMs });
    expect(roomOf(terms({ monthlyMicros: 2500 }), near)).toEqual({ limit: 'monthly', micros: 140n });
    expect(roomOf(terms({ monthlyMicros: 2500 }), { ...near, monthLeftMs: 0 })?.micros).toBeGreaterThan(0n);
  });

  test('of a runway is what the balance is enough for', () => {
    const room = roomOf(terms({ runwayHours: 10 }), figures({ balanceMicros: 1000n, burnMicros: 60n }));
    expect(room).toEqual({ limit: 'runway', micros: 40n });
    expect(roomOf(terms({ runwayHours: 10 }), figures())).toBeUndefined();
  });

  test('is the least of all, and below zero where a limit is passed', () => {
    const all = terms({ hourlyMicros: 100, monthlyMicros: 2400 });
    expect(roomOf(all, figures({ burnMicros: 30n, spentMicros: 600n }))).toEqual({
      limit: 'monthly',
      micros: 45n,
    });
    expect(roomOf(all, figures({ burnMicros: 130n }))).toEqual({ limit: 'hourly', micros: -30n });
    expect(roomOf(terms({ perObjectHourlyMicros: 1 }), figures())).toBeUndefined();
  });

  test('after what fits in it, no limit is passed; after more, one is', () => {
    const amount = integer({ min: 1, max: 10 ** 9 });
    assert(
      property(
        amount,
        amount,
        nat(10 ** 8),
        nat(10 ** 9),
        integer({ min: 1, max: 744 }),
        (hourly, monthly, burn, spent, horizonHours) => {
          const limits = terms({ hourlyMicros: hourly, monthlyMicros: monthly }, { horizonHours });
          const now = figures({ burnMicros: BigInt(burn), spentMicros: BigInt(spent) });
          const { micros } = roomOf(limits, now) ?? { micros: 0n };
          const isPassed = (more: bigint) => {
            const then = BigInt(burn) + more;
            const hours = BigInt(Math.min(horizonHours, 100));
            return then > BigInt(hourly) || BigInt(spent) + then * hours > BigInt(monthly);
          };
          expect(isPassed(micros)).toBe(false);
          expect(isPassed(micros + 1n)).toBe(true);
        },
      ),
    );
  });
});

test('a limit is passed by what is there, not by what is asked for', () => {
  const all = terms({ hourlyMicros: 100, monthlyMicros: 1000, runwayHours: 5 });
  expect(
    passedLimits(
      all,
      figures({ burnMicros: 100n, reservedMicros: 50n, spentMicros: 1000n, balanceMicros: 500n }),
    ),
  ).toEqual([]);
  expect(passedLimits(all, figures({ burnMicros: 101n, spentMicros: 1001n, balanceMicros: 504n }))).toEqual([
    'hourly',
    'monthly',
    'runway',
  ]);
});

test('the highest threshold that is reached counts', () => {
  expect([79n, 80n, 94n, 95n, 200n].map((micros) => reached([80, 95], micros, 100n))).toEqual([
    undefined,
    80,
    80,
    95,
    95,
  ]);
});

describe('who comes first', () => {
  const claim = (key: string, more: Partial<Claim> = {}): Claim => ({
    key,
    isRepair: false,
    priority: 500,
    sinceMs: 0,
    micros: 10n,
    ...more,
  });

  test('is what existed, then what has a higher priority, then what waits for longer', () => {
    const all = [
      claim('late', { sinceMs: 5 }),
      claim('early', { sinceMs: 1 }),
      claim('high', { priority: 900, sinceMs: 9 }),
      claim('never', { priority: Number.POSITIVE_INFINITY, sinceMs: 9 }),
      claim('also never', { priority: Number.POSITIVE_INFINITY, sinceMs: 9 }),
      claim('repair', { isRepair: true, priority: 0, sinceMs: 9 }),
    ];
    expect(all.toSorted(byRank).map(({ key }) => key)).toEqual([
      'repair',
      'also never',
      'never',
      'high',
      'early',
      'late',
    ]);
  });

  test('has the room that is left, if both do not fit', () => {
    const high = claim('high', { priority: 900 });
    expect(givesWayTo(claim('low'), [high], 15n, 0)?.key).toBe('high');
    expect(givesWayTo(claim('low'), [high], 20n, 0)).toBeUndefined();
    expect(givesWayTo(high, [claim('low')], 15n, 0)).toBeUndefined();
    expect(givesWayTo(high, [high], 15n, 0)).toBeUndefined();
  });

  test('is not what is too large, for ten minutes', () => {
    const large = claim('large', { priority: 900, micros: 100n, sinceMs: 1000 });
    expect(givesWayTo(claim('low'), [large], 15n, 600_999)).toBeUndefined();
    expect(givesWayTo(claim('low'), [large], 15n, 601_000)?.key).toBe('large');
  });

  test('is not what owns it', () => {
    const fleet = claim('fleet', { isRepair: true, micros: 30n });
    expect(givesWayTo(claim('replica', { owner: 'fleet' }), [fleet], 35n, 0)).toBeUndefined();
    expect(givesWayTo(claim('replica', { owner: 'another' }), [fleet], 35n, 0)?.key).toBe('fleet');
  });
});

test.each([
  [{}, 500],
  [{ 'fleetkeeper.dev/shed-priority': '7' }, 7],
  [{ 'fleetkeeper.dev/shed-priority': 'never' }, Number.POSITIVE_INFINITY],
])('with the annotations %j the priority is %d', (given, priority) => {
  expect(priorityOf(given)).toBe(priority);
});

test.each([
  [0n, '$0.00'],
  [13_500n, '$0.0135'],
  [1_940_000n, '$1.94'],
  [-2_000_000n, '-$2.00'],
])('%d micro-USD are %s', (micros, text) => {
  expect(usdOf(micros)).toBe(text);
});

test('labels are selected as in Kubernetes', () => {
  const labels = { team: 'search', tier: '' };
  const select = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', values?: string[]) =>
    selects({ matchExpressions: [{ key, operator, ...(values ? { values } : {}) }] }, labels);
  expect(selects({ matchLabels: { team: 'search', tier: '' } }, labels)).toBe(true);
  expect(selects({ matchLabels: { team: 'search', zone: 'a' } }, labels)).toBe(false);
  expect([
    select('team', 'In', ['a', 'search']),
    select('team', 'In', ['a']),
    select('zone', 'In', ['a']),
  ]).toEqual([true, false, false]);
  expect([
    select('team', 'NotIn', ['search']),
    select('team', 'NotIn', ['a']),
    select('zone', 'NotIn', ['a']),
  ]).toEqual([false, true, true]);
  expect([
    select('tier', 'Exists'),
    select('zone', 'Exists'),
    select('zone', 'DoesNotExist'),
    select('team', 'DoesNotExist'),
  ]).toEqual([true, false, true, false]);
});
