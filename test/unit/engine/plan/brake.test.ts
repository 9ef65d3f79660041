import { expect, test } from 'vitest';
import { isMassChange, isSuspiciousRead, massChangeLimit } from '../../../../src/engine/plan/index.ts';

test.each([
  [0, 5],
  [50, 5],
  [59, 5],
  [60, 6],
  [1000, 100],
])('of %i objects, %i may go at once', (total, limit) => {
  expect(massChangeLimit(total)).toBe(limit);
  expect(isMassChange(total, limit, 0)).toBe(false);
  expect(isMassChange(total, limit + 1, 0)).toBe(true);
});

test('what went in the same window counts, and nothing is not too much', () => {
  expect(isMassChange(50, 2, 3)).toBe(false);
  expect(isMassChange(50, 2, 4)).toBe(true);
  expect(isMassChange(50, 0, 50)).toBe(false);
});

test.each([
  [0, 0, false],
  [1, 1, false],
  [2, 2, true],
  [3, 2, false],
  [20, 5, false],
  [20, 6, true],
  [200, 20, false],
  [200, 21, true],
])('an account read that lacks %2$i of %1$i known things is suspicious: %3$s', (known, missing, expected) => {
  expect(isSuspiciousRead(known, missing)).toBe(expected);
});
