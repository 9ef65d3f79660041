import { expect, test } from 'vitest';
import { volume as volumeSchema } from '../../../src/api/wire.ts';
import { startWorld, trainer, type Json, type World } from './support.ts';

const dataset = { name: 'dataset', region: 'standard', sizeGb: 100 };

async function readyVolume(world: World, spec: object = {}): Promise<Json> {
  const { id } = await world.ok('POST', '/api/volumes', { ...dataset, ...spec });
  await world.clock.advance(5_000);
  return world.volume(id);
}

test('a volume is provisioned, then ready', async () => {
  await using world = await startWorld();
  const created = await world.ok('POST', '/api/volumes', dataset);
  expect(volumeSchema.parse(created)).toMatchObject({
    mode: 'independent',
    serviceId: null,
    status: 'provisioning',
    provisioned: false,
    revision: 1,
    sizeGb: 100,
    requestedSizeGb: 100,
  });
  await world.clock.advance(5_000);
  expect(await world.volume(created.id)).toMatchObject({ status: 'ready', provisioned: true, revision: 2 });
  expect((await world.ok('GET', '/api/volumes')).volumes).toHaveLength(1);
});

test('a growing volume shows what was asked for at once, and has it when it is ready', async () => {
  await using world = await startWorld();
  const { id, hourlyMicros } = await readyVolume(world);
  const growing = await world.ok('PATCH', `/api/volumes/${id}`, { revision: 2, sizeGb: 200, name: 'data' });
  expect(growing).toMatchObject({ status: 'expanding', sizeGb: 100, requestedSizeGb: 200, name: 'data' });
  expect(await world.refusal('PATCH', `/api/volumes/${id}`, { revision: 3, sizeGb: 300 })).toBe(
    '409 volume_not_ready',
  );
  await world.clock.advance(6_000);
  expect(await world.volume(id)).toMatchObject({
    status: 'ready',
    sizeGb: 200,
    requestedSizeGb: 200,
    revision: 4,
    hourlyMicros: hourlyMicros * 2,
  });
});

test('a volume is never shrunk, and a stale revision changes nothing', async () => {
  await using world = await startWorld();
  const { id } = await readyVolume(world);
  const path = `/api/volumes/${id}`;
  expect(await world.refusal('PATCH', path, { revision: 2, sizeGb: 99 })).toBe('409 volume_cannot_shrink');
  expect(await world.refusal('PATCH', path, { revision: 1, name: 'x' })).toBe('409 revision_conflict');
  expect(await world.refusal('PATCH', path, { revision: 2 })).toBe('400 invalid_request');
  expect(await world.volume(id)).toMatchObject({ revision: 2, name: 'dataset', sizeGb: 100 });
});

test('a volume attached to a running service grows only after the service is paused, and the service starts only when it is ready', async () => {
  await using world = await startWorld();
  const volume = await readyVolume(world);
  const { id } = await world.running({ volumeId: volume.id });
  const larger = { revision: 3, sizeGb: 200 };
  const path = `/api/volumes/${volume.id}`;
  expect(await world.refusal('PATCH', path, larger)).toBe('409 service_not_paused');
  await world.act(id, 'stop');
  expect(await world.refusal('PATCH', path, larger)).toBe('409 service_not_paused');
  await world.clock.advance(3_000);
  await world.ok('PATCH', path, larger);
  expect(await world.refusal('POST', `/api/services/${id}/actions`, { action: 'start' })).toBe(
    '409 volume_not_ready',
  );
  await world.clock.advance(6_000);
  expect((await world.act(id, 'start')).state).toBe('provisioning');
});

test('an attached volume may be renamed while its service runs', async () => {
  await using world = await startWorld();
  const volume = await readyVolume(world);
  await world.running({ volumeId: volume.id });
  const renamed = await world.ok('PATCH', `/api/volumes/${volume.id}`, { revision: 3, name: 'other' });
  expect(renamed).toMatchObject({ name: 'other', status: 'ready', revision: 4 });
});

test('storage that a service owns goes with it; independent storage stays, detached', async () => {
  await using world = await startWorld();
  const own = await world.running({ volumeGb: 20 });
  const sharing = await world.running({ volumeGb: 30, volumeMode: 'independent' });
  expect(await world.volume(own.volumeId)).toMatchObject({ mode: 'service', serviceId: own.id });
  expect(await world.refusal('DELETE', `/api/volumes/${own.volumeId}`)).toBe('409 volume_service_owned');
  expect(await world.refusal('DELETE', `/api/volumes/${sharing.volumeId}`)).toBe('409 volume_attached');
  await world.act(own.id, 'delete');
  await world.act(sharing.id, 'delete');
  expect((await world.volume(own.volumeId)).status).toBe('deleting');
  await world.clock.advance(3_000);
  const { volumes } = await world.ok('GET', '/api/volumes');
  expect(volumes).toMatchObject([
    { id: sharing.volumeId, mode: 'independent', serviceId: null, status: 'ready', sizeGb: 30 },
  ]);
});

test('a deleted volume is deleting until its storage is released, and then gone', async () => {
  await using world = await startWorld();
  const { id } = await readyVolume(world);
  const deletion = await world.ok('DELETE', `/api/volumes/${id}`);
  expect(deletion).toEqual({ volumeId: id, operationId: expect.any(String), status: 'deleting' });
  expect(await world.ok('DELETE', `/api/volumes/${id}`)).toEqual(deletion);
  expect((await world.volume(id)).status).toBe('deleting');
  await world.clock.advance(4_000);
  expect(await world.refusal('GET', `/api/volumes/${id}`)).toBe('404 not_found');
  expect((await world.ok('GET', '/api/account')).volumes).toEqual([]);
});

test('only a ready, independent, unattached volume of the same place can be attached', async () => {
  await using world = await startWorld();
  const unready = await world.ok('POST', '/api/volumes', dataset);
  const attach = (volumeId: string, more: object = {}) =>
    world.refusal('POST', '/api/services', { ...trainer, volumeId, ...more });
  expect(await attach(unready.id)).toBe('409 volume_not_ready');
  await world.clock.advance(5_000);
  expect(await attach(unready.id, { region: 'economy' })).toBe('409 volume_elsewhere');
  expect(await attach(unready.id, { geography: 'north-america' })).toBe('409 volume_elsewhere');
  expect(await attach('00000000-0000-4000-8000-000000000000')).toBe('404 not_found');
  await world.running({ volumeId: unready.id });
  expect(await attach(unready.id)).toBe('409 volume_attached');
});

test('a service goes where its volume is', async () => {
  await using world = await startWorld();
  const volume = await readyVolume(world, { geography: 'north-america' });
  const service = await world.running({ volumeId: volume.id });
  expect(service).toMatchObject({ geography: 'north-america', volumeId: volume.id });
});

test('an account has at most 50 volumes, those of services included, also when 60 are asked for at once', async () => {
  await using world = await startWorld();
  await world.ok('POST', '/api/services', { ...trainer, volumeGb: 10 });
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => world.call('POST', '/api/volumes', dataset)),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(49);
  const refused = answers.filter(({ status }) => status === 409);
  expect(new Set(refused.map(({ body }) => body.error.code))).toEqual(new Set(['limit_reached']));
  expect((await world.ok('GET', '/api/volumes')).volumes).toHaveLength(50);
  expect(await world.refusal('POST', '/api/services', { ...trainer, volumeGb: 10 })).toBe(
    '409 limit_reached',
  );
  expect((await world.ok('GET', '/api/account')).services).toHaveLength(1);
});

test.each([
  [{ volumeGb: 9 }, '400 invalid_request'],
  [{ volumeGb: 4097 }, '400 invalid_request'],
  [{ volumeGb: 10, volumeId: '00000000-0000-4000-8000-000000000000' }, '400 invalid_request'],
  [{ volumeMode: 'independent' }, '400 invalid_request'],
  [{ volumeGb: 10, volumeMode: 'shared' }, '400 invalid_request'],
])('a service with storage %j is refused', async (storage, expected) => {
  await using world = await startWorld();
  expect(await world.refusal('POST', '/api/services', { ...trainer, ...storage })).toBe(expected);
});

test.each([{ sizeGb: 9 }, { sizeGb: 4097 }, { sizeGb: 10.5 }, { name: '' }, { name: 'x'.repeat(65) }])(
  'a volume with %j is refused',
  async (wrong) => {
    await using world = await startWorld();
    expect(await world.refusal('POST', '/api/volumes', { ...dataset, ...wrong })).toBe('400 invalid_request');
  },
);
