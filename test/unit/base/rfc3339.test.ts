import { expect, test } from 'vitest';
import { parseRfc3339, rfc3339 } from '../../../src/base/index.ts';

test.each([
  ['2026-11-28T01:02:03Z', '2026-11-28T01:02:03Z'],
  ['2028-02-29t01:02:03.5z', '2028-02-29T01:02:03Z'],
  ['2026-11-28T23:30:00-01:00', '2026-11-29T00:30:00Z'],
])('%s is a time', (text, shown) => {
  const wallMs = parseRfc3339(text);
  expect(wallMs === undefined ? undefined : rfc3339(wallMs)).toBe(shown);
});

test.each([
  '2026-02-30T00:00:00Z',
  '2027-02-29T00:00:00Z',
  '2026-11-31T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-00-10T00:00:00Z',
  '2026-11-28',
  '2026-11-28T01:02:03',
  'tomorrow',
  '',
])('%j is no time', (text) => {
  expect(parseRfc3339(text)).toBeUndefined();
});
