import { expect, test } from 'vitest';
import { ledgerHasGap } from '../../../src/observed/index.ts';

/** Entries `from` to `to`, newest first; members in another order the second time they are shown. */
const entries = (from: number, to: number, turned = false) =>
  Array.from({ length: to - from + 1 }, (_, index) => {
    const entry = { id: String(to - index), amountMicros: -1e20, of: { share: 0.1, hours: 0.2 }, note: null };
    const { of, ...rest } = entry;
    return turned ? { of: { hours: of.hours, share: of.share }, ...rest } : entry;
  });

// COVERAGE 88, 107
test.each([
  ['the first read', [], entries(1, 100), false],
  ['a full ledger that begins where the last one ended', entries(1, 100), entries(101, 200), true],
  ['a full ledger with one entry of the last one', entries(1, 100), entries(100, 199, true), false],
  ['the same full ledger', entries(1, 100), entries(1, 100, true), false],
  ['a ledger that is not full, whatever it shows', entries(1, 100), entries(300, 398), false],
])('%s: entries are missing: %s', (_, before, after, expected) => {
  expect(ledgerHasGap(before, after)).toBe(expected);
});
