/** What `plan` says of drift. */
import { expect, test } from 'vitest';
import { annotations } from '../../src/resources/index.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, placeOf, service } from '../support/processes/fleet.ts';
import { eventually, nowMs, temporaryFolder } from '../support/processes/processes.ts';

test('`plan` tells of drift with its cause; what is accepted is no news, and a date that is none is an error', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web')]);
  expect((await fleet.apply()).code).toBe(0);
  const { id, revision } = await plane.service('web');
  const changes = { image: 'ghcr.io/them/app:1' };
  await plane.call('PATCH', `/api/services/${id}`, { revision, patch: changes });
  await eventually('the service runs again', async () => (await plane.service('web')).state === 'running');
  const drifted = await fleet.plan();
  expect(drifted.code).toBe(2);
  const difference = { path: 'image', observed: changes.image };
  expect(drifted.plan.changes).toMatchObject([{ name: 'web', drift: true, differences: [difference] }]);
  expect(drifted.plan.changes[0].differences[0].cause).toMatch(/^patched by acme: image/);

  const until = new Date(nowMs() + 3_600_000).toISOString();
  await fleet.write('web.yaml', [service('web', {}, { [annotations.acceptDriftUntil]: until })]);
  const accepted = await fleet.plan();
  expect(accepted.code).toBe(0);
  expect(accepted.plan).toMatchObject({ changes: [], held: [{ reason: 'DriftAccepted', actions: [] }] });

  await fleet.write('web.yaml', [service('web', {}, { [annotations.acceptDriftUntil]: 'tomorrow' })]);
  const wrong = await fleet.plan();
  expect(wrong.code).toBe(1);
  expect(wrong.plan.held).toMatchObject([{ name: 'web', reason: 'InvalidAnnotation' }]);
  const place = placeOf('ContainerService', 'web', 'web.yaml');
  expect(wrong.plan.held[0].message).toMatch(
    new RegExp(`^${place}: .*accept-drift-until.*: "tomorrow" is not a time`),
  );
});
