/** Fleets of replicas in a folder: the roster decides, replicas are objects, and none is removed or updated that protects the rest. */
import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  isInCluster,
  placeOf,
  service,
  task,
  type Fleet,
  type Json,
  testInFolder,
} from '../support/processes/fleet.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

async function services(plane: ControlPlane): Promise<Json[]> {
  const { services: all } = await plane.call('GET', '/api/account');
  return all.toSorted((left: Json, right: Json) => left.name.localeCompare(right.name));
}

const names = async (plane: ControlPlane) => (await services(plane)).map(({ name }) => name);
const statusOf = async (fleet: Fleet) => (await fleet.records()).get('ServiceFleet/llm')?.status;

test('a fleet becomes its replicas, and plan then has nothing to say', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm')]);
  const before = await fleet.plan();
  expect(before.plan.changes).toMatchObject([
    {
      kind: 'ServiceFleet',
      name: 'llm',
      action: 'create',
      reason: 'ScalingOut',
      differences: [
        { path: 'replicas', desired: 3, observed: 0 },
        { path: 'template.region', desired: 'standard', observed: null },
        { path: 'template.image', desired: 'ghcr.io/acme/llm:1' },
        { path: 'template.httpPort', desired: 8000 },
        { path: 'template.resources', desired: { cpu: 1, memoryGb: 1 } },
      ],
    },
  ]);
  expect(before.plan.summary).toMatchObject({
    create: 1,
    update: 0,
    replicas: { create: 3, update: 0, replace: 0, delete: 0 },
  });
  expect(before.code).toBe(2);
  expect(before.plan.cost).toMatchObject({ unpriced: 0, changes: 1 });
  expect((await fleet.apply()).code).toBe(0);
  // The plan showed what they cost now.
  const costs = (await services(plane)).map(({ hourlyMicros }) => hourlyMicros);
  expect(before.plan.cost.deltaHourlyMicros).toBe(costs.reduce((sum, micros) => sum + micros, 0));
  expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2']);
  expect(await statusOf(fleet)).toMatchObject({
    replicas: 3,
    desiredReplicas: 3,
    updatedReplicas: 3,
    availableReplicas: 3,
    drainingReplicas: 0,
    selector: 'fleetkeeper.dev/fleet=llm',
  });
  const after = await fleet.plan();
  expect([after.code, after.plan.changes, after.plan.held]).toEqual([0, [], []]);
});

test('a scaled fleet keeps its replicas, removes the highest numbers, and uses the lowest free one again', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 4 })]);
  expect((await fleet.apply()).code).toBe(0);
  const before = new Map((await services(plane)).map(({ name, id }) => [name, id]));
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  const { plan } = await fleet.plan();
  expect(plan.changes).toMatchObject([
    { action: 'scale', reason: 'ScalingIn', differences: [{ desired: 2, observed: 4 }] },
  ]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 3 })]);
  expect((await fleet.apply()).code).toBe(0);
  const after = new Map((await services(plane)).map(({ name, id }) => [name, id]));
  expect([...after.keys()]).toEqual(['llm-0', 'llm-1', 'llm-2']);
  expect(after.get('llm-0')).toBe(before.get('llm-0'));
  expect(after.get('llm-2')).not.toBe(before.get('llm-2'));
});

test('a new image reaches the replicas one after the other, in place, and the surge leaves last', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm')]);
  expect((await fleet.apply()).code).toBe(0);
  const before = new Map((await services(plane)).map(({ name, id }) => [name, id]));
  await plane.forgetRequests();
  await fleet.write('llm.yaml', [fleetOf('llm', { template: template({ image: 'ghcr.io/acme/llm:2' }) })]);
  const { plan } = await fleet.plan();
  expect(plan.changes).toMatchObject([
    {
      kind: 'ServiceFleet',
      action: 'update',
      reason: 'RollingOut',
      differences: [
        { path: 'template', observed: '3 of 3 replicas differ (3 in place)' },
        { path: 'revision', observed: 'r1', desired: 'r2' },
        { path: 'template.image', observed: 'ghcr.io/acme/llm:1', desired: 'ghcr.io/acme/llm:2' },
      ],
    },
  ]);
  expect(plan.summary).toMatchObject({
    update: 1,
    replicas: { create: 0, update: 3, replace: 0, delete: 0 },
  });
  expect((await fleet.apply()).code).toBe(0);
  const after = await services(plane);
  expect(after.map(({ name, image, state }) => [name, image, state])).toEqual([
    ['llm-0', 'ghcr.io/acme/llm:2', 'running'],
    ['llm-1', 'ghcr.io/acme/llm:2', 'running'],
    ['llm-2', 'ghcr.io/acme/llm:2', 'running'],
  ]);
  expect(new Map(after.map(({ name, id }) => [name, id]))).toEqual(before);
  const changes = (await plane.requests()).filter(isMutation);
  expect(changes.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH', 'PATCH', 'POST']);
  expect((await fleet.plan()).code).toBe(0);
});

test('an image that does not start stops the rollout: all old replicas stay, and the old image ends it', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm')]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('llm.yaml', [
    fleetOf('llm', { template: template({ image: 'registry.invalid/llm:2' }) }),
  ]);
  const run = fleet.run();
  await eventually('the new replica is broken', async () =>
    (await services(plane)).some(({ name, state }) => name === 'llm-3' && state === 'error'),
  );
  const { message } = await fleet.until('ServiceFleet/llm', 'Ready', 'False', 'ReplicasNotReady');
  expect(message).toBe('not available yet: replica 3; 3 still to be updated');
  expect(await fleet.condition('ServiceFleet/llm', 'Available')).toMatchObject({ status: 'True' });
  expect(await fleet.condition('ContainerService/llm-0', 'Ready')).toMatchObject({ status: 'True' });
  await fleet.write('llm.yaml', [fleetOf('llm')]);
  await eventually('the surge is gone', async () => (await names(plane)).length === 3);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect((await services(plane)).map(({ name, image }) => [name, image])).toEqual(
    [0, 1, 2].map((slot) => [`llm-${slot}`, 'ghcr.io/acme/llm:1']),
  );
  await run.kill('SIGTERM');
});

test('a changed Secret is a rollout, too: no two replicas restart at once', async () => {
  const { plane, fleet } = await world();
  const secret = (value: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'llm' },
    stringData: { token: value },
  });
  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'llm', key: 'token' } } }];
  await fleet.write('llm.yaml', [secret('one'), fleetOf('llm', { template: template({ env }) })]);
  expect((await fleet.apply()).code).toBe(0);
  await plane.forgetRequests();
  await fleet.write('llm.yaml', [secret('two'), fleetOf('llm', { template: template({ env }) })]);
  expect((await fleet.apply()).code).toBe(0);
  const changes = (await plane.requests()).filter(isMutation);
  expect(changes.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH', 'PATCH', 'POST']);
});

test('another region replaces the replicas: new ones come first', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, template: template({ region: 'economy' }) })]);
  expect((await fleet.plan()).plan.changes).toMatchObject([
    { action: 'update', differences: [{ observed: '2 of 2 replicas differ (2 replaced)' }] },
  ]);
  const run = fleet.run();
  let fewest = 2;
  await eventually('all are in the other region', async () => {
    const all = await services(plane);
    fewest = Math.min(fewest, all.filter(({ state }) => state === 'running').length);
    return all.length === 2 && all.every(({ region, state }) => region === 'economy' && state === 'running');
  });
  expect(fewest).toBe(2);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await run.kill('SIGTERM');
});

test('a region that the catalog does not offer is held as for a service, and nothing is sent there', async () => {
  const { plane, fleet } = await world();
  const lost = { replicas: 2, template: template({ region: 'atlantis' }) };
  await fleet.write('llm.yaml', [fleetOf('llm', lost)]);
  const { plan } = await fleet.plan();
  const offer = 'there is no region "atlantis"; the catalog offers standard, economy';
  const place = placeOf('ServiceFleet', 'llm', 'llm.yaml');
  expect(plan.held).toMatchObject([{ kind: 'ServiceFleet', name: 'llm', reason: 'UnknownRegion' }]);
  expect([plan.changes, plan.summary.create]).toEqual([[], 0]);
  fleet.run();
  const held = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'UnknownRegion');
  expect(held.message).toMatch(new RegExp(`^${place}: spec\\.template\\.spec\\.region: ${offer}$`));
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  await fleet.untilReady(3);
  await plane.forgetRequests();
  await fleet.write('llm.yaml', [fleetOf('llm', lost)]);
  await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'UnknownRegion');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  expect((await services(plane)).map(({ state }) => state)).toEqual(['running', 'running']);
});

test('a protected replica survives a scale-in: another one goes instead', async () => {
  const { plane, fleet } = await world();
  const protects = task('epoch', { serviceRef: { name: 'llm-2' } });
  await fleet.write('llm.yaml', [fleetOf('llm'), protects]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 1 }), protects]);
  const run = fleet.run();
  await eventually('one is left', async () => (await names(plane)).length === 1);
  expect(await names(plane)).toEqual(['llm-2']);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 0 }), protects]);
  const { message } = await fleet.until('ServiceFleet/llm', 'Reconciling', 'True', 'ReplicasProtected');
  expect(message).toMatch(/^protected: replica 2 by the activity "epoch"/);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 0 })]);
  await eventually('none is left', async () => (await names(plane)).length === 0);
  await run.kill('SIGTERM');
});

test('a fleet that is removed drains and goes; with Retain its services stay', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm'), fleetOf('kept', { replicas: 1, deletionPolicy: 'Retain' })]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.remove('llm.yaml');
  const { plan } = await fleet.plan();
  expect(plan.changes).toMatchObject([
    { name: 'kept', action: 'leave', replicas: [{ name: 'kept-0', action: 'leave' }] },
    { name: 'llm', action: 'delete', differences: [{ path: 'replicas', desired: 0, observed: 3 }] },
  ]);
  expect(plan.summary).toMatchObject({ delete: 1, leave: 1, replicas: { delete: 3 } });
  expect((await fleet.apply('--allow-mass-change')).code).toBe(0);
  expect(await names(plane)).toEqual(['kept-0']);
  expect([...(await fleet.records()).keys()].filter((key) => !key.startsWith('Account/'))).toEqual([]);
});

test('a fleet that comes back has the services again that were left with Retain', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 3, deletionPolicy: 'Retain' })]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.remove('llm.yaml');
  expect((await fleet.apply('--allow-mass-change')).code).toBe(0);
  expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2']);
  await plane.forgetRequests();
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  expect((await fleet.apply()).code).toBe(0);
  // One that is not found to be available yet leaves first.
  const left = await names(plane);
  expect(left).toHaveLength(2);
  expect(['llm-0', 'llm-1', 'llm-2']).toEqual(expect.arrayContaining(left));
  expect((await plane.requests()).filter(({ path }) => path === '/api/services')).toEqual([]);
});

testInFolder(
  'a fleet that comes back while one replica still drains has those again that were left at the provider',
  async () => {
    const { plane, fleet } = await world();
    const scratch = { storage: { scratch: { volumeGb: 10 } } };
    await fleet.write('task.yaml', [task('epoch', { serviceRef: { name: 'llm-1' } })]);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, ...scratch, deletionPolicy: 'Retain' })]);
    expect((await fleet.apply()).code).toBe(0);
    const run = fleet.run();
    expect((await fleetkeeper(['retire', 'llm-1', '-n', fleet.namespace, ...fleet.flags])).code).toBe(0);
    await fleet.until('ServiceFleet/llm', 'Reconciling', 'True', 'ReplicasProtected');
    await fleet.remove('llm.yaml');
    await eventually('others were left', async () => !(await fleet.records()).has('ContainerService/llm-0'));
    expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2']);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 0 })]);
    await eventually('one is left', async () => (await names(plane)).length === 1);
    expect(await names(plane)).toEqual(['llm-1']);
    await run.kill('SIGTERM');
  },
);

test('removals keep their pace', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { scaleIn: { maxPerMinute: 1 } })]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 0, scaleIn: { maxPerMinute: 1 } })]);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Reconciling', 'True', 'ScaleInPaced');
  await eventually('two are left', async () => (await names(plane)).length === 2);
  await run.kill('SIGTERM');
  expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
});

testInFolder('a lost state file costs no second replica: the roster is found by marks', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm')]);
  expect((await fleet.apply()).code).toBe(0);
  await rm(folderOf(fleet).state, { force: true });
  await plane.forgetRequests();
  expect((await fleet.apply('--owner', 'fleet')).code).toBe(0);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2']);
});

testInFolder(
  'after a lost state file, the numbers that were in use are known: none is made in their place',
  async () => {
    const { plane, fleet } = await world();
    const protects = task('epoch', { serviceRef: { name: 'llm-2' } });
    await fleet.write('llm.yaml', [fleetOf('llm'), protects]);
    expect((await fleet.apply()).code).toBe(0);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 1 }), protects]);
    expect((await fleet.apply()).code).toBe(0);
    expect(await names(plane)).toEqual(['llm-2']);
    await rm(folderOf(fleet).state, { force: true });
    expect((await fleet.apply('--owner', 'fleet')).code).toBe(0);
    expect(await names(plane)).toEqual(['llm-2']);
  },
);

test('a document with the name of a replica wins, and the fleet uses another number', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('llm-1')]);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  await fleet.apply();
  expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2']);
  const stalled = await fleet.condition('ServiceFleet/llm', 'Stalled');
  expect(stalled).toMatchObject({ status: 'True', reason: 'NameTaken' });
  expect(stalled?.message).toMatch(
    new RegExp(`ContainerService/[^/]+/llm-1 at ${placeOf('ContainerService', 'llm-1', 'web.yaml')}`),
  );
  fleet.run();
  await fleet.remove('web.yaml');
  await eventually(
    'the other one is gone',
    async () => (await names(plane)).join() === 'llm-0,llm-2',
    60_000,
  );
  await fleet.until('ServiceFleet/llm', 'Ready', 'True', undefined, 60_000);
});

test('what a document has left at the provider under the name of a replica is no replica', async () => {
  const { plane, fleet } = await world();
  await fleet.write('own.yaml', [service('llm-1', { deletionPolicy: 'Retain' })]);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  await fleet.apply();
  expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2']);
  await fleet.remove('own.yaml');
  await fleet.apply('--allow-mass-change');
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 3 })]);
  await fleet.apply();
  expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2', 'llm-3']);
  // Nor is it one when the next number is needed.
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 4 })]);
  await fleet.apply();
  expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2', 'llm-3', 'llm-4']);
});

testInFolder(
  'while the document of a service is missed, no fleet takes its name and its service',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('web.yaml', [service('llm-1')]);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 1 })]);
    await fleet.apply();
    const { id } = await plane.service('llm-1');
    await plane.forgetRequests();
    await fleet.write('web.yaml', []);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
    const run = fleet.run();
    await fleet.until('ContainerService/llm-1', 'Stalled', 'True', 'SourceIncomplete');
    await eventually('there is another replica', async () => (await names(plane)).length === 3);
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2']);
    const { roster } = ((await fleet.records()).get('ServiceFleet/llm')?.kind ?? {}) as Json;
    expect(roster).toMatchObject([{ slot: 0 }, { slot: 2 }]);
    expect((await plane.requests()).filter(isMutation).some(({ path }) => path.includes(id))).toBe(false);
    await run.kill('SIGTERM');
  },
);

testInFolder('while the document of a fleet is broken, nothing is changed in its replicas', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [
    fleetOf('llm', { template: template({ env: [{ name: 'A', value: 'a' }] }) }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  await plane.forgetRequests();
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 'many' })]);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'InvalidSpec');
  await fleet.until('ContainerService/llm-0', 'Reconciling', 'True', 'Draining');
  await run.kill('SIGTERM');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  await fleet.write('llm.yaml', [
    fleetOf('llm', { template: template({ env: [{ name: 'A', value: 'a' }] }) }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

test('a stable fleet sends nothing and writes nothing', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 10 })]);
  expect((await fleet.apply()).code).toBe(0);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await eventually('the first polls', async () => (await plane.requests()).length >= 5);
  await plane.forgetRequests();
  const before = JSON.stringify([...(await fleet.records())].filter(([key]) => !key.startsWith('Account/')));
  await eventually('some polls', async () => (await plane.requests()).length >= 5);
  const asked = new Set((await plane.requests()).map(({ method, path }) => `${method} ${path}`));
  expect([...asked].sort()).toEqual(['GET /api/account', 'GET /api/me']);
  expect(JSON.stringify([...(await fleet.records())].filter(([key]) => !key.startsWith('Account/')))).toBe(
    before,
  );
  await run.kill('SIGTERM');
});

test('commands know replicas as they know any service', async () => {
  const { fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const outputs = {
    logs: 'llm:1',
    events: 'running',
    describe: `Document:    ${isInCluster ? `servicefleets/${fleet.namespace}/llm` : 'llm.yaml:1'}`,
    status: 'llm-1',
  };
  for (const [command, shown] of Object.entries(outputs)) {
    const object = command === 'status' ? [] : ['llm-1'];
    const there = ['-n', fleet.namespace];
    const { code, stdout } = await fleetkeeper([command, ...object, ...there, ...fleet.flags]);
    expect({ command, code, stdout }).toEqual({ command, code: 0, stdout: expect.stringContaining(shown) });
  }
});

test('a fleet that never worked is corrected in place, all replicas at once', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [
    fleetOf('llm', { template: template({ image: 'registry.invalid/llm:1' }) }),
  ]);
  const run = fleet.run();
  await eventually(
    'all are broken',
    async () => (await services(plane)).filter(({ state }) => state === 'error').length === 3,
  );
  await fleet.write('llm.yaml', [fleetOf('llm')]);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect((await services(plane)).map(({ name, image, state }) => [name, image, state])).toEqual(
    [0, 1, 2].map((slot) => [`llm-${slot}`, 'ghcr.io/acme/llm:1', 'running']),
  );
  await run.kill('SIGTERM');
});

testInFolder('a part of the fleet: replicas come with the one that owns them', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 }), fleetOf('other', { replicas: 1 })]);
  expect((await fleet.apply('--target', 'cflt/llm')).code).toBe(0);
  expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
});

testInFolder('destroy ends a fleet with all of its replicas', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  expect((await fleet.apply()).code).toBe(0);
  const destroyed = await fleetkeeper(['destroy', ...fleet.flags, '--yes', '--settle', '1s']);
  expect(destroyed).toMatchObject({ code: 0, stdout: expect.stringContaining('ServiceFleet default/llm') });
  expect(await names(plane)).toEqual([]);
});

test('what a person changed in a replica is restored, and a replica that vanished comes back in its place', async () => {
  const { plane, fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  expect((await fleet.apply()).code).toBe(0);
  const { id } = await plane.service('llm-1');
  await plane.call('POST', `/api/services/${id}/actions`, { action: 'delete' });
  const run = fleet.run();
  await eventually('another one is there', async () => {
    const found = await plane.service('llm-1');
    return found?.state === 'running' && found.id !== id;
  });
  expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
  await run.kill('SIGTERM');
});

test('plan --detail shows what becomes of each replica', async () => {
  const { fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm')]);
  const detail = async () => {
    const { stdout } = await fleetkeeper(['plan', '--detail', ...fleet.flags]);
    return stdout.split('\n').flatMap((line) => /^ +(\S+ llm-\d+ .*)$/.exec(line)?.[1] ?? []);
  };
  expect(await detail()).toEqual(['+ llm-0  create', '+ llm-1  create', '+ llm-2  create']);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  expect(await detail()).toEqual(['- llm-2  delete']);
  const image = 'ghcr.io/acme/llm:2';
  await fleet.write('llm.yaml', [fleetOf('llm', { template: template({ image }) })]);
  expect(await detail()).toEqual(['~ llm-0  update', '~ llm-1  update', '~ llm-2  update']);
  await fleet.write('llm.yaml', [fleetOf('llm', { template: template({ image, region: 'economy' }) })]);
  expect(await detail()).toEqual(['-/+ llm-0  replace', '-/+ llm-1  replace', '-/+ llm-2  replace']);
  const { plan } = await fleet.plan();
  expect(plan.changes[0].replicas).toHaveLength(3);
  // Without the flag, a fleet stays one change.
  expect((await fleetkeeper(['plan', ...fleet.flags])).stdout).not.toContain('llm-0');
});
