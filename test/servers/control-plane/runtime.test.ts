/** What a runtime is told, and what becomes of what it tells. */
import { expect, test } from 'vitest';
import { UserError } from '../../../src/base/user-error.ts';
import { placeKey, type ObservedBounds } from '../../../src/control-plane/domain/capacity.ts';
import { defaultConfig } from '../../../src/control-plane/main.ts';
import { startWorld, trainer, type Json, type World } from './support.ts';
import { ScriptedRuntime } from './scripted-runtime.ts';

const access = { repository: 'ghcr.io/acme/trainer', username: 'robot', password: 'first' };

/** A service that the runtime says is running. */
async function running(world: World, runtime: ScriptedRuntime, spec: object = {}): Promise<Json> {
  const { id } = await world.ok('POST', '/api/services', { ...trainer, httpPort: 80, ...spec });
  runtime.done(id, { endpoint: 'http://127.0.0.1:1' });
  return world.service(id);
}

test('a launch is asked for with everything that a container needs', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const environment = { TOKEN: 'secret', MODE: 'train' };
  const volume = await world.ok('POST', '/api/volumes', { name: 'v', region: 'standard', sizeGb: 10 });
  runtime.done(volume.id);
  const spec = { ...trainer, command: ['run'], environment, httpPort: 80, volumeId: volume.id };
  const { id } = await world.ok('POST', '/api/services', spec);
  const launch = runtime.launch(id);
  expect(launch).toMatchObject({
    image: trainer.image,
    command: ['run'],
    resources: trainer.resources,
    httpPort: 80,
    volumeId: volume.id,
    credentials: null,
  });
  expect(launch.environment.reveal()).toEqual(environment);
  expect(JSON.stringify(runtime.asked(id))).not.toContain('secret');
});

test('a launch has the environment that was patched last', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id, revision } = await running(world, runtime, { environment: { A: '1' } });
  await world.ok('PATCH', `/api/services/${id}`, { revision, patch: { environment: { B: '2' } } });
  expect(runtime.launch(id).environment.reveal()).toEqual({ B: '2' });
});

test('the credentials of a registry arrive with the next launch, those of that moment', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id: registryId } = await world.ok('POST', '/api/registries', access);
  const { id } = await running(world, runtime);
  expect(runtime.launch(id).credentials?.reveal()).toEqual({ username: 'robot', password: 'first' });
  const spec = { ...access, password: 'second' };
  await world.ok('PUT', `/api/registries/${registryId}`, { revision: 1, spec });
  expect(runtime.launch(id).credentials?.reveal().password).toBe('first');
  await world.act(id, 'restart');
  expect(runtime.launch(id).credentials?.reveal().password).toBe('second');
});

test('a launch waits for the storage that is made for it', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id, volumeId } = await world.ok('POST', '/api/services', { ...trainer, volumeGb: 10 });
  expect(runtime.requests.map(({ kind }) => kind)).toEqual(['volume-provision']);
  runtime.done(volumeId);
  expect(runtime.launch(id).volumeId).toBe(volumeId);
  runtime.done(id);
  expect(await world.service(id)).toMatchObject({ state: 'running', revision: 2 });
});

test('a launch whose storage can not be made ends in error, and so does the next one', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id, volumeId } = await world.ok('POST', '/api/services', { ...trainer, volumeGb: 10 });
  runtime.done(volumeId, { error: 'no space left' });
  expect(await world.volume(volumeId)).toMatchObject({ status: 'error', error: 'no space left' });
  expect((await world.service(id)).error).toContain('no space left');
  expect(await world.act(id, 'restart')).toMatchObject({ state: 'error', operation: null });
  expect(runtime.requests.map(({ kind }) => kind)).toEqual(['volume-provision']);
});

test('a deletion names the storage that goes with the service, and only that', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const owning = await world.ok('POST', '/api/services', { ...trainer, volumeGb: 10 });
  await world.act(owning.id, 'delete');
  expect(runtime.asked(owning.id)).toMatchObject({ kind: 'remove', ownedVolumeId: owning.volumeId });
  const spec = { ...trainer, volumeGb: 10, volumeMode: 'independent' };
  const borrowing = await world.ok('POST', '/api/services', spec);
  await world.act(borrowing.id, 'delete');
  expect(runtime.asked(borrowing.id)).toMatchObject({ kind: 'remove', ownedVolumeId: null });
});

test('a running service whose container ends by itself is in error, with the reason', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id, revision } = await running(world, runtime);
  runtime.host.onEnded(id, 'the container ended with exit code 3');
  const broken = await world.service(id);
  expect(broken).toMatchObject({ state: 'error', endpoint: null, revision: revision + 1 });
  expect(broken.error).toBe('the container ended with exit code 3');
  const { events } = await world.ok('GET', `/api/services/${id}/events`);
  expect(events[0].message).toBe('error: the container ended with exit code 3');
});

test("the end of a container is nobody's news while something is under way, or when its service is down", async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id } = await running(world, runtime);
  await world.act(id, 'stop');
  runtime.host.onEnded(id, 'ended');
  expect(await world.service(id)).toMatchObject({ state: 'running', operation: 'stop', error: null });
  runtime.done(id);
  runtime.host.onEnded(id, 'ended');
  runtime.host.onEnded('0b8a9a52-3c43-4a55-9d2b-000000000009', 'ended');
  expect(await world.service(id)).toMatchObject({ state: 'paused', error: null });
});

test('what the runtime finds behind itself bounds what is added, and nothing that is there', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id } = await running(world, runtime);
  const { cpu } = trainer.resources;
  const create = () => world.refusal('POST', '/api/services', { ...trainer, name: 'another' });
  const places = defaultConfig.regions.flatMap(({ name, geographies }) =>
    geographies.map((geography) => placeKey(name, geography.name)),
  );
  const full: readonly ObservedBounds[] = [
    { machine: { services: 1 }, places: new Map() },
    { machine: { services: 10, cpu: cpu + 0.1 }, places: new Map() },
    { machine: {}, places: new Map(places.map((place) => [place, { services: 0 }])) },
  ];
  for (const bounds of full) {
    runtime.host.onBounds(bounds);
    expect(await create()).toBe('409 capacity_unavailable');
  }
  await world.act(id, 'restart');
  runtime.host.onBounds({ machine: { services: 2, cpu: 2 * cpu }, places: new Map() });
  await world.ok('POST', '/api/services', { ...trainer, name: 'another' });
});

test('what the configuration states counts, whatever the runtime finds', async () => {
  const runtime = new ScriptedRuntime();
  const { containers } = defaultConfig;
  const config = { ...defaultConfig, containers: { ...containers, capacity: { cpu: null, memoryGb: 1000 } } };
  await using world = await startWorld({ runtime: runtime.factory, config });
  // Where machines are added when they are needed, there may be none yet.
  runtime.host.onBounds({ machine: { cpu: 0, memoryGb: 0, services: 0 }, places: new Map() });
  expect(await world.ok('POST', '/api/services', trainer)).toMatchObject({ state: 'provisioning' });
});

test('use keeps a service awake, and is no change of it', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id, revision } = await running(world, runtime, { sleepAfterMinutes: 1 });
  await world.clock.advance(59_999);
  runtime.host.onUsed([id]);
  await world.clock.advance(59_999);
  expect(await world.service(id)).toMatchObject({ revision, operation: null });
  await world.clock.advance(1);
  expect(await world.service(id)).toMatchObject({ operation: 'sleep' });
});

test('a service that turns out to be in use goes on instead of sleeping', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id } = await running(world, runtime, { sleepAfterMinutes: 1 });
  await world.clock.advance(60_000);
  expect(runtime.asked(id).kind).toBe('sleep');
  runtime.done(id, { staysRunning: true, endpoint: 'http://127.0.0.1:1' });
  const awake = { state: 'running', operation: null, endpoint: 'http://127.0.0.1:1' };
  expect(await world.service(id)).toMatchObject(awake);
  await world.clock.advance(59_999);
  expect(await world.service(id)).toMatchObject(awake);
  await world.clock.advance(1);
  runtime.done(id);
  expect(await world.service(id)).toMatchObject({ state: 'sleeping' });
});

test('a service that was patched while it fell asleep, and goes on after all, is launched as it was patched', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id, revision } = await running(world, runtime, { sleepAfterMinutes: 1 });
  await world.clock.advance(60_000);
  const patch = { image: 'ghcr.io/acme/trainer:2' };
  await world.ok('PATCH', `/api/services/${id}`, { revision: revision + 1, patch });
  runtime.done(id, { staysRunning: true, endpoint: 'http://127.0.0.1:1' });
  expect(await world.service(id)).toMatchObject({ state: 'provisioning', operation: 'provision' });
  expect(runtime.asked(id)).toMatchObject({ kind: 'provision', launch: patch });
  runtime.done(id);
  expect(await world.service(id)).toMatchObject({ state: 'running', operation: null });
});

test('only of a running service may the container run on while it is resized', async () => {
  const runtime = new ScriptedRuntime();
  await using world = await startWorld({ runtime: runtime.factory });
  const { id } = await running(world, runtime);
  const resources = { gpuCount: 1, cpu: 2, memoryGb: 8 };
  await world.act(id, 'resize', resources);
  expect(runtime.asked(id)).toMatchObject({ kind: 'provision', isResize: true, launch: { resources } });
  runtime.done(id, { error: 'no room' });
  await world.act(id, 'resize', { ...resources, cpu: 1 });
  expect(runtime.asked(id)).toMatchObject({ kind: 'provision', isResize: false });
  runtime.done(id);
  await world.act(id, 'restart');
  expect(runtime.asked(id)).toMatchObject({ kind: 'provision', isResize: false });
});

test('browser sessions can not be offered by a runtime that has none', async () => {
  const { factory } = new ScriptedRuntime();
  const started = startWorld({ runtime: factory, config: { ...defaultConfig, browserEnabled: true } });
  await expect(started).rejects.toThrow(UserError);
});
