import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRetryAfter } from '../../../src/base/index.ts';

const nowMs = Date.UTC(2026, 0, 1);
const hourMs = 3_600_000;

// COVERAGE 96
describe('Retry-After', () => {
  test('law: whatever the server sends is a wait between 1 s and 1 h, or nothing', () => {
    const header = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.bigInt().map(String),
      fc.double().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      fc.constantFrom('-5', '1e12', 'NaN', 'Infinity', '9'.repeat(400), '', ' ', '0x10', '1,2'),
    );
    fc.assert(
      fc.property(header, fc.integer({ min: 0, max: 2 ** 42 }), (text, wallMs) => {
        const waitMs = parseRetryAfter(text, wallMs);
        if (waitMs === undefined) return;
        expect(waitMs).toBeGreaterThanOrEqual(1000);
        expect(waitMs).toBeLessThanOrEqual(hourMs);
      }),
    );
  });

  test('law: whole seconds within the bounds are taken as they are', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3600 }), (seconds) => {
        expect(parseRetryAfter(` ${seconds} `, nowMs)).toBe(seconds * 1000);
      }),
    );
  });

  test('law: a date within the bounds is the time until then', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3600 }), (seconds) => {
        const date = new Date(nowMs + seconds * 1000).toUTCString();
        expect(parseRetryAfter(date, nowMs)).toBe(seconds * 1000);
      }),
    );
  });

  test.each([
    ['0', 1000],
    ['1.5', 1500],
    ['7200', hourMs],
    ['1000000000000', hourMs],
    ['Wed, 31 Dec 2025 23:00:00 GMT', 1000],
    ['Fri, 01 Jan 2027 00:00:00 GMT', hourMs],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%o is %o ms', (header, expected) => {
    expect(parseRetryAfter(header, nowMs)).toBe(expected);
  });
});
