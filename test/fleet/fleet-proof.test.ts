/** What proves a revision, in a folder and a cluster: replicas that ran with it, and not what the provider does with them. */
import { expect, test } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, type Fleet, type Json } from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, sleep, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { isSimulated, world as tests } from '../support/world.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

const statusOf = async (fleet: Fleet): Promise<Json> =>
  (await fleet.records()).get('ServiceFleet/llm')?.status;
const rolloutOf = async (fleet: Fleet): Promise<Json> => (await statusOf(fleet))?.['rollout'];
const order = (fleet: Fleet, ...args: string[]) =>
  fleetkeeper(['rollout', ...args, '-n', fleet.namespace, ...fleet.flags]);
const readyIs = async (fleet: Fleet, name: string, status: string) =>
  (await fleet.condition(`ContainerService/${name}`, 'Ready'))?.status === status;

test.skipIf(!isSimulated)(
  'a replica that the provider lost, and that loads for minutes once it is made again, does not fail its revision',
  async () => {
    let isLoading = false;
    tests.network?.openEndpoints(() =>
      Promise.resolve({ status: isLoading ? 503 : 200, headers: {}, body: '' }),
    );
    const { plane, fleet } = await world();
    const update = {
      minReadySeconds: 0,
      failureLimit: 0,
      maxSurge: 0,
      maxUnavailable: 1,
      steps: [{ replicas: 1 }, { pause: { seconds: 120 } }],
    };
    const readiness = { path: '/healthz', periodSeconds: 5 };
    await fleet.write('llm.yaml', [
      fleetOf('llm', { replicas: 2, update, template: template({ readiness }) }),
    ]);
    expect((await fleet.apply()).code).toBe(0);
    const next = template({ image: 'ghcr.io/acme/llm:2', readiness });
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, update, template: next })]);
    const run = fleet.run();
    await fleet.until('ServiceFleet/llm', 'Reconciling', 'True', 'RolloutPaused');
    const { services } = await plane.account();
    const canary = services.find(({ image }: Json) => image === 'ghcr.io/acme/llm:2');
    isLoading = true;
    await plane.call('POST', `/api/services/${canary.id}/actions`, { action: 'delete' });
    await eventually('another one is made, and does not answer yet', async () => {
      const { id, state } = (await plane.service(canary.name)) ?? {};
      return id !== canary.id && state === 'running' && readyIs(fleet, canary.name, 'False');
    });
    await sleep(180_000);
    expect(await rolloutOf(fleet)).toMatchObject({ phase: 'Progressing', revision: 'r2' });
    expect((await rolloutOf(fleet)).failures ?? []).toEqual([]);
    isLoading = false;
    await eventually('it is complete', async () => (await statusOf(fleet))?.currentRevision === 'r2');
    await run.kill('SIGTERM');
  },
);

test('replicas that are asleep do not prove a revision that none has run: it fails when they wake', async () => {
  const { plane, fleet } = await world();
  const deadline = { progressDeadlineSeconds: 60 };
  const update = { minReadySeconds: 0, failureLimit: 0, maxSurge: 0, maxUnavailable: 1, ...deadline };
  const asleep = { sleepAfterMinutes: 1 };
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, update, template: template(asleep) })]);
  expect((await fleet.apply()).code).toBe(0);
  const run = fleet.run();
  await eventually('both are asleep', async () => {
    const { services } = await plane.account();
    return services.every(({ state }: Json) => state === 'sleeping');
  });
  const broken = template({ ...asleep, image: 'registry.invalid/llm:2' });
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, update, template: broken })]);
  await eventually('one of them has it in its sleep', async () => {
    return (await rolloutOf(fleet))?.waitsFor === 'Sleeping';
  });
  // Longer than the deadline.
  await sleep(isSimulated ? 150_000 : 5000);
  expect(await statusOf(fleet)).toMatchObject({
    currentRevision: 'r1',
    rollout: { phase: 'Progressing', waitsFor: 'Sleeping' },
  });
  expect(await fleet.condition('ServiceFleet/llm', 'Stalled')).toMatchObject({ status: 'False' });
  expect(await fleet.condition('ServiceFleet/llm', 'Available')).toMatchObject({ status: 'True' });
  const { services } = await plane.account();
  const images = services.map(({ image }: Json) => image).sort();
  expect(images).toEqual(['ghcr.io/acme/llm:1', 'registry.invalid/llm:2']);
  const { id } = services.find(({ image }: Json) => image.startsWith('registry.invalid'));
  await plane.call('POST', `/api/services/${id}/actions`, { action: 'start' });
  await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'RolloutFailed');
  await run.kill('SIGTERM');
});

test('a fleet that is asleep gets a revision once one replica has run it', async () => {
  const { plane, fleet } = await world();
  const asleep = { sleepAfterMinutes: 1 };
  await fleet.write('llm.yaml', [fleetOf('llm', { template: template(asleep) })]);
  expect((await fleet.apply()).code).toBe(0);
  const run = fleet.run();
  await eventually('all are asleep', async () => {
    const { services } = await plane.account();
    return services.every(({ state }: Json) => state === 'sleeping');
  });
  const next = template({ ...asleep, image: 'ghcr.io/acme/llm:2' });
  await fleet.write('llm.yaml', [fleetOf('llm', { template: next })]);
  await eventually('it is complete', async () => (await statusOf(fleet))?.currentRevision === 'r2');
  await eventually('the surge is gone', async () => (await plane.account()).services.length === 3);
  const { services } = await plane.account();
  expect(services.map(({ image }: Json) => image)).toEqual(services.map(() => 'ghcr.io/acme/llm:2'));
  await run.kill('SIGTERM');
});

test('retry restarts the replicas that failed, also where the rollout is frozen', async () => {
  const { plane, fleet } = await world();
  const update = { minReadySeconds: 0, failureLimit: 0 };
  const broken = template({ image: 'registry.invalid/llm:1' });
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 1, update, template: broken })]);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'RolloutFrozen');
  const { id } = await plane.service('llm-0');
  await plane.forgetRequests();
  expect((await order(fleet, 'retry', 'llm')).code).toBe(0);
  await eventually('the second attempt has failed', async () => {
    const { attempt, phase } = (await rolloutOf(fleet)) ?? {};
    return attempt === 2 && phase === 'Frozen';
  });
  const actions = async () =>
    (await plane.requests()).filter(({ path }) => path === `/api/services/${id}/actions`).length;
  expect(await actions()).toBe(1);
  expect((await order(fleet, 'retry', 'llm')).code).toBe(0);
  await eventually('the third attempt has failed', async () => {
    const { attempt, phase } = (await rolloutOf(fleet)) ?? {};
    return attempt === 3 && phase === 'Frozen';
  });
  expect(await actions()).toBe(2);
  await run.kill('SIGTERM');
});

test('an update after a retry interrupts each replica once, and a new restart token later restarts it once', async () => {
  const { plane, fleet } = await world();
  const update = { minReadySeconds: 0, failureLimit: 0, maxSurge: 0, maxUnavailable: 1 };
  const write = (spec: object) =>
    fleet.write('llm.yaml', [fleetOf('llm', { replicas: 1, update, template: template(spec) })]);
  await write({ image: 'registry.invalid/llm:1', restartToken: 'a' });
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'RolloutFrozen');
  expect((await order(fleet, 'retry', 'llm')).code).toBe(0);
  await eventually('the second attempt has failed', async () => {
    const { attempt, phase } = (await rolloutOf(fleet)) ?? {};
    return attempt === 2 && phase === 'Frozen';
  });
  const sent = async () =>
    (await plane.requests())
      .filter(isMutation)
      .map(({ method, path: at }) => `${method} ${at.split('/').at(-1)}`);
  const { id } = await plane.service('llm-0');
  const updatedTo = async (revision: string, spec: object) => {
    await plane.forgetRequests();
    await write(spec);
    await eventually(
      `${revision} is complete`,
      async () => (await statusOf(fleet))?.currentRevision === revision,
    );
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    return sent();
  };
  expect(await updatedTo('r2', { restartToken: 'a' })).toEqual([`PATCH ${id}`]);
  expect(await updatedTo('r3', { image: 'ghcr.io/acme/llm:3', restartToken: 'a' })).toEqual([`PATCH ${id}`]);
  expect(await updatedTo('r4', { image: 'ghcr.io/acme/llm:3', restartToken: 'b' })).toEqual(['POST actions']);
  await run.kill('SIGTERM');
});
