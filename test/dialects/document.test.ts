import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dialectsDocument, renderDialectsDocument, unplayed } from './document.ts';

test('docs/internals/dialects.md shows what the client accepts, and which dialects play it (if not: npm run docs:dialects)', () => {
  expect(readFileSync(dialectsDocument, 'utf8')).toBe(renderDialectsDocument());
});

test('each silence is played by a dialect', () => {
  expect(unplayed()).toEqual([]);
});
