/** How many idle connections are kept, over real HTTP. */
import { afterEach, describe, expect, test } from 'vitest';
import { IdleConnections, createTransport, defaultTransportLimits } from '../../../src/api/index.ts';
import { systemClock } from '../../../src/base/index.ts';
import type { Transport } from '../../../src/api/index.ts';
import { reply, serve, type ScriptedServer } from './support.ts';

const opened: Transport[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((transport) => transport.close()));
});

function open(idle: IdleConnections): Transport {
  const transport = createTransport(systemClock, { ...defaultTransportLimits, connections: 50 }, idle);
  opened.push(transport);
  return transport;
}

function get(transport: Transport, { url }: ScriptedServer) {
  return transport.exchange({ method: 'GET', url: `${url}/`, headers: {}, body: undefined });
}

/** All at once. */
async function burst(count: number, ...targets: readonly (readonly [Transport, ScriptedServer])[]) {
  const sent = targets.flatMap(([transport, server]) =>
    Array.from({ length: count }, () => get(transport, server)),
  );
  const replies = await Promise.all(sent);
  expect(replies.filter(({ kind }) => kind !== 'reply')).toEqual([]);
}

const openAt = (...servers: readonly ScriptedServer[]) =>
  servers.flatMap(({ sockets }) => sockets).filter(({ destroyed }) => !destroyed).length;

/** The server hears of it a moment later. */
async function expectOpen(count: number, ...servers: readonly ScriptedServer[]): Promise<void> {
  await expect.poll(() => openAt(...servers), { interval: 10 }).toBe(count);
}

/** Each answers only when all of them are there, so that each needs a connection of its own. */
function together(count: number): Parameters<typeof serve>[0] {
  const waiting: (() => void)[] = [];
  return (response, request, socket) => {
    waiting.push(() => reply(200, {})(response, request, socket));
    if (waiting.length >= count) for (const answer of waiting.splice(0)) answer();
  };
}

describe('idle connections', () => {
  test('are closed beyond the limit, and no request is lost', async () => {
    await using server = await serve(together(20));
    const transport = open(new IdleConnections(3));
    for (let round = 1; round <= 5; round += 1) {
      await burst(20, [transport, server]);
      expect(server.requests).toHaveLength(20 * round);
      await expectOpen(3, server);
    }
  });

  test('are counted over all origins, and those that were used last stay', async () => {
    await using first = await serve(together(10));
    await using second = await serve(together(10));
    const idle = new IdleConnections(4);
    await burst(10, [open(idle), first]);
    await expectOpen(4, first);
    await burst(10, [open(idle), second]);
    await expectOpen(4, second);
    await expectOpen(0, first);
  });

  test('are not those that are busy: each of many goes on, however few may be idle', async () => {
    await using slow = await serve(together(30));
    await using fast = await serve(reply(200, {}));
    const idle = new IdleConnections(0);
    const [one, other] = [open(idle), open(idle)];
    const waiting = Array.from({ length: 29 }, () => get(one, slow));
    await expect.poll(() => slow.requests.length).toBe(29);
    for (let count = 0; count < 20; count += 1) await burst(3, [other, fast]);
    await expectOpen(0, fast);
    expect(openAt(slow)).toBe(29);
    const replies = await Promise.all([...waiting, get(one, slow)]);
    expect(replies.filter(({ kind }) => kind !== 'reply')).toEqual([]);
    await expectOpen(0, slow);
  });

  test('within the limit are used again', async () => {
    await using server = await serve(reply(200, {}));
    const transport = open(new IdleConnections(1));
    for (let count = 0; count < 20; count += 1) await get(transport, server);
    expect(server.sockets.length).toBeLessThanOrEqual(2);
  });

  test('cost no request of many that follow each other', async () => {
    await using server = await serve(reply(200, {}));
    const transport = open(new IdleConnections(1));
    const worker = async () => {
      for (let count = 0; count < 40; count += 1) {
        expect(await get(transport, server)).toMatchObject({ kind: 'reply' });
      }
    };
    await Promise.all(Array.from({ length: 10 }, worker));
    expect(server.requests).toHaveLength(400);
  });
});
