/** Faults F1 to F15: between the manager and the API. Each account has another one, and one manager has them all at the same time. */
import { readFile, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { certificate, certificateOfAnotherHost, expiredCertificate, privateKey } from '../support/tls.ts';
import { Front, type Exchange } from '../support/processes/front.ts';
import { listen } from '../support/processes/listener.ts';
import {
  Tenants,
  afterwards,
  answerWith,
  comesTrue,
  failuresOf,
  pass,
  serviceOf,
  settleMs,
  taskOf,
} from '../support/processes/tenants.ts';

async function encrypted(cert: string): Promise<Front> {
  return new Front(() => 'http://127.0.0.1:1', { cert, key: privateKey }).start();
}

/** A byte a second, and never to its end. */
function trickle({ response, socket }: Exchange): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 1000);
  socket.on('close', () => clearInterval(timer));
}

/** The first heartbeat is answered so; resolves to how long its connection lasted. */
function firstHeartbeat(
  tenants: Tenants,
  name: string,
  how: (exchange: Exchange) => unknown,
): Promise<number> {
  return new Promise((resolve) => {
    let isFirst = true;
    tenants.front(name).disturb = ({ method, path: asked }) => {
      if (!isFirst || method === 'GET' || !asked.endsWith('/activity')) return undefined;
      isFirst = false;
      const sinceMs = Date.now();
      return (exchange) => {
        exchange.socket.on('close', () => resolve(Date.now() - sinceMs));
        return how(exchange);
      };
    };
  });
}

async function noConnection(): Promise<void> {
  const unreachable = {
    unknown: /ENOTFOUND|EAI_AGAIN/,
    refused: /ECONNREFUSED/,
    silent: /[Tt]imeout/,
    reset: /ECONNRESET|TLS connection/,
    expired: /certificate has expired/,
    foreign: /altnames/,
    'self-signed': /self-signed certificate/,
    moved: /status 30[1278]/,
  };
  const tenants = await Tenants.start([...Object.keys(unreachable), 'slow', 'hole', 'fine']);
  const { fleet } = tenants;
  const elsewhere = await listen((socket) => socket.destroy());
  const silent = await listen(() => {});
  const broken = await listen((socket) => socket.once('data', () => socket.resetAndDestroy()));
  const untrusted = {
    expired: await encrypted(expiredCertificate),
    foreign: await encrypted(certificateOfAnotherHost),
    'self-signed': await encrypted(certificate),
  };
  const urls: Record<keyof typeof unreachable, string> = {
    unknown: 'https://nowhere.invalid',
    refused: 'http://127.0.0.1:1',
    silent: `https://127.0.0.1:${silent.port}`,
    reset: `https://127.0.0.1:${broken.port}`,
    expired: untrusted.expired.url,
    foreign: untrusted.foreign.url,
    'self-signed': untrusted['self-signed'].url,
    moved: tenants.front('moved').url,
  };
  let redirects = 0;
  tenants.front('moved').answer = ({ path: asked }) => {
    const location = `http://127.0.0.1:${elsewhere.port}${asked}`;
    return { status: [301, 302, 307, 308][redirects++ % 4] ?? 0, body: {}, headers: { location } };
  };
  for (const [name, url] of Object.entries(urls)) await tenants.write(name, undefined, { url });
  await tenants.write('fine');
  for (const name of ['slow', 'hole']) await tenants.write(name, [serviceOf(name), taskOf(name)]);
  const lasted = [firstHeartbeat(tenants, 'slow', trickle), firstHeartbeat(tenants, 'hole', () => {})];
  const authorities = path.join(fleet.folder, '..', 'authorities.pem');
  await writeFile(authorities, expiredCertificate + certificateOfAnotherHost);
  const manager = tenants.run({ NODE_EXTRA_CA_CERTS: authorities });

  await tenants.until('ContainerService/fine', 'Ready', 'True');
  for (const [name, reason] of Object.entries(unreachable)) {
    const reported = await tenants.until(`ContainerService/${name}`, 'Ready', 'Unknown', 'ApiUnreachable');
    expect.soft(reported.message, name).toMatch(reason);
    const account = await fleet.condition(`Account/${name}`, 'Ready');
    expect.soft([name, account?.status, account?.reason]).toEqual([name, 'Unknown', 'ApiUnreachable']);
    expect.soft(await tenants.services(name), name).toEqual([]);
  }
  for (const [name, { seen, connections }] of Object.entries(untrusted)) {
    expect.soft([name, seen]).toEqual([name, []]);
    expect.soft(connections, name).toBeGreaterThan(0);
    // The pauses between attempts grow.
    expect.soft(connections, name).toBeLessThan(20);
  }
  expect(broken.connections).toBeLessThan(20);
  for (const { received } of [silent, broken]) expect(received.toString('latin1')).not.toMatch(/HTTP|Bearer/);
  expect(elsewhere.connections).toBe(0);
  for (const heartbeatMs of await Promise.all(lasted)) {
    expect(heartbeatMs).toBeGreaterThan(9000);
    expect(heartbeatMs).toBeLessThan(28_000);
  }
  for (const name of ['slow', 'hole']) {
    await tenants.until(`ProtectedTask/${name}`, 'Ready', 'True');
    const ids = tenants
      .mutations(name)
      .flatMap(({ path: asked, body }) =>
        asked.endsWith('/activity') ? [JSON.parse(body).id as string] : [],
      );
    expect.soft(new Set(ids).size, name).toBe(1);
  }
  expect((await manager.kill('SIGTERM')).code).toBe(0);
  expect(manager.stdout + manager.stderr).not.toContain('key-of-');
}

const reset = ({ socket }: Exchange) => socket.resetAndDestroy();
/** More than is read of any answer, in a few kilobytes. */
const bomb = gzipSync(Buffer.alloc(64 * 1024 ** 2, ' '));
const page = '<html><body>Please log in</body></html>';

async function endless({ response }: Exchange, reported: { bytes: number }): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' });
  const part = Buffer.alloc(1024 ** 2, ' ');
  function* parts() {
    for (; reported.bytes < 1024 ** 3; reported.bytes += part.length) yield part;
  }
  // It is cut, as it should be.
  await pipeline(Readable.from(parts()), response).catch(() => {});
}

async function half({ forward, socket }: Exchange, length: string): Promise<void> {
  const text = JSON.stringify((await forward()).body);
  const head = `HTTP/1.1 201 Created\r\ncontent-type: application/json\r\n${length}\r\n\r\n`;
  socket.write(head.replace('LENGTH', String(text.length)) + text.slice(0, text.length / 2), () => {
    socket.resetAndDestroy();
  });
}

interface Mishap {
  /** What becomes of the request that creates the service. */
  readonly how: (exchange: Exchange) => unknown;
  /** The request has taken effect by the time that its outcome is looked into. */
  readonly effect: boolean;
}

const streamed = { bytes: 0 };
const mishaps: Readonly<Record<string, Mishap>> = {
  'f5-lost': { how: reset, effect: false },
  'f5-done': { how: afterwards(reset), effect: true },
  'f6-known-length': { how: (exchange) => half(exchange, 'content-length: LENGTH'), effect: true },
  'f6-until-end': { how: (exchange) => half(exchange, 'connection: close'), effect: true },
  'f8-late': {
    how: async (exchange) => {
      reset(exchange);
      await delay(settleMs / 2);
      await exchange.forward();
    },
    effect: true,
  },
  'f10-headers': {
    how: afterwards(({ socket }) =>
      socket.write(`HTTP/1.1 201 Created\r\nx-long: ${'x'.repeat(1024 ** 2)}\r\n\r\n`),
    ),
    effect: true,
  },
  'f13-page': {
    how: afterwards((exchange) => answerWith(exchange, 200, page)),
    effect: true,
  },
  'f13-page-alone': { how: (exchange) => answerWith(exchange, 200, page), effect: false },
  'f14-bomb': {
    how: afterwards(({ response }) => response.writeHead(201, { 'content-encoding': 'gzip' }).end(bomb)),
    effect: true,
  },
  'f14-endless': {
    how: afterwards((exchange) => endless(exchange, streamed)),
    effect: true,
  },
};

async function creations(): Promise<void> {
  const names = Object.keys(mishaps);
  const tenants = await Tenants.start([...names, 'f9-twice']);
  const brokenAtMs = new Map<string, number>();
  for (const [name, { how }] of Object.entries(mishaps)) {
    await tenants.write(name);
    tenants.disturbMutations(name, 1, (exchange) => {
      brokenAtMs.set(name, Date.now());
      return how(exchange);
    });
  }
  await tenants.write('f9-twice');
  tenants.disturbMutations('f9-twice', 9, async (exchange) => {
    await exchange.forward();
    await pass(exchange);
  });
  const manager = tenants.run();
  await tenants.untilReady(names.length + 1);
  for (const [name, { effect }] of Object.entries(mishaps)) {
    const sent = tenants.mutations(name);
    expect.soft([name, sent.length]).toEqual([name, effect ? 1 : 2]);
    expect.soft(new Set(sent.map(({ idempotencyKey, body }) => idempotencyKey + body)).size, name).toBe(1);
    expect.soft(await tenants.services(name), name).toHaveLength(1);
    const decided = tenants
      .front(name)
      .seen.find(
        ({ path: asked, atMs }) => asked === '/api/account' && atMs >= (brokenAtMs.get(name) ?? 0) + settleMs,
      );
    expect.soft(decided, name).toBeDefined();
    if (!effect) expect.soft(sent[1]?.atMs, name).toBeGreaterThanOrEqual(decided?.atMs ?? Infinity);
  }
  const [twice] = await tenants.services('f9-twice');
  expect([tenants.mutations('f9-twice').length, twice?.name]).toEqual([1, 'f9-twice']);
  expect(streamed.bytes).toBeLessThan(64 * 1024 ** 2);
  const peakKb = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${manager.pid}/status`, 'utf8'))?.[1];
  expect(Number(peakKb) / 1024).toBeLessThan(512);
  expect((await manager.kill('SIGTERM')).code).toBe(0);
}

async function reads(): Promise<void> {
  const read = { bytes: 0 };
  const answers: Record<string, (exchange: Exchange) => unknown> = {
    page: (exchange) => answerWith(exchange, 200, page),
    bomb: ({ response }) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    endless: (exchange) => endless(exchange, read),
    cut: async ({ forward, socket }) => {
      const text = JSON.stringify((await forward()).body);
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text.slice(0, -10)}`);
    },
  };
  const names = Object.keys(answers);
  const tenants = await Tenants.start(names);
  const { fleet } = tenants;
  for (const name of names) await tenants.write(name);
  tenants.run();
  await tenants.untilReady(names.length);
  const before = await fleet.records();
  for (const [name, how] of Object.entries(answers)) {
    tenants.front(name).disturb = ({ path: asked }) => (asked === '/api/account' ? how : undefined);
  }
  for (const name of names)
    await tenants.until(`ContainerService/${name}`, 'Ready', 'Unknown', 'ApiUnreachable');
  for (const name of names) await tenants.write(name, [serviceOf(name, { image: 'ghcr.io/acme/app:2' })]);
  for (const name of names) {
    const key = `ContainerService/${name}`;
    const record = await comesTrue('the edit taken in', async () => {
      const found = (await fleet.records()).get(key);
      return found?.generation === 2 && found;
    });
    expect.soft(record.externalId, name).toBe(before.get(key)?.externalId);
    expect.soft(tenants.mutations(name), name).toHaveLength(1);
    tenants.front(name).disturb = () => undefined;
  }
  // 16 MiB of each read, and what is on its way in the buffers of two processes.
  expect(read.bytes).toBeLessThan(tenants.reads('endless') * 64 * 1024 ** 2);
  await comesTrue('the new images', async () => {
    const all = await Promise.all(names.map((name) => tenants.services(name)));
    return all.every(([only]) => only?.image === 'ghcr.io/acme/app:2');
  });
}

async function closedConnections(): Promise<void> {
  const tenants = await Tenants.start(['idle', 'in-use']);
  const services = (account: string, image: string) =>
    Array.from({ length: 5 }, (_, index) => serviceOf(`${account}-${index}`, { image }, account));
  tenants.front('idle').disturb = () => async (exchange) => {
    await pass(exchange, { connection: 'keep-alive', 'keep-alive': 'timeout=1' });
    setTimeout(() => exchange.socket.end(), 20);
  };
  const used = new WeakSet<Socket>();
  let closed = 0;
  tenants.front('in-use').disturb = ({ method }) => {
    const isTurn = closed < 6 && (method !== 'GET' || closed % 2 === 0);
    return (exchange) => {
      if (!isTurn || !used.has(exchange.socket)) return used.add(exchange.socket) && pass(exchange);
      closed += 1;
      return exchange.socket.destroy();
    };
  };
  for (const account of ['idle', 'in-use'])
    await tenants.write(account, services(account, 'ghcr.io/acme/app:1'));
  const manager = tenants.run();
  await tenants.untilReady(10);
  for (const account of ['idle', 'in-use'])
    await tenants.write(account, services(account, 'ghcr.io/acme/app:2'));
  await comesTrue('the new images', async () => {
    const all = [...(await tenants.services('idle')), ...(await tenants.services('in-use'))];
    return all.length === 10 && all.every(({ image }) => image === 'ghcr.io/acme/app:2');
  });
  await tenants.untilReady(10);
  const lost = manager.stderr
    .split('\n')
    .filter((line) => /"msg":"mutation"/.test(line) && /"unknown"/.test(line));
  expect(lost.filter((line) => line.includes('idle-'))).toEqual([]);
  expect(closed).toBeGreaterThan(2);
  for (const account of ['idle', 'in-use']) {
    expect(await tenants.services(account)).toHaveLength(5);
    const effects = new Map<string, string>();
    for (const { idempotencyKey, body } of tenants.mutations(account)) {
      expect(effects.get(idempotencyKey) ?? body).toBe(body);
      effects.set(idempotencyKey, body);
    }
    expect.soft(effects.size, account).toBe(10);
  }
}

async function mixedUpAnswers(): Promise<void> {
  const tenants = await Tenants.start(['swapped', 'older', 'twofold']);
  const { fleet } = tenants;
  // One name begins as the other.
  const twoOf = (account: string) => ['a', 'ab'].map((end) => serviceOf(`${account}-${end}`, {}, account));
  // Two creations at once, each of which gets the answer to the other one.
  const waiting: Exchange[] = [];
  tenants.disturbMutations('swapped', 2, async (exchange) => {
    waiting.push(exchange);
    const [first, second] = waiting;
    if (!first || !second) return;
    const answers = [await first.forward(), await second.forward()];
    answerWith(first, 201, answers[1]?.body as object);
    answerWith(second, 201, answers[0]?.body as object);
  });
  await tenants.write('swapped', twoOf('swapped'));
  // A creation that is answered with a service which is there already, under the name that was asked for.
  await tenants.write('older', [serviceOf('older-a', {}, 'older')]);
  // Two answers to one request: the second one is there before the next request is sent.
  await tenants.write('twofold', [serviceOf('twofold-a', {}, 'twofold')]);
  tenants.front('twofold').disturb = ({ path: asked }) =>
    asked === '/api/account' || asked === '/api/me'
      ? async ({ forward, socket }) => {
          const text = JSON.stringify((await forward()).body);
          const stray = JSON.stringify({ id: '99999999-9999-4999-8999-999999999999', name: 'twofold-ab' });
          const answer = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
          socket.write(answer(text) + answer(stray));
        }
      : undefined;
  tenants.run();
  await tenants.untilReady(4);
  const [olderA] = await tenants.services('older');
  tenants.disturbMutations('older', 1, async (exchange) => {
    await exchange.forward();
    answerWith(exchange, 201, { ...olderA, name: 'older-ab' });
  });
  await tenants.write('older', twoOf('older'));
  await tenants.write('twofold', twoOf('twofold'));
  await tenants.untilReady(6);
  // Each of them has ended its connection.
  expect(tenants.front('twofold').connections).toBeGreaterThan(3);
  const records = await fleet.records();
  for (const account of ['swapped', 'older', 'twofold']) {
    const services = await tenants.services(account);
    expect(services.map(({ name }) => name as string).sort()).toEqual([`${account}-a`, `${account}-ab`]);
    for (const { id, name } of services) {
      expect.soft(records.get(`ContainerService/${name}`)?.externalId, name).toBe(id);
    }
    expect.soft(tenants.mutations(account), account).toHaveLength(2);
  }
}

test('whatever the network does, nobody else gets the key, nothing is done twice, and it goes on afterwards', async () => {
  const failures = await failuresOf({
    'F1 F2 F3 F4 F10 F11 F12: without a connection that can be trusted nothing is sent; what never ends is given up; the others go on':
      noConnection,
    'F5 F6 F8 F9 F10 F13 F14: whatever becomes of a request that creates, a read decides, and there is one service':
      creations,
    'F13 F14: a read that is a page, a bomb, or never ends changes nothing that is known, and nothing is sent on it':
      reads,
    'F7: a connection that is closed just when it is to be used costs no second effect, and one that announced it nothing':
      closedConnections,
    'F15: the answer of one request in the place of another is not taken for its own': mixedUpAnswers,
  });
  expect(failures).toEqual([]);
});
