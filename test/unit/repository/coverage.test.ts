/** docs/internals/coverage.md has every line of the coverage list, and what it says to be shown is shown by tests that name it. */
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';

const lines = 120;

interface Row {
  readonly line: number;
  readonly isDone: boolean;
  /** Below `test/`. */
  readonly files: readonly string[];
}

const rows: Row[] = [
  ...readFileSync('docs/internals/coverage.md', 'utf8').matchAll(/^\| (\d+) \| (.*) \| (.*) \|$/gm),
].map(([, line, what = '', where = '']) => ({
  line: Number(line),
  isDone: !what.startsWith('**Not done.**'),
  files: [...where.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
}));

/** Which lines the tests of a file name. */
const named = new Map<string, ReadonlySet<number>>();
for await (const file of glob('**/*.test.ts', { cwd: 'test' })) {
  const comments = readFileSync(`test/${file}`, 'utf8').matchAll(/^ *\/\/ COVERAGE (.*)$/gm);
  named.set(file, new Set([...comments].flatMap(([, list = '']) => list.split(', ').map(Number))));
}

describe('the coverage of the contract', () => {
  test('has every line, in order and once', () => {
    expect(rows.map(({ line }) => line)).toEqual(Array.from({ length: lines }, (_, index) => index + 1));
  });

  test('of what is done names where it is shown, and of what is not done nothing', () => {
    expect(rows.filter(({ isDone, files }) => isDone !== files.length > 0)).toEqual([]);
  });

  test('is shown where it is said to be: those files are there, and their tests name the line', () => {
    const claims = rows.flatMap(({ line, files }) => files.map((file) => ({ line, file })));
    expect(claims.filter(({ line, file }) => !named.get(file)?.has(line))).toEqual([]);
  });

  test('is named by tests with lines that exist', () => {
    const done = new Set(rows.filter(({ isDone }) => isDone).map(({ line }) => line));
    const wrong = [...named].map(
      ([file, numbers]) => [file, [...numbers].filter((line) => !done.has(line))] as const,
    );
    expect(wrong.filter(([, numbers]) => numbers.length > 0)).toEqual([]);
  });
});
