import { connect, type Socket } from 'node:net';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { errorBody } from '../../../src/api/wire.ts';
import { defaultHttpLimits, type HttpLimits } from '../../../src/control-plane/http/http.ts';
import { key, startWorld, type World, type WorldOptions } from './support.ts';

/** A client that says exactly what it is told to, byte by byte. */
class RawClient {
  readonly #socket: Socket;
  received = '';
  readonly closed: Promise<string>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => (this.received += chunk.toString()));
    // A reset is one way of being cut.
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on('close', () => resolve(this.received));
    });
  }

  static async open(url: string): Promise<RawClient> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new RawClient(socket);
  }

  send(text: string): this {
    this.#socket.write(text);
    return this;
  }

  /** Resolves with what was received, as soon as it matches. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.received)) {
      if (this.#socket.destroyed) throw new Error(`closed after: ${this.received}`);
      await new Promise<void>((resolve) => {
        this.#socket.once('data', () => resolve());
        this.#socket.once('close', () => resolve());
      });
    }
    return this.received;
  }

  /** Says that nothing more will be sent. */
  finish(): this {
    this.#socket.end();
    return this;
  }

  end(): void {
    this.#socket.destroy();
  }
}

const credentials = `Host: h\r\nAuthorization: Bearer ${key.alice}\r\n`;
const get = (path: string) => `GET ${path} HTTP/1.1\r\n${credentials}\r\n`;
const volume = JSON.stringify({ name: 'v', region: 'standard', sizeGb: 10 });
const post = (path: string, headers: string, body = '') =>
  `POST ${path} HTTP/1.1\r\n${credentials}Idempotency-Key: k\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
const postVolume = post('/api/volumes', `Content-Length: ${volume.length}\r\n`, volume);

function worldWith(limits: Partial<HttpLimits>, options: WorldOptions = {}): Promise<World> {
  return startWorld({ ...options, limits: { ...defaultHttpLimits, ...limits } });
}

/** The statuses on a connection in their order, and the codes of the refusals. */
function answersIn(received: string): { statuses: string[]; codes: string[] } {
  const statuses = [...received.matchAll(/HTTP\/1\.1 (?<status>\d{3})/g)].map((match) => match[1] ?? '');
  const bodies = [...received.matchAll(/\r\n\r\n(?<body>\{"error".*?\}\})/g)].map((match) => match[1] ?? '');
  return { statuses, codes: bodies.map((body) => errorBody.parse(JSON.parse(body)).error.code) };
}

async function volumesIn(world: World): Promise<number> {
  return (await world.ok('GET', '/api/volumes')).volumes.length;
}

describe('what is too slow is answered 400 in the error form, and cut', () => {
  test.each([
    ['headers', { headersMs: 400 }, `POST /api/volumes HTTP/1.1\r\n${credentials}`],
    [
      'a body',
      { headersMs: 400, requestMs: 400 },
      post('/api/volumes', 'Content-Length: 100\r\n', '{"name"'),
    ],
    [
      'a chunked body',
      { headersMs: 400, requestMs: 400 },
      post('/api/volumes', 'Transfer-Encoding: chunked\r\n', '5\r\n{"nam'),
    ],
    ['everything', { headersMs: 400 }, ''],
  ])('%s', async (_, limits, text) => {
    await using world = await worldWith(limits);
    const client = await RawClient.open(world.url);
    expect(answersIn(await client.send(text).closed)).toEqual({
      statuses: ['400'],
      codes: ['invalid_request'],
    });
    expect(await volumesIn(world)).toBe(0);
  });
});

test('a body that breaks off is no failure of the server', async () => {
  const logged: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  await using world = await worldWith({}, { logger });
  const client = await RawClient.open(world.url);
  client.send(post('/api/volumes', 'Content-Length: 100\r\n', '{'));
  // The head is there before the end.
  expect(await volumesIn(world)).toBe(0);
  client.end();
  await client.closed;
  // What is sent from now on is handled after the end.
  for (let calls = 0; calls < 3; calls += 1) expect(await volumesIn(world)).toBe(0);
  expect(logged).toEqual([]);
});

test('a body of few parts for its length is taken, in whatever pieces it comes', async () => {
  await using world = await worldWith({});
  const client = await RawClient.open(world.url);
  const chunks = volume
    .split('')
    .map((character) => `1\r\n${character}\r\n`)
    .join('');
  client.send(post('/api/volumes', 'Transfer-Encoding: chunked\r\n', `${chunks}0\r\n\r\n`));
  expect(await client.until(/\}/)).toContain('HTTP/1.1 201');
  client.end();
});

describe('without credentials', () => {
  const chunked = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

  test.each([
    ['a known path', '/api/volumes', '401'],
    ['an unknown one', '/nothing', '404'],
  ])('no body is waited for on %s, and its connection ends', async (_what, path, status) => {
    await using world = await worldWith({});
    const client = await RawClient.open(world.url);
    client.send(`POST ${path} HTTP/1.1\r\nHost: h\r\n${chunked}5\r\n{"nam`);
    const received = await client.closed;
    expect(answersIn(received).statuses).toEqual([status]);
    expect(received).toMatch(/connection: close/i);
  });

  test('a connection goes on where the body was there', async () => {
    await using world = await worldWith({});
    const client = await RawClient.open(world.url);
    const refused =
      'POST /api/volumes HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
    for (const count of [1, 2, 3]) {
      client.send(refused);
      await client.until(new RegExp(`(HTTP[^]*?\\}\\}){${count}}$`));
    }
    expect(answersIn(client.received).statuses).toEqual(['401', '401', '401']);
    client.end();
  });

  test.each([
    ['no Host', 'GET /api/me HTTP/1.1\r\n\r\n'],
    ['an address that says nothing', 'GET /api/services/%zz HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['an absolute address with a fragment', 'GET http://h/# HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['an absolute address that is none', 'GET http://h:99999/ HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['an absolute address of nobody', 'GET http://?x HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a part of an address that is too long', `GET /${'x'.repeat(600)} HTTP/1.1\r\nHost: h\r\n\r\n`],
  ])('%s is refused at the rate of other requests', async (_what, text) => {
    await using world = await worldWith({}, { traffic: { anonymousPerSecond: 3 } });
    const client = await RawClient.open(world.url);
    client.send(text.repeat(6));
    await client.until(/(HTTP[^]*){6}\}\}$/);
    expect(new Set(answersIn(client.received).statuses)).toEqual(new Set(['400', '429']));
    client.end();
  });
});

describe('what is too large, or not HTTP, is answered 400 in the error form', () => {
  test.each([
    ['headers', `GET /api/me HTTP/1.1\r\n${credentials}X: ${'x'.repeat(4096)}\r\n\r\n`, 'invalid_request'],
    ['an address', get(`/api/${'x'.repeat(4096)}`), 'invalid_request'],
    ['an announced body', post('/api/volumes', 'Content-Length: 1025\r\n', '{'), 'body_too_large'],
    [
      'a chunked body',
      post('/api/volumes', 'Transfer-Encoding: chunked\r\n', `401\r\n${' '.repeat(1025)}\r\n0\r\n\r\n`),
      'body_too_large',
    ],
    [
      'a body in parts of one byte',
      post('/api/volumes', 'Transfer-Encoding: chunked\r\n', `${'1\r\n \r\n'.repeat(1024)}0\r\n\r\n`),
      'body_too_large',
    ],
    ['no Host', 'GET /api/me HTTP/1.1\r\n\r\n', 'invalid_request'],
    ['an address that says nothing', get('/api/services/%zz'), 'invalid_request'],
    ['a part of an address', get(`/api/services/${'x'.repeat(600)}`), 'invalid_request'],
    [
      'two lengths',
      post('/api/volumes', 'Content-Length: 1\r\nContent-Length: 2\r\n', '{'),
      'invalid_request',
    ],
    [
      'a length and chunks',
      post('/api/volumes', 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n', '{'),
      'invalid_request',
    ],
    ['a line folded over', 'GET /api/me HTTP/1.1\r\nHost: h\r\nX: a\r\n b\0c\r\n\r\n', 'invalid_request'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'invalid_request'],
  ])('%s', async (_, text, code) => {
    await using world = await worldWith({ headerBytes: 2048, bodyBytes: 1024 });
    const client = await RawClient.open(world.url);
    await client.send(text).until(/\}\}$/);
    expect(answersIn(client.received)).toEqual({ statuses: ['400'], codes: [code] });
    client.end();
    expect(await volumesIn(world)).toBe(0);
  });
});

test('an expectation that nobody knows is ignored, and 100-continue is met', async () => {
  await using world = await startWorld();
  const client = await RawClient.open(world.url);
  client.send(`GET /api/me HTTP/1.1\r\n${credentials}Expect: a-miracle\r\n\r\n`);
  await client.until(/^HTTP\/1\.1 200 [^]*"alice"/);
  client.send(post('/api/volumes', `Expect: 100-continue\r\nContent-Length: ${volume.length}\r\n`));
  await client.until(/HTTP\/1\.1 100 Continue/);
  expect(answersIn(await client.send(volume).until(/"sizeGb"/)).statuses).toEqual(['200', '100', '201']);
  client.end();
});

test('a client that goes away in the middle of its request is no failure of ours', async () => {
  const log: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void log.push(line) });
  const world = await startWorld({ logger });
  const client = await RawClient.open(world.url);
  client.send(post('/api/volumes', 'Content-Length: 100\r\n', '{"name"'));
  await expect.poll(async () => (await world.admin('GET', '/requests')).body.requests.length).toBe(1);
  client.end();
  await world.close();
  expect(log).toEqual([]);
});

describe('connections', () => {
  test('without a request are kept for a while, and then closed', async () => {
    await using world = await worldWith({ idleMs: 100 });
    const client = await RawClient.open(world.url);
    await client.send(get('/api/me')).until(/"alice"/);
    await client.send(get('/api/me')).until(/"alice"[^]*"alice"/);
    expect(answersIn(await client.closed)).toEqual({ statuses: ['200', '200'], codes: [] });
  });

  test('on which nothing moves are cut, although an answer is due', async () => {
    await using world = await worldWith({ stalledMs: 100 });
    await world.admin('PUT', '/faults', [{ path: '/me$', fault: 'delay', delayMs: 3_600_000 }]);
    const client = await RawClient.open(world.url);
    expect(await client.send(get('/api/me')).closed).toBe('');
  });

  test('of one address have a limit of their own', async () => {
    await using world = await worldWith({ connectionsPerAddress: 2 });
    const clients = [await RawClient.open(world.url), await RawClient.open(world.url)];
    expect(await (await RawClient.open(world.url)).closed).toBe('');
    for (const client of clients) await client.send(get('/api/me')).until(/"alice"/);
    for (const client of clients) client.end();
    await Promise.all(clients.map(({ closed }) => closed));
    await expect.poll(async () => (await world.call('GET', '/api/me').catch(() => null))?.status).toBe(200);
  });

  test('that were refused are cut soon, although the client goes on sending and never ends', async () => {
    await using world = await worldWith({ headersMs: 100 });
    const socket = connect({
      port: Number(new URL(world.url).port),
      host: '127.0.0.1',
      allowHalfOpen: true,
    });
    const errors: string[] = [];
    socket.on('error', (error: NodeJS.ErrnoException) => errors.push(error.code ?? ''));
    socket.write('POST /api/volumes HTTP/1.1\r\nHost: h\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    for (let byte = 0; byte < 3; byte += 1) {
      socket.write('X');
      await new Promise((resolve) => void setTimeout(resolve, 20));
    }
    expect(errors).toEqual([]);
    await world.clock.advance(2_000);
    const closed = new Promise((resolve) => void socket.once('close', resolve));
    const drip = setInterval(() => socket.write('X'), 20);
    await closed;
    clearInterval(drip);
    expect(errors).toHaveLength(1);
  });

  test('beyond the limit are cut, and the others go on', async () => {
    await using world = await worldWith({ connections: 2 });
    const clients = [await RawClient.open(world.url), await RawClient.open(world.url)];
    const third = await RawClient.open(world.url);
    expect(await third.closed).toBe('');
    for (const client of clients) await client.send(get('/api/me')).until(/"alice"/);
    clients[0]?.end();
    await clients[0]?.closed;
    await expect.poll(async () => (await world.call('GET', '/api/me').catch(() => null))?.status).toBe(200);
    clients[1]?.end();
  });
});

describe('pipelined requests', () => {
  test('are answered in their order, also when an early one takes longer', async () => {
    await using world = await startWorld();
    await world.admin('PUT', '/faults', [{ path: '/me$', fault: 'delay', delayMs: 1_000 }]);
    const client = await RawClient.open(world.url);
    client.send(get('/api/me') + postVolume + get('/api/nothing'));
    await expect.poll(() => volumesIn(world)).toBe(1);
    expect(client.received).toBe('');
    await world.clock.advance(1_000);
    await client.until(/404[^]*\}\}$/);
    expect(answersIn(client.received)).toEqual({ statuses: ['200', '201', '404'], codes: ['not_found'] });
    client.end();
  });

  test('are answered also after the client has said that nothing more will be sent', async () => {
    await using world = await startWorld();
    await world.admin('PUT', '/faults', [{ path: '/me$', fault: 'delay', delayMs: 1_000 }]);
    const client = await RawClient.open(world.url);
    client.send(get('/api/me') + postVolume).finish();
    await expect.poll(() => volumesIn(world)).toBe(1);
    await world.clock.advance(1_000);
    expect(answersIn(await client.closed).statuses).toEqual(['200', '201']);
  });

  test("are not given the refusal of what comes after them: where it can't be told apart, nothing is answered", async () => {
    await using world = await startWorld();
    await world.admin('PUT', '/faults', [{ method: 'POST', fault: 'delay', delayMs: 1_000 }]);
    const client = await RawClient.open(world.url);
    expect(await client.send(`${postVolume}NONSENSE\r\n\r\n`).closed).toBe('');
    await world.clock.advance(1_000);
    await expect.poll(() => volumesIn(world)).toBe(1);
  });

  test('of which one was answered before its body came get no second answer for it', async () => {
    await using world = await worldWith({ headersMs: 100, requestMs: 100 });
    const client = await RawClient.open(world.url);
    client.send(`POST /api/volumes HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{`);
    expect(answersIn(await client.closed)).toEqual({ statuses: ['401'], codes: ['unauthenticated'] });
  });
});

describe('closing', () => {
  test('finishes what is being answered, and cuts what is not in use', async () => {
    await using world = await startWorld();
    await world.admin('PUT', '/faults', [{ path: '/volumes$', fault: 'delay', delayMs: 3_600_000 }]);
    const silent = await RawClient.open(world.url);
    const idle = await RawClient.open(world.url);
    await idle.send(get('/api/me')).until(/"alice"/);
    const slow = await RawClient.open(world.url);
    slow.send(`POST /api/volumes HTTP/1.1\r\n${credentials}`);
    const busy = await RawClient.open(world.url);
    busy.send(postVolume);
    await expect.poll(async () => (await world.admin('GET', '/requests')).body.requests.length).toBe(2);
    await world.close();
    expect(answersIn(await busy.closed).statuses).toEqual(['201']);
    expect(await silent.closed).toBe('');
    expect(await slow.closed).toBe('');
    expect(answersIn(await idle.closed).statuses).toEqual(['200']);
    await expect(RawClient.open(world.url)).rejects.toThrow('ECONNREFUSED');
  });

  test('is not held up by a client that never finishes its request', async () => {
    await using world = await worldWith({ shutdownMs: 5_000 });
    const client = await RawClient.open(world.url);
    client.send(post('/api/volumes', 'Content-Length: 100\r\n', '{'));
    await expect.poll(async () => (await world.admin('GET', '/requests')).body.requests.length).toBe(1);
    let isClosed = false;
    const closing = world.close().then(() => (isClosed = true));
    await world.clock.advance(4_999);
    expect([isClosed, client.received]).toEqual([false, '']);
    await world.clock.advance(1);
    await closing;
    expect(await client.closed).toBe('');
  });

  test('cuts a connection whose request was answered before its body came', async () => {
    await using world = await startWorld();
    const client = await RawClient.open(world.url);
    client.send('POST /api/volumes HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{');
    await client.until(/401 [^]*\}\}$/);
    await world.close();
    expect(answersIn(await client.closed).statuses).toEqual(['401']);
  });

  test('ends a connection that is kept alive with its last answer', async () => {
    await using world = await startWorld();
    await world.admin('PUT', '/faults', [{ path: '/me$', fault: 'delay', delayMs: 3_600_000 }]);
    const client = await RawClient.open(world.url);
    client.send(get('/api/me') + get('/api/catalog'));
    await expect.poll(async () => (await world.admin('GET', '/requests')).body.requests.length).toBe(2);
    await world.close();
    expect(answersIn(await client.closed).statuses).toEqual(['200', '200']);
  });
});
