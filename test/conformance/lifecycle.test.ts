import { describe, expect, test } from 'vitest';
import type { Json } from './api.ts';
import { expectRefused, knownFields } from './expectations.ts';
import { service as serviceShape } from './shapes.ts';
import { required, target } from './target.ts';
import { Workspace, once } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;
const volume = once(() => workspace.readyVolume());
const made = once(async () => workspace.runningService({ volumeId: (await volume()).id }));

/** The shared service, in this state, whatever the test before has left. */
async function inState(state: 'running' | 'paused'): Promise<Json> {
  const { id } = await made();
  const service = await api.service(id);
  if (service.state === state) return service;
  await workspace.act(id, state === 'running' ? 'start' : 'stop');
  return workspace.untilState(id, state);
}

const actions = (id: string) => `/api/services/${id}/actions`;

describe('the actions of a service', () => {
  test('§2 Service create spec: volumeId attaches an existing volume instead of creating storage', async () => {
    const { id } = await inState('running');
    expect((await workspace.volumesOf(id)).map((one) => one.id)).toEqual([(await volume()).id]);
  });

  test.each([{}, { action: 'pause' }, { action: 'sleep' }, { action: 5 }])(
    '§2 Service action: the body %j is refused',
    async (body) => {
      const before = await inState('running');
      expectRefused(await api.call('POST', actions(before.id), body));
      expect(knownFields(await api.service(before.id))).toEqual(knownFields(before));
    },
  );

  test.each(['start', 'stop', 'restart', 'delete'])(
    '§2 Service action: resources are rejected for %s',
    async (action) => {
      const before = await inState(action === 'start' ? 'paused' : 'running');
      expectRefused(await api.call('POST', actions(before.id), { action, resources: target.resources }));
      expect(knownFields(await api.service(before.id))).toEqual(knownFields(before));
    },
  );

  test.each([{}, { resources: {} }, { resources: { gpuCount: 0, cpu: 1 } }])(
    '§2 Service action: resize requires the full resources, not %j',
    async (fields) => {
      const before = await inState('running');
      expectRefused(await api.call('POST', actions(before.id), { action: 'resize', ...fields }));
      expect(knownFields(await api.service(before.id))).toEqual(knownFields(before));
    },
  );

  test('§4 rule 2: an action is answered with the bare service', async () => {
    const { id } = await inState('running');
    const answer = await workspace.act(id, 'restart');
    expect(serviceShape.safeParse(answer).error?.message).toBeUndefined();
    await workspace.untilState(id, 'running');
  });

  test('§3 rule 1: a restart keeps the configuration and the volume', async () => {
    const before = await inState('running');
    await workspace.act(before.id, 'restart');
    const after = await workspace.untilState(before.id, 'running');
    expect(after.resources).toEqual(before.resources);
    expect((await workspace.volumesOf(after.id)).map(({ id }) => id)).toEqual([(await volume()).id]);
  });

  test('§3 rule 1: a service in error is restarted', async (context) => {
    const image = required(context, 'brokenImage', '--broken-image');
    const service = await workspace.createService({ image });
    const { id } = service;
    await workspace.eventually(
      'the service is in error',
      async () => (await api.service(id)).state === 'error',
    );
    expect((await workspace.act(id, 'restart')).id).toBe(id);
    await workspace.discard('service', service);
  });

  test('§1: a stopped service is paused', async () => {
    expect((await inState('paused')).state).toBe('paused');
  });

  test('§3 rule 1: a paused service is not restarted', async () => {
    const { id } = await inState('paused');
    expectRefused(await api.call('POST', actions(id), { action: 'restart' }));
    expect((await api.service(id)).state).toBe('paused');
  });

  test('§3 rule 1: a paused service is started', async () => {
    const { id } = await inState('paused');
    await workspace.act(id, 'start');
    expect((await workspace.untilState(id, 'running')).id).toBe(id);
  });

  test('§4 POST /api/services/{id}/actions: resize changes the resources', async () => {
    const { id } = await inState('running');
    await workspace.act(id, 'resize', { resources: target.otherResources });
    const resized = await workspace.untilState(id, 'running');
    expect(resized.resources).toMatchObject(target.otherResources);
  });
});

describe('the volume of a service', () => {
  test('§4 rule 9: a volume is not deleted while it is attached', async () => {
    const { id } = await volume();
    await inState('running');
    expectRefused(await api.call('DELETE', `/api/volumes/${id}`));
    expect((await api.volume(id)).status).not.toBe('deleting');
  });

  test('§3 rule 5: an attached volume does not grow while its service runs', async () => {
    await inState('running');
    const { id, revision, sizeGb } = await api.volume((await volume()).id);
    expectRefused(await api.call('PATCH', `/api/volumes/${id}`, { revision, sizeGb: sizeGb + 1 }));
    expect((await api.volume(id)).requestedSizeGb).toBe(sizeGb);
  });

  test('§3 rule 5: it grows while the service is paused, which starts only when the storage is ready', async () => {
    const service = await inState('paused');
    const { id, revision, sizeGb } = await api.volume((await volume()).id);
    await api.expect(200, 'PATCH', `/api/volumes/${id}`, { revision, sizeGb: sizeGb + 1 });
    const started = await workspace.eventually('the service starts', async () => {
      const answer = await api.call('POST', actions(service.id), { action: 'start' });
      return answer.status === 200 && api.volume(id);
    });
    expect([started.status, started.sizeGb]).toEqual(['ready', sizeGb + 1]);
    await workspace.untilState(service.id, 'running');
  });
});

describe('the deletion of a service', () => {
  const deleted = once(async () => {
    const { id } = await workspace.createService({ volumeGb: 10, volumeMode: 'independent' });
    const storage = await workspace.volumesOf(id);
    for (const one of storage) workspace.keep('volume', one);
    const answer = await workspace.act(id, 'delete');
    await workspace.untilGone(id);
    return { id, answer, storage };
  });

  test('§4 POST /api/services/{id}/actions: delete is answered with the bare service', async () => {
    expect(serviceShape.safeParse((await deleted()).answer).error?.message).toBeUndefined();
  });

  test('§2 Account: a deleted service is excluded', async () => {
    const { services } = await api.account();
    expect(services.map(({ id }: Json) => id)).not.toContain((await deleted()).id);
  });

  test('§2 Service create spec: volumeGb with volumeMode independent makes an independent volume', async () => {
    const { storage } = await deleted();
    expect(storage.map(({ mode, sizeGb }) => ({ mode, sizeGb }))).toEqual([
      { mode: 'independent', sizeGb: 10 },
    ]);
  });

  test('§3 rule 3: the deletion of a service leaves independent volumes', async () => {
    const [one] = (await deleted()).storage;
    expect((await api.volume(one.id)).id).toBe(one.id);
  });

  test('§3 rule 3: the deletion of a service destroys service-owned storage', async (context) => {
    const { id } = await workspace.createService({ volumeGb: 10 });
    const [storage] = await workspace.volumesOf(id);
    if (storage) workspace.keep('volume', storage);
    if (storage?.mode === 'independent') context.skip('storage without volumeMode is independent here');
    await workspace.act(id, 'delete');
    await workspace.untilGone(id);
    if (storage) await workspace.untilGone(storage.id);
    expect(await workspace.volumesOf(id)).toEqual([]);
  });
});
