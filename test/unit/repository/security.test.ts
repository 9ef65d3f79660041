/** What docs/internals/security.md and the hostile part of docs/internals/fault-matrix.md claim is shown by tests that are there. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const text = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
const security = text('docs/internals/security.md');
const hostile =
  text('docs/internals/fault-matrix.md').split('## Malicious or hostile input')[1]?.split('\n## ')[0] ?? '';
const rows = [...hostile.matchAll(/^\| F(\d+) (.*) \| (.*) \| (.*) \|$/gm)];

function testsIn(claims: string): string[] {
  return [...claims.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file);
}

test('each hostile input from F84 to F100 has its row, with what happens and where that is shown', () => {
  expect(rows.map(([, number]) => Number(number))).toEqual(
    Array.from({ length: 17 }, (_, index) => 84 + index),
  );
  expect(rows.filter(([, , , , shownBy = '']) => testsIn(shownBy).length === 0)).toEqual([]);
});

test('every file that is named is there', () => {
  const files = [
    ...testsIn(hostile),
    ...testsIn(security),
    ...[...security.matchAll(/`((?:src|manifests)\/[^`]+)`/g)].map(([, file = '']) => file),
  ];
  expect(files.length).toBeGreaterThan(30);
  expect(files.filter((file) => !existsSync(new URL(`../../../${file}`, import.meta.url)))).toEqual([]);
});
