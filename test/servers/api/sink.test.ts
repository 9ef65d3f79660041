import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import {
  createServer as createTcpServer,
  type AddressInfo,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import {
  createSinkTransport,
  sinkProblem,
  sinkTimeoutMs,
  type SinkReply,
  type SinkTerms,
} from '../../../src/api/index.ts';
import { systemClock, type Clock } from '../../../src/base/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const servers: Server[] = [];
const tcpServers: TcpServer[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
  for (const server of tcpServers.splice(0)) server.close();
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What answers without HTTP. */
async function raw(answer: (socket: Socket) => void): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined).once('data', () => answer(socket));
    sockets.push(socket);
  }).listen(0, '127.0.0.1');
  tcpServers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const nothing: SinkTerms = { allowLoopback: false, allowPrivate: false };
const loopback: SinkTerms = { allowLoopback: true, allowPrivate: false };
const inside: SinkTerms = { allowLoopback: false, allowPrivate: true };

async function post(url: string, terms = loopback, clock: Clock = systemClock): Promise<SinkReply> {
  const transport = createSinkTransport(clock, terms);
  try {
    const request = { url, headers: { 'content-type': 'application/json' }, body: '{}' };
    return await transport.post(request, new AbortController().signal);
  } finally {
    await transport.close();
  }
}

const refused = [nothing, loopback, inside];

describe('the address of a sink', () => {
  test.each([
    ['https://hooks.example.com/a', []],
    ['https://8.8.8.8/a', []],
    ['https://10.0.0.1/', [nothing, loopback]],
    ['https://172.31.255.255/', [nothing, loopback]],
    ['https://192.168.1.1/', [nothing, loopback]],
    ['https://100.64.0.1/', [nothing, loopback]],
    ['https://198.18.0.1/', [nothing, loopback]],
    ['https://[fd00::1]/', [nothing, loopback]],
    ['https://[::ffff:10.0.0.1]/', [nothing, loopback]],
    ['https://0x0a000001/', [nothing, loopback]],
    ['https://167772161/', [nothing, loopback]],
    ['https://127.0.0.1/', [nothing, inside]],
    ['https://127.1/', [nothing, inside]],
    ['https://[::1]/', [nothing, inside]],
    ['https://[::ffff:7f00:1]/', [nothing, inside]],
    ['http://127.0.0.1:8080/', [nothing, inside]],
    ['http://localhost:8080/', [nothing, inside]],
    ['http://localhost.example.com/', refused],
    ['http://hooks.example.com/', refused],
    ['http://10.0.0.1/', refused],
    ['https://169.254.169.254/latest/meta-data', refused],
    ['https://[fe80::1]/', refused],
    ['https://[fd00:ec2::254]/', refused],
    ['https://100.100.100.200/', refused],
    ['https://0.0.0.0/', refused],
    ['https://[::]/', refused],
    ['https://224.0.0.1/', refused],
    ['https://[64:ff9b::a00:1]/', refused],
    ['https://[2002:a00:1::]/', refused],
    ['https://user:secret@hooks.example.com/', refused],
    ['ftp://hooks.example.com/', refused],
    ['file:///etc/passwd', refused],
    ['hooks.example.com', refused],
    ['', refused],
  ])('%s', (url, expected) => {
    const found = [nothing, loopback, inside].filter((terms) => sinkProblem(url, terms) !== undefined);
    expect(found).toEqual(expected);
  });

  test('is checked before a request is sent, and where a name leads to it', async () => {
    const url = await serve((_request, response) => response.end());
    expect(await post(url, nothing)).toEqual({ kind: 'forbidden' });
    expect(await post('https://localhost:1/', inside)).toEqual({ kind: 'forbidden' });
  });

  test('is checked for each message: a name may lead elsewhere later', async () => {
    const leads = ['127.0.0.1', '10.0.0.1', '169.254.169.254'];
    const transport = createSinkTransport(systemClock, loopback, (_name, _options, callback) =>
      callback(null, [{ address: leads.shift() ?? '', family: 4 }]),
    );
    const kinds: string[] = [];
    for (let at = 0; at < 3; at += 1) {
      const request = { url: 'https://rebinding.example.com:1/', headers: {}, body: '' };
      kinds.push((await transport.post(request, new AbortController().signal)).kind);
    }
    await transport.close();
    expect(kinds).toEqual(['failed', 'forbidden', 'forbidden']);
  });
});

describe('a message to a sink', () => {
  test.each([200, 204, 400, 410, 429, 500])('is answered with %i', async (status) => {
    const url = await serve((_request, response) => response.writeHead(status).end('secret text'));
    expect(await post(url)).toEqual({ kind: 'answered', status });
  });

  test('follows no redirect', async () => {
    const asked: string[] = [];
    const url = await serve((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    expect(await post(`${url}/first`)).toEqual({ kind: 'answered', status: 307 });
    expect(asked).toEqual(['/first']);
  });

  test('has ten seconds, by the clock that it was given', async () => {
    const clock = new ManualClock();
    let arrived = (): void => undefined;
    const isThere = new Promise<void>((resolve) => (arrived = resolve));
    const url = await serve(() => arrived());
    const answer = post(url, loopback, clock);
    await isThere;
    await clock.advance(sinkTimeoutMs);
    expect(await answer).toEqual({ kind: 'failed', isTimeout: true });
  });

  test('counts by its status, however long its answer is', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200);
      response.end(Buffer.alloc(10_000_000));
    });
    expect(await post(url)).toEqual({ kind: 'answered', status: 200 });
  });

  test('counts by its status without its deadline, when one byte of its answer comes each second', async () => {
    const hasNoDeadline: Clock = {
      ...systemClock,
      after: (delayMs, run) =>
        delayMs >= sinkTimeoutMs ? { cancel: () => undefined } : systemClock.after(delayMs, run),
    };
    let isGone = (): void => undefined;
    const gone = new Promise<void>((resolve) => (isGone = resolve));
    const url = await serve((_request, response) => {
      response.writeHead(200).write('.');
      const drip = setInterval(() => response.write('.'), 100);
      response.on('close', () => {
        clearInterval(drip);
        isGone();
      });
    });
    expect(await post(url, loopback, hasNoDeadline)).toEqual({ kind: 'answered', status: 200 });
    await gone;
  });

  test.each([
    ['one byte of the head of its answer comes each second', 'HTTP/1.1 200 OK\r\nx-slow: ', '.'],
    ['only preliminary answers come', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('fails after ten seconds, when %s', async (_when, first, again) => {
    const clock = new ManualClock();
    let begun = (): void => undefined;
    const isThere = new Promise<void>((resolve) => (begun = resolve));
    const url = await raw((socket) => {
      socket.write(first);
      const drip = setInterval(() => socket.write(again), 10);
      socket.on('close', () => clearInterval(drip));
      begun();
    });
    const answer = post(url, loopback, clock);
    await isThere;
    await clock.advance(sinkTimeoutMs);
    expect(await answer).toEqual({ kind: 'failed', isTimeout: true });
  });

  test.each([
    ['before its answer', ''],
    ['in the head of its answer', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['behind a head without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1_000_000)}`],
    ['behind what is no answer', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ])('fails where the connection is closed %s', async (_when, text) => {
    const url = await raw((socket) => socket.end(text));
    expect(await post(url)).toEqual({ kind: 'failed', isTimeout: false });
  });

  test('counts by its status where the connection is closed in the text of its answer', async () => {
    const url = await raw((socket) => socket.end('HTTP/1.1 202 Accepted\r\ncontent-length: 1000\r\n\r\nabc'));
    expect(await post(url)).toMatchObject({ status: 202 });
  });

  test('an answer without end is not read to its end', async () => {
    let isGone = (): void => undefined;
    const gone = new Promise<void>((resolve) => (isGone = resolve));
    const url = await serve((_request, response) => {
      response.writeHead(200);
      const part = Buffer.alloc(65_536);
      const more = (): void => {
        while (!response.destroyed && response.write(part));
      };
      response.on('drain', more).on('close', isGone);
      more();
    });
    expect(await post(url)).toMatchObject({ status: 200 });
    await gone;
  });

  test.each([
    ['30', 30_000],
    ['31536000', 3_600_000],
    ['0', 1000],
    ['soon', undefined],
    [undefined, undefined],
  ])('is answered with 429 and Retry-After %s', async (header, retryAfterMs) => {
    const headers = header === undefined ? {} : { 'retry-after': header };
    const url = await serve((_request, response) => response.writeHead(429, headers).end());
    const expected = { kind: 'answered', status: 429 };
    expect(await post(url)).toEqual(retryAfterMs === undefined ? expected : { ...expected, retryAfterMs });
  });

  test('arrives where its name leads when it connects, and nowhere when that becomes private', async () => {
    const asked: string[] = [];
    const { port } = new URL(
      await serve((request, response) => {
        asked.push(request.url ?? '');
        response.end();
      }),
    );
    // Each question for the name has another answer: a check that asks before the connection does would get the first one.
    const leads = ['127.0.0.1', '10.0.0.1', '127.0.0.1', '169.254.169.254'];
    const transport = createSinkTransport(systemClock, loopback, (_name, _options, callback) =>
      callback(null, [{ address: leads.shift() ?? '', family: 4 }]),
    );
    const kinds: string[] = [];
    for (let at = 0; at < 4; at += 1) {
      const request = { url: `http://localhost:${port}/${at}`, headers: {}, body: '' };
      kinds.push((await transport.post(request, new AbortController().signal)).kind);
    }
    await transport.close();
    expect([kinds, asked]).toEqual([
      ['answered', 'forbidden', 'answered', 'forbidden'],
      ['/0', '/2'],
    ]);
  });

  test('fails where nothing listens', async () => {
    expect(await post('http://127.0.0.1:1/')).toEqual({ kind: 'failed', isTimeout: false });
  });

  test('has a connection of its own', async () => {
    const headers: IncomingHttpHeaders[] = [];
    const url = await serve((request, response) => {
      headers.push(request.headers);
      response.end();
    });
    await post(url);
    expect(headers[0]).toMatchObject({ connection: 'close' });
  });
});
