import { describe, expect, test } from 'vitest';
import { monthEnd } from '../../../../src/base/index.ts';
import { costsLessFrom, courseSteps, forecast, type Course } from '../../../../src/engine/plan/index.ts';
import { windowSpan } from '../../../../src/resources/index.ts';

const hourMs = 3_600_000;
const each = 1000n;
const usual = 2;

/** `usual` services, and another number while a schedule is open. */
function follows(schedule: { cron: string; durationMinutes: number; timeZone: string }, replicas: number) {
  return (atMs: number) => {
    const { isOpen, changesAt } = windowSpan(schedule, atMs);
    return { count: isOpen ? replicas : usual, changesAt };
  };
}

const daily = (timeZone: string) => ({ cron: '0 8 * * *', durationMinutes: 600, timeZone });

function course(
  wanted: Parameters<typeof courseSteps>[0],
  from: number,
  until: number,
  more: Partial<Course> = {},
): Course {
  const now = BigInt(wanted(from).count);
  return { nowMicros: now * each, eachMicros: each, steps: courseSteps(wanted, from, until), ...more };
}

function forecastOf(at: string, timeZone: string, courseFor: (from: number, until: number) => Course[]) {
  const from = Date.parse(at);
  const until = monthEnd(from, timeZone);
  const courses = courseFor(from, until);
  const burnMicros = courses.reduce((sum, { nowMicros }) => sum + nowMicros, 0n);
  return (limitMicros?: bigint, spent = 0n, fixed = 0n) => {
    const given = { spent, at: from, burnMicros: burnMicros + fixed, until, courses, limitMicros };
    const { amount, exhaustedAt } = forecast(given);
    return {
      micros: Number(amount) / hourMs,
      exhaustedAt: exhaustedAt && new Date(exhaustedAt).toISOString(),
    };
  };
}

describe('a fleet with five replicas from 8 to 18, and two at other times', () => {
  // Each day has 10 hours of five, and the rest of two.
  test.each([
    ['a month of 30 days', '2026-11-01T00:00:00Z', 'UTC', 30 * 10, 720],
    ['a month of 31 days in a zone behind UTC', '2026-12-01T05:00:00Z', 'America/New_York', 310, 744],
    ['February of a leap year', '2028-02-01T00:00:00Z', 'UTC', 290, 696],
    ['the month in which clocks are put forward', '2026-02-28T23:00:00Z', 'Europe/Madrid', 310, 743],
    ['the month in which they are put back', '2026-09-30T22:00:00Z', 'Europe/Madrid', 310, 745],
    ['where they change by half an hour', '2026-03-31T13:00:00Z', 'Australia/Lord_Howe', 300, 720.5],
    ['a month of which five hours are left, in the night', '2026-11-30T19:00:00Z', 'UTC', 0, 5],
    ['a month of which two hours of the day are left, and the night', '2026-11-30T16:00:00Z', 'UTC', 2, 8],
  ])('in %s', (_, at, timeZone, dayHours, hours) => {
    const { micros } = forecastOf(at, timeZone, (from, until) => [
      course(follows(daily(timeZone), 5), from, until),
    ])();
    expect(micros).toBe(1000 * (dayHours * 5 + (hours - dayHours) * usual));
  });

  test('with a schedule in another time zone than the month', () => {
    const { micros } = forecastOf('2026-11-30T00:00:00Z', 'UTC', (from, until) => [
      // From 23:00 to 9:00 UTC.
      course(follows(daily('Asia/Tokyo'), 5), from, until),
    ])();
    expect(micros).toBe(1000 * (10 * 5 + 14 * usual));
  });
});

test('what is spent counts, and what has no schedule stays as it is', () => {
  const of = forecastOf('2026-11-30T12:00:00Z', 'UTC', () => []);
  expect(of(undefined, BigInt(7000 * hourMs), 500n).micros).toBe(7000 + 12 * 500);
});

test('the limit is reached at a moment that the schedule decides', () => {
  const of = forecastOf('2026-11-01T00:00:00Z', 'UTC', (from, until) => [
    course(follows(daily('UTC'), 5), from, until),
  ]);
  // Two until 8, then five.
  expect(of(16_000n + 5000n).exhaustedAt).toBe('2026-11-01T09:00:00.000Z');
  // A day costs 10 × 5 + 14 × 2.
  expect(of(10n * 78_000n).exhaustedAt).toBe('2026-11-11T00:00:00.000Z');
  expect(of(30n * 78_000n).exhaustedAt).toBeUndefined();
  expect(of(30n * 78_000n - 1n).exhaustedAt).toBeDefined();
});

test('a limit that is passed already is reached now', () => {
  const of = forecastOf('2026-11-20T00:00:00Z', 'UTC', () => []);
  expect(of(100n, BigInt(200 * hourMs)).exhaustedAt).toBe('2026-11-20T00:00:00.000Z');
});

test('while as many are wanted as now, they cost what they cost now, though some of them wait', () => {
  const wanted = follows(daily('UTC'), 5);
  const { micros } = forecastOf('2026-11-29T08:00:00Z', 'UTC', (from, until) => [
    course(wanted, from, until, { nowMicros: 3n * each }),
  ])();
  // Both days as now; of the first one 10 hours are left, and the nights have two.
  expect(micros).toBe(1000 * (20 * 3 + 20 * usual));
});

test('a fleet that has nothing now costs what one is estimated to cost', () => {
  const wanted = (atMs: number) => {
    const { isOpen, changesAt } = windowSpan(daily('UTC'), atMs);
    return { count: isOpen ? 4 : 0, changesAt };
  };
  const { micros } = forecastOf('2026-11-30T00:00:00Z', 'UTC', (from, until) => [
    course(wanted, from, until),
  ])();
  expect(micros).toBe(1000 * 10 * 4);
});

test('a schedule of every minute is not followed for a month, and its mean counts for the rest', () => {
  let asked = 0;
  const wanted = (atMs: number) => {
    asked += 1;
    const minute = Math.floor(atMs / 60_000);
    return { count: minute % 2 === 0 ? 1 : 3, changesAt: (minute + 1) * 60_000 };
  };
  const { micros } = forecastOf('2026-11-01T00:00:00Z', 'UTC', (from, until) => [
    course(wanted, from, until),
  ])();
  expect(micros).toBeCloseTo(720 * 2 * 1000, 0);
  expect(asked).toBeLessThan(1000);
});

describe('the moment from which schedules let it cost less', () => {
  const noon = Date.parse('2026-11-29T12:00:00Z');
  const until = Date.parse('2026-12-02T00:00:00Z');
  const at = (text: string) => Date.parse(text);

  test('is when the schedule closes that wants more', () => {
    expect(costsLessFrom([course(follows(daily('UTC'), 5), noon, until)], noon)).toBe(
      at('2026-11-29T18:00:00Z'),
    );
  });

  test('is when a schedule opens that wants fewer', () => {
    const few = [course(follows(daily('UTC'), 0), at('2026-11-29T20:00:00Z'), until)];
    expect(costsLessFrom(few, at('2026-11-29T20:00:00Z'))).toBe(at('2026-11-30T08:00:00Z'));
  });

  test('is not when one fleet needs what another one frees', () => {
    const more = course(follows(daily('UTC'), 0), noon, until);
    const less = course(follows(daily('UTC'), 4), noon, until);
    // At 18:00 one goes from none to two, and the other one from four to two.
    expect(costsLessFrom([more, less], noon)).toBeUndefined();
  });

  test('is not known where only the mean of the later steps is', () => {
    const steps = [
      { from: noon, count: 1 },
      { from: noon + hourMs, count: 2 },
      { from: noon + 2 * hourMs, count: 0.5 },
    ];
    expect(costsLessFrom([{ nowMicros: each, eachMicros: each, steps }], noon)).toBeUndefined();
  });

  test('is not known without a schedule', () => {
    expect(costsLessFrom([], noon)).toBeUndefined();
  });
});
