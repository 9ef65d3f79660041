import { describe, expect, test } from 'vitest';
import { service as serviceSchema } from '../../../src/api/wire.ts';
import { defaultConfig } from '../../../src/control-plane/main.ts';
import { startWorld, trainer, type Json, type World } from './support.ts';

const brief = ({ state, revision, endpoint, operation }: Json) => ({ state, revision, endpoint, operation });

async function eventsOf(world: World, id: string): Promise<string[]> {
  const { events } = await world.ok('GET', `/api/services/${id}/events`);
  return events.map((event: Json) => event.message);
}

describe('the life of a service', () => {
  test('a created service is provisioned first, and has an endpoint once it runs', async () => {
    await using world = await startWorld();
    const created = await world.ok('POST', '/api/services', { ...trainer, httpPort: 8080 });
    expect(serviceSchema.parse(created)).toMatchObject({
      state: 'provisioning',
      revision: 1,
      endpoint: null,
    });
    await world.clock.advance(7_999);
    expect((await world.service(created.id)).state).toBe('provisioning');
    await world.clock.advance(1);
    const running = await world.service(created.id);
    expect(running).toMatchObject({ state: 'running', revision: 2, geography: 'europe', gpuModel: 'h100' });
    expect(running.endpoint).toContain(created.id);
  });

  test('a service without an HTTP port never has an endpoint', async () => {
    await using world = await startWorld();
    expect(brief(await world.running())).toEqual({
      state: 'running',
      revision: 2,
      endpoint: null,
      operation: null,
    });
  });

  test('a stopped service stays running without an endpoint while it stops, is then paused, and starts again', async () => {
    await using world = await startWorld();
    const { id } = await world.running({ httpPort: 80 });
    expect(brief(await world.act(id, 'stop'))).toEqual({
      state: 'running',
      revision: 3,
      endpoint: null,
      operation: 'stop',
    });
    await world.clock.advance(3_000);
    expect(brief(await world.service(id))).toMatchObject({ state: 'paused', revision: 4, operation: null });
    expect((await world.act(id, 'start')).state).toBe('provisioning');
    await world.clock.advance(8_000);
    expect(brief(await world.service(id))).toMatchObject({ state: 'running', revision: 6 });
    expect((await eventsOf(world, id)).toReversed()).toEqual([
      'created by alice',
      'running',
      'stop requested by alice',
      'paused',
      'start requested by alice',
      'running',
    ]);
  });

  test('a deleted service is shown as deleting, and then is nowhere', async () => {
    await using world = await startWorld();
    const { id } = await world.running();
    expect((await world.act(id, 'delete')).state).toBe('deleting');
    expect(await world.refusal('POST', `/api/services/${id}/actions`, { action: 'delete' })).toBe(
      '409 invalid_state',
    );
    expect((await world.ok('GET', '/api/account')).services).toHaveLength(1);
    await world.clock.advance(3_000);
    expect((await world.ok('GET', '/api/account')).services).toEqual([]);
    for (const path of [`/api/services/${id}`, `/api/services/${id}/events`]) {
      expect(await world.refusal('GET', path)).toBe('404 not_found');
    }
  });

  test('a service whose image cannot be pulled ends in error, and a patch with a good image mends it', async () => {
    await using world = await startWorld();
    const broken = await world.running({ image: 'registry.invalid/acme/none:1' });
    expect(broken).toMatchObject({ state: 'error', revision: 2 });
    expect(broken.error).toContain('registry.invalid');
    const patched = await world.ok('PATCH', `/api/services/${broken.id}`, {
      revision: 2,
      patch: { image: 'ghcr.io/acme/fine:1' },
    });
    expect(patched).toMatchObject({ state: 'provisioning', error: null });
    await world.clock.advance(8_000);
    expect((await world.service(broken.id)).state).toBe('running');
  });

  test.each([
    { from: 'provisioning', refused: ['start', 'restart', 'resize'] },
    { from: 'running', refused: ['start'] },
    { from: 'stopping', refused: ['start', 'stop', 'restart', 'resize'] },
    { from: 'paused', refused: ['stop', 'restart'] },
    { from: 'falling asleep', refused: ['start', 'restart', 'resize'] },
    { from: 'sleeping', refused: ['restart'] },
    { from: 'error', refused: ['start'] },
    { from: 'deleting', refused: ['start', 'stop', 'restart', 'resize', 'delete'] },
  ])('a service that is $from refuses $refused, and nothing else', async ({ from, refused }) => {
    await using world = await startWorld();
    for (const action of ['start', 'stop', 'restart', 'resize', 'delete']) {
      const { id } = await serviceThatIs(world, from);
      const before = await world.service(id);
      const resources = action === 'resize' ? { resources: { gpuCount: 2, cpu: 8, memoryGb: 32 } } : {};
      const answer = await world.call('POST', `/api/services/${id}/actions`, { action, ...resources });
      expect(`${action} ${answer.status}`).toBe(`${action} ${refused.includes(action) ? 409 : 200}`);
      const after = await world.service(id);
      expect(after.revision).toBe(before.revision + (refused.includes(action) ? 0 : 1));
    }
  });

  test('a resize takes a running service through provisioning, and only changes the record of a paused one', async () => {
    await using world = await startWorld();
    const { id, hourlyMicros } = await world.running();
    const bigger = { gpuCount: 2, cpu: 8, memoryGb: 32 };
    const resized = await world.act(id, 'resize', bigger);
    expect(resized).toMatchObject({ state: 'provisioning', resources: bigger });
    expect(resized.hourlyMicros).toBe(hourlyMicros + 900_000);
    await world.clock.advance(8_000);
    await world.act(id, 'stop');
    await world.clock.advance(3_000);
    expect(await world.act(id, 'resize', trainer.resources)).toMatchObject({
      state: 'paused',
      resources: trainer.resources,
      hourlyMicros,
    });
  });

  test('resources are required for resize and rejected for every other action', async () => {
    await using world = await startWorld();
    const { id } = await world.running();
    const path = `/api/services/${id}/actions`;
    expect(await world.refusal('POST', path, { action: 'resize' })).toBe('400 invalid_request');
    const other = { action: 'restart', resources: trainer.resources };
    expect(await world.refusal('POST', path, other)).toBe('400 invalid_request');
    expect(await world.refusal('POST', path, { action: 'explode' })).toBe('400 invalid_request');
  });

  test('capacity is taken by what holds compute, and is free again after a stop', async () => {
    const [standard, ...others] = defaultConfig.regions;
    if (!standard) throw new Error('no region');
    const tiny = { ...standard, geographies: [{ name: 'europe', gpus: { h100: 2 } }] };
    await using world = await startWorld({ config: { ...defaultConfig, regions: [tiny, ...others] } });
    const both = { ...trainer, resources: { ...trainer.resources, gpuCount: 2 } };
    const { id } = await world.running(both);
    expect(await world.refusal('POST', '/api/services', trainer)).toBe('409 capacity_unavailable');
    expect(
      await world.refusal('POST', `/api/services/${id}/actions`, {
        action: 'resize',
        resources: { ...trainer.resources, gpuCount: 3 },
      }),
    ).toBe('409 capacity_unavailable');
    await world.ok('POST', '/api/services', { ...trainer, resources: { ...trainer.resources, gpuCount: 0 } });
    await world.act(id, 'restart');
    await world.clock.advance(8_000);
    await world.act(id, 'stop');
    await world.clock.advance(3_000);
    await world.ok('POST', '/api/services', both);
    expect(await world.refusal('POST', `/api/services/${id}/actions`, { action: 'start' })).toBe(
      '409 capacity_unavailable',
    );
  });
});

async function serviceThatIs(world: World, state: string): Promise<Json> {
  if (state === 'provisioning') return world.ok('POST', '/api/services', trainer);
  if (state === 'error') return world.running({ image: 'registry.invalid/x' });
  const isSleepy = state === 'sleeping' || state === 'falling asleep';
  const service = await world.running({ sleepAfterMinutes: isSleepy ? 1 : null });
  if (isSleepy) await world.clock.advance(60_000);
  if (state === 'sleeping') await world.clock.advance(3_000);
  if (state === 'stopping' || state === 'paused') await world.act(service.id, 'stop');
  if (state === 'paused') await world.clock.advance(3_000);
  if (state === 'deleting') await world.act(service.id, 'delete');
  return service;
}

describe('patches', () => {
  test('a patch needs the current revision, and each accepted one advances it by one', async () => {
    await using world = await startWorld();
    const { id } = await world.running();
    const path = `/api/services/${id}`;
    const stale = { revision: 1, patch: { image: 'b' } };
    expect(await world.refusal('PATCH', path, stale)).toBe('409 revision_conflict');
    expect((await world.service(id)).image).toBe(trainer.image);
    const patched = await world.ok('PATCH', path, { revision: 2, patch: { image: 'b', command: ['run'] } });
    expect(patched).toMatchObject({ revision: 3, state: 'provisioning', image: 'b', command: ['run'] });
    await world.clock.advance(8_000);
    expect(await world.service(id)).toMatchObject({ revision: 4, state: 'running' });
  });

  test('a patch that changes nothing advances the revision and disturbs nobody', async () => {
    await using world = await startWorld();
    const { id } = await world.running({ environment: { A: '1', B: '2' } });
    const same = { revision: 2, patch: { image: trainer.image, environment: { B: '2', A: '1' } } };
    expect(await world.ok('PATCH', `/api/services/${id}`, same)).toMatchObject({
      revision: 3,
      state: 'running',
    });
  });

  test('a new value under an old name restarts the service although no answer shows a difference', async () => {
    await using world = await startWorld();
    const { id } = await world.running({ environment: { A: '1' } });
    const patched = await world.ok('PATCH', `/api/services/${id}`, {
      revision: 2,
      patch: { environment: { A: '2' } },
    });
    expect(patched).toMatchObject({ state: 'provisioning', environmentNames: ['A'] });
  });

  test('a present environment replaces all, an absent one keeps all', async () => {
    await using world = await startWorld();
    const { id } = await world.running({ environment: { A: '1', B: '2' } });
    const kept = await world.ok('PATCH', `/api/services/${id}`, { revision: 2, patch: { httpPort: 80 } });
    expect(kept.environmentNames).toEqual(['A', 'B']);
    const replaced = await world.ok('PATCH', `/api/services/${id}`, {
      revision: 3,
      patch: { environment: { C: '3' } },
    });
    expect(replaced.environmentNames).toEqual(['C']);
  });

  test('a patch of a paused service leaves it paused', async () => {
    await using world = await startWorld();
    const { id } = await world.running();
    await world.act(id, 'stop');
    await world.clock.advance(3_000);
    const patched = await world.ok('PATCH', `/api/services/${id}`, { revision: 4, patch: { image: 'b' } });
    expect(patched).toMatchObject({ state: 'paused', image: 'b', revision: 5 });
  });

  test('a patch may not touch anything else, and may not be empty', async () => {
    await using world = await startWorld();
    const { id } = await world.running();
    for (const patch of [{}, { region: 'economy' }, { image: '' }, { httpPort: 0 }, { httpPort: null }]) {
      expect(await world.refusal('PATCH', `/api/services/${id}`, { revision: 2, patch })).toBe(
        '400 invalid_request',
      );
    }
  });
});

describe('idle sleep and activities', () => {
  const task = { id: '3f0c2f8e-9d68-4a3b-9c0f-2b9d3a3f1a11', name: 'training' };

  test('an idle service falls asleep after its time, costs nothing then, and wakes by start', async () => {
    await using world = await startWorld();
    const { id } = await world.running({ sleepAfterMinutes: 2, httpPort: 80 });
    await world.clock.advance(119_999);
    expect(brief(await world.service(id))).toMatchObject({ state: 'running', operation: null });
    await world.clock.advance(1);
    const falling = { state: 'running', revision: 3, endpoint: null, operation: 'sleep' };
    expect(brief(await world.service(id))).toEqual(falling);
    await world.clock.advance(2_999);
    expect(brief(await world.service(id))).toEqual(falling);
    await world.clock.advance(1);
    const asleep = { state: 'sleeping', revision: 4, endpoint: null, operation: null };
    expect(brief(await world.service(id))).toEqual(asleep);
    const { balanceMicros } = await world.ok('GET', '/api/account');
    await world.clock.advance(3_600_000);
    expect((await world.ok('GET', '/api/account')).balanceMicros).toBe(balanceMicros);
    await world.act(id, 'start');
    await world.clock.advance(8_000);
    expect((await world.service(id)).state).toBe('running');
    await world.clock.advance(123_000);
    expect((await world.service(id)).state).toBe('sleeping');
  });

  test('a service that falls asleep is charged until it sleeps', async () => {
    await using world = await startWorld();
    const { hourlyMicros } = await world.running({ sleepAfterMinutes: 1 });
    const before = (await world.ok('GET', '/api/account')).balanceMicros;
    await world.clock.advance(3_600_000);
    const after = (await world.ok('GET', '/api/account')).balanceMicros;
    expect(before - after).toBe(Math.floor((hourlyMicros * 63) / 3600));
  });

  test('a service that falls asleep can be stopped instead, and a patch waits for its next start', async () => {
    await using world = await startWorld();
    const { id } = await world.running({ sleepAfterMinutes: 1 });
    await world.clock.advance(60_000);
    const patched = await world.ok('PATCH', `/api/services/${id}`, { revision: 3, patch: { image: 'b' } });
    expect(brief(patched)).toMatchObject({ state: 'running', operation: 'sleep' });
    expect(brief(await world.act(id, 'stop'))).toMatchObject({ state: 'running', operation: 'stop' });
    await world.clock.advance(3_000);
    expect(await world.service(id)).toMatchObject({ state: 'paused', image: 'b' });
  });

  test('an activity that is registered while a service falls asleep wakes it', async () => {
    await using world = await startWorld();
    const { id } = await world.running({ sleepAfterMinutes: 1 });
    await world.clock.advance(60_000);
    await world.ok('POST', `/api/services/${id}/activity`, task);
    await world.clock.advance(3_000);
    expect(brief(await world.service(id))).toMatchObject({ state: 'provisioning', operation: 'provision' });
    await world.clock.advance(8_000);
    expect((await world.service(id)).state).toBe('running');
    await world.clock.advance(3_600_000);
    expect((await world.service(id)).state).toBe('running');
  });

  test('a policy can be set and taken away while the service runs', async () => {
    await using world = await startWorld();
    const { id } = await world.running();
    const path = `/api/services/${id}/sleep`;
    await world.clock.advance(600_000);
    expect(await world.ok('PATCH', path, { sleepAfterMinutes: 1 })).toMatchObject({
      sleepAfterMinutes: 1,
      revision: 3,
      state: 'running',
    });
    await world.clock.advance(30_000);
    await world.ok('PATCH', path, { sleepAfterMinutes: null });
    await world.clock.advance(3_600_000);
    expect((await world.service(id)).state).toBe('running');
    for (const sleepAfterMinutes of [0, 1441, 1.5, undefined]) {
      expect(await world.refusal('PATCH', path, { sleepAfterMinutes })).toBe('400 invalid_request');
    }
  });

  test('an activity is answered with its periods and keeps its id', async () => {
    await using world = await startWorld();
    const { id } = await world.running();
    const answer = await world.ok('POST', `/api/services/${id}/activity`, task);
    expect(answer).toEqual({ id: task.id, heartbeatSeconds: 30, expiresInSeconds: 300 });
    await world.ok('POST', `/api/services/${id}/activity`, { ...task, release: false });
    const { activities } = await world.ok('GET', `/api/services/${id}/activity`);
    expect(activities).toMatchObject([{ ...task, fresh: true, released: false }]);
  });

  test('a stale activity is still listed and still protects; only its release lets the service sleep', async () => {
    await using world = await startWorld();
    const { id } = await world.running({ sleepAfterMinutes: 1 });
    await world.ok('POST', `/api/services/${id}/activity`, task);
    await world.clock.advance(3_600_000);
    expect((await world.service(id)).state).toBe('running');
    const { activities } = await world.ok('GET', `/api/services/${id}/activity`);
    expect(activities).toMatchObject([{ id: task.id, fresh: false }]);
    await world.ok('POST', `/api/services/${id}/activity`, { ...task, release: true });
    expect((await world.ok('GET', `/api/services/${id}/activity`)).activities).toEqual([]);
    await world.clock.advance(62_999);
    expect((await world.service(id)).state).toBe('running');
    await world.clock.advance(1);
    expect((await world.service(id)).state).toBe('sleeping');
  });

  test('a heartbeat that arrives after the release does not protect again; a second release is harmless', async () => {
    await using world = await startWorld();
    const { id } = await world.running();
    const path = `/api/services/${id}/activity`;
    await world.ok('POST', path, task);
    await world.ok('POST', path, { ...task, release: true });
    await world.ok('POST', path, { ...task, release: true });
    expect(await world.refusal('POST', path, task)).toBe('409 activity_released');
    expect((await world.ok('GET', path)).activities).toEqual([]);
  });

  test('an activity needs a UUID and a name of at most 128 characters', async () => {
    await using world = await startWorld();
    const { id } = await world.running();
    const path = `/api/services/${id}/activity`;
    const wrong = [{ ...task, id: 'task-1' }, { ...task, name: 'x'.repeat(129) }, { id: task.id }];
    for (const body of wrong) expect(await world.refusal('POST', path, body)).toBe('400 invalid_request');
  });
});

test('a read of events shows the newest 100', async () => {
  await using world = await startWorld();
  const { id } = await world.running();
  for (let minutes = 1; minutes <= 110; minutes += 1) {
    await world.ok('PATCH', `/api/services/${id}/sleep`, { sleepAfterMinutes: minutes });
  }
  const { events } = await world.ok('GET', `/api/services/${id}/events`);
  expect(events).toHaveLength(100);
  expect(events[0]).toEqual({
    message: 'sleep policy set by alice: sleep after 110 min idle',
    created_at: world.clock.wallMs(),
  });
});
