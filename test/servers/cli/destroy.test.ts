/** What `destroy` asks, and what it reports if the answer is no. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CommandLine, run } from '../../unit/cli/support.ts';

async function applied(): Promise<string> {
  const root = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-destroy-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const folder = path.join(root, 'shop');
  expect((await run(['init', folder, '--simulated'])).code).toBe(0);
  expect((await run(['apply', folder, '--yes', '--stable', '0s'])).code).toBe(0);
  return folder;
}

test.each([
  ['no', (destroy: CommandLine) => destroy.type('no\n')],
  ['Ctrl-C', (destroy: CommandLine) => destroy.stop()],
])('after %s nothing was destroyed, and that is reported', async (_, answer) => {
  const folder = await applied();
  const destroy = new CommandLine(['destroy', folder], { terminal: true });
  await destroy.shows('Destroy all of this? Only "yes" is accepted');
  answer(destroy);
  expect([await destroy.ended, destroy.stderr]).toEqual([
    1,
    expect.stringContaining('nothing was destroyed\n'),
  ]);
  expect((await run(['status', '--source', folder])).stdout).toMatch(
    /ContainerService +default +web +running/,
  );
});
