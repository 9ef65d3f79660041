import { assert, constantFrom, integer, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayAt, monthAt, monthEnd } from '../../../src/base/index.ts';

const at = (text: string) => Date.parse(text);
const iso = (ms: number) => new Date(ms).toISOString();

describe('a day', () => {
  test.each([
    ['2026-11-27T12:00:00Z', 'UTC', '2026-11-27', '2026-11-28T00:00:00.000Z'],
    ['2026-11-27T23:30:00Z', 'Europe/Madrid', '2026-11-28', '2026-11-28T23:00:00.000Z'],
    // 23 and 25 hours.
    ['2026-03-29T00:00:00Z', 'Europe/Madrid', '2026-03-29', '2026-03-29T22:00:00.000Z'],
    ['2026-10-25T00:00:00Z', 'Europe/Madrid', '2026-10-25', '2026-10-25T23:00:00.000Z'],
    // Clocks go forward at midnight, so the day begins at one.
    ['2024-03-30T20:00:00Z', 'Africa/Cairo', '2024-03-30', '2024-03-30T22:00:00.000Z'],
    ['2024-04-25T12:00:00Z', 'Africa/Cairo', '2024-04-25', '2024-04-25T22:00:00.000Z'],
    // A day that Samoa left out.
    ['2011-12-29T12:00:00Z', 'Pacific/Apia', '2011-12-29', '2011-12-30T10:00:00.000Z'],
    ['2011-12-30T11:00:00Z', 'Pacific/Apia', '2011-12-31', '2011-12-31T10:00:00.000Z'],
    ['2026-11-27T00:00:00Z', 'Asia/Kathmandu', '2026-11-27', '2026-11-27T18:15:00.000Z'],
  ])('at %s in %s is %s, until %s', (moment, zone, date, until) => {
    const day = dayAt(at(moment), zone);
    expect([day.date, iso(day.until)]).toEqual([date, until]);
  });
});

describe('a month', () => {
  test.each([
    ['2026-11-30T23:30:00Z', 'Europe/Madrid', '2026-12', '2026-12-31T23:00:00.000Z'],
    ['2026-02-10T00:00:00Z', 'UTC', '2026-02', '2026-03-01T00:00:00.000Z'],
    ['2028-02-10T00:00:00Z', 'America/New_York', '2028-02', '2028-03-01T05:00:00.000Z'],
    ['2026-03-10T00:00:00Z', 'Europe/Madrid', '2026-03', '2026-03-31T22:00:00.000Z'],
    ['2026-12-31T11:00:00Z', 'Pacific/Auckland', '2027-01', '2027-01-31T11:00:00.000Z'],
  ])('at %s in %s is %s, until %s', (moment, zone, month, until) => {
    expect([monthAt(at(moment), zone), iso(monthEnd(at(moment), zone))]).toEqual([month, until]);
  });
});

const zones = constantFrom(
  'UTC',
  'Europe/Madrid',
  'America/Sao_Paulo',
  'Asia/Kolkata',
  'Pacific/Apia',
  'Africa/Cairo',
);

test('days follow each other without a gap, and each moment belongs to one', () => {
  assert(
    property(zones, integer({ min: 1_200_000_000, max: 1_900_000_000 }), (zone, seconds) => {
      const day = dayAt(seconds * 1000, zone);
      const next = dayAt(day.until, zone);
      expect(day.until).toBeGreaterThan(seconds * 1000);
      expect(next.date > day.date).toBe(true);
      expect(dayAt(day.until - 1, zone).date).toBe(day.date);
      expect(monthEnd(seconds * 1000, zone)).toBeGreaterThanOrEqual(day.until);
    }),
    { numRuns: 300 },
  );
});
