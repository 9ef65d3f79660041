/** Revisions that fail, in a folder: the replicas return to what worked, and nothing sends the failed one again. */
import { expect, test } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, type Fleet, type Json } from '../support/processes/fleet.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

const statusOf = async (fleet: Fleet): Promise<Json> =>
  (await fleet.records()).get('ServiceFleet/llm')?.status;
const sent = async (plane: ControlPlane) => (await plane.requests()).filter(isMutation);
const broken = template({ image: 'registry.invalid/llm:2' });
const update = { minReadySeconds: 0, failureLimit: 0 };

async function images(plane: ControlPlane): Promise<string[]> {
  const { services } = await plane.call('GET', '/api/account');
  return services.map(({ name, image, state }: Json) => `${name} ${image} ${state}`).sort();
}

const asBefore = [0, 1, 2].map((slot) => `llm-${slot} ghcr.io/acme/llm:1 running`);

test('an image that does not start is rolled back, and is not sent again', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { update })]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf('llm', { template: broken, update })]);
  const run = fleet.run();
  const { message } = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'RolloutFailed');
  expect(message).toMatch(
    /^r2 failed: 1 replica failed: replica 3 \(ServiceError: can't pull the image: the registry host registry\.invalid does not resolve\); all replicas have r1 again/,
  );
  expect(await images(plane)).toEqual(asBefore);
  expect(await fleet.condition('ServiceFleet/llm', 'RolledBack')).toMatchObject({
    status: 'True',
    reason: 'RevisionFailed',
  });
  expect(await fleet.condition('ServiceFleet/llm', 'Available')).toMatchObject({ status: 'True' });
  expect(await fleet.condition('ServiceFleet/llm', 'Ready')).toMatchObject({ status: 'False' });
  expect(await fleet.condition('ServiceFleet/llm', 'Synced')).toMatchObject({ status: 'False' });
  expect(await statusOf(fleet)).toMatchObject({
    currentRevision: 'r1',
    updateRevision: 'r2',
    revisions: [
      { outcome: 'Healthy' },
      { outcome: 'Failed', reason: expect.stringContaining('ServiceError') },
    ],
    rollout: { phase: 'RolledBack', revision: 'r2', attempt: 1 },
  });
  await run.kill('SIGTERM');
  await plane.forgetRequests();
  // Neither a start nor a detour over another document sends it again.
  await fleet.apply('--timeout', '5s');
  await fleet.write('llm.yaml', [fleetOf('llm', { update })]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf('llm', { template: broken, update })]);
  await fleet.apply('--timeout', '5s');
  expect(await sent(plane)).toEqual([]);
  expect(await fleet.condition('ServiceFleet/llm', 'Stalled')).toMatchObject({ reason: 'RolloutFailed' });
  await fleet.write('llm.yaml', [
    fleetOf('llm', { template: template({ image: 'ghcr.io/acme/llm:3' }), update }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await images(plane)).toEqual([0, 1, 2].map((slot) => `llm-${slot} ghcr.io/acme/llm:3 running`));
  expect(await statusOf(fleet)).toMatchObject({ currentRevision: 'r3' });
});

test('why a revision failed is shown without values of the environment', async () => {
  const { fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { update })]);
  expect((await fleet.apply()).code).toBe(0);
  const env = [{ name: 'MIRROR', value: 'registry.invalid' }];
  const secretive = template({ image: 'registry.invalid/llm:2', env });
  await fleet.write('llm.yaml', [fleetOf('llm', { template: secretive, update })]);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'RolloutFailed');
  const { rollout } = await statusOf(fleet);
  expect(rollout.failures).toEqual([
    {
      slot: 3,
      reason: 'ServiceError',
      message: expect.stringMatching(/^can't pull the image: .*\[redacted\] does not resolve$/),
    },
  ]);
  expect(rollout.cause).toContain(rollout.failures[0].message);
  expect(rollout.cause).not.toContain('registry.invalid');
  await run.kill('SIGTERM');
});

test('in place, replicas that got a broken image get the old one back', async () => {
  const { plane, fleet } = await world();
  const inPlace = { minReadySeconds: 0, maxSurge: 0, maxUnavailable: 1, failureLimit: 0 };
  await fleet.write('llm.yaml', [fleetOf('llm', { update: inPlace })]);
  expect((await fleet.apply()).code).toBe(0);
  await plane.forgetRequests();
  await fleet.write('llm.yaml', [fleetOf('llm', { template: broken, update: inPlace })]);
  const run = fleet.run();
  await eventually('it claims so', async () => (await statusOf(fleet))?.['rollout']?.phase === 'RolledBack');
  expect(await images(plane)).toEqual(asBefore);
  await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'RolloutFailed');
  expect((await sent(plane)).map(({ method }) => method)).toEqual(['PATCH', 'PATCH']);
  await run.kill('SIGTERM');
});

test('with Freeze it stays as it is, until the template changes', async () => {
  const { plane, fleet } = await world();
  const freeze = { ...update, onFailure: 'Freeze' };
  await fleet.write('llm.yaml', [fleetOf('llm', { update: freeze })]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf('llm', { template: broken, update: freeze })]);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'RolloutFrozen');
  expect(await images(plane)).toEqual([...asBefore, 'llm-3 registry.invalid/llm:2 error']);
  await fleet.write('llm.yaml', [fleetOf('llm', { update: freeze })]);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await eventually('the new one is gone', async () => (await images(plane)).length === 3);
  expect(await images(plane)).toEqual(asBefore);
  await run.kill('SIGTERM');
});

test('without progress the deadline ends a rollout', async () => {
  const { plane, fleet } = await world();
  const deadline = { minReadySeconds: 0, progressDeadlineSeconds: 60 };
  await fleet.write('llm.yaml', [fleetOf('llm', { update: deadline })]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf('llm', { template: broken, update: deadline })]);
  const run = fleet.run();
  const stalled = () => fleet.condition('ServiceFleet/llm', 'Stalled');
  await eventually(
    'the revision has failed',
    async () => (await stalled())?.reason === 'RolloutFailed',
    200_000,
  );
  expect((await stalled())?.message).toContain('no replica became available at it for 60 s');
  expect(await images(plane)).toEqual(asBefore);
  await run.kill('SIGTERM');
});

test('a canary stays one replica until it is promoted', async () => {
  const { plane, fleet } = await world();
  const steps = { minReadySeconds: 0, steps: [{ replicas: 1 }, { pause: {} }] };
  await fleet.write('llm.yaml', [fleetOf('llm', { update: steps })]);
  expect((await fleet.apply()).code).toBe(0);
  const next = fleetOf('llm', { template: template({ image: 'ghcr.io/acme/llm:2' }), update: steps });
  await fleet.write('llm.yaml', [next]);
  const run = fleet.run();
  const { message } = await fleet.until('ServiceFleet/llm', 'Reconciling', 'True', 'RolloutPaused');
  expect(message).toBe('step 2 of 2 is a pause, until the command promote@r2#2');
  expect(await images(plane)).toEqual([...asBefore, 'llm-3 ghcr.io/acme/llm:2 running']);
  expect(await statusOf(fleet)).toMatchObject({ rollout: { phase: 'Paused', step: 2, of: 2 } });
  const metadata = { name: 'llm', annotations: { 'fleetkeeper.dev/command': 'promote@r2#2' } };
  await fleet.write('llm.yaml', [{ ...next, metadata }]);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect(await images(plane)).toEqual([0, 1, 2].map((slot) => `llm-${slot} ghcr.io/acme/llm:2 running`));
  await run.kill('SIGTERM');
});
