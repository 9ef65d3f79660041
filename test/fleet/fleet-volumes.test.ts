/** Volumes of a fleet's replicas, in a folder: each number keeps its volume, whatever becomes of its replica. */
import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  task,
  testInFolder,
  volume,
  type Json,
} from '../support/processes/fleet.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

const llm = (spec: object = {}, perReplica: object = {}) =>
  fleetOf('llm', {
    replicas: 3,
    maxReplicas: 10,
    update: { minReadySeconds: 0, maxSurge: 0, maxUnavailable: 1 },
    storage: { perReplica: { sizeGb: 20, expansion: 'PauseService', ...perReplica } },
    ...spec,
  });

async function world(spec: object = {}, perReplica: object = {}) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [llm(spec, perReplica)]);
  expect((await fleet.apply()).code).toBe(0);
  return { plane, fleet };
}

async function read(plane: ControlPlane): Promise<{ services: Json[]; volumes: Json[] }> {
  const { services, volumes } = await plane.call('GET', '/api/account');
  const sorted = (all: Json[]) => all.toSorted((one, other) => one.name.localeCompare(other.name));
  return { services: sorted(services), volumes: sorted(volumes) };
}

/** Of each volume: the number of its slot, its id, its size and the replica that has it. */
async function volumesIn(plane: ControlPlane) {
  const { services, volumes } = await read(plane);
  const names = new Map(services.map(({ id, name }) => [id, name]));
  return volumes.map(({ name, id, sizeGb, serviceId }) => ({
    slot: Number(/^llm-data-(\d+)-fk/.exec(name)?.[1]),
    id,
    sizeGb,
    replica: serviceId && names.get(serviceId),
  }));
}

test('each replica of a fleet has a volume of its own', async () => {
  const { plane, fleet } = await world();
  expect(await volumesIn(plane)).toMatchObject(
    [0, 1, 2].map((slot) => ({ slot, sizeGb: 20, replica: `llm-${slot}` })),
  );
  const after = await fleet.plan();
  expect([after.code, after.plan.changes, after.plan.held]).toEqual([0, [], []]);
});

/** The volumes before, by slot. */
async function idsIn(plane: ControlPlane): Promise<Map<number, string>> {
  return new Map((await volumesIn(plane)).map(({ slot, id }) => [slot, id]));
}

async function watched(plane: ControlPlane, until: () => Promise<boolean>): Promise<number> {
  let fewest = 3;
  await eventually('it is done', async () => {
    const { services } = await read(plane);
    fewest = Math.min(fewest, services.filter(({ state }) => state === 'running').length);
    return until();
  });
  return fewest;
}

test('volumes grow replica by replica, and no more are paused than may be', async () => {
  const { plane, fleet } = await world();
  const before = await idsIn(plane);
  await fleet.write('llm.yaml', [llm({}, { sizeGb: 30 })]);
  const run = fleet.run();
  const fewest = await watched(plane, async () => {
    const { services } = await read(plane);
    const sizes = (await volumesIn(plane)).map(({ sizeGb }) => sizeGb);
    return sizes.every((gb) => gb === 30) && services.every(({ state }) => state === 'running');
  });
  expect(fewest).toBe(2);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect(await idsIn(plane)).toEqual(before);
  await run.kill('SIGTERM');
  const { stop } = Object.groupBy((await plane.requests()).filter(isMutation), () => 'stop' as const);
  expect(stop?.length).toBeGreaterThan(0);
  // Smaller ones are for new replicas only.
  await fleet.write('llm.yaml', [llm({ replicas: 4 }, { sizeGb: 10 })]);
  expect((await fleet.apply()).code).toBe(0);
  expect((await volumesIn(plane)).map(({ sizeGb }) => sizeGb)).toEqual([30, 30, 30, 10]);
  expect((await fleet.plan()).code).toBe(0);
});

test('volumes do not grow while nobody may pause their replicas, and the fleet reports that', async () => {
  const { plane, fleet } = await world({}, { expansion: 'Never' });
  await plane.forgetRequests();
  await fleet.write('llm.yaml', [llm({}, { sizeGb: 30, expansion: 'Never' })]);
  const run = fleet.run();
  const { message } = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'ExpansionNeedsPause');
  expect(message).toContain('spec.storage.perReplica.expansion');
  expect(message).toContain('replicas 0, 1, 2');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  await fleet.write('llm.yaml', [llm({}, { sizeGb: 30 })]);
  await eventually('they have grown', async () =>
    (await volumesIn(plane)).every(({ sizeGb }) => sizeGb === 30),
  );
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await run.kill('SIGTERM');
});

testInFolder('a replica that somebody works in is not paused for its volume: others are first', async () => {
  const { plane, fleet } = await world();
  const protects = task('epoch', { serviceRef: { name: 'llm-2' } });
  await fleet.write('llm.yaml', [llm(), protects]);
  const run = fleet.run();
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  await plane.forgetRequests();
  await fleet.write('llm.yaml', [llm({}, { sizeGb: 30 }), protects]);
  const sizes = async () => (await volumesIn(plane)).map(({ sizeGb }) => sizeGb);
  await eventually('the others have grown', async () => (await sizes()).join() === '30,30,20', 120_000);
  const { id } = await plane.service('llm-2');
  const stopped = (await plane.requests()).filter(isMutation).filter(({ path }) => path.includes(id));
  expect(stopped.filter(({ path }) => path.endsWith('/actions'))).toEqual([]);
  await fleet.write('llm.yaml', [llm({}, { sizeGb: 30 })]);
  await eventually('the last one has, too', async () => (await sizes()).join() === '30,30,30', 120_000);
  await run.kill('SIGTERM');
});

testInFolder(
  'where replicas are replaced, a volume grows between two of them, and nobody is asked',
  async () => {
    const spec = { update: { mode: 'Replace', minReadySeconds: 0, maxSurge: 0, maxUnavailable: 1 } };
    const { plane, fleet } = await world(spec, { expansion: 'Never' });
    const before = await idsIn(plane);
    await fleet.write('llm.yaml', [llm(spec, { sizeGb: 30, expansion: 'Never' })]);
    expect((await fleet.apply()).code).toBe(0);
    expect(await idsIn(plane)).toEqual(before);
    expect(await volumesIn(plane)).toMatchObject(
      [0, 1, 2].map((slot) => ({ slot, sizeGb: 30, replica: `llm-${slot}` })),
    );
  },
);

test('a scale-in keeps volumes, and a number that is used again gets its own back', async () => {
  const { plane, fleet } = await world();
  const before = await idsIn(plane);
  await fleet.write('llm.yaml', [llm({ replicas: 1 })]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await volumesIn(plane)).toMatchObject([{ replica: 'llm-0' }, { replica: null }, { replica: null }]);
  expect((await fleet.plan()).code).toBe(0);
  await fleet.write('llm.yaml', [llm()]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await idsIn(plane)).toEqual(before);
  expect(await volumesIn(plane)).toMatchObject([0, 1, 2].map((slot) => ({ replica: `llm-${slot}` })));
});

test('with retire: Delete, a scale-in deletes the volume after its service', async () => {
  const { plane, fleet } = await world({}, { retire: 'Delete' });
  const ids = await idsIn(plane);
  const { id } = await plane.service('llm-2');
  await plane.forgetRequests();
  await fleet.write('llm.yaml', [llm({ replicas: 2 }, { retire: 'Delete' })]);
  expect((await fleet.apply()).code).toBe(0);
  expect((await plane.requests()).filter(isMutation).map(({ method, path }) => `${method} ${path}`)).toEqual([
    `POST /api/services/${id}/actions`,
    `DELETE /api/volumes/${ids.get(2)}`,
  ]);
  expect(await volumesIn(plane)).toMatchObject([{ slot: 0 }, { slot: 1 }]);
});

test('a rollout that replaces its replicas keeps their volumes, whatever retire says', async () => {
  const spec = { update: { mode: 'Replace', minReadySeconds: 0, maxSurge: 0, maxUnavailable: 1 } };
  const { plane, fleet } = await world(spec, { retire: 'Delete' });
  const before = await idsIn(plane);
  const services = new Set((await read(plane)).services.map(({ id }) => id));
  const image = 'ghcr.io/acme/llm:2';
  await fleet.write('llm.yaml', [llm({ ...spec, template: template({ image }) }, { retire: 'Delete' })]);
  const run = fleet.run();
  const fewest = await watched(plane, async () =>
    (await read(plane)).services.every(
      (each) => each.image === image && each.state === 'running' && !services.has(each.id),
    ),
  );
  expect(fewest).toBe(2);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect(await idsIn(plane)).toEqual(before);
  await run.kill('SIGTERM');
});

test('a repair keeps the volume, whatever retire says', async () => {
  const spec = { template: template({ driftPolicy: 'Report' }), repair: { afterSeconds: 60 } };
  const { plane, fleet } = await world(spec, { retire: 'Delete' });
  const before = await idsIn(plane);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const { id, revision } = await plane.service('llm-1');
  await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: 'registry.invalid/llm:1' } });
  await eventually(
    'another one has its number',
    async () => {
      const found = await plane.service('llm-1');
      return found !== undefined && found.id !== id && found.state === 'running';
    },
    180_000,
  );
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect(await idsIn(plane)).toEqual(before);
  await run.kill('SIGTERM');
});

testInFolder(
  'a lost state file costs no second volume: they are found by their marks, also the kept ones',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('llm.yaml', [llm({ replicas: 2 })]);
    expect((await fleet.apply()).code).toBe(0);
    const before = await idsIn(plane);
    expect(before.size).toBe(3);
    await rm(folderOf(fleet).state, { force: true });
    await plane.forgetRequests();
    expect((await fleet.apply('--owner', 'fleet')).code).toBe(0);
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
    await fleet.write('llm.yaml', [llm()]);
    expect((await fleet.apply('--owner', 'fleet')).code).toBe(0);
    expect(await idsIn(plane)).toEqual(before);
  },
);

test('at 50 volumes the next replicas wait, and the fleet names the limit', async () => {
  const { plane, fleet } = await world();
  await Promise.all(
    Array.from({ length: 46 }, (_, index) =>
      plane.call('POST', '/api/volumes', { name: `other-${index}`, region: 'standard', sizeGb: 10 }),
    ),
  );
  await fleet.write('llm.yaml', [llm({ replicas: 5 })]);
  const run = fleet.run();
  await eventually('the limit is named', async () => {
    const { message = '' } = (await fleet.condition('ServiceFleet/llm', 'Reconciling')) ?? {};
    return /not available yet: replica (\d); LimitReached: replica \1; volumes: llm-data-\1 \(LimitReached\)/.test(
      message,
    );
  });
  expect((await read(plane)).services).toHaveLength(4);
  const other = await plane.volume('other-0');
  await plane.call('DELETE', `/api/volumes/${other.id}`);
  await eventually('the last replica is there', async () => (await read(plane)).services.length === 5);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await run.kill('SIGTERM');
});

test('a replica whose volume can not move stays where it is, until it is retired with its volume', async () => {
  const { plane, fleet } = await world({ replicas: 2 }, { retire: 'Delete' });
  await plane.forgetRequests();
  const moved = llm({ replicas: 2, template: template({ region: 'economy' }) }, { retire: 'Delete' });
  await fleet.write('llm.yaml', [moved]);
  const run = fleet.run();
  const { message } = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'PlacementBound');
  expect(message).toContain('llm-data-0 (account default, region standard), llm-data-1');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  for (const slot of [0, 1]) {
    await fleetkeeper(['retire', `llm-${slot}`, '-n', fleet.namespace, ...fleet.flags]);
    await eventually('it is in the other region', async () => {
      const { services } = await read(plane);
      return services.filter(({ region }) => region === 'economy').length === slot + 1;
    });
  }
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect((await read(plane)).volumes.map(({ region }) => region)).toEqual(['economy', 'economy']);
  await run.kill('SIGTERM');
});

test.each([
  ['Keep', {}, 3],
  ['Delete', {}, 0],
  ['Delete', { deletionPolicy: 'Retain' }, 3],
] as const)(
  'a fleet that is removed, with retire: %s and %j, leaves %i volumes',
  async (retire, spec, left) => {
    const { plane, fleet } = await world(spec, { retire: 'Keep' });
    // One that no replica has is kept, too.
    await fleet.write('llm.yaml', [llm({ ...spec, replicas: 2 }, { retire: 'Keep' })]);
    expect((await fleet.apply()).code).toBe(0);
    await fleet.write('llm.yaml', [llm({ ...spec, replicas: 2 }, { retire })]);
    expect((await fleet.apply()).code).toBe(0);
    await fleet.remove('llm.yaml');
    expect((await fleet.apply('--allow-mass-change')).code).toBe(0);
    expect(await volumesIn(plane)).toHaveLength(left);
    expect([...(await fleet.records()).keys()].filter((key) => !key.startsWith('Account/'))).toEqual([]);
  },
);

test('a fleet that was removed and comes back has the volumes again that were kept', async () => {
  const { plane, fleet } = await world();
  const before = await idsIn(plane);
  await fleet.remove('llm.yaml');
  expect((await fleet.apply('--allow-mass-change')).code).toBe(0);
  expect((await read(plane)).services).toEqual([]);
  await fleet.write('llm.yaml', [llm()]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await idsIn(plane)).toEqual(before);
  expect(await volumesIn(plane)).toMatchObject([0, 1, 2].map((slot) => ({ slot, replica: `llm-${slot}` })));
});

testInFolder('destroy ends a fleet with its replicas, and with the volumes that it may delete', async () => {
  const { plane, fleet } = await world({}, { retire: 'Delete' });
  const destroyed = await fleetkeeper(['destroy', ...fleet.flags, '--yes', '--settle', '1s']);
  expect(destroyed.code).toBe(0);
  expect(await read(plane)).toEqual({ services: [], volumes: [] });
});

test('a kept volume that a person deletes is forgotten, and a new one takes its place', async () => {
  const { plane, fleet } = await world({ replicas: 2 });
  await fleet.write('llm.yaml', [llm({ replicas: 1 })]);
  expect((await fleet.apply()).code).toBe(0);
  const { id } = await plane.volume('llm-data-1');
  await plane.call('DELETE', `/api/volumes/${id}`);
  const run = fleet.run();
  await eventually('it is forgotten', async () => !(await fleet.records()).has('StorageVolume/llm-data-1'));
  await fleet.write('llm.yaml', [llm({ replicas: 2 })]);
  await eventually('there is another one', async () => (await read(plane)).services.length === 2);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await run.kill('SIGTERM');
});

testInFolder('a replica that has lost its volume is repaired: another one has a new volume', async () => {
  const { plane, fleet } = await world({ repair: { afterSeconds: 60 } });
  const lost = (await idsIn(plane)).get(1);
  const { id } = await plane.service('llm-1');
  await plane.call('POST', `/api/services/${id}/actions`, { action: 'delete' });
  await eventually('its service is gone', async () => (await plane.service('llm-1')) === undefined);
  await plane.call('DELETE', `/api/volumes/${lost}`);
  const run = fleet.run();
  await fleet.until('StorageVolume/llm-data-1', 'Stalled', 'True', 'DataLost');
  await eventually(
    'there is another one',
    async () => (await read(plane)).services.filter(({ state }) => state === 'running').length === 3,
    180_000,
  );
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const all = await volumesIn(plane);
  expect(all.map(({ id: own }) => own)).not.toContain(lost);
  expect(all.map(({ slot, replica }) => replica === `llm-${slot}`)).toEqual([true, true, true]);
  await run.kill('SIGTERM');
});

testInFolder('a document with the name of a volume wins, and the fleet uses another number', async () => {
  const { plane, fleet } = await world({ replicas: 1 });
  await fleet.write('data.yaml', [volume('llm-data-1', { sizeGb: 10 })]);
  await fleet.write('llm.yaml', [llm({ replicas: 2 })]);
  await fleet.apply();
  expect((await read(plane)).services.map(({ name }) => name)).toEqual(['llm-0', 'llm-2']);
  const stalled = await fleet.condition('ServiceFleet/llm', 'Stalled');
  expect(stalled).toMatchObject({ status: 'True', reason: 'NameTaken' });
  expect(stalled?.message).toContain('StorageVolume/default/llm-data-1 at data.yaml:1');
});

testInFolder('a fleet that gets volumes later, or has none any more, replaces its replicas', async () => {
  const { plane, fleet } = await world();
  const update = { minReadySeconds: 0, maxSurge: 0, maxUnavailable: 1 };
  await fleet.write('llm.yaml', [llm({ update, storage: undefined })]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await volumesIn(plane)).toMatchObject([0, 1, 2].map((slot) => ({ slot, replica: null })));
  const before = await idsIn(plane);
  await fleet.write('llm.yaml', [llm({ update })]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await volumesIn(plane)).toMatchObject([0, 1, 2].map((slot) => ({ replica: `llm-${slot}` })));
  expect(await idsIn(plane)).toEqual(before);
});
