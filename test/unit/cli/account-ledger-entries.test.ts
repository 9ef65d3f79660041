import { array, assert, boolean, constantFrom, integer, nat, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstEntries, newEntries } from '../../../src/cli/account/ledger-entries.ts';

const entry = (name: string) => ({ name });
const list = (...names: string[]) => names.map(entry);

describe('new entries', () => {
  test('are at the begin, where the newest are, or at the end; the oldest comes first', () => {
    expect(newEntries(list('b', 'a'), list('d', 'c', 'b', 'a'))).toEqual({
      entries: list('c', 'd'),
      hasGap: false,
    });
    expect(newEntries(list('a', 'b'), list('a', 'b', 'c', 'd'))).toEqual({
      entries: list('c', 'd'),
      hasGap: false,
    });
  });

  test('are found where old ones have left the list', () => {
    expect(newEntries(list('c', 'b', 'a'), list('d', 'c', 'b'))).toEqual({
      entries: list('d'),
      hasGap: false,
    });
    expect(newEntries(list('a', 'b', 'c'), list('b', 'c', 'd'))).toEqual({
      entries: list('d'),
      hasGap: false,
    });
  });

  test('equal to earlier ones are new by their place', () => {
    expect(newEntries(list('b', 'a', 'a'), list('a', 'b', 'a'))).toEqual({
      entries: list('a'),
      hasGap: false,
    });
  });

  test('are none in the same list', () => {
    expect(newEntries(list('b', 'a'), list('b', 'a'))).toEqual({ entries: [], hasGap: false });
    expect(newEntries([], [])).toEqual({ entries: [], hasGap: false });
  });

  test('are all of a list that has nothing of before, with a gap', () => {
    expect(newEntries(list('b', 'a'), list('d', 'c'))).toEqual({ entries: list('d', 'c'), hasGap: true });
    expect(newEntries([], list('a'))).toEqual({ entries: list('a'), hasGap: false });
  });

  test('come each once, in their order, however often a window of the newest is read', () => {
    const names = constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
    const steps = array(array(names, { maxLength: 3 }), { maxLength: 20 });
    assert(
      property(steps, boolean(), integer({ min: 4, max: 8 }), nat(3), (all, isNewestFirst, size, extra) => {
        // Numbered, so that each is another one.
        let count = 0;
        const numbered = all.map((some) => some.map((name) => entry(`${name}${(count += 1)}`)));
        const window = (upTo: number) => {
          const shown = numbered
            .slice(0, upTo + 1)
            .flat()
            .slice(-(size + extra));
          return isNewestFirst ? shown.toReversed() : shown;
        };
        let known = window(-1);
        const seen: object[] = [];
        for (const index of numbered.keys()) {
          const now = window(index);
          const found = newEntries(known, now);
          expect(found.hasGap).toBe(false);
          // Of the first list that shows something, the order is not known.
          seen.push(...(known.length === 0 && isNewestFirst ? now.toReversed() : found.entries));
          known = now;
        }
        expect(seen).toEqual(numbered.flat());
      }),
    );
  });
});

test('the first list is turned around where its times show that the newest come first', () => {
  expect(firstEntries([{ createdAt: 2 }, { createdAt: 1 }])).toEqual([{ createdAt: 1 }, { createdAt: 2 }]);
  expect(firstEntries([{ createdAt: 1 }, { createdAt: 2 }])).toEqual([{ createdAt: 1 }, { createdAt: 2 }]);
  expect(firstEntries([{ createdAt: 'b' }, { createdAt: 'a' }])).toEqual([
    { createdAt: 'b' },
    { createdAt: 'a' },
  ]);
});

test('an entry with an id is the same entry while its amount grows', () => {
  const old = [
    { id: '2', amountMicros: -1 },
    { id: '1', amountMicros: -9 },
  ];
  const now = [
    { id: '3', amountMicros: -1 },
    { id: '2', amountMicros: -5 },
    { id: '1', amountMicros: -9 },
  ];
  expect(newEntries(old, now)).toEqual({ entries: [now[0]], hasGap: false });
});
