import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defaultConfig, type ControlPlaneConfig } from '../../../src/control-plane/main.ts';
import { startWorld, trainer, type Json, type World } from './support.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetkeeper-config-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const region = (name: string, geography: string, l4: number) => ({
  name,
  description: '',
  geographies: [{ name: geography, gpus: { l4 } }],
  prices: { gpuHourMicros: 1, cpuHourMicros: 1, memoryGbHourMicros: 1, storageGbHourMicros: 1 },
});
const withRegions = (...regions: ControlPlaneConfig['regions']) => ({ ...defaultConfig, regions });

/** Ends `world`, and starts another control plane with `config` on its database. */
async function restarted(world: World, config: ControlPlaneConfig): Promise<World> {
  await world.close();
  return startWorld({ database: join(folder, 'c.db'), clock: world.clock, config });
}

async function refusalOf(world: World, { id }: Json, action: string, resources?: object): Promise<string> {
  return world.refusal('POST', `/api/services/${id}/actions`, { action, ...(resources && { resources }) });
}

test.each([
  ['its region', withRegions(region('economy', 'asia', 4))],
  ['its geography', withRegions(region('standard', 'asia', 4))],
])(
  'a service keeps running when the configuration no longer has %s, and can only be ended',
  async (_, config) => {
    const world = await startWorld({
      database: join(folder, 'c.db'),
      config: withRegions(region('standard', 'europe', 4)),
    });
    const service = await world.running({ volumeGb: 10 });
    const paused = await world.running();
    await world.act(paused.id, 'stop');
    await world.clock.advance(3_000);
    await using after = await restarted(world, config);
    await after.clock.advance(60_000);
    expect(await after.service(service.id)).toEqual(service);
    expect(await refusalOf(after, service, 'restart')).toBe('409 capacity_unavailable');
    expect(await refusalOf(after, service, 'resize', trainer.resources)).toBe('409 capacity_unavailable');
    expect(await refusalOf(after, paused, 'start')).toBe('409 capacity_unavailable');
    await after.ok('PATCH', `/api/services/${service.id}/sleep`, { sleepAfterMinutes: null });
    await after.act(service.id, 'stop');
    await after.clock.advance(3_000);
    expect(await after.service(service.id)).toMatchObject({ state: 'paused' });
    const { revision } = await after.volume(service.volumeId);
    await after.ok('PATCH', `/api/volumes/${service.volumeId}`, { revision, sizeGb: 20 });
    await after.clock.advance(6_000);
    expect(await after.volume(service.volumeId)).toMatchObject({ status: 'ready', sizeGb: 20 });
    await after.act(service.id, 'delete');
    await after.clock.advance(3_000);
    expect(await after.refusal('GET', `/api/services/${service.id}`)).toBe('404 not_found');
  },
);

test('services keep running when there are fewer GPUs than they hold, and nothing is placed until enough are free', async () => {
  const world = await startWorld({
    database: join(folder, 'c.db'),
    config: withRegions(region('standard', 'europe', 2)),
  });
  const first = await world.running();
  const second = await world.running();
  await using after = await restarted(world, withRegions(region('standard', 'europe', 1)));
  await after.clock.advance(60_000);
  for (const { id } of [first, second]) expect(await after.service(id)).toMatchObject({ state: 'running' });
  expect(await refusalOf(after, first, 'restart')).toBe('409 capacity_unavailable');
  await after.act(second.id, 'delete');
  await after.clock.advance(3_000);
  expect(await after.refusal('POST', '/api/services', trainer)).toBe('409 capacity_unavailable');
  expect(await after.act(first.id, 'restart')).toMatchObject({ state: 'provisioning' });
});

test('prices of a new configuration count for what is created or resized from then on', async () => {
  const world = await startWorld({
    database: join(folder, 'c.db'),
    config: withRegions(region('standard', 'europe', 4)),
  });
  const service = await world.running();
  const dearer = region('standard', 'europe', 4);
  await using after = await restarted(
    world,
    withRegions({ ...dearer, prices: { ...dearer.prices, gpuHourMicros: 1_000 } }),
  );
  expect(await after.service(service.id)).toMatchObject({ hourlyMicros: service.hourlyMicros });
  expect(await after.act(service.id, 'resize', trainer.resources)).toMatchObject({
    hourlyMicros: service.hourlyMicros + 999,
  });
});
