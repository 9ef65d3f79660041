/** What a burst of work leaves in memory: of a real process, whose V8 decides when it collects. */
import { expect, test } from 'vitest';
import { memoryBytesOf } from '../../bench/support/program.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, FleetFolder, service } from '../support/processes/fleet.ts';
import { preload } from '../support/processes/preload.ts';
import { eventually, launch, temporaryFolder } from '../support/processes/processes.ts';

/** As much as the start of a large fleet needs. Half a second later none of it is in use. */
const burst = preload(`
  let kept = Array.from({ length: 50 }, () => Array.from({ length: 100_000 }, (_, index) => ({ index })));
  setTimeout(() => { kept = undefined; }, 500).unref();
`);

test('a manager that has become quiet gives back what the start has left', { timeout: 120_000 }, async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 600 }).start();
  const fleet = new FleetFolder(folder);
  await fleet.write('fleet.yaml', [...account(plane.url), service('web')]);
  const manager = launch(['run', ...fleet.flags, '--log-level', 'debug'], burst);
  await fleet.untilReady(1);
  const before = await memoryBytesOf(manager);
  await eventually(
    'memory is given back',
    async () => manager.stderr.includes('"memory given back"'),
    90_000,
  );
  expect(await memoryBytesOf(manager)).toBeLessThan(before - 50e6);
});
