/** What a comment on a change shows of a fleet. */
import { expect, test } from 'vitest';
import { readMarkdown } from '../support/markdown.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, task, testInFolder, volume } from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const comment = async (...flags: string[]) => {
    const finished = await fleetkeeper(['plan', ...fleet.flags, '--output', 'markdown', ...flags]);
    return { ...finished, read: readMarkdown(finished.stdout) };
  };
  return { fleet, comment };
}

test('a comment names the task that an interruption waits for, and each object with its change, and no value of a variable', async () => {
  const { fleet, comment } = await world();
  const env = (value: string) => [{ name: 'PASSWORD', value }];
  await fleet.write('web.yaml', [service('web', { env: env('first-value') }), task('nightly')]);
  await fleet.write('data.yaml', [volume('data')]);
  const manager = fleet.run();
  await fleet.untilReady(3);
  await manager.kill('SIGTERM');
  await fleet.write('web.yaml', [
    service('web', { env: env('second-value'), image: 'ghcr.io/acme/app:2' }),
    task('nightly'),
  ]);
  await fleet.write('data.yaml', [volume('data', { sizeGb: 20 })]);
  const { code, read, stdout } = await comment('--name', 'prod');
  expect(code).toBe(2);
  expect(read.markers).toEqual(['prod']);
  expect(read.details).toBe(2);
  expect(stdout).toMatch(/- `ContainerService \S+\/web` \*\*Protected\*\*, would update: `.*nightly.*`/);
  expect(stdout).toContain('`sizeGb: 10 → 20`');
  expect(stdout).toContain('`environment: ~ PASSWORD`');
  expect(stdout).not.toMatch(/first-value|second-value/);
});

testInFolder('a document with a mistake is an error in the comment', async () => {
  const { fleet, comment } = await world();
  await fleet.write('web.yaml', [service('web', { imgae: 'x' })]);
  const { code, stdout } = await comment();
  expect(code).toBe(1);
  expect(stdout).toContain('**Errors**');
  expect(stdout).toContain('`spec.imgae: unknown field');
});
