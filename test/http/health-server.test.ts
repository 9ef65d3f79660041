import { expect, test } from 'vitest';
import { createHealthServer, type Check } from '../../src/http/index.ts';

async function get(path: string, checks: readonly Check[]) {
  const app = createHealthServer({ live: () => checks, ready: () => checks, metrics: async () => 'a 1\n' });
  const { statusCode, body, headers } = await app.inject(path);
  return { statusCode, body, type: headers['content-type'] };
}

const well = { name: 'source', problem: undefined };
const ill = { name: 'account default/default', problem: 'has not been read yet' };

test.each(['/healthz', '/readyz'])('%s is "ok" when all is well', async (path) => {
  expect(await get(path, [well])).toEqual({
    statusCode: 200,
    body: 'ok\n',
    type: 'text/plain; charset=utf-8',
  });
});

test('with ?verbose each check is named', async () => {
  const { statusCode, body } = await get('/readyz?verbose', [well]);
  expect([statusCode, body]).toEqual([200, '[+]source ok\nreadyz check passed\n']);
});

test('when something is wrong, each check is named, with what is wrong', async () => {
  const { statusCode, body } = await get('/healthz', [well, ill]);
  expect(statusCode).toBe(503);
  expect(body).toBe(
    '[+]source ok\n[-]account default/default failed: has not been read yet\nhealthz check failed\n',
  );
});

test('metrics are in the text format of Prometheus', async () => {
  expect(await get('/metrics', [])).toEqual({
    statusCode: 200,
    body: 'a 1\n',
    type: 'text/plain; version=0.0.4; charset=utf-8',
  });
});

test('nothing can be done there: no other address, no other method', async () => {
  const app = createHealthServer({ live: () => [], ready: () => [], metrics: async () => '' });
  const paths = ['/healthz', '/readyz', '/metrics', '/', '/debug/pprof', '/api/account', '/../etc/passwd'];
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    for (const url of paths) expect((await app.inject({ method, url })).statusCode).toBe(404);
  }
  for (const url of paths.slice(3)) expect((await app.inject({ method: 'GET', url })).statusCode).toBe(404);
});
