import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createEndpointProbe, type ProbeResult, type ProbeTarget } from '../../../src/api/index.ts';
import { systemClock, systemRandom } from '../../../src/base/index.ts';
import { ReadinessWatch, type ReadinessTarget } from '../../../src/observed/index.ts';
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

// COVERAGE 55
describe('a look at an endpoint', () => {
  const look = async (url: string, more: Partial<ProbeTarget> = {}) => {
    const probe = createEndpointProbe(systemClock);
    try {
      const target = { url, timeoutMs: 5000, loopback: true, namespace: 'default', ...more };
      return await probe.probe(target, new AbortController().signal);
    } finally {
      await probe.close();
    }
  };

  test.each([
    [200, true],
    [204, true],
    [302, true],
    [404, false],
    [503, false],
  ])('an answer with %i makes it ready: %s', async (status, ready) => {
    const url = await serve((_request, response) => response.writeHead(status).end('body'));
    expect((await look(`${url}/healthz`)).ready).toBe(ready);
  });

  test.each([
    [{ from: 200, to: 299 }, 200, true],
    [{ from: 200, to: 299 }, 302, false],
    [{ from: 500, to: 500 }, 500, true],
    [{ from: 200, to: 200, contains: 'llm-2' }, 200, true],
    [{ from: 200, to: 200, contains: 'llm-3' }, 200, false],
    [{ from: 500, to: 500, contains: 'llm-2' }, 200, false],
  ])('that expects %j of an answer with %i and "llm-2" is ready: %s', async (expects, status, ready) => {
    const url = await serve((_request, response) => response.writeHead(status).end('the model llm-2'));
    expect((await look(`${url}/v1/models`, { expects })).ready).toBe(ready);
  });

  test('at an address that is never asked says that nothing is known, also where a name leads to it', async () => {
    const never = { ready: false, isUnasked: true };
    expect(await look('http://169.254.169.254/')).toMatchObject(never);
    expect(await look('http://localhost:1/', { loopback: false })).toMatchObject(never);
    expect(await look('http://127.0.0.1:1/')).not.toHaveProperty('isUnasked');
  });

  test('carries no credentials, and follows no redirect', async () => {
    const asked: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      asked.push(request.url, request.headers.authorization);
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    await look(`${url}/healthz?deep=1`);
    expect(asked).toEqual(['/healthz?deep=1', undefined]);
  });

  test('that is never answered holds up the namespace that it is of, and no other', async () => {
    const held = new Set<string>();
    const silent = createServer(({ url = '' }) => void held.add(url)).listen(0, '0.0.0.0');
    servers.push(silent);
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const quick = await serve((_request, response) => response.end());
    const probe = createEndpointProbe(systemClock);
    const ended = new AbortController();
    const looks = Array.from({ length: 200 }, (_, index) =>
      probe.probe(
        {
          url: `http://127.0.0.${index + 2}:${port}/${index}`,
          timeoutMs: 60_000,
          loopback: true,
          namespace: 'loud',
        },
        ended.signal,
      ),
    );
    const other = { url: quick, timeoutMs: 60_000, loopback: true, namespace: 'quiet' };
    expect(await probe.probe(other, ended.signal)).toEqual({ ready: true });
    expect(held.size).toBeLessThanOrEqual(8);
    ended.abort();
    await Promise.all(looks);
    await probe.close();
  });

  test('that is not answered ends at its time-out', async () => {
    const url = await serve(() => undefined);
    expect(await look(url, { timeoutMs: 50 })).toEqual({
      ready: false,
      message: `${url}: no answer within 0.05 s`,
    });
  });

  test('at nothing says so', async () => {
    expect(await look('http://127.0.0.1:1/')).toMatchObject({
      ready: false,
      message: expect.stringMatching(/ECONNREFUSED/),
    });
  });

  test.each([
    ['http://169.254.169.254/latest/meta-data', true],
    ['http://[fe80::1]/', true],
    ['http://0.0.0.0/', true],
    ['http://2852039166/', true],
    ['http://[::ffff:169.254.169.254]/', true],
    ['http://127.0.0.1:1/', false],
    ['http://[::1]:1/', false],
    ['http://localhost:1/', false],
  ])('%s is never asked (this machine meant: %s)', async (url, loopback) => {
    expect(await look(url, { loopback })).toMatchObject({
      ready: false,
      message: expect.stringMatching(/is never asked/),
    });
  });

  test.each(['file:///etc/passwd', 'no address', 'http://user:secret@127.0.0.1/'])(
    '%s is refused without being repeated in full',
    async (url) => {
      const result = await look(url);
      expect(result.ready).toBe(false);
      expect(JSON.stringify(result)).not.toContain('secret');
    },
  );
});

describe('the watch over readiness', () => {
  const target: ReadinessTarget = {
    url: 'https://one.example/healthz',
    periodMs: 10_000,
    timeoutMs: 5000,
    loopback: false,
    namespace: 'default',
  };
  const failing: ProbeResult = { ready: false, message: 'answers 503' };

  function aWatch(answers: ProbeResult[], more: { isOneShot?: boolean } = {}) {
    const clock = new ManualClock();
    const changes: string[] = [];
    const looks: string[] = [];
    const watch = new ReadinessWatch<string>({
      ...more,
      clock,
      random: systemRandom,
      onChange: (key) => changes.push(key),
      probe: {
        probe: async ({ url }) => {
          looks.push(url);
          return answers.shift() ?? { ready: true };
        },
        close: async () => undefined,
      },
    });
    return { clock, changes, looks, watch };
  }

  test('nothing is known before the first look, which comes within two seconds', async () => {
    const { watch, clock, changes } = aWatch([]);
    expect(watch.watch('a', target, false)).toBeUndefined();
    await clock.advance(2000);
    expect(watch.watch('a', target, false)).toEqual({ ready: true });
    expect(changes).toEqual(['a']);
  });

  test('what was Ready before stays so until the first look, and a look that finds the same is no change', async () => {
    const { watch, clock, changes, looks } = aWatch([{ ready: true }, failing]);
    expect(watch.watch('a', target, true)).toEqual({ ready: true });
    await clock.advance(2000);
    expect([looks.length, changes]).toEqual([1, []]);
    await clock.advance(10_000);
    expect(watch.watch('a', target, true)).toEqual(failing);
  });

  test('in a process that ends when all is Ready, nothing is Ready before the first look', () => {
    const { watch } = aWatch([], { isOneShot: true });
    expect(watch.watch('a', target, true)).toBeUndefined();
  });

  test('looks once a period, and tells only changes', async () => {
    const { watch, clock, changes, looks } = aWatch([{ ready: true }, { ready: true }, failing, failing]);
    watch.watch('a', target, false);
    await clock.advance(42_000);
    expect(looks.length).toBe(5);
    expect(changes.length).toBe(3);
  });

  test('another target is not known until it has been looked at', async () => {
    const { watch, clock } = aWatch([]);
    watch.watch('a', target, false);
    await clock.advance(2000);
    expect(watch.watch('a', { ...target, url: 'https://two.example/' }, true)).toBeUndefined();
  });

  test('what is not watched any more is not looked at any more', async () => {
    const { watch, clock, looks } = aWatch([]);
    watch.watch('a', target, false);
    await clock.advance(2000);
    watch.unwatch('a');
    await clock.advance(60_000);
    expect(looks.length).toBe(1);
  });
});
