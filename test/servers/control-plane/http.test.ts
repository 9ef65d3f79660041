import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { errorBody } from '../../../src/api/wire.ts';
import { key, startWorld, trainer } from './support.ts';

test('whatever is wrong with a request is answered 4xx in the error form, never 5xx', async () => {
  await using world = await startWorld();
  const json = { 'content-type': 'application/json' };
  const wrong = [
    [404, 'GET', '/api/nothing', undefined, {}],
    [404, 'GET', '/', undefined, {}],
    [404, 'PUT', '/api/account', {}, {}],
    [404, 'POST', '/api/catalog', undefined, {}],
    [404, 'GET', '/api/services/not-a-uuid', undefined, {}],
    [400, 'GET', `/api/services/${'x'.repeat(2000)}`, undefined, {}],
    [400, 'GET', '/api/services/%zz', undefined, {}],
    [400, 'POST', '/api/services', '{"name":', json],
    [400, 'POST', '/api/services', '"text"', json],
    [400, 'POST', '/api/services', 'null', json],
    [400, 'POST', '/api/services', '', json],
    [400, 'POST', '/api/services', '{"__proto__": {"a": 1}}', json],
    [400, 'POST', '/api/services', 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }],
    [400, 'POST', '/api/services', `"${'x'.repeat(1024 * 1024)}"`, json],
    [400, 'POST', '/api/services', { ...trainer, surprise: 1 }, {}],
    [400, 'POST', '/api/services', { ...trainer, resources: { gpuCount: 1 } }, {}],
    [400, 'POST', '/api/services', { ...trainer, resources: { ...trainer.resources, gpuCount: 0.5 } }, {}],
    [400, 'POST', '/api/services', { ...trainer, resources: { ...trainer.resources, cpu: 1e9 } }, {}],
    [400, 'POST', '/api/services', { ...trainer, environment: { 'A=B': '1' } }, {}],
    [400, 'POST', '/api/services', { ...trainer, environment: { A: 1 } }, {}],
    [400, 'POST', '/api/services', { ...trainer, httpPort: 65_536 }, {}],
    [400, 'PATCH', '/api/services/x', { revision: 2 ** 53, patch: {} }, {}],
    [400, 'PATCH', '/api/services/x', { revision: 0, patch: {} }, {}],
  ] as const;
  for (const [status, method, path, body, headers] of wrong) {
    const answer = await world.call(method, path, body, { headers });
    expect([method, path.slice(0, 40), body, answer.status]).toEqual([
      method,
      path.slice(0, 40),
      body,
      status,
    ]);
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(errorBody.parse(answer.body).error.code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  }
  expect((await world.ok('GET', '/api/account')).services).toEqual([]);
});

test('a validation error names the path of what is wrong', async () => {
  await using world = await startWorld();
  const answer = await world.call('POST', '/api/services', {
    ...trainer,
    resources: { ...trainer.resources, cpu: 'eight' },
  });
  expect(answer.body.error.message).toContain('resources.cpu');
});

test('what is not HTTP is answered in the error form, too', async () => {
  await using world = await startWorld();
  const answer = await new Promise<string>((resolve, reject) => {
    let text = '';
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1', () =>
      socket.write('NONSENSE\r\n\r\n'),
    );
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(errorBody.parse(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).error.code).toBe('invalid_request');
});

test('an account over its rate is told how many seconds to wait, and others are not affected', async () => {
  await using world = await startWorld({ rateLimitPerSecond: 2 });
  const me = (as = key.alice) => world.call('GET', '/api/me', undefined, { as });
  expect([(await me()).status, (await me()).status]).toEqual([200, 200]);
  const limited = await me();
  expect([limited.status, limited.body.error.code, limited.headers.get('retry-after')]).toEqual([
    429,
    'rate_limited',
    '1',
  ]);
  expect((await me(key.bob)).status).toBe(200);
  await world.clock.advance(1_000);
  expect((await me()).status).toBe(200);
});

test('a slow rate asks for a longer wait', async () => {
  await using world = await startWorld({ rateLimitPerSecond: 0.1 });
  await world.ok('GET', '/api/me');
  await world.clock.advance(2_500);
  const limited = await world.call('GET', '/api/me');
  expect(limited.headers.get('retry-after')).toBe('8');
});

test('a rate-limited mutation has no effect', async () => {
  await using world = await startWorld({ rateLimitPerSecond: 1 });
  const volume = { name: 'v', region: 'standard', sizeGb: 10 };
  const create = () => world.call('POST', '/api/volumes', volume, { idempotencyKey: 'k' });
  await world.ok('GET', '/api/me');
  expect((await create()).status).toBe(429);
  await world.clock.advance(1_000);
  expect((await create()).status).toBe(201);
});
