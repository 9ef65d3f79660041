import { describe, expect, test } from 'vitest';
import { defaultConfig, parseConfig, type ControlPlaneConfig } from '../../../src/control-plane/main.ts';
import { startWorld, trainer, type World } from './support.ts';

const configured = (region: string): ControlPlaneConfig =>
  parseConfig(`regions: [{name: standard, ${region}}]`, 'c.yaml');
const small = { ...trainer, resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } };
const volume = { name: 'v', region: 'standard', sizeGb: 10 };
const create = (world: World, spec: object = small) => world.refusal('POST', '/api/services', spec);

test('a region without prices refuses creation, and what has a price goes on (§4)', async () => {
  await using world = await startWorld({ config: configured('geographies: [{name: europe}]') });
  expect(await create(world)).toBe('409 pricing_unavailable');
  expect(await world.refusal('POST', '/api/volumes', volume)).toBe('409 pricing_unavailable');
  expect((await world.ok('GET', '/api/catalog')).regions[0].prices).toBeNull();
});

test('a model of GPUs may have a price of its own, and the catalog shows the highest', async () => {
  const gpus = 'geographies: [{name: europe, gpus: {l4: 1, h100: 1}}]';
  const prices = 'prices: {gpuHourMicros: 400000, gpuModelHourMicros: {h100: 2500000}}';
  await using world = await startWorld({ config: configured(`${gpus}, ${prices}`) });
  const { prices: shown } = (await world.ok('GET', '/api/catalog')).regions[0];
  expect(shown).toMatchObject({ gpuHourMicros: 2_500_000, gpuModelHourMicros: { h100: 2_500_000 } });
  const rest = 8 * 12_000 + 32 * 1_500;
  const cheap = await world.running();
  expect(cheap).toMatchObject({ gpuModel: 'l4', hourlyMicros: 400_000 + rest });
  const dear = await world.running();
  expect(dear).toMatchObject({ gpuModel: 'h100', hourlyMicros: 2_500_000 + rest });
  // Provisioned anew, on the other model.
  await world.act(cheap.id, 'delete');
  await world.act(dear.id, 'stop');
  await world.clock.advance(3_000);
  expect(await world.act(dear.id, 'start')).toMatchObject({ gpuModel: 'l4', hourlyMicros: 400_000 + rest });
});

test('a price of a model that nobody knows is a mistake', () => {
  const region = 'geographies: [{name: x}], prices: {gpuModelHourMicros: {h300: 1}}';
  expect(() => configured(region)).toThrow(/prices\.gpuModelHourMicros\.h300: gpuCatalog has no such model/);
});

describe('a place has no more than it is said to have', () => {
  const config = configured(
    'prices: {}, geographies: [{name: a, cpu: 2, memoryGb: 8, storageGb: 30}, {name: b, cpu: 3}]',
  );

  test('of CPU and memory: what is too much goes to the next place, or is refused', async () => {
    await using world = await startWorld({ config });
    const places = [];
    for (let index = 0; index < 5; index += 1) places.push((await world.running(small)).geography);
    expect(places).toEqual(['a', 'a', 'b', 'b', 'b']);
    expect(await create(world)).toBe('409 capacity_unavailable');
    const [first] = (await world.ok('GET', '/api/account')).services;
    await world.act(first.id, 'restart');
    await world.clock.advance(8_000);
    await world.act(first.id, 'stop');
    await world.clock.advance(3_000);
    const large = { ...small, geography: 'a', resources: { gpuCount: 0, cpu: 1, memoryGb: 7.5 } };
    expect(await create(world, large)).toBe('409 capacity_unavailable');
    expect(await create(world)).toBe('201 undefined');
  });

  test('of storage, for services as for volumes', async () => {
    await using world = await startWorld({ config });
    const first = await world.ok('POST', '/api/volumes', { ...volume, sizeGb: 20 });
    expect(first.geography).toBe('a');
    expect((await world.ok('POST', '/api/volumes', { ...volume, sizeGb: 20 })).geography).toBe('b');
    expect(await create(world, { ...small, geography: 'a', volumeGb: 11 })).toBe('409 capacity_unavailable');
    expect(await create(world, { ...small, geography: 'a', volumeGb: 10 })).toBe('201 undefined');
    await world.clock.advance(8_000);
    const grow = { revision: 2, sizeGb: 21 };
    expect(await world.refusal('PATCH', `/api/volumes/${first.id}`, grow)).toBe('409 capacity_unavailable');
  });

  test('by default only GPUs are counted', () => {
    expect(defaultConfig.regions[0]?.geographies[0]).toEqual({ name: 'europe', gpus: expect.anything() });
  });
});
