import { expect, test } from 'vitest';
import type { VolumeRecord } from '../../../src/control-plane/store/records.ts';
import { Store } from '../../../src/control-plane/store/store.ts';
import { startWorld, trainer } from './support.ts';

const record = (id: string, name: string): VolumeRecord => ({
  id,
  accountId: 'a',
  name,
  mode: 'independent',
  serviceId: null,
  region: 'standard',
  geography: 'europe',
  status: 'ready',
  revision: 1,
  sizeGb: 10,
  requestedSizeGb: 10,
  provisioned: true,
  hourlyMicros: 1_400,
  error: null,
  operation: null,
  createdAtMs: 0,
});

test('a failed transaction takes everything back, in memory and in the database', () => {
  const store = new Store(':memory:');
  store.unit.run(() => {
    store.volumes.put(record('changed', 'before'));
    store.volumes.put(record('removed', 'before'));
  });
  const announced: string[] = [];
  const failing = () =>
    store.unit.run(() => {
      store.volumes.put(record('changed', 'after'));
      store.volumes.put(record('changed', 'after that'));
      store.volumes.remove(record('removed', 'before'));
      store.volumes.put(record('added', 'after'));
      store.unit.afterCommit(() => announced.push('done'));
      throw new Error('the disk is full');
    });
  expect(failing).toThrow('the disk is full');
  const inMemory = Array.from(store.volumes.of('a'), ({ id, name }) => `${id} ${name}`);
  const inDatabase = store.database
    .all(`SELECT document FROM volumes ORDER BY id`)
    .map((row) => JSON.parse(String(row['document'])) as VolumeRecord)
    .map(({ id, name }) => `${id} ${name}`);
  expect(inMemory.sort()).toEqual(['changed before', 'removed before']);
  expect(inDatabase).toEqual(['changed before', 'removed before']);
  expect(announced).toEqual([]);
  store.close();
});

test('a record changes only inside a transaction', () => {
  const store = new Store(':memory:');
  expect(() => store.volumes.put(record('a', 'a'))).toThrow(/outside a transaction/);
  store.close();
});

test('a refused action leaves no event behind', async () => {
  await using world = await startWorld();
  const { id } = await world.running({ volumeGb: 10 });
  await world.act(id, 'stop');
  await world.clock.advance(3_000);
  const { volumeId } = await world.service(id);
  const { revision } = await world.volume(volumeId);
  await world.ok('PATCH', `/api/volumes/${volumeId}`, { revision, sizeGb: 20 });
  const before = await world.ok('GET', `/api/services/${id}/events`);
  expect(await world.refusal('POST', `/api/services/${id}/actions`, { action: 'start' })).toBe(
    '409 volume_not_ready',
  );
  expect(await world.ok('GET', `/api/services/${id}/events`)).toEqual(before);
  expect((await world.service(id)).image).toBe(trainer.image);
});
