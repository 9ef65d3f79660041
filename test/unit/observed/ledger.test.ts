import { expect, test } from 'vitest';
import { ledgerHasGap } from '../../../src/observed/index.ts';

/** Entries `from` to `to`, newest first; members in another order the second time they are shown. */
const entries = (from: number, to: number, turned = false) =>
  Array.from({ length: to - from + 1 }, (_, index) => {
    const entry = { id: String(to - index), amountMicros: -1e20, of: { share: 0.1, hours: 0.2 }, note: null };
    const { of, ...rest } = entry;
    return turned ? { of: { hours: of.hours, share: of.share }, ...rest } : entry;
  });

/** All of one checksum. */
const crossed = (round: number, length = 100) =>
  Array.from({ length }, (_, index) => ({ a: round * length + index, b: -round * length - index }));

// COVERAGE 88, 107
test.each([
  ['the first read', [], entries(1, 100), false],
  ['a full ledger that begins where the last one ended', entries(1, 100), entries(101, 200), true],
  ['a full ledger with one entry of the last one', entries(1, 100), entries(100, 199, true), false],
  ['the same full ledger', entries(1, 100), entries(1, 100, true), false],
  ['a full ledger of which each entry has the checksum of one before', crossed(1), crossed(2), true],
  ['the same, but for one entry', crossed(1), [...crossed(2), ...crossed(1).slice(7, 8)], false],
  ['a ledger that is not full, whatever it shows', entries(1, 100), entries(300, 398), false],
])('%s: entries are missing: %s', (_, before, after, expected) => {
  expect(ledgerHasGap(before, after)).toBe(expected);
});

test('a long ledger that is made to be compared entry by entry takes no longer than its length', () => {
  const [before, after] = [crossed(1, 100_000), crossed(2, 100_000)];
  const startedAtMs = performance.now();
  expect(ledgerHasGap(before, after)).toBe(true);
  // Some 0.2 s; each entry beside each would take minutes.
  expect(performance.now() - startedAtMs).toBeLessThan(10_000);
});
