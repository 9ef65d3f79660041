import { array, assert, bigInt, integer, nat, oneof, option, property, tuple } from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  firstTally,
  microsOf,
  observedMicros,
  readTally,
  storedTally,
  tallied,
  type Tally,
} from '../../../../src/engine/plan/index.ts';
import { readKindState, type StoredTally } from '../../../../src/resources/index.ts';

const at = (text: string) => Date.parse(text);
const rules = { timeZone: 'UTC', gapMs: 600_000, mostDays: 400 };
const hourMs = 3_600_000;

function read(ms: number, burnMicros: bigint, balanceMicros?: bigint) {
  return { at: ms, burnMicros, balanceMicros };
}

/** Reads every minute, at a burn that follows from the time. */
function live(from: number, to: number, burn: (ms: number) => bigint, zone = 'UTC'): Tally {
  let tally = firstTally(read(from, burn(from)), zone);
  for (let ms = from + 60_000; ms <= to; ms += 60_000)
    tally = tallied(tally, read(ms, burn(ms)), { ...rules, timeZone: zone });
  return tally;
}

test('what was spent is burn over time', () => {
  const from = at('2026-11-10T00:00:00Z');
  const tally = live(from, from + 10 * hourMs, () => 2_000_000n);
  expect(microsOf(tally.spent)).toBe(20_000_000n);
  expect(tally.estimated).toBe(0n);
  expect([...tally.days]).toEqual([['2026-11-10', 20_000_000n * BigInt(hourMs)]]);
});

test('a read that comes late counts with the burn of the read before', () => {
  const first = firstTally(read(0, 3_600_000n), 'UTC');
  const later = tallied(first, read(600_000, 999n), rules);
  expect(microsOf(later.spent)).toBe(600_000n);
  expect(later.estimated).toBe(0n);
});

describe('a longer time without a read', () => {
  const first = firstTally(read(at('2026-11-10T00:00:00Z'), 1_000_000n), 'UTC');

  test('counts as spent, and also as estimated', () => {
    const later = tallied(first, read(first.at + 2 * hourMs, 0n), rules);
    expect([microsOf(later.spent), microsOf(later.estimated)]).toEqual([2_000_000n, 2_000_000n]);
  });

  test('is divided among the days and the months', () => {
    const later = tallied(first, read(at('2026-12-02T12:00:00Z'), 0n), rules);
    expect(later.month).toBe('2026-12');
    expect(microsOf(later.spent)).toBe(36_000_000n);
    expect(later.since).toBe(at('2026-12-01T00:00:00Z'));
    expect([...later.days.keys()].slice(-3)).toEqual(['2026-11-30', '2026-12-01', '2026-12-02']);
    expect(microsOf(later.days.get('2026-11-30') ?? 0n)).toBe(24_000_000n);
  });
});

test('a clock that goes back adds nothing, and what follows counts once', () => {
  const first = firstTally(read(10 * hourMs, 1_000_000n), 'UTC');
  const back = tallied(first, read(9 * hourMs, 1_000_000n), rules);
  expect(back.spent).toBe(0n);
  const on = tallied(back, read(9 * hourMs + 600_000, 1_000_000n), rules);
  expect(microsOf(on.spent)).toBe(166_666n);
});

test('a clock that goes back over the begin of a month leads to no month before', () => {
  const first = firstTally(read(at('2026-12-01T00:00:10Z'), 1_000_000n), 'UTC');
  const back = tallied(first, read(at('2026-11-30T23:59:00Z'), 1_000_000n), rules);
  const on = tallied(back, read(at('2026-12-01T00:00:30Z'), 1_000_000n), rules);
  expect([on.month, on.since]).toEqual(['2026-12', first.since]);
});

test.each([
  ['Europe/Madrid', '2026-03-01T00:00:00+01:00', '2026-04-01T00:00:00+02:00', 743],
  ['Europe/Madrid', '2026-10-01T00:00:00+02:00', '2026-11-01T00:00:00+01:00', 745],
  ['UTC', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z', 672],
  ['Australia/Lord_Howe', '2026-04-01T00:00:00+11:00', '2026-05-01T00:00:00+10:30', 720.5],
])('in %s the month from %s to %s has %d hours', (zone, from, to, hours) => {
  const tally = live(at(from), at(to) - 60_000, () => 3_600_000n, zone);
  const before = tallied(tally, read(at(to) - 1, 3_600_000n), { ...rules, timeZone: zone });
  expect(Number(microsOf(before.spent))).toBeCloseTo(hours * 3_600_000, -4);
  const after = tallied(before, read(at(to) + 1, 3_600_000n), { ...rules, timeZone: zone });
  expect(after.spent).toBe(3_600_000n);
  expect(after.since).toBe(at(to));
});

describe('what the balance lost beside that', () => {
  test('is the difference, and a top-up shows nothing', () => {
    const first = firstTally(read(0, 1_000_000n, 100_000_000n), 'UTC');
    const charged = tallied(first, read(hourMs / 6, 1_000_000n, 99_000_000n), rules);
    expect(microsOf(charged.unattributed)).toBe(833_333n);
    const topped = tallied(charged, read(hourMs / 3, 1_000_000n, 200_000_000n), rules);
    expect(topped.unattributed).toBe(charged.unattributed);
  });

  test('is not known without a balance', () => {
    const first = firstTally(read(0, 1n, undefined), 'UTC');
    expect(tallied(first, read(1000, 1n, 5n), rules).unattributed).toBe(0n);
  });
});

test('only so many days are kept', () => {
  const first = firstTally(read(at('2026-01-01T00:00:00Z'), 1n), 'UTC');
  const later = tallied(first, read(at('2026-03-15T00:00:00Z'), 1n), { ...rules, mostDays: 62 });
  expect(later.days.size).toBe(62);
  expect([...later.days.keys()].at(-1)).toBe('2026-03-14');
});

test('it is read as it was stored, whatever is in it', () => {
  assert(
    property(array(tuple(nat(1e9), bigInt({ min: 0n, max: 10n ** 12n })), { maxLength: 20 }), (reads) => {
      let tally = firstTally(read(at('2026-11-10T00:00:00Z'), 5n, 7n), 'UTC');
      for (const [ms, burn] of reads) tally = tallied(tally, read(tally.at + ms, burn), rules);
      expect(readTally(JSON.parse(JSON.stringify(storedTally(tally))))).toEqual(tally);
    }),
  );
});

test('whatever is read, and however often, what is stored of it can be read', () => {
  const most = 10n ** 330n;
  const amount = oneof(bigInt({ min: -most, max: most }), bigInt({ min: 0n, max: 2n ** 53n }));
  const balance = option(amount, { nil: undefined });
  const step = integer({ min: -40 * 24 * hourMs, max: 40 * 24 * hourMs });
  assert(
    property(amount, balance, array(tuple(step, amount, balance), { maxLength: 12 }), (burn, has, reads) => {
      let tally = firstTally(read(at('2026-11-10T00:00:00Z'), burn, has), 'UTC');
      for (const [ms, now, left] of [[0, burn, has] as const, ...reads]) {
        tally = tallied(tally, read(tally.at + ms, now, left), rules);
        for (const key of ['Budget/default/b', 'Account/default/a'] as const) {
          const stored = JSON.parse(JSON.stringify({ tally: storedTally(tally) }));
          const { kind, anew } = readKindState(key, stored) ?? {};
          expect(anew).toEqual([]);
          expect(readTally((kind as { tally: StoredTally }).tally)).toEqual(tally);
        }
      }
    }),
    // To make such numbers smaller takes minutes.
    { endOnFailure: true },
  );
});

test('in whatever steps it is read, the sum is the same', () => {
  assert(
    property(
      array(nat(500_000), { minLength: 1, maxLength: 50 }),
      bigInt({ min: 0n, max: 10n ** 12n }),
      (steps, burn) => {
        const from = at('2026-11-29T22:00:00Z');
        const to = from + steps.reduce((sum, step) => sum + step, 0);
        let stepwise = firstTally(read(from, burn), 'UTC');
        for (const step of steps) stepwise = tallied(stepwise, read(stepwise.at + step, burn), rules);
        const once = tallied(firstTally(read(from, burn), 'UTC'), read(to, burn), rules);
        expect([stepwise.spent, stepwise.days]).toEqual([once.spent, once.days]);
      },
    ),
  );
});

test('a clock that was a year ahead for one read does not stop the months', () => {
  let tally = firstTally(read(at('2026-11-30T23:00:00Z'), 1_000_000n), 'UTC');
  for (const text of [
    '2027-11-30T23:00:00Z',
    '2026-11-30T23:01:00Z',
    '2026-12-31T23:00:00Z',
    '2027-01-01T01:00:00Z',
  ])
    tally = tallied(tally, read(at(text), 1_000_000n), rules);
  expect([tally.month, microsOf(tally.spent)]).toEqual(['2027-01', 1_000_000n]);
});

describe('a clock that was ahead by days, and is set back', () => {
  const hour = 1_000_000n;
  const count = (tally: Tally) => ({
    month: tally.month,
    spent: Number(microsOf(tally.spent)),
    estimated: Number(microsOf(tally.estimated)),
    days: [...tally.days].map(([date, amount]) => [date, Number(microsOf(amount))]),
  });
  const after = (tally: Tally, ...texts: readonly string[]) =>
    texts.reduce((sum, text) => tallied(sum, read(at(text), hour, sum.balanceMicros), rules), tally);
  const begun = (balance?: bigint) =>
    [...Array.from({ length: 13 }).keys()]
      .slice(1)
      .reduce(
        (sum, index) =>
          tallied(sum, read(at('2026-11-05T10:00:00Z') + index * 600_000, hour, balance), rules),
        firstTally(read(at('2026-11-05T10:00:00Z'), hour, balance), 'UTC'),
      );

  test('leaves nothing of the time in between, within the same month', () => {
    const ahead = after(begun(), '2026-11-25T12:00:00Z', '2026-11-25T12:00:08Z');
    expect(count(ahead).spent).toBeGreaterThan(400_000_000);
    const back = after(ahead, '2026-11-05T12:30:00Z', '2026-11-05T12:31:00Z');
    expect(count(back)).toEqual({
      month: '2026-11',
      spent: 2_516_666,
      estimated: 500_000,
      days: [['2026-11-05', 2_516_666]],
    });
    expect(back.since).toBe(at('2026-11-05T10:00:00Z'));
  });

  test('also when the process began anew in between', () => {
    const stored = (tally: Tally) => readTally(JSON.parse(JSON.stringify(storedTally(tally))));
    const ahead = stored(after(begun(), '2026-11-25T12:00:00Z', '2026-11-25T12:00:08Z'));
    expect(count(after(ahead, '2026-11-05T12:01:00Z')).spent).toBe(2_016_666);
  });

  test('also when it was a moment too fast before', () => {
    const ahead = after(begun(), '2026-11-25T12:00:00Z');
    const back = after(ahead, '2026-11-05T11:59:00Z');
    expect(count(back)).toMatchObject({ spent: 2_000_000, estimated: 0 });
  });

  test('over the begin of a month and of a year', () => {
    const ahead = after(begun(), '2027-11-25T12:00:00Z', '2027-11-25T12:10:00Z');
    const back = after(ahead, '2026-11-05T12:10:00Z');
    expect(count(back)).toMatchObject({ month: '2026-11', spent: 2_166_666 });
    expect(back.since).toBe(at('2026-11-05T10:00:00Z'));
  });

  test('in two steps, to which only the second one is known', () => {
    const ahead = after(begun(), '2026-11-15T12:00:00Z', '2026-11-25T12:00:00Z');
    const back = after(ahead, '2026-11-05T12:00:00Z');
    expect(count(back)).toEqual({
      month: '2026-11',
      spent: 2_000_000,
      estimated: 0,
      days: [['2026-11-05', 2_000_000]],
    });
  });

  test('as it was stored by a version that did not know of that', () => {
    const { jump: _, ...stored } = storedTally(after(begun(), '2026-11-25T12:00:00Z'));
    const back = after(readTally(stored), '2026-11-05T12:00:00Z');
    expect(count(back)).toMatchObject({ spent: 2_000_000, estimated: 0 });
  });

  test('does not change what a process that was down has not observed', () => {
    const later = after(begun(), '2026-11-08T12:00:00Z', '2026-11-08T13:00:00Z');
    const back = after(later, '2026-11-08T12:30:00Z');
    expect(count(back).spent).toBe(75_000_000);
    const twoDays = after(later, '2026-11-11T13:00:00Z', '2026-11-09T13:00:00Z');
    expect(count(twoDays).spent).toBe(99_000_000);
  });

  test('shows what the balance lost beside that as before', () => {
    const ahead = after(begun(50_000_000n), '2026-11-25T12:00:00Z');
    expect(ahead.unattributed).toBeLessThan(-400_000_000n * BigInt(hourMs));
    expect(microsOf(after(ahead, '2026-11-05T12:00:00Z').unattributed)).toBe(-2_000_000n);
  });
});

describe('what somebody observed of what was spent', () => {
  const first = firstTally(read(at('2026-11-10T00:00:00Z'), 1_000_000n), 'UTC');
  const seen = tallied(first, read(first.at + 600_000, 1_000_000n), rules);

  test('is without what is estimated', () => {
    const later = tallied(seen, read(seen.at + 10 * hourMs, 1_000_000n), rules);
    expect([microsOf(later.spent), observedMicros(later)]).toEqual([10_166_666n, 166_666n]);
  });

  test.each([
    ['all of it', 20_000_000n, 10_000_000n],
    ['a part', 96_000_000n, 4_000_000n],
    ['nothing', 100_000_000n, 0n],
  ])('is also what the balance lost: %s', (_, then, observed) => {
    const known = firstTally(read(first.at, 1_000_000n, 100_000_000n), 'UTC');
    const later = tallied(known, read(first.at + 10 * hourMs, 1_000_000n, then), rules);
    expect(observedMicros(later)).toBe(observed);
  });
});
