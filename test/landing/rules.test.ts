/** The proof of the proof, of single rules: with each one broken in the source, the test of that rule fails (rules.ts). */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import type { Outcome } from '../mutants/broken-run.ts';
import { brokenRules } from '../mutants/rules.ts';

/** Six minutes were seen, on a machine with four times as much to do as it has cores. */
const longestMs = 1_200_000;
let outcomes: readonly Outcome[] = [];

/** All at once, in a process of its own: this one has the whole source already. */
async function brokenRun(): Promise<readonly Outcome[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [path.join(import.meta.dirname, '../mutants/broken-run.ts')],
    // Not those of the Vitest that runs this.
    { env: { PATH: process.env['PATH'], HOME: process.env['HOME'] }, maxBuffer: 64 * 1024 * 1024 },
  );
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Outcome[];
}

beforeAll(async () => {
  outcomes = await brokenRun();
}, longestMs);

test.each(brokenRules)('$item: its test fails when $breaks', (rule) => {
  const { named, test: file } = rule;
  const { failed = [], passed = [], problems = [] } = outcomes[brokenRules.indexOf(rule)] ?? {};
  expect(problems, 'the test file ran').toEqual([]);
  const names = (tests: readonly string[]) => tests.map((name) => name.split(' > ').at(-1) ?? '');
  expect(
    names(failed).some((name) => name.startsWith(named)),
    `of ${file}, ${named}: failed are ${JSON.stringify(names(failed))}, of ${failed.length + passed.length}`,
  ).toBe(true);
});
