/**
 * What a tenant who means harm does, item by item of docs/internals/security.md. Each attack runs until the signal; it asks from an
 * address of its own, has a bounded number of connections, and pauses between its requests, if ever so shortly.
 */
import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly apiKey: string;
}

type Attack = (target: Target, signal: AbortSignal) => Promise<void>;

/** All of 127.0.0.0/8 is this machine; the victim asks from 127.0.0.1. */
const localAddress = '127.0.0.2';
const mostSockets = 300;

/** How many answers there were of each status. */
export const statuses = new Map<string, number>();

/** Emits `answer` with each of them. */
export const answered = new EventEmitter();

const agent = new Agent({ keepAlive: true, maxSockets: mostSockets });
const tiny = { gpuCount: 0, cpu: 0.01, memoryGb: 0.01 };
const spec = { name: 'a', region: 'economy', image: 'nginx', resources: tiny };

/** Sends, and throws the answer away. Resolves with the status, or 0 when the connection was cut. */
function send(
  target: Target,
  method: string,
  path: string,
  body?: string,
  key = target.apiKey,
): Promise<number> {
  return new Promise((resolve) => {
    const done = (status: number) => {
      const name = `${method} ${status}`;
      statuses.set(name, (statuses.get(name) ?? 0) + 1);
      answered.emit('answer');
      resolve(status);
    };
    const sent = request(
      {
        host: target.host,
        port: target.port,
        localAddress,
        agent,
        method,
        path,
        headers: {
          authorization: `Bearer ${key}`,
          ...(method !== 'GET' && { 'idempotency-key': randomUUID() }),
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
        },
      },
      (response) => {
        response.resume();
        response.once('close', () => done(response.statusCode ?? 0));
      },
    );
    sent.once('error', () => done(0));
    sent.setTimeout(30_000, () => sent.destroy());
    sent.end(body);
  });
}

/** So many at a time, each after the other. */
async function lanes(
  count: number,
  signal: AbortSignal,
  work: (n: number) => Promise<unknown>,
): Promise<void> {
  let n = 0;
  const lane = async () => {
    while (!signal.aborted) {
      await work((n += 1));
      await delay(1);
    }
  };
  await Promise.all(Array.from({ length: count }, lane));
}

const create = (more: object) => JSON.stringify({ ...spec, ...more });
const raw = (target: Target, text: string) => `${text}Host: h\r\nAuthorization: Bearer ${target.apiKey}\r\n`;

/** Connections that say something, and then what `then` does with them; so many at once, each for a while. */
async function sockets(
  target: Target,
  signal: AbortSignal,
  { count, lastsMs, text }: { count: number; lastsMs: number; text: string },
  then: (socket: Socket) => void = () => undefined,
): Promise<void> {
  await lanes(count, signal, async () => {
    const socket = connect({ host: target.host, port: target.port, localAddress, allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.write(text);
    then(socket);
    const closed = new Promise((resolve) => void socket.once('close', resolve));
    await Promise.race([closed, delay(lastsMs, undefined, { signal }).catch(() => undefined)]);
    socket.destroy();
  });
}

const dripping = (socket: Socket) => {
  const drip = setInterval(() => socket.write('x'), 500);
  socket.once('close', () => clearInterval(drip));
};

/** By the resource that they are after. An account that has everything at once has little of each. */
export const phases: Readonly<Record<string, RegExp>> = {
  'many and large requests': /^C2|^C3: (?!.*account read)/,
  'large answers': /account read|large answers/,
  'connections and keys': /^C7|^C10/,
  everything: /./,
};

export const attacks: Readonly<Record<string, Attack>> = {
  'C2: resources that round to nothing': (target, signal) =>
    lanes(1, signal, () =>
      send(
        target,
        'POST',
        '/api/services',
        create({ resources: { gpuCount: 0, cpu: 4e-10, memoryGb: 4e-10 } }),
      ),
    ),
  'C2: all that there is': (target, signal) =>
    lanes(2, signal, () =>
      send(
        target,
        'POST',
        '/api/services',
        create({ resources: { gpuCount: 16, cpu: 512, memoryGb: 4096 } }),
      ),
    ),
  'C3: services with the longest commands': (target, signal) => {
    const command = Array.from({ length: 1000 }, () => 'x'.repeat(60));
    return lanes(4, signal, () => send(target, 'POST', '/api/services', create({ command })));
  },
  'C3: services with commands of a megabyte': (target, signal) => {
    const body = create({ command: ['x'.repeat(1_000_000)] });
    return lanes(4, signal, () => send(target, 'POST', '/api/services', body));
  },
  'C3: small requests with large answers': async (target, signal) => {
    const command = ['x'.repeat(60_000)];
    const made = JSON.stringify({ name: 't', image: 'i', command });
    for (let index = 0; index < 50; index += 1) await send(target, 'POST', '/api/templates', made);
    await lanes(4, signal, () => send(target, 'GET', '/api/templates'));
  },
  'C3: keys without end': (target, signal) =>
    lanes(8, signal, () =>
      send(target, 'POST', '/api/registries', '{"repository":"r.example/a","username":"u","password":"p"}'),
    ),
  'C3: bodies of very many values': (target, signal) => {
    const body = `{"command":[${'0,'.repeat(100_000)}0]}`;
    return lanes(4, signal, () => send(target, 'POST', '/api/services', body));
  },
  'C3: bodies that are nested deeply': (target, signal) =>
    lanes(2, signal, () => send(target, 'POST', '/api/services', '['.repeat(200_000))),
  'C3: a flood of account reads': (target, signal) =>
    lanes(100, signal, () => send(target, 'GET', '/api/account')),
  'C3: account reads that nobody reads': (target, signal) =>
    sockets(target, signal, {
      count: 100,
      lastsMs: 20_000,
      text: `${raw(target, 'GET /api/account HTTP/1.1\r\n')}\r\n`.repeat(20),
    }),
  'C7: headers that never end': (target, signal) =>
    sockets(
      target,
      signal,
      { count: 200, lastsMs: 60_000, text: raw(target, 'GET /api/me HTTP/1.1\r\n') },
      dripping,
    ),
  'C7: bodies that never end': (target, signal) => {
    const head = `${raw(target, 'POST /api/services HTTP/1.1\r\n')}Idempotency-Key: k\r\nContent-Type: application/json\r\n`;
    const text = `${head}Content-Length: 200000\r\n\r\n{"name":"`;
    return sockets(target, signal, { count: 100, lastsMs: 60_000, text }, dripping);
  },
  'C7: connections without a request': (target, signal) =>
    sockets(target, signal, { count: 800, lastsMs: 60_000, text: '' }),
  'C7: what is no HTTP, and goes on': (target, signal) =>
    sockets(target, signal, { count: 20, lastsMs: 10_000, text: 'NONSENSE\r\n\r\n' }, dripping),
  'C10: keys that are guessed': (target, signal) =>
    lanes(8, signal, (n) => send(target, 'GET', '/api/account', undefined, `guess-${n}`)),
};
