/**
 * What a tenant who means harm does, item by item of docs/internals/security.md. Each attack runs until the signal; it asks from an
 * address of its own, has a bounded number of connections, and pauses between its requests, if ever so shortly.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { lanes, localAddress, send, type Attack, type Target } from './client.ts';

const create = ({ service }: Target, more: object) => JSON.stringify({ ...service, ...more });
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
        create(target, { resources: { gpuCount: 0, cpu: 4e-10, memoryGb: 4e-10 } }),
      ),
    ),
  'C2: all that there is': (target, signal) =>
    lanes(2, signal, () =>
      send(
        target,
        'POST',
        '/api/services',
        create(target, { resources: { gpuCount: 16, cpu: 512, memoryGb: 4096 } }),
      ),
    ),
  'C3: services with the longest commands': (target, signal) => {
    // What is to run comes first.
    const command = [
      ...(target.service.command ?? []),
      ...Array.from({ length: 1000 }, () => 'x'.repeat(60)),
    ];
    return lanes(4, signal, () => send(target, 'POST', '/api/services', create(target, { command })));
  },
  'C3: services with commands of a megabyte': (target, signal) => {
    const body = create(target, { command: ['x'.repeat(1_000_000)] });
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
