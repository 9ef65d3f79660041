/** docs/internals/fault-matrix.md has every fault, each with tests that are there; and a test that names a fault stands in its row. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const at = (file: string) => new URL(`../../../${file}`, import.meta.url);
const matrix = readFileSync(at('docs/internals/fault-matrix.md'), 'utf8');
const faults = 100;

interface Row {
  /** Its number; undefined of a fault that has none. */
  readonly fault: number | undefined;
  readonly text: string;
  readonly tests: readonly string[];
}

const rows: Row[] = [...matrix.matchAll(/^\| (.*) \| .* \| (.*) \|$/gm)]
  .filter(([, fault]) => fault !== 'fault' && !fault?.startsWith('-'))
  .map(([, text = '', shownBy = '']) => ({
    fault: Number(/^F(\d+) /.exec(text)?.[1]) || undefined,
    text,
    tests: [...shownBy.matchAll(/`([^`]+\.ts)`/g)].map(([, file = '']) => file),
  }));

/** `F69, F72 a wall clock`, `F18 F19 F21: a refusal`, `… until it is back (F58)`. */
const namesOfTests = globSync('**/*.test.ts', { cwd: at('test') }).flatMap((file) => {
  const text = readFileSync(at(`test/${file}`), 'utf8');
  const titles = [...text.matchAll(/^ *(?:test[\w.]*(?:\(.*?\))?\(\s*)?(['"`])(F\d.*|.*\(F\d+\))\1/gm)];
  return titles.flatMap(([, , title = '']) =>
    [...title.matchAll(/\bF(\d+)\b/g)].map(([, fault]) => ({ fault: Number(fault), test: `test/${file}` })),
  );
});

describe('the fault matrix', () => {
  test('has every fault once', () => {
    const numbers = rows.flatMap(({ fault }) => fault ?? []).toSorted((left, right) => left - right);
    expect(numbers).toEqual(Array.from({ length: faults }, (_, index) => index + 1));
  });

  test('names tests for each of them, and all of these are there', () => {
    const unshown = rows.filter(
      ({ tests }) => tests.length === 0 || !tests.every((file) => existsSync(at(file))),
    );
    expect(unshown).toEqual([]);
  });

  test('names each test that has the number of a fault in its name', () => {
    expect(namesOfTests.length).toBeGreaterThan(40);
    const inMatrix = new Set(rows.flatMap(({ fault, tests }) => tests.map((file) => `F${fault} ${file}`)));
    const missing = namesOfTests.map(({ fault, test: file }) => `F${fault} ${file}`);
    expect(missing.filter((claim) => !inMatrix.has(claim))).toEqual([]);
  });
});
