/** Replicas that somebody works in, during a rollout in place. */
import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, task, type Json } from '../support/processes/fleet.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

test('a replica that somebody works in keeps its image for now, and all others get the new one', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  const update = { minReadySeconds: 0, maxUnavailable: 1 };
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [fleetOf('llm', { update })]);
  const run = fleet.run();
  await fleet.untilReady(4);
  await fleet.write('task.yaml', [task('nightly', { serviceRef: { name: 'llm-2' } })]);
  await fleet.until('ProtectedTask/nightly', 'Ready', 'True', 'Held');

  await fleet.write('llm.yaml', [
    fleetOf('llm', { update, template: template({ image: 'ghcr.io/acme/llm:2' }) }),
  ]);
  const images = async () =>
    (await plane.account()).services.map(({ name, image }: Json) => `${name} ${image.split(':')[1]}`).sort();
  await eventually('all others updated', async () => (await images()).join() === 'llm-0 2,llm-1 2,llm-2 1');
  await fleet.remove('task.yaml');
  await eventually('all updated', async () => (await images()).join() === 'llm-0 2,llm-1 2,llm-2 2');
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await run.kill('SIGTERM');
  expect(await images()).toHaveLength(3);
});
