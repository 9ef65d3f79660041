/** Counts (requests, writes, refusals, duplicates) don't depend on the machine: `npm run bench` holds them to their targets here, too. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/processes/processes.ts';

const main = path.resolve(import.meta.dirname, '../../bench/main.ts');

test.each(['B1', 'B2', 'B7'])(
  'the counts of %s are within their targets',
  async (id) => {
    const json = path.join(await temporaryFolder(), 'results.json');
    const args = [main, '--only', id, '--quick', '--gate', '--json', json];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toContain(`\n${id} `);
    const { results } = JSON.parse(await readFile(json, 'utf8')) as {
      results: { rows: { isCount?: boolean }[] }[];
    };
    expect(results[0]?.rows.some(({ isCount }) => isCount)).toBe(true);
  },
  300_000,
);
