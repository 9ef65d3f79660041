/** Numbers and times as people read them, and as fields of the browser take them. */
import { expect, test } from 'vitest';
import { changeText, fieldTime, timeOfField } from '../../src/page/format.ts';

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
