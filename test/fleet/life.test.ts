import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  isInCluster,
  service,
  testInFolder,
  volume,
} from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

async function world(timeScale = 60) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

const mutationsSince = async (plane: ControlPlane) =>
  (await plane.requests())
    .filter(isMutation)
    .map(({ method, path: where }) => `${method} ${where.replace(/[0-9a-f-]{36}/, 'ID')}`);

test('a folder becomes a fleet, and plan then has nothing to say', async () => {
  const { plane, fleet } = await world();
  await fleet.write('deep/er/web.yaml', [
    volume('data', { sizeGb: 20 }),
    service('web', { httpPort: 8080, storage: { volumeRef: { name: 'data' } }, sleepAfterMinutes: 30 }),
    service('idle', { desiredState: 'Stopped' }),
  ]);
  const before = await fleet.plan();
  expect(before.code).toBe(2);
  expect(before.plan.summary).toMatchObject({ create: 3, held: 0 });
  expect(before.plan.changes[0]).toMatchObject({
    namespace: fleet.namespace,
    action: 'create',
    drift: false,
  });
  expect((await fleet.apply()).code).toBe(0);
  const after = await fleet.plan();
  expect([after.code, after.plan.changes, after.plan.held]).toEqual([0, [], []]);
  const data = await plane.volume('data-');
  expect(await plane.service('web')).toMatchObject({
    state: 'running',
    volumeId: data.id,
    sleepAfterMinutes: 30,
  });
  expect((await plane.service('idle')).state).toBe('paused');
});

test('plan prints each change with its differences, apply makes them, and status tells', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web', { env: [{ name: 'MODE', value: 'a' }] })]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('web.yaml', [
    service('web', {
      image: 'ghcr.io/acme/app:2',
      resources: { cpu: 2, memoryGb: 4 },
      env: [{ name: 'MODE', value: 'b' }],
      sleepAfterMinutes: 0,
    }),
  ]);
  const { code, plan } = await fleet.plan();
  expect(code).toBe(2);
  expect(plan.changes.map(({ action }: { action: string }) => action)).toEqual(['update', 'resize']);
  expect(plan.changes[0].differences).toContainEqual({
    path: 'image',
    desired: 'ghcr.io/acme/app:2',
    observed: 'ghcr.io/acme/app:1',
  });
  expect(plan.changes[0].differences.map((difference: { path: string }) => difference.path)).toContain('env');
  const text = await fleetkeeper(['plan', ...fleet.flags]);
  expect(text.stdout).toContain('image: "ghcr.io/acme/app:1" → "ghcr.io/acme/app:2"');
  expect((await fleet.apply()).code).toBe(0);
  expect((await fleet.plan()).code).toBe(0);
  expect(await plane.service('web')).toMatchObject({
    image: 'ghcr.io/acme/app:2',
    resources: { gpuCount: 0, cpu: 2, memoryGb: 4 },
    sleepAfterMinutes: null,
  });
  const status = await fleetkeeper(['status', ...fleet.flags, '--output', 'json']);
  const web = JSON.parse(status.stdout).items.find(
    ({ kind }: { kind: string }) => kind === 'ContainerService',
  );
  expect(web.status).toMatchObject({ state: 'running', observedGeneration: 2 });
  expect(web.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
  expect(web.status.lastMutation).toMatchObject({ outcome: 'applied' });
});

testInFolder('apply off a terminal wants --yes', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  const refused = await fleetkeeper(['apply', ...fleet.flags]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--yes')]);
  expect((await plane.account()).services).toEqual([]);
});

testInFolder('an edit is followed at once, also when the editor replaces the file', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.untilReady(1);
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  await eventually('the new image', async () => (await plane.service('web')).image === 'ghcr.io/acme/app:2');
  await fleet.write('.web.yaml.swp', [service('web', { image: 'ghcr.io/acme/app:3' })]);
  await rename(
    path.join(folderOf(fleet).folder, '.web.yaml.swp'),
    path.join(folderOf(fleet).folder, 'web.yaml'),
  );
  await eventually(
    'the newest image',
    async () => (await plane.service('web')).image === 'ghcr.io/acme/app:3',
  );
});

test('what somebody else changes is told as drift and put right with one mutation each', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [
    service('web', { env: [{ name: 'MODE', value: 'a' }], sleepAfterMinutes: 30, command: ['serve'] }),
  ]);
  fleet.run();
  await fleet.untilReady(1);
  const beacon = (names: string[]) => names.find((name) => name.startsWith('FLEETKEEPER_BEACON_')) ?? '';
  const patch = (body: object) => async (web: { id: string; revision: number }) =>
    plane.call('PATCH', `/api/services/${web.id}`, { revision: web.revision, patch: body });
  const act = (body: object) => async (web: { id: string }) =>
    plane.call('POST', `/api/services/${web.id}/actions`, body);
  const hands: [
    string,
    (web: { id: string; revision: number; environmentNames: string[] }) => Promise<unknown>,
  ][] = [
    ['PATCH /api/services/ID', patch({ image: 'evil:1' })],
    ['PATCH /api/services/ID', patch({ command: ['mine'] })],
    ['PATCH /api/services/ID', patch({ environment: { OTHER: 'x' } })],
    [
      'PATCH /api/services/ID',
      (web) =>
        patch({ environment: { MODE: 'b', [beacon(web.environmentNames).replace(/.{4}$/, 'FFFF')]: 'x' } })(
          web,
        ),
    ],
    [
      'POST /api/services/ID/actions',
      act({ action: 'resize', resources: { gpuCount: 0, cpu: 4, memoryGb: 8 } }),
    ],
    ['POST /api/services/ID/actions', act({ action: 'stop' })],
    [
      'PATCH /api/services/ID/sleep',
      (web) => plane.call('PATCH', `/api/services/${web.id}/sleep`, { sleepAfterMinutes: 5 }),
    ],
  ];
  for (const [mutation, change] of hands) {
    const settled = await eventually('a running service', async () => {
      const web = await plane.service('web');
      return web.state === 'running' && web.operation === null && web;
    });
    await fleet.untilReady(1);
    await change(settled);
    await plane.forgetRequests();
    await eventually(`${mutation} by us`, async () => (await mutationsSince(plane)).length > 0);
    await eventually('the service as declared', async () => {
      const web = await plane.service('web');
      return web.state === 'running' && web.image === 'ghcr.io/acme/app:1' && web.resources.cpu === 1 && web;
    });
    await fleet.untilReady(1);
    expect(await mutationsSince(plane)).toEqual([mutation]);
  }
  expect((await fleet.plan()).code).toBe(0);
});

test('under driftPolicy Report drift is told, with since, and nothing is sent', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web', { driftPolicy: 'Report' })]);
  fleet.run();
  await fleet.untilReady(1);
  const web = await plane.service('web');
  await plane.forgetRequests();
  await plane.call('PATCH', `/api/services/${web.id}`, {
    revision: web.revision,
    patch: { image: 'other:1' },
  });
  await fleet.until('ContainerService/web', 'Drifted', 'True');
  const entry = (await fleet.records()).get('ContainerService/web')?.status?.drift?.[0];
  expect(entry).toMatchObject({ path: 'image', desired: 'ghcr.io/acme/app:1', observed: 'other:1' });
  expect(await mutationsSince(plane)).toEqual(['PATCH /api/services/ID']);
  const { code, plan } = await fleet.plan();
  expect(code).toBe(2);
  expect(plan.held[0]).toMatchObject({ name: 'web', drift: true });
});

// COVERAGE 58
test('a volume attached to a running service grows only after the service is paused, which then runs again', async () => {
  const { plane, fleet } = await world(20);
  const documents = (sizeGb: number) => [
    volume('data', { sizeGb, expansion: 'PauseService' }),
    service('db', { storage: { volumeRef: { name: 'data' } } }),
  ];
  await fleet.write('db.yaml', documents(10));
  fleet.run();
  await fleet.untilReady(2);
  await plane.forgetRequests();
  await fleet.write('db.yaml', documents(40));
  await eventually('40 GB', async () => (await plane.volume('data-')).sizeGb === 40);
  await eventually('running again', async () => (await plane.service('db')).state === 'running');
  await fleet.untilReady(2);
  expect(await mutationsSince(plane)).toEqual([
    'POST /api/services/ID/actions',
    'PATCH /api/volumes/ID',
    'POST /api/services/ID/actions',
  ]);
});

test('a service whose document names its volume no more does not wait for that, while it waits to be deleted', async () => {
  const { fleet } = await world(20);
  await fleet.write('data.yaml', [volume('data', { deletionPolicy: 'Delete' })]);
  await fleet.write('db.yaml', [service('db', { storage: { volumeRef: { name: 'data' } } })]);
  fleet.run();
  await fleet.untilReady(2);
  await fleet.write('db.yaml', [service('db', { desiredState: 'Stopped' })]);
  await fleet.untilReady(2);
  await fleet.remove('data.yaml');
  await fleet.until('StorageVolume/data', 'Reconciling', 'True', 'Attached');
  await fleet.write('db.yaml', [service('db', { desiredState: 'Running' })]);
  await fleet.until('ContainerService/db', 'Ready', 'True', 'Running');
});

test('without leave to pause, a growing attached volume is held and says what to do', async () => {
  const { plane, fleet } = await world();
  const documents = (sizeGb: number) => [
    volume('data', { sizeGb }),
    service('db', { storage: { volumeRef: { name: 'data' } } }),
  ];
  await fleet.write('db.yaml', documents(10));
  fleet.run();
  await fleet.untilReady(2);
  await plane.forgetRequests();
  await fleet.write('db.yaml', documents(40));
  const stalled = await fleet.until('StorageVolume/data', 'Stalled', 'True', 'ExpansionNeedsPause');
  expect(stalled.message).toContain('expansion: PauseService');
  if (isInCluster) {
    await expect(fleet.write('db.yaml', documents(5))).rejects.toThrow('sizeGb');
  } else {
    await fleet.write('db.yaml', documents(5));
    expect((await fleet.plan()).code).toBe(1);
  }
  expect(await mutationsSince(plane)).toEqual([]);
});

test('a new restart token restarts once', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web', { restartToken: '1' })]);
  fleet.run();
  await fleet.untilReady(1);
  await plane.forgetRequests();
  await fleet.write('web.yaml', [service('web', { restartToken: '2' })]);
  await eventually('a restart', async () => (await mutationsSince(plane)).length > 0);
  await fleet.until('ContainerService/web', 'Ready', 'True');
  await fleet.write('web.yaml', [service('web', { restartToken: '2', image: 'ghcr.io/acme/app:2' })]);
  await eventually('the new image', async () => (await plane.service('web')).image === 'ghcr.io/acme/app:2');
  await fleet.untilReady(1);
  expect(await mutationsSince(plane)).toEqual(['POST /api/services/ID/actions', 'PATCH /api/services/ID']);
});

test('what leaves the folder is deleted or kept, as its policy says', async () => {
  const { plane, fleet } = await world();
  await fleet.write('stay.yaml', [service('stay')]);
  await fleet.write('go.yaml', [
    service('web', { storage: { volumeRef: { name: 'data' } } }),
    volume('data', { deletionPolicy: 'Delete' }),
    volume('kept'),
    service('retained', { deletionPolicy: 'Retain' }),
  ]);
  fleet.run();
  await fleet.untilReady(5);
  await fleet.remove('go.yaml');
  await eventually('only what stays', async () => {
    const { services, volumes } = await plane.account();
    return services.length === 2 && volumes.length === 1;
  });
  expect((await plane.service('retained')).state).toBe('running');
  expect(await plane.volume('kept-')).toMatchObject({ status: 'ready' });
  await eventually(
    'one record',
    async () => [...(await fleet.records()).keys()].filter((key) => !key.startsWith('Account/')).length === 1,
  );
});

test('a service with storage of its own is deleted only with the word that its data may be lost', async () => {
  const { plane, fleet } = await world();
  const storage = { storage: { volumeGb: 10 } };
  await fleet.write('web.yaml', [service('web', storage)]);
  fleet.run();
  await fleet.untilReady(1);
  await fleet.remove('web.yaml');
  const held = await fleet.until('ContainerService/web', 'Stalled', 'True', 'DataLossUnconfirmed');
  expect(held.message).toContain('fleetkeeper.dev/confirm-data-loss: "web"');
  expect((await plane.service('web')).state).toBe('running');
  await fleet.write('web.yaml', [service('web', storage, { 'fleetkeeper.dev/confirm-data-loss': 'web' })]);
  // A deletion in a cluster can't be taken back: there the word alone is enough.
  if (!isInCluster) {
    await fleet.until('ContainerService/web', 'Ready', 'True');
    await fleet.remove('web.yaml');
  }
  await eventually('nothing left', async () => (await plane.account()).services.length === 0);
});

test('an existing service is adopted as it is, and Retain gives it back', async () => {
  const { plane, fleet } = await world();
  const made = await plane.call('POST', '/api/services', {
    name: 'legacy',
    region: 'standard',
    image: 'ghcr.io/acme/app:1',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
    environment: { SECRET: 'theirs' },
  });
  await plane.forgetRequests();
  const adopting = (image: string) =>
    service('web', { serviceName: 'legacy', image, adopt: { id: made.id }, deletionPolicy: 'Retain' });
  await fleet.write('web.yaml', [adopting('ghcr.io/acme/app:1')]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await mutationsSince(plane)).toEqual([]);
  await fleet.write('web.yaml', [adopting('ghcr.io/acme/app:2')]);
  expect((await fleet.apply()).code).toBe(0);
  const live = await plane.service('legacy');
  expect([live.id, live.image, live.environmentNames]).toEqual([made.id, 'ghcr.io/acme/app:2', ['SECRET']]);
  await fleet.remove('web.yaml');
  expect((await fleet.apply()).code).toBe(0);
  expect((await plane.service('legacy')).id).toBe(made.id);
});

testInFolder(
  'with the state file lost, the same folder finds its fleet again and changes nothing',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('web.yaml', [
      volume('data'),
      service('web', {
        env: [{ name: 'A', value: '1' }],
        storage: { volumeRef: { name: 'data' } },
        restartToken: '7',
      }),
      service('plain'),
    ]);
    expect((await fleet.apply()).code).toBe(0);
    await plane.forgetRequests();
    await rm(path.dirname(folderOf(fleet).state), { recursive: true });
    expect((await fleet.plan()).code).toBe(0);
    expect((await fleet.apply()).code).toBe(0);
    expect(await mutationsSince(plane)).toEqual([]);
  },
);

test('a service that somebody deleted is created again, a volume only with the word that it may be empty', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web'), volume('data')]);
  fleet.run();
  await fleet.untilReady(2);
  const web = await plane.service('web');
  await plane.call('POST', `/api/services/${web.id}/actions`, { action: 'delete' });
  await eventually('another web', async () => {
    const live = await plane.service('web');
    return live && live.id !== web.id && live.state === 'running';
  });
  await fleet.untilReady(2);
  const data = await plane.volume('data-');
  await plane.call('DELETE', `/api/volumes/${data.id}`);
  const held = await fleet.until('StorageVolume/data', 'Stalled', 'True', 'DataLost');
  expect(held.message).toContain('fleetkeeper.dev/confirm-data-loss: "data"');
});

// COVERAGE 17
test('an unreleased activity keeps a service from being disturbed, and its release lets the change through', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.untilReady(1);
  const web = await plane.service('web');
  const id = '11111111-2222-4333-8444-555555555555';
  const activity = (release: boolean) =>
    plane.call('POST', `/api/services/${web.id}/activity`, { id, name: 'training', release });
  await activity(false);
  await plane.forgetRequests();
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  const found = await fleet.until('ContainerService/web', 'Protected', 'True');
  expect(found.message).toContain('"training"');
  const planned = await fleet.plan();
  expect(planned.code).toBe(2);
  expect(planned.plan.held[0]).toMatchObject({ reason: 'Protected', actions: ['update'] });
  expect(await mutationsSince(plane)).toEqual([]);
  await activity(true);
  await eventually('the new image', async () => (await plane.service('web')).image === 'ghcr.io/acme/app:2');
});
