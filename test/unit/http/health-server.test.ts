import { describe, expect, test, vi } from 'vitest';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { systemClock } from '../../../src/base/index.ts';
import { createHealthServer, healthLimits, type Check } from '../../../src/http/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const nothing = () => 'unknown' as const;

async function get(path: string, checks: readonly Check[]) {
  const app = createHealthServer(
    { live: () => checks, ready: () => checks, metrics: async () => 'a 1\n', endpoints: nothing },
    new ManualClock(),
  );
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

test('what does not keep it from being ready is noted with ?verbose', async () => {
  const noted = { ...well, note: "these namespaces can't be read: lab" };
  expect((await get('/readyz', [noted])).body).toBe('ok\n');
  expect((await get('/readyz?verbose', [noted])).body).toBe(
    "[+]source ok: these namespaces can't be read: lab\nreadyz check passed\n",
  );
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
  const app = createHealthServer(
    { live: () => [], ready: () => [], metrics: async () => '', endpoints: nothing },
    new ManualClock(),
  );
  const paths = ['/healthz', '/readyz', '/metrics', '/', '/debug/pprof', '/api/account', '/../etc/passwd'];
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    for (const url of paths) expect((await app.inject({ method, url })).statusCode).toBe(404);
  }
  for (const url of paths.slice(3)) expect((await app.inject({ method: 'GET', url })).statusCode).toBe(404);
});

describe('whoever reaches the port', () => {
  let made = 0;
  const view = {
    live: () => [well],
    ready: () => [well],
    metrics: async () => `made ${(made += 1)}\n`,
    endpoints: nothing,
  };

  test('is answered at a rate, each address by itself', async () => {
    const clock = new ManualClock();
    const app = createHealthServer(view, clock);
    const ask = async (remoteAddress: string) =>
      (await app.inject({ method: 'GET', url: '/healthz', remoteAddress })).statusCode;
    const codes = await Promise.all(Array.from({ length: 100 }, () => ask('10.0.0.1')));
    expect(codes.filter((code) => code === 200)).toHaveLength(healthLimits.burst);
    expect(codes.filter((code) => code === 429)).toHaveLength(100 - healthLimits.burst);
    expect(await ask('10.0.0.2')).toBe(200);
    await clock.advance(1000);
    expect(await ask('10.0.0.1')).toBe(200);
  });

  test('has metrics made once a second, however many ask', async () => {
    const clock = new ManualClock();
    const app = createHealthServer(view, clock);
    made = 0;
    const ask = async () => (await app.inject('/metrics')).body;
    const all = await Promise.all(Array.from({ length: 20 }, ask));
    expect(new Set(all)).toEqual(new Set(['made 1\n']));
    await clock.advance(1000);
    expect(await ask()).toBe('made 2\n');
  });

  test('holds few connections, none for long, and sends little', async () => {
    const app = createHealthServer(view, systemClock, {
      limits: {
        ...healthLimits,
        connectionsPerAddress: 3,
        requestMs: 1000,
        idleMs: 1000,
      },
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const open = async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    };
    const ended = async (socket: Socket) => {
      if (!socket.closed) await once(socket.resume(), 'close');
    };
    try {
      const slow = [await open(), await open(), await open()];
      await ended(await open());
      expect(slow.filter(({ closed }) => closed)).toEqual([]);
      for (const socket of slow) socket.write('GET /metrics HTTP/1.1\r\nHost: a\r\n');
      await Promise.all(slow.map(ended));
      const answered = async () => {
        const long = await open();
        let answer = '';
        long.on('data', (data) => (answer += String(data)));
        long.write(`GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(healthLimits.headerBytes)}\r\n\r\n`);
        await ended(long);
        return answer;
      };
      // The server counts a connection until it has noticed its end itself.
      await vi.waitFor(async () => expect(await answered()).toContain('431'), { timeout: 10_000 });
    } finally {
      await app.close();
    }
  });
});

test('the endpoints of a fleet are JSON, or targets of Prometheus', async () => {
  const app = createHealthServer(
    {
      live: () => [],
      ready: () => [],
      metrics: async () => '',
      endpoints: (...asked) =>
        asked[0] === 'other' ? 'standby' : asked[1] === 'llm' ? { asked } : 'unknown',
    },
    new ManualClock(),
  );
  const ask = async (path: string) => {
    const { statusCode, json, headers } = await app.inject(`/api/v1/fleets/${path}`);
    return [statusCode, json(), headers['content-type']];
  };
  const type = 'application/json; charset=utf-8';
  expect(await ask('default/llm/endpoints')).toEqual([200, { asked: ['default', 'llm', 'json'] }, type]);
  expect(await ask('default/llm/endpoints?format=prometheus')).toEqual([
    200,
    { asked: ['default', 'llm', 'prometheus'] },
    type,
  ]);
  expect(await ask('default/llm/endpoints?format=xml')).toEqual([
    400,
    { error: { code: 'invalid_parameter', message: 'format is json or prometheus' } },
    type,
  ]);
  expect(await ask('default/web/endpoints')).toEqual([
    404,
    { error: { code: 'not_found', message: 'there is no such ServiceFleet' } },
    type,
  ]);
  expect(await ask('other/llm/endpoints')).toEqual([503, expect.anything(), type]);
});
