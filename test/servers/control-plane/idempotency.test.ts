import { copyFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Sqlite } from '../../../src/base/sqlite.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { key, startWorld, trainer } from './support.ts';

const dayMs = 24 * 60 * 60 * 1000;

test('a repeated request gets the stored answer and has no second effect', async () => {
  await using world = await startWorld();
  const first = await world.call('POST', '/api/services', trainer, { idempotencyKey: 'create-1' });
  await world.clock.advance(8_000);
  const again = await world.call('POST', '/api/services', trainer, { idempotencyKey: 'create-1' });
  expect([again.status, again.text]).toEqual([201, first.text]);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect((await world.ok('GET', '/api/account')).services).toHaveLength(1);
});

test('two deliveries of one request at the same moment have one effect and one answer', async () => {
  await using world = await startWorld();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => world.call('POST', '/api/services', trainer, { idempotencyKey: 'same' })),
  );
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect((await world.ok('GET', '/api/account')).services).toHaveLength(1);
});

test('the order of members and the spacing do not make another request', async () => {
  await using world = await startWorld();
  const { name, ...rest } = trainer;
  await world.call('POST', '/api/services', trainer, { idempotencyKey: 'k' });
  const again = await world.call('POST', '/api/services', JSON.stringify({ ...rest, name }, null, 2), {
    idempotencyKey: 'k',
  });
  expect(again.status).toBe(201);
});

test('a key with another body, path or method is refused without effect', async () => {
  await using world = await startWorld();
  const { id } = await world.running();
  const options = { idempotencyKey: 'k' };
  await world.call('POST', `/api/services/${id}/actions`, { action: 'restart' }, options);
  const before = await world.service(id);
  const reuses = [
    ['POST', `/api/services/${id}/actions`, { action: 'stop' }],
    ['POST', '/api/services', { ...trainer }],
    ['PATCH', `/api/services/${id}/sleep`, { sleepAfterMinutes: 1 }],
  ] as const;
  for (const [method, path, body] of reuses) {
    const answer = await world.call(method, path, body, options);
    expect([answer.status, answer.body.error.code]).toEqual([409, 'idempotency_key_reused']);
  }
  expect(await world.service(id)).toEqual(before);
});

test('every mutation needs a key, of visible ASCII', async () => {
  await using world = await startWorld();
  const id = '00000000-0000-4000-8000-000000000000';
  const mutations = [
    ['POST', '/api/services'],
    ['PATCH', `/api/services/${id}`],
    ['POST', `/api/services/${id}/actions`],
    ['PATCH', `/api/services/${id}/sleep`],
    ['POST', `/api/services/${id}/activity`],
    ['POST', '/api/volumes'],
    ['PATCH', `/api/volumes/${id}`],
    ['DELETE', `/api/volumes/${id}`],
  ] as const;
  for (const [method, path] of mutations) {
    const answer = await world.call(method, path, undefined, { idempotencyKey: null });
    expect([path, answer.status, answer.body.error.code]).toEqual([path, 400, 'idempotency_key_missing']);
  }
  const spaced = await world.call('POST', '/api/services', trainer, { idempotencyKey: 'a b' });
  expect(spaced.body.error.code).toBe('idempotency_key_invalid');
  const long = await world.call('POST', '/api/services', trainer, { idempotencyKey: 'x'.repeat(256) });
  expect(long.body.error.code).toBe('idempotency_key_invalid');
});

test('a refusal is not remembered: the same request passes once its cause is mended', async () => {
  await using world = await startWorld();
  const { id } = await world.running();
  await world.act(id, 'stop');
  const start = () =>
    world.call('POST', `/api/services/${id}/actions`, { action: 'start' }, { idempotencyKey: 'start-1' });
  expect((await start()).status).toBe(409);
  await world.clock.advance(3_000);
  expect((await start()).status).toBe(200);
});

test('a key is kept for 24 hours', async () => {
  await using world = await startWorld();
  const create = () =>
    world.call(
      'POST',
      '/api/volumes',
      { name: 'v', region: 'standard', sizeGb: 10 },
      { idempotencyKey: 'k' },
    );
  const first = await create();
  await world.clock.advance(dayMs - 1);
  expect((await create()).body.id).toBe(first.body.id);
  await world.clock.advance(1);
  const later = await create();
  expect(later.status).toBe(201);
  expect(later.body.id).not.toBe(first.body.id);
});

test('the key of an activity request is kept for as long as the activity is fresh', async () => {
  await using world = await startWorld();
  const { id } = await world.running();
  const task = { id: '3f0c2f8e-9d68-4a3b-9c0f-2b9d3a3f1a11', name: 'training' };
  const heartbeat = () =>
    world.call('POST', `/api/services/${id}/activity`, task, { idempotencyKey: 'beat-1' });
  const isReplay = async () => (await heartbeat()).headers.has('idempotency-replayed');
  expect(await isReplay()).toBe(false);
  await world.clock.advance(299_999);
  expect(await isReplay()).toBe(true);
  await world.clock.advance(1);
  expect(await isReplay()).toBe(false);
});

// Each beat is on the disk before it is answered.
test('a task that beats for hours leaves the answers of a few minutes in the database', async () => {
  const file = temporaryFile('a.db');
  await using world = await startWorld({ database: file });
  const { id } = await world.running();
  const task = { id: '3f0c2f8e-9d68-4a3b-9c0f-2b9d3a3f1a11', name: 'training' };
  for (let minutes = 0; minutes < 120; minutes += 0.5) {
    await world.ok('POST', `/api/services/${id}/activity`, task);
    await world.clock.advance(30_000);
  }
  const image = temporaryFile('image.db');
  for (const suffix of ['', '-wal']) copyFileSync(file + suffix, image + suffix);
  const database = new Sqlite(image);
  const [row] = database.all('SELECT count(*) AS n FROM answers');
  database.close();
  // Ten beats, two that are purged within the minute, and the creation.
  expect(Number(row?.['n'])).toBeLessThanOrEqual(13);
});

test('reads need no key', async () => {
  await using world = await startWorld();
  expect((await world.call('GET', '/api/account', undefined, { as: key.bob })).status).toBe(200);
});
