/** The read API on a real socket: streams that last, readers that take nothing, and bodies that nobody asked for. */
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock, systemRandom } from '../../../src/base/index.ts';
import { createHealthServer } from '../../../src/http/index.ts';
import { withReadApi, type HealthLimits } from '../../../src/http/limits.ts';
import { createPageServer } from '../../support/page-server.ts';
import { invalid, open, tokenIn, type Access } from '../../../src/read-api/access/access.ts';
import { hostRule } from '../../../src/read-api/access/hosts.ts';
import { readsAll } from '../../../src/read-api/fleet/reader.ts';
import { ReadApi } from '../../../src/read-api/read-api.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { FakeSource, recordOf } from '../../unit/read-api/support.ts';

const service = (name: string) => `ContainerService/default/${name}` as ObjectKey;

async function serve(
  records = [recordOf(service('web'))],
  limits: Partial<HealthLimits> = {},
  access: Access = open,
) {
  const source = new FakeSource(records);
  const counts = { streams: 0, resets: [] as string[] };
  const readApi = new ReadApi({
    source,
    access,
    hosts: hostRule('127.0.0.1', []),
    clock: systemClock,
    process: 'p1',
    random: systemRandom,
    metrics: {
      request: () => undefined,
      streams: (count) => (counts.streams = count),
      reset: (reason) => counts.resets.push(reason),
      denied: () => undefined,
    },
    onDefect: (error) => {
      throw error;
    },
  });
  const app = createHealthServer(
    { live: () => [], ready: () => [], metrics: async () => '', endpoints: () => 'unknown' },
    systemClock,
    { readApi, limits: { ...withReadApi, ...limits } },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    readApi.stop();
    await app.close();
  });
  const { port } = app.server.address() as AddressInfo;
  return { app, source, counts, port, url: `http://127.0.0.1:${port}` };
}

async function connectFrom(localAddress: string, port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const streamRequest = 'GET /api/v1/stream?view=summary HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
const listRequest = 'GET /api/v1/objects?limit=200 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

async function* eventsOf(response: Response): AsyncGenerator<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    yield* blocks.filter((block) => block.includes('event: '));
  }
}

test('a stream outlives the time after which idle connections are closed, and has a change at once', async () => {
  const { source, url } = await serve(undefined, { idleMs: 200 });
  const response = await fetch(`${url}/api/v1/stream?view=objects`);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const events = eventsOf(response);
  expect((await events.next()).value).toContain('event: state');
  await new Promise((resolve) => setTimeout(resolve, 600));
  const startedMs = performance.now();
  await source.store.save(recordOf(service('web'), { status: { hourlyMicros: 7 } }));
  expect((await events.next()).value).toContain('"hourlyMicros":7');
  expect(performance.now() - startedMs).toBeLessThan(2000);
  await events.return(undefined);
});

test('a reader that takes nothing is cut, and its memory is freed', async () => {
  const records = Array.from({ length: 200 }, (_, at) => recordOf(service(`web-${at}`)));
  const { source, counts, port } = await serve(records);
  const slow: Socket = connect(port, '127.0.0.1');
  slow.on('error', () => undefined);
  await once(slow, 'connect');
  slow.pause();
  slow.write('GET /api/v1/stream?view=objects&limit=200 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await expect.poll(() => counts.streams).toBe(1);
  // What the system buffers is not counted.
  let cost = 0;
  await vi.waitFor(
    async () => {
      cost += 1;
      for (const { key } of records)
        await source.store.save(recordOf(key, { status: { hourlyMicros: cost, region: 'x'.repeat(5000) } }));
      expect(counts.resets).toEqual(['slow']);
    },
    { timeout: 20_000, interval: 100 },
  );
  await expect.poll(() => counts.streams).toBe(0);
  slow.destroy();
});

test('the server answers /healthz while 100 streams are open from one address', async () => {
  const { url, counts } = await serve();
  const stop = new AbortController();
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => fetch(`${url}/api/v1/stream?view=summary`, { signal: stop.signal })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await fetch(`${url}/api/v1/stream?view=summary`)).status).toBe(503);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/api/v1/summary`)).status).toBe(200);
  stop.abort();
  await expect.poll(() => counts.streams).toBe(0);
});

test.each([
  ['POST', '/api/v1/objects', 'application/json', '{"a":1}', 405],
  ['PUT', '/api/v1/objects/csvc/default/web', 'text/x-unknown', 'x', 405],
  ['DELETE', '/api/v1/objects/csvc/default/web', undefined, undefined, 405],
  ['POST', '/login', 'application/x-www-form-urlencoded', 'token=x', 405],
  ['POST', '/', 'application/json', 'x'.repeat(5000), 413],
  ['GET', '//', undefined, undefined, 404],
])(
  '%s %s with a body of %s is refused in the form of the contract',
  async (method, path, type, body, status) => {
    const { url } = await serve();
    const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
    const answer = await fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    expect([answer.status, await answer.json()]).toEqual([
      status,
      { error: { code: expect.any(String), message: expect.any(String) } },
    ]);
  },
);

test('a token of 16,384 characters arrives by the form, and by its header beside others; what is longer is refused', async () => {
  const long = 'x'.repeat(16_384);
  const access: Access = {
    reader: async (request) => {
      if (tokenIn(request) !== long) throw invalid();
      return readsAll;
    },
    accepts: (token) => token === long,
  };
  const { url } = await serve(undefined, {}, access);
  const enter = async (token: string) => {
    const body = new URLSearchParams({ token });
    return (await fetch(`${url}/login`, { method: 'POST', body, redirect: 'manual' })).status;
  };
  expect([await enter(long), await enter('x'), await enter('x'.repeat(40_000))]).toEqual([303, 401, 413]);
  const headers = { authorization: `Bearer ${long}`, 'x-forwarded-for': 'a'.repeat(4000) };
  expect((await fetch(`${url}/api/v1/summary`, { headers })).status).toBe(200);
  const tooLarge = { authorization: `Bearer ${long}`, 'x-forwarded-for': 'a'.repeat(10_000) };
  expect((await fetch(`${url}/api/v1/summary`, { headers: tooLarge })).status).toBe(431);
  // Nothing else has a body.
  expect((await fetch(`${url}/other`, { method: 'POST', body: 'x'.repeat(2000) })).status).toBe(413);
});

test('a reader that leaves before its stream is open takes no place', async () => {
  let asked = 0;
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const access: Access = {
    reader: async () => {
      asked += 1;
      await answered;
      return readsAll;
    },
  };
  const { app, counts, port, url } = await serve(undefined, {}, access);
  const left = await connectFrom('127.0.0.1', port);
  left.write(streamRequest);
  await vi.waitFor(() => expect(asked).toBe(1));
  left.destroy();
  await vi.waitFor(async () => expect(await promisify(app.server.getConnections.bind(app.server))()).toBe(0));
  answer();
  const stop = new AbortController();
  const stays = await fetch(`${url}/api/v1/stream?view=summary`, { signal: stop.signal });
  expect([stays.status, counts.streams]).toEqual([200, 1]);
  stop.abort();
  await vi.waitFor(() => expect(counts.streams).toBe(0));
});

test('nothing is answered behind a stream, so nothing is kept for a connection that has one', async () => {
  const { counts, source, port } = await serve();
  let lists = 0;
  const timeline = source.accounts.bind(source);
  source.accounts = () => {
    lists += 1;
    return timeline();
  };
  const socket = await connectFrom('127.0.0.1', port);
  socket.write(streamRequest + listRequest.repeat(30));
  socket.resume();
  await once(socket, 'close');
  await vi.waitFor(() => expect(counts.streams).toBe(0));
  expect(lists).toBeLessThan(3);
});

test('requests behind a stream that is open end it', async () => {
  const { counts, port } = await serve();
  const socket = await connectFrom('127.0.0.1', port);
  socket.write(streamRequest);
  await vi.waitFor(() => expect(counts.streams).toBe(1));
  socket.resume().write(listRequest);
  await once(socket, 'close');
  await vi.waitFor(() => expect(counts.streams).toBe(0));
});

test('one request after the other is answered on one connection', async () => {
  const { port } = await serve();
  const socket = await connectFrom('127.0.0.1', port);
  let text = '';
  socket.on('data', (data) => (text += String(data)));
  for (let count = 1; count <= 3; count++) {
    socket.write(listRequest);
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await vi.waitFor(() => expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(count));
  }
  socket.destroy();
});

test('few addresses can not take all connections from the others', async () => {
  const limits = { connections: 12, connectionsPerAddress: 8, crowdedFrom: 8, connectionsWhenCrowded: 2 };
  const { port, app } = await serve(undefined, limits);
  const taken: Socket[] = [];
  for (const address of ['127.0.0.2', '127.0.0.3'])
    for (let count = 0; count < 8; count++) taken.push(await connectFrom(address, port));
  await vi.waitFor(async () =>
    expect(await promisify(app.server.getConnections.bind(app.server))()).toBe(10),
  );
  const probe = await connectFrom('127.0.0.4', port);
  probe.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  expect(String(await once(probe, 'data'))).toContain('200 OK');
  for (const socket of [...taken, probe]) socket.destroy();
});

test('a name that somebody gave to this address reads no metrics, where nothing else is asked', async () => {
  const { app } = await serve();
  const status = async (host: string) =>
    (await app.inject({ method: 'GET', url: '/metrics', headers: { host } })).statusCode;
  expect([await status('evil.example'), await status('127.0.0.1:8080'), await status('localhost')]).toEqual([
    421, 200, 200,
  ]);
  const { app: asking } = await serve(undefined, {}, { reader: async () => readsAll });
  const answer = await asking.inject({ method: 'GET', url: '/metrics', headers: { host: 'prometheus.svc' } });
  expect(answer.statusCode).toBe(200);
});

test.each([
  ['GET', '/%zz', 404],
  ['GET', '/api/v1/objects/csvc/default/%zz', 404],
  ['POST', '/%zz', 405],
  ['POST', '/', 413],
])('%s %s is refused with the headers of every answer', async (method, path, status) => {
  const { url } = await serve();
  const large = status === 413 ? { body: 'x'.repeat(5000) } : {};
  const answer = await fetch(`${url}${path}`, { method, ...large });
  expect([answer.status, await answer.json()]).toEqual([
    status,
    { error: { code: expect.any(String), message: expect.any(String) } },
  ]);
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
});

test('who opens the page many times is still answered by the read API; what is no file of it counts there', async () => {
  const file = { type: 'text/javascript', content: Buffer.from('export {};'), etag: '"1"' };
  const { readApi, app } = createPageServer(new FakeSource([]), new Map([['/page/main.js', file]]), {
    ...withReadApi,
    readApi: { requestsPerSecond: 0.001, burst: 5 },
    pageFiles: { requestsPerSecond: 0.001, burst: 20 },
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    readApi.stop();
    await app.close();
  });
  const statuses = async (path: string, count: number) => {
    const answers = await Promise.all(Array.from({ length: count }, () => fetch(`${url}${path}`)));
    return answers.map(({ status }) => status).sort((left, right) => left - right);
  };
  expect(await statuses('/page/main.js', 22)).toEqual([...Array.from({ length: 20 }, () => 200), 429, 429]);
  // For these a token is checked.
  expect(await statuses('/page/other.js', 3)).toEqual([404, 404, 404]);
  expect(await statuses('/api/v1/summary', 4)).toEqual([200, 200, 429, 429]);
});
