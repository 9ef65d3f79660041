/** Plan files of a ServiceFleet: one entry, whose roster changes are what its replicas may be sent. */
import { expect } from 'vitest';
import { testInFolder, type Json } from '../support/processes/fleet.ts';
import { PlanFileWorld, stepsIn } from '../support/processes/plan-files.ts';
import { eventually, fleetkeeper } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

const update = { minReadySeconds: 0, failureLimit: 0 };
const second = template({ image: 'ghcr.io/acme/llm:2' });

async function images({ plane }: PlanFileWorld): Promise<string[]> {
  const { services } = await plane.account();
  return services.map(({ name, image }: Json) => `${name} ${image.slice(-1)}`).sort();
}

async function planned(world: PlanFileWorld, spec: object): Promise<Record<string, string[]>> {
  await world.fleet.write('llm.yaml', [fleetOf('llm', { update, ...spec })]);
  return stepsIn((await world.plan()).plan);
}

const three = ['llm-0 1', 'llm-1 1', 'llm-2 1'];

testInFolder('a fleet is created, scaled, rolled out and rolled back, each as it was reviewed', async () => {
  const world = await PlanFileWorld.open();
  expect(await planned(world, {})).toEqual({ 'ServiceFleet/llm': ['add 3'] });
  const created = await world.apply();
  expect([created.code, created.sent, await images(world)]).toEqual([
    0,
    Array(3).fill('POST /api/services'),
    three,
  ]);

  expect(await planned(world, { replicas: 5 })).toEqual({ 'ServiceFleet/llm': ['add 2'] });
  const out = await world.apply();
  expect([out.code, out.sent]).toEqual([0, Array(2).fill('POST /api/services')]);

  expect(await planned(world, { replicas: 3 })).toEqual({ 'ServiceFleet/llm': ['drain 2'] });
  const scaledIn = await world.apply();
  expect([scaledIn.code, scaledIn.sent.length, (await images(world)).length]).toEqual([0, 2, 3]);

  expect(await planned(world, { template: second })).toEqual({
    'ServiceFleet/llm': ['update 3', 'then return 3'],
  });
  const rolled = await world.apply();
  expect([rolled.code, await images(world)]).toEqual([0, ['llm-0 2', 'llm-1 2', 'llm-2 2']]);

  expect(await planned(world, {})).toEqual({ 'ServiceFleet/llm': ['update 3', 'then return 3'] });
  const back = await world.apply();
  expect([back.code, await images(world)]).toEqual([0, three]);

  expect(await planned(world, {})).toEqual({});
  await world.fleet.remove('llm.yaml');
  expect(stepsIn((await world.plan()).plan)).toEqual({ 'ServiceFleet/llm': ['drain 3'] });
  const removed = await world.apply();
  expect([removed.code, removed.sent.length, await images(world)]).toEqual([0, 3, []]);
});

testInFolder(
  'another template and fewer replicas in one edit are in the plan with all that leaves',
  async () => {
    const world = await PlanFileWorld.open();
    await planned(world, { replicas: 5 });
    expect((await world.apply()).code).toBe(0);
    expect(await planned(world, { template: second })).toEqual({
      'ServiceFleet/llm': ['update 3', 'drain 2', 'then return 3'],
    });
    const { plan } = await world.fleet.plan();
    expect(plan.changes).toMatchObject([{ action: 'update', cost: { deltaMicros: -2 * 13_500 } }]);
    expect(plan.changes[0].differences).toContainEqual({ path: 'replicas', desired: 3, observed: 5 });
    expect(plan.changes[0].replicas).toContainEqual({ name: 'llm-4', action: 'delete' });
    expect(plan.summary.replicas).toEqual({ create: 0, update: 3, replace: 0, delete: 2 });
    const { code } = await world.apply();
    expect([code, await images(world)]).toEqual([0, ['llm-0 2', 'llm-1 2', 'llm-2 2']]);
  },
);

testInFolder('a revision that fails gets the replicas back, as the file says', async () => {
  const world = await PlanFileWorld.open();
  await planned(world, {});
  expect((await world.apply()).code).toBe(0);
  const broken = template({ image: 'registry.invalid/llm:2' });
  expect(await planned(world, { template: broken })).toEqual({
    'ServiceFleet/llm': ['update 3', 'then return 3'],
  });
  const { code, stderr } = await world.apply();
  // Its steps are done, and the fleet is not as its document requires.
  expect([code, stderr]).toEqual([1, expect.stringContaining('RolloutFailed')]);
  expect(await images(world)).toEqual(three);
});

testInFolder('killed in the middle of a rollout, the same file continues with the rest', async () => {
  const world = await PlanFileWorld.open();
  await planned(world, {});
  expect((await world.apply()).code).toBe(0);
  await planned(world, { template: second });
  const first = world.begin();
  await eventually('a replica is updated', async () =>
    (await images(world)).some((one) => one.endsWith('2')),
  );
  await first.kill('SIGKILL');
  const { code } = await world.apply();
  expect([code, await images(world)]).toEqual([0, ['llm-0 2', 'llm-1 2', 'llm-2 2']]);
});

testInFolder('killed while replicas are added, the same file adds the rest, and no more', async () => {
  const world = await PlanFileWorld.open({ requests: { perSecond: 4, burst: 1, concurrency: 1 } });
  await planned(world, { replicas: 6 });
  const first = world.begin();
  await eventually('two replicas', async () => (await images(world)).length >= 2);
  await first.kill('SIGKILL');
  expect((await images(world)).length).toBeLessThan(6);
  const { code } = await world.apply();
  expect([code, (await images(world)).length]).toEqual([0, 6]);
});

testInFolder('a number that changes between the plan and its application is refused', async () => {
  const world = await PlanFileWorld.open();
  await planned(world, {});
  expect((await world.apply()).code).toBe(0);
  await planned(world, { replicas: 4 });
  await world.fleet.write('llm.yaml', [fleetOf('llm', { update, replicas: 9 })]);
  const { code, sent, stderr } = await world.apply();
  expect([code, sent, stderr]).toEqual([3, [], expect.stringContaining('it needs other steps now')]);
});

testInFolder(
  'a command that is out of date by the time of the plan holds up neither the file nor an apply',
  async () => {
    const world = await PlanFileWorld.open();
    await planned(world, {});
    expect((await world.apply()).code).toBe(0);
    const scale = async (replicas: string) =>
      (await fleetkeeper(['scale', 'llm', '--replicas', replicas, ...world.fleet.flags])).code;
    expect(await scale('4')).toBe(0);
    expect(await planned(world, { template: second })).toEqual({
      'ServiceFleet/llm': ['update 3', 'then return 3'],
    });
    expect([(await world.apply()).code, await images(world)]).toEqual([0, ['llm-0 2', 'llm-1 2', 'llm-2 2']]);
    expect(await scale('4')).toBe(0);
    await world.fleet.write('llm.yaml', [fleetOf('llm', { update })]);
    const { code } = await fleetkeeper(['apply', '--yes', ...world.fleet.flags]);
    expect([code, await images(world)]).toEqual([0, three]);
  },
);

testInFolder('a number that changes while the file is applied is not carried out', async () => {
  const world = await PlanFileWorld.open();
  await planned(world, {});
  await world.plane.faults([
    { method: 'POST', path: '/api/services$', fault: 'status', status: 409, code: 'capacity_unavailable' },
  ]);
  const running = world.begin('--timeout', '30m');
  await eventually('a request', async () => (await world.sent()).length > 0);
  const { code: given } = await fleetkeeper(['scale', 'llm', '--replicas', '9', ...world.fleet.flags]);
  expect(given).toBe(0);
  await world.pause(5000);
  await world.plane.faults([]);
  const { code, stderr } = await running.finished();
  expect([code, (await images(world)).length]).toEqual([3, 3]);
  expect(stderr).toContain('not in the plan file, and not done: ServiceFleet default/llm');
});

testInFolder('drift of a replica is an entry of its own, and a plan without it leaves it', async () => {
  const world = await PlanFileWorld.open();
  await planned(world, {});
  expect((await world.apply()).code).toBe(0);
  const { id, revision } = await world.plane.service('llm-1');
  await world.plane.call('PATCH', `/api/services/${id}`, {
    revision,
    patch: { image: 'ghcr.io/them/llm:9' },
  });
  await world.pause(5000);
  expect(await planned(world, {})).toEqual({ 'ContainerService/llm-1': ['patch-service'] });
  const { code, sent } = await world.apply();
  expect([code, sent, await images(world)]).toEqual([0, [`PATCH /api/services/${id}`], three]);

  expect(await planned(world, { replicas: 4 })).toEqual({ 'ServiceFleet/llm': ['add 1'] });
  const again = await world.plane.service('llm-1');
  await world.plane.call('PATCH', `/api/services/${id}`, {
    revision: again.revision,
    patch: { image: 'ghcr.io/them/llm:9' },
  });
  await world.pause(5000);
  const only = await world.apply();
  expect([only.code, only.sent]).toEqual([0, ['POST /api/services']]);
  expect(only.stdout).toContain('1 object(s) outside the plan file need something');
  expect((await images(world))[1]).toBe('llm-1 9');
});
