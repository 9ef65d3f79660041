import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTransport, defaultTransportLimits, textOf, type Transport } from '../../../src/api/index.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';
import { release } from '../../../src/api/transport.ts';
import { freePort, get, post, reply, serve } from './support.ts';

let clock: ManualClock;
let transport: Transport;

/** Outside of the heap, without garbage. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().arrayBuffers;
}

beforeEach(() => {
  clock = new ManualClock();
  transport = createTransport(clock, { ...defaultTransportLimits, connections: 2, bodyBytes: 1000 });
});

afterEach(async () => {
  await transport.close();
});

test('heartbeats have connections that no other request takes, and what found none in time was not sent', async () => {
  const isHeld = ({ path }: { readonly path: string }) => path === '/held';
  await using server = await serve((response, request) => {
    if (!isHeld(request)) response.end('{}');
  });
  const limits = { ...defaultTransportLimits, connections: 2, heartbeats: 1, totalMs: 1000 };
  await using transports = new AsyncDisposableStack();
  const shared = createTransport(clock, limits);
  transports.defer(() => shared.close());
  const held = [1, 2].map(() => shared.exchange(get(`${server.url}/held`)));
  while (server.requests.filter(isHeld).length < 2) {
    await shared.exchange({ ...post(server.url, '{}'), isHeartbeat: true });
  }
  const waiting = shared.exchange({ ...post(server.url, '{"a":1}'), totalMs: 500 });
  expect(await shared.exchange({ ...post(server.url, '{}'), isHeartbeat: true })).toMatchObject({
    kind: 'reply',
  });
  await clock.advance(500);
  expect(await waiting).toEqual({ kind: 'not-sent', reason: 'there was no connection within 0.5 s' });
  await clock.advance(500);
  expect((await Promise.all(held)).map(({ kind }) => kind)).toEqual(['unknown', 'unknown']);
  expect(server.requests.filter(({ body }) => body === '{"a":1}')).toEqual([]);
});

describe('what was certainly not sent', () => {
  test('a refused connection', async () => {
    const answer = await transport.exchange(post(`http://127.0.0.1:${await freePort()}/`, '{}'));
    expect(answer).toMatchObject({ kind: 'not-sent', reason: expect.stringContaining('ECONNREFUSED') });
  });

  test('a host that nobody knows', async () => {
    const answer = await transport.exchange(post('http://nowhere.invalid/', '{}'));
    expect(answer.kind).toBe('not-sent');
  });

  test('an encrypted connection that the other side does not speak', async () => {
    await using server = await serve(reply(200, {}));
    const answer = await transport.exchange(post(`https://127.0.0.1:${server.port}/`, '{}'));
    expect(answer.kind).toBe('not-sent');
    expect(server.requests).toEqual([]);
  });

  test('a header that HTTP can not carry, and the reason does not show it', async () => {
    await using server = await serve(reply(200, {}));
    const request = { ...post(server.url, '{}'), headers: { authorization: 'Bearer canary\nX: y' } };
    const answer = await transport.exchange(request);
    expect(answer.kind).toBe('not-sent');
    expect(JSON.stringify(answer)).not.toContain('canary');
    expect(server.requests).toEqual([]);
  });

  test('after a refused connection the next exchange connects anew', async () => {
    const port = await freePort();
    expect((await transport.exchange(get(`http://127.0.0.1:${port}/`))).kind).toBe('not-sent');
    await using server = await serve(reply(200, {}));
    expect((await transport.exchange(get(server.url))).kind).toBe('reply');
  });
});

describe('a request that may leave only while something holds', () => {
  const unled = { ...post('', '{}'), mayLeave: () => false };

  test('is not sent when that has ended by the time at which it could be, and others are', async () => {
    await using server = await serve(reply(200, {}));
    const answer = await transport.exchange({ ...unled, url: server.url });
    expect(answer).toMatchObject({ kind: 'not-sent', reason: expect.stringContaining('no longer wanted') });
    expect((await transport.exchange(post(server.url, '{"a":1}'))).kind).toBe('reply');
    expect(server.only.body).toBe('{"a":1}');
  });

  test('is asked for after the connection has come about', async () => {
    await using server = await serve(reply(200, {}));
    const connections: number[] = [];
    const mayLeave = () => connections.push(server.sockets.length) > 0;
    expect((await transport.exchange({ ...unled, url: server.url, mayLeave })).kind).toBe('reply');
    expect(connections).toEqual([1]);
  });
});

describe('what was sent, and then nobody knows', () => {
  test('a connection reset once the request was read, and the request is not sent again', async () => {
    await using server = await serve((_response, _request, socket) => socket.resetAndDestroy());
    expect(await transport.exchange(post(server.url, '{"a":1}'))).toMatchObject({ kind: 'unknown' });
    expect(server.only.body).toBe('{"a":1}');
  });

  test('a connection closed without an answer', async () => {
    await using server = await serve((_response, _request, socket) => socket.end());
    expect((await transport.exchange(post(server.url, '{}'))).kind).toBe('unknown');
    expect(server.requests).toHaveLength(1);
  });

  test.each(['reset', 'closed'])('a connection %s in the middle of a body of known length', async (how) => {
    await using server = await serve((response, _request, socket) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"id":', () => (how === 'reset' ? socket.resetAndDestroy() : socket.end()));
    });
    expect((await transport.exchange(post(server.url, '{}'))).kind).toBe('unknown');
  });

  test('a connection closed in the middle of a chunked body', async () => {
    await using server = await serve((response, _request, socket) => {
      response.writeHead(200);
      response.write('{"id":1}', () => socket.destroy());
    });
    expect((await transport.exchange(post(server.url, '{}'))).kind).toBe('unknown');
  });

  test('an answer that is not HTTP', async () => {
    await using server = await serve((_response, _request, socket) => socket.end('SSH-2.0-x\r\n'));
    expect((await transport.exchange(post(server.url, '{}'))).kind).toBe('unknown');
  });

  // COVERAGE 101
  test('no answer before the deadline, and the connection is given up', async () => {
    await using server = await serve(() => undefined);
    const pending = transport.exchange(post(server.url, '{}'));
    await server.received(1);
    const given = closed(server.sockets[0]);
    await clock.advance(defaultTransportLimits.totalMs - 1);
    expect(await Promise.race([pending, settle().then(() => 'still waiting')])).toBe('still waiting');
    await clock.advance(1);
    expect(await pending).toEqual({ kind: 'unknown', reason: 'no complete answer within 30 s' });
    await given;
  });

  test('a body that trickles past the deadline', async () => {
    const begun = Promise.withResolvers<undefined>();
    await using server = await serve((response) => {
      response.writeHead(200);
      response.write('{', () => begun.resolve(undefined));
    });
    const pending = transport.exchange(post(server.url, '{}'));
    await begun.promise;
    await clock.advance(defaultTransportLimits.totalMs);
    expect(await pending).toMatchObject({ kind: 'unknown', reason: 'no complete answer within 30 s' });
  });

  test.each([{ 'content-length': '1001' }, undefined])('a body over the limit (%o)', async (headers) => {
    await using server = await serve((response) => {
      response.writeHead(200, headers).end('x'.repeat(1001));
    });
    expect((await transport.exchange(get(server.url))).kind).toBe('unknown');
  });

  test('an exchange that the caller gave up', async () => {
    await using server = await serve(() => undefined);
    const giveUp = new AbortController();
    const pending = transport.exchange(get(server.url), giveUp.signal);
    await server.received(1);
    giveUp.abort();
    expect((await pending).kind).toBe('unknown');
  });
});

const bytes = (text: string) => new Uint8Array(Buffer.from(text));

describe('an answer', () => {
  test('comes as it is, whatever its status', async () => {
    await using server = await serve(reply(503, 'down', { 'retry-after': '7' }));
    expect(await transport.exchange(get(server.url))).toEqual({
      kind: 'reply',
      status: 503,
      retryAfter: '7',
      contentType: 'application/json',
      date: expect.stringMatching(/ GMT$/),
      body: bytes('down'),
    });
  });

  test.each([
    ['a byte order mark', [0xef, 0xbb, 0xbf, 0x7b, 0x7d], '{}'],
    ['bytes that are no UTF-8', [0x22, 0xc3, 0x28, 0x22], '"\uFFFD("'],
  ])('with %s is read', async (_what, sent, expected) => {
    await using server = await serve((response) => response.end(Buffer.from(sent)));
    const answer = await transport.exchange(get(server.url));
    expect(answer.kind === 'reply' && textOf(answer.body)).toBe(expected);
  });

  test('in parts of one byte does not keep the buffers in which these were received', async () => {
    const extension = 'x'.repeat(60_000);
    const parts = 500;
    const sent = Promise.withResolvers<Socket>();
    await using server = await serve((_response, _request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const part = (left: number): void => {
        if (left === 0) sent.resolve(socket);
        else socket.write(`1;${extension}\r\nx\r\n`, () => part(left - 1));
      };
      part(parts);
    });
    const before = heldBytes();
    const answer = transport.exchange(get(server.url));
    const socket = await sent.promise;
    // V8 gives the memory of buffers back beside other work.
    await expect.poll(() => heldBytes() - before).toBeLessThan((parts * extension.length) / 4);
    socket.write('0\r\n\r\n');
    const received = await answer;
    expect(received.kind === 'reply' && textOf(received.body)).toBe('x'.repeat(parts));
  });

  const lengths = [0, 1, 65_536, 65_537, 300_000, 2_000_000];
  test.each([
    ...lengths.map((length) => ({ length, how: 'announced' })),
    ...lengths.map((length) => ({ length, how: 'in chunks' })),
  ])('of $length bytes comes whole, $how', async ({ length, how }) => {
    const text = 'answer '.repeat(length).slice(0, length);
    await using server = await serve((response) => {
      response.writeHead(200, how === 'announced' ? { 'content-length': length } : {});
      response.write(text.slice(0, 70_000));
      response.end(text.slice(70_000));
    });
    const unbound = createTransport(clock);
    const received = await unbound.exchange(get(server.url));
    expect(received.kind === 'reply' && textOf(received.body) === text).toBe(true);
    await unbound.close();
  });

  test('gives its memory back when it is released, and keeps what is a part of something else', () => {
    const whole = new Uint8Array(1000);
    release(whole);
    expect(whole.buffer.byteLength).toBe(0);
    const shared = new Uint8Array(1000);
    release(shared.subarray(10));
    release('a text');
    expect(shared.byteLength).toBe(1000);
  });

  test('of exactly the greatest length is read', async () => {
    await using server = await serve(reply(200, 'x'.repeat(1000)));
    expect(await transport.exchange(get(server.url))).toMatchObject({ body: bytes('x'.repeat(1000)) });
  });

  test.each([301, 302, 303, 307, 308])('%i leads nowhere: the other host sees nothing', async (status) => {
    await using other = await serve(reply(200, {}));
    await using server = await serve(reply(status, '', { location: `${other.url}/api/account` }));
    const request = { ...get(server.url), headers: { authorization: 'Bearer canary' } };
    expect(await transport.exchange(request)).toMatchObject({ kind: 'reply', status });
    expect(other.requests).toEqual([]);
    expect(other.sockets).toEqual([]);
  });
});

describe('connections', () => {
  test('are kept and used again', async () => {
    await using server = await serve(reply(200, {}));
    for (let count = 0; count < 50; count += 1) await transport.exchange(get(server.url));
    expect(server.requests).toHaveLength(50);
    expect(server.sockets.length).toBeLessThanOrEqual(2);
  });

  test('are never more than the limit', async () => {
    await using server = await serve(reply(200, {}));
    await Promise.all(Array.from({ length: 10 }, () => transport.exchange(get(server.url))));
    expect(server.requests).toHaveLength(10);
    expect(server.sockets.length).toBeLessThanOrEqual(2);
  });

  test('closed by the server while idle cost nothing: the next exchange takes a new one', async () => {
    await using server = await serve(reply(200, {}));
    for (let count = 1; count <= 5; count += 1) {
      expect((await transport.exchange(post(server.url, '{}'))).kind).toBe('reply');
      const gone = closed(server.sockets.at(-1));
      server.sockets.at(-1)?.end();
      await gone;
      expect(server.requests).toHaveLength(count);
    }
  });

  test('closed by the server at the moment of use cost at most that one exchange', async () => {
    await using server = await serve(reply(200, {}));
    for (let count = 0; count < 5; count += 1) {
      await transport.exchange(get(server.url));
      server.sockets.at(-1)?.end();
      const [first, second] = [
        await transport.exchange(get(server.url)),
        await transport.exchange(get(server.url)),
      ];
      expect(['reply', 'unknown']).toContain(first.kind);
      expect(second.kind).toBe('reply');
    }
  });
});

function closed(socket: Socket | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!socket) return reject(new Error('there is no connection'));
    socket.once('close', () => resolve());
  });
}
