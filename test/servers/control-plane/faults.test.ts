import { expect, test } from 'vitest';
import { startWorld, type Json, type World } from './support.ts';

const volume = { name: 'v', region: 'standard', sizeGb: 10 };

const create = (world: World, idempotencyKey = 'k') =>
  world.call('POST', '/api/volumes', volume, { idempotencyKey });

async function journal(world: World): Promise<Json[]> {
  return (await world.admin('GET', '/requests')).body.requests;
}

test('a dropped request has no effect', async () => {
  await using world = await startWorld();
  await world.admin('PUT', '/faults', [{ method: 'POST', times: 1, fault: 'drop-request' }]);
  await expect(create(world)).rejects.toThrow('fetch failed');
  expect((await world.ok('GET', '/api/volumes')).volumes).toEqual([]);
  expect((await create(world)).status).toBe(201);
});

test('a dropped response has had its effect, and the repeated request gets its answer', async () => {
  await using world = await startWorld();
  await world.admin('PUT', '/faults', [{ path: '^/api/volumes$', times: 1, fault: 'drop-response' }]);
  await expect(create(world)).rejects.toThrow('fetch failed');
  const { volumes } = await world.ok('GET', '/api/volumes');
  expect(volumes).toHaveLength(1);
  const again = await create(world);
  expect([again.status, again.body.id]).toEqual([201, volumes[0].id]);
  expect((await world.ok('GET', '/api/volumes')).volumes).toHaveLength(1);
});

test('a delayed request waits, and is then processed', async () => {
  await using world = await startWorld();
  await world.admin('PUT', '/faults', [{ method: 'POST', fault: 'delay', delayMs: 5_000 }]);
  const pending = create(world);
  await expect.poll(async () => (await journal(world))[0]?.fault).toBe('delay');
  expect((await world.ok('GET', '/api/volumes')).volumes).toEqual([]);
  await world.clock.advance(5_000);
  expect((await pending).status).toBe(201);
});

test('closing lets a delayed request finish', async () => {
  const world = await startWorld();
  await world.admin('PUT', '/faults', [{ fault: 'delay', delayMs: 3_600_000 }]);
  const pending = create(world);
  await expect.poll(async () => (await journal(world))[0]?.fault).toBe('delay');
  const [answer] = await Promise.all([pending, world.close()]);
  expect(answer.status).toBe(201);
});

test('a status is played in the error form with a code, and as a page without one', async () => {
  await using world = await startWorld();
  await world.admin('PUT', '/faults', [
    { times: 1, fault: 'status', status: 503, code: 'overloaded', retryAfter: 7 },
    { times: 1, fault: 'status', status: 502 },
  ]);
  const form = await create(world);
  expect([form.status, form.body.error.code, form.headers.get('retry-after')]).toEqual([
    503,
    'overloaded',
    '7',
  ]);
  const page = await create(world);
  expect([page.status, page.body]).toEqual([502, undefined]);
  expect((await world.ok('GET', '/api/volumes')).volumes).toEqual([]);
});

test('a fault hits what matches, every n-th time, as often as it should', async () => {
  await using world = await startWorld();
  await world.admin('PUT', '/faults', [
    { method: 'get', path: '/me$', every: 3, times: 2, fault: 'status', status: 500, code: 'played' },
  ]);
  const statuses: number[] = [];
  for (let n = 0; n < 10; n += 1) statuses.push((await world.call('GET', '/api/me')).status);
  expect(statuses).toEqual([200, 200, 500, 200, 200, 500, 200, 200, 200, 200]);
  expect((await world.admin('GET', '/faults')).body).toMatchObject([{ hits: 2 }]);
  await world.admin('PUT', '/faults', []);
  expect((await world.admin('GET', '/faults')).body).toEqual([]);
});

test.each([
  [[{ fault: 'explode' }]],
  [[{ fault: 'delay' }]],
  [[{ fault: 'status' }]],
  [[{ fault: 'drop-request', path: '(' }]],
  [[{ fault: 'drop-request', times: 0 }]],
  [{}],
])('the faults %j are refused, and the old ones stay', async (faults) => {
  await using world = await startWorld();
  await world.admin('PUT', '/faults', [{ fault: 'drop-request', method: 'DELETE' }]);
  const answer = await world.admin('PUT', '/faults', faults);
  expect([answer.status, answer.body.error.code]).toEqual([400, 'invalid_request']);
  expect((await world.admin('GET', '/faults')).body).toMatchObject([{ method: 'DELETE' }]);
});

test('the journal tells who sent what, and how it was answered', async () => {
  await using world = await startWorld();
  await world.admin('PUT', '/faults', [{ path: '/me$', fault: 'drop-response' }]);
  await create(world, 'one');
  await create(world, 'two');
  await world.call('GET', '/api/account?x=1', undefined, { as: 'nobody' });
  await expect(world.call('GET', '/api/me')).rejects.toThrow('fetch failed');
  const requests = await journal(world);
  const at = new Date(world.clock.wallMs()).toISOString();
  const digest = expect.stringMatching(/^[0-9a-f]{64}$/);
  const post = {
    at,
    account: 'alice',
    method: 'POST',
    path: '/api/volumes',
    bodyDigest: digest,
    status: 201,
  };
  const get = { at, method: 'GET', bodyDigest: null, idempotencyKey: null };
  expect(requests).toEqual([
    { ...post, idempotencyKey: 'one' },
    { ...post, idempotencyKey: 'two' },
    { ...get, account: null, path: '/api/account', status: 401 },
    { ...get, account: 'alice', path: '/api/me', status: null, fault: 'drop-response' },
  ]);
  expect(requests[0].bodyDigest).toBe(requests[1].bodyDigest);
  await world.admin('DELETE', '/requests');
  expect(await journal(world)).toEqual([]);
});

test('the administrative listener is healthy, and is not part of the public one', async () => {
  await using world = await startWorld();
  expect((await world.admin('GET', '/healthz')).status).toBe(200);
  for (const path of ['/faults', '/requests', '/healthz']) {
    expect(await world.refusal('GET', path)).toBe('404 not_found');
  }
});
