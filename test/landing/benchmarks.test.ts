/** Counts (requests, writes, refusals, duplicates) don't depend on the machine: `npm run bench` holds them to their targets here, too. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
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

test('a run is compared with an earlier one, and fails when it is worse', async () => {
  const json = path.join(await temporaryFolder(), 'results.json');
  const earlier = path.join(await temporaryFolder(), 'earlier.json');
  const args = [main, '--only', 'B1', '--quick', '--json', json];
  await promisify(execFile)(process.execPath, args);
  const measured = JSON.parse(await readFile(json, 'utf8')) as {
    results: { rows: { what: string; median: number }[] }[];
  };
  const reads = measured.results[0]?.rows.find(({ what }) => what === 'reads for a poll');
  if (!reads) throw new Error('B1 counts no reads');
  reads.median /= 2;
  await writeFile(earlier, JSON.stringify(measured));
  const again = promisify(execFile)(process.execPath, [...args, '--baseline', earlier]);
  await expect(again).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/B1 +reads for a poll +[\d.]+ +[\d.]+ +× [12][\d.]* +REGRESSION/),
  });
}, 300_000);
