import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
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
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  servers.push(server);
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
