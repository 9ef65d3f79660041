/** Objects that are too large to be kept: held, and deleted with what they have. */
import { expect } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInCluster } from '../support/processes/fleet.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

const large = Array.from({ length: 3 }, () => 'x'.repeat(100 * 1024));

testInCluster('a service whose object grew too large is held, and deleted with its object', async () => {
  const plane = await new ControlPlane(await temporaryFolder()).start();
  const fleet = await createFleet(await temporaryFolder());
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web')]);
  const first = fleet.run();
  await fleet.untilReady(1);
  await fleet.write('web.yaml', [service('web', { command: large })]);
  const { message } = await fleet.until('ContainerService/web', 'Stalled', 'True', 'InvalidSpec');
  expect(message).toMatch(/spec: is too large/);
  await first.kill('SIGKILL');
  // What it has is known by its status alone.
  fleet.run();
  await fleet.remove('web.yaml');
  await eventually('its deletion', async () => (await plane.account()).services.length === 0);
  await eventually('its object gone', async () => !(await fleet.records()).has('ContainerService/web'));
});
