/** Numbers and times as people read them, and as fields of the browser take them. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { changeText, fieldTime, placesOf, timeOfField, usd } from '../../src/page/format.ts';

test.each([
  ['UTC', '2026-11-27T14:12:30Z', '2026-11-27T14:12'],
  ['Europe/Madrid', '2026-11-27T23:30:00Z', '2026-11-28T00:30'],
  ['America/New_York', '2026-11-27T03:30:00Z', '2026-11-26T22:30'],
  // Half an hour after the clocks were put forward, and before and after they were put back.
  ['Europe/Madrid', '2026-03-29T01:30:00Z', '2026-03-29T03:30'],
  ['Europe/Madrid', '2026-10-24T23:30:00Z', '2026-10-25T01:30'],
  ['Europe/Madrid', '2026-10-25T02:30:00Z', '2026-10-25T03:30'],
])('in %s, %s is %s in a field, and back', (timeZone, at, text) => {
  expect(fieldTime(Date.parse(at), timeZone)).toBe(text);
  expect(new Date(timeOfField(text, timeZone) ?? 0).toISOString().slice(0, 16)).toBe(at.slice(0, 16));
});

test.each(['', 'yesterday', '2026-13-99T99:99'])('the field "%s" has no time', (text) => {
  expect(timeOfField(text, 'UTC')).toBeUndefined();
});

test('no time is an empty field', () => {
  expect(fieldTime(Number.NaN, 'UTC')).toBe('');
});

test('a change is given in per cent, with its sign', () => {
  expect([changeText(100, 120), changeText(100, 95), changeText(0, 5)]).toEqual(['+20 %', '−5 %', '']);
});

const columnOf = (all: readonly number[]) => all.map((micros) => usd(micros, placesOf(all)));

test.each([
  [
    [1_900_000, 12_250_000],
    ['$1.90', '$12.25'],
  ],
  [
    [1_900_000, 27_000, 12_250_000],
    ['$1.9000', '$0.0270', '$12.2500'],
  ],
  [
    [0, -27_000, 100_000],
    ['$0.0000', '−$0.0270', '$0.1000'],
  ],
  [
    [0, 5_000_000],
    ['$0.00', '$5.00'],
  ],
])('the amounts %s of one column have their points below each other', (amounts, texts) => {
  expect(columnOf(amounts)).toEqual(texts);
});

test('every amount of a column has as many decimals, whatever is in it', () => {
  const micros = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -200_000, max: 200_000 }));
  fc.assert(
    fc.property(fc.array(micros, { minLength: 1 }), (all) => {
      const texts = columnOf(all);
      expect(new Set(texts.map((text) => text.split('.')[1]?.length)).size).toBe(1);
      // Alone, none has more.
      for (const [index, each] of all.entries())
        expect(texts[index]?.length).toBeGreaterThanOrEqual(usd(each).length);
    }),
  );
});

test('what is not known has no decimals', () => {
  expect([placesOf([]), placesOf([null, 5_000_000]), placesOf([null, 5])]).toEqual([2, 2, 4]);
});
