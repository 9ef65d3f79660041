/** What docs/reliability.md says of its faults is shown by tests that are there. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const at = (file: string) => new URL(`../../../${file}`, import.meta.url);
const sections = readFileSync(at('docs/reliability.md'), 'utf8').split(/^## /m);

/** The faults of a section, each with the tests that show it. */
function faultsIn(title: string): { fault: number; tests: string[] }[] {
  const section = sections.find((text) => text.startsWith(`${title}\n`)) ?? '';
  return [...section.matchAll(/^\| F(\d+) .* \| .* \| (.*) \|$/gm)].map(([, fault, shownBy = '']) => ({
    fault: Number(fault),
    tests: [...shownBy.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file),
  }));
}

test.each([
  ['Between the manager and the API', 1, 15],
  ['What the API answers', 16, 40],
  ['Processes', 63, 68],
  ['Clocks', 69, 72],
  ['Disk', 73, 83],
])('%s: each fault from F%d to F%d has its row, and tests that are there', (title, first, last) => {
  const rows = faultsIn(title);
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  expect(rows.map(({ fault }) => fault)).toEqual(numbers);
  const missing = rows.filter(
    ({ tests }) => tests.length === 0 || !tests.every((file) => existsSync(at(file))),
  );
  expect(missing).toEqual([]);
});
