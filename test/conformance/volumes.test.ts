import { describe, expect, test } from 'vitest';
import type { Json } from './api.ts';
import { expectRefused } from './expectations.ts';
import { volume as volumeShape, volumeDeletion } from './shapes.ts';
import { target } from './target.ts';
import { Workspace, once } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;
const created = once(() => workspace.createVolume());
const ready = once(async () => workspace.untilReady((await created()).id));

/** One character too long. */
const longName = 'x'.repeat(65);

async function expectNotCreated(spec: object): Promise<void> {
  expectRefused(workspace.keepIfMade('volume', await api.call('POST', '/api/volumes', spec)));
}

/** Of the shared volume, as it is now. */
async function current(): Promise<Json> {
  return api.volume((await ready()).id);
}

describe('a created volume', () => {
  test('§4 POST /api/volumes: is answered 201 with the bare volume', async () => {
    expect((await created()).id).toBeTypeOf('string');
  });

  test('§2 Volume: it has the known fields', async () => {
    expect(volumeShape.safeParse(await created()).error?.message).toBeUndefined();
  });

  test('§4 GET /api/volumes/{id}: the volume is wrapped as {volume}', async () => {
    const { id } = await created();
    expect((await api.get(`/api/volumes/${id}`)).volume.id).toBe(id);
  });

  test('§4 GET /api/volumes: {volumes} has a created volume', async () => {
    const { volumes } = await api.get('/api/volumes');
    expect(volumes.map(({ id }: Json) => id)).toContain((await created()).id);
  });

  test('§2 Account: a created volume is in the account', async () => {
    const { volumes } = await api.account();
    expect(volumes.map(({ id }: Json) => id)).toContain((await created()).id);
  });

  test('§3: a created volume becomes ready', async () => {
    expect((await ready()).status).toBe('ready');
  });

  test('§2 Volume: it has the size that was asked for', async () => {
    expect(await ready()).toMatchObject({ sizeGb: 10, requestedSizeGb: 10 });
  });
});

describe('the create spec of a volume', () => {
  test.each(['name', 'region', 'sizeGb'])('§2 Volume create spec: %s is required', async (field) => {
    const { [field]: _, ...rest } = workspace.volumeSpec();
    await expectNotCreated(rest);
  });

  test.each([
    ['name', ''],
    ['name', longName],
    ['name', 5],
    ['region', 5],
    ['geography', 5],
    ['sizeGb', 9],
    ['sizeGb', 4097],
    ['sizeGb', 10.5],
    ['sizeGb', '10'],
  ])('§2 Volume create spec: %s can not be %j', async (field, value) => {
    await expectNotCreated(workspace.volumeSpec({ [field]: value }));
  });

  test.each([
    ['a name may have 64 characters', { name: target.runName.padEnd(64, 'x') }],
    ['geography may be auto', { geography: 'auto' }],
  ])('§2 Volume create spec: %s', async (_, fields) => {
    const volume = await workspace.createVolume(fields);
    expect(volume).toHaveProperty('name');
    await workspace.discard('volume', volume);
  });
});

describe('the update of a volume', () => {
  const update = async (body: object) => api.call('PATCH', `/api/volumes/${(await ready()).id}`, body);

  test('§4 PATCH /api/volumes/{id}: is answered 200 with the bare volume', async () => {
    const { revision } = await current();
    const name = workspace.name();
    const answer = await update({ revision, name });
    expect(answer.status).toBe(200);
    expect(volumeShape.parse(answer.body).name).toBe(name);
  });

  test('§2 Volume update: sizeGb makes the volume larger', async () => {
    const { id, revision, sizeGb } = await current();
    expect((await update({ revision, sizeGb: sizeGb + 1 })).status).toBe(200);
    expect((await workspace.untilReady(id)).sizeGb).toBe(sizeGb + 1);
  });

  test('§2 Volume update: revision is required', async () => {
    expectRefused(await update({ name: workspace.name() }));
  });

  test('§2 Volume update: at least one of name and sizeGb is required', async () => {
    expectRefused(await update({ revision: (await current()).revision }));
  });

  test('§4 rule 3: a volume is updated with its current revision only', async () => {
    const { name, revision } = await current();
    expectRefused(await update({ revision: revision + 1, name: workspace.name() }));
    expect((await current()).name).toBe(name);
  });

  test.each([
    ['name', ''],
    ['name', longName],
    ['sizeGb', 9],
    ['sizeGb', 4097],
    ['sizeGb', 20.5],
  ])('§8: the %s of a volume can not become %j', async (field, value) => {
    expectRefused(await update({ revision: (await current()).revision, [field]: value }));
  });
});

describe('the deletion of an unattached volume', () => {
  const deleted = once(async () => {
    const { id } = await workspace.readyVolume();
    return { id, answer: await api.expectSuccess('DELETE', `/api/volumes/${id}`) };
  });

  test('§3 rule 4: the deletion of a volume answers volumeId, operationId and the status deleting', async () => {
    const { id, answer } = await deleted();
    expect(volumeDeletion.parse(answer).volumeId).toBe(id);
  });

  test('§2 Account: a deleted volume is excluded', async () => {
    expect(await workspace.untilGone((await deleted()).id)).toBe(true);
  });
});
