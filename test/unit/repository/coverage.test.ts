/** docs/internals/coverage.md has every line of the coverage list, and what it says to be shown is shown by tests that name it. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { coverageDocument, linesNamed, withTests } from './coverage-document.ts';

const lines = 120;

interface Row {
  readonly line: number;
  readonly isDone: boolean;
  /** Below `test/`. */
  readonly files: readonly string[];
}

const text = readFileSync(coverageDocument, 'utf8');
const rows: Row[] = [...text.matchAll(/^\| (\d+) \| (.*) \| (.*) \|$/gm)].map(
  ([, line, what = '', where = '']) => ({
    line: Number(line),
    isDone: !what.startsWith('**Not done.**'),
    files: [...where.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
  }),
);

describe('the coverage of the contract', () => {
  test('has every line, in order and once', () => {
    expect(rows.map(({ line }) => line)).toEqual(Array.from({ length: lines }, (_, index) => index + 1));
  });

  test('of what is done names where it is shown, and of what is not done nothing', () => {
    expect(rows.filter(({ isDone, files }) => isDone !== files.length > 0)).toEqual([]);
  });

  test('is shown by the tests that name the line (if not: npm run docs:coverage)', () => {
    expect(text).toBe(withTests(text));
  });

  test('is named by tests with lines that exist', () => {
    const done = new Set(rows.filter(({ isDone }) => isDone).map(({ line }) => line));
    const wrong = [...linesNamed].map(
      ([file, numbers]) => [file, [...numbers].filter((line) => !done.has(line))] as const,
    );
    expect(wrong.filter(([, numbers]) => numbers.length > 0)).toEqual([]);
  });
});
