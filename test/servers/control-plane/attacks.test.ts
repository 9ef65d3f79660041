/** A tenant with a valid key means harm: what it tries beyond the floods of traffic.test.ts, and what holds. */
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { defaultConfig } from '../../../src/control-plane/main.ts';
import { ScriptedRuntime } from './scripted-runtime.ts';
import { key, startWorld, trainer, type Json, type World } from './support.ts';

const small = { ...trainer, resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } };
const registry = { repository: 'ghcr.io/acme/trainer', username: 'u', password: 'p' };
const volume = { name: 'data', region: 'standard', sizeGb: 10 };

describe('ids of another account', () => {
  test('open nothing at any endpoint, in any spelling, and no answer shows that they exist', async () => {
    const config = { ...defaultConfig, browserEnabled: true };
    await using world = await startWorld({ config });
    const service = await world.running();
    const template = await world.ok('POST', '/api/templates', { name: 't', image: 'i' });
    const access = await world.ok('POST', '/api/registries', registry);
    const own = await world.ok('POST', '/api/volumes', volume);
    await world.clock.advance(8_000);
    const unknown = '00000000-0000-4000-8000-000000000000';
    const attempts = (ids: Record<'service' | 'template' | 'registry' | 'volume', string>) =>
      [
        ['GET', `/api/services/${ids.service}`],
        ['GET', `/api/services/${ids.service}/logs`],
        ['GET', `/api/services/${ids.service}/metrics?minutes=15`],
        ['GET', `/api/services/${ids.service}/events`],
        ['GET', `/api/services/${ids.service}/activity`],
        ['POST', `/api/services/${ids.service}/exec`, { command: ['id'] }],
        ['POST', `/api/services/${ids.service}/browser-session`],
        ['POST', `/api/services/${ids.service}/actions`, { action: 'stop' }],
        ['PUT', `/api/templates/${ids.template}`, { revision: 1, spec: { name: 'x', image: 'i' } }],
        ['DELETE', `/api/templates/${ids.template}`, { revision: 1 }],
        ['PUT', `/api/registries/${ids.registry}`, { revision: 1, spec: registry }],
        ['DELETE', `/api/registries/${ids.registry}`, { revision: 1 }],
        ['GET', `/api/volumes/${ids.volume}`],
        ['PATCH', `/api/volumes/${ids.volume}`, { revision: 2, name: 'mine' }],
        ['DELETE', `/api/volumes/${ids.volume}`],
        // An id of one kind is none of another.
        ['GET', `/api/services/${ids.volume}`],
        ['GET', `/api/volumes/${ids.service}`],
      ] as const;
    const mine = { service: service.id, template: template.id, registry: access.id, volume: own.id };
    const none = { service: unknown, template: unknown, registry: unknown, volume: unknown };
    const upper = Object.fromEntries(Object.entries(mine).map(([name, id]) => [name, id.toUpperCase()]));
    const answers = async (ids: typeof mine) => {
      const texts: string[] = [];
      for (const [method, path, body] of attempts(ids)) {
        const { status, text } = await world.call(method, path, body, { as: key.bob });
        texts.push(`${status} ${text.replaceAll(/[0-9a-f-]{36}/gi, 'ID')}`);
      }
      return texts;
    };
    const ofNone = await answers(none);
    expect(ofNone.filter((text) => !text.startsWith('404'))).toEqual([]);
    expect(await answers(mine)).toEqual(ofNone);
    expect(await answers(upper as typeof mine)).toEqual(ofNone);
    expect(await world.service(service.id)).toMatchObject({ state: 'running', revision: service.revision });
    for (const path of ['/api/templates', '/api/registries', '/api/account']) {
      const { text } = await world.call('GET', path, undefined, { as: key.bob });
      for (const id of Object.values(mine)) expect(text).not.toContain(id);
    }
  });

  test('give no access to its registry by the same repository', async () => {
    const runtime = new ScriptedRuntime();
    await using world = await startWorld({ runtime: runtime.factory });
    await world.ok('POST', '/api/registries', registry);
    const { id } = await world.ok('POST', '/api/services', small, key.bob);
    expect(runtime.launch(id).credentials).toBe(null);
    const { registries } = await world.ok('GET', '/api/registries');
    expect(registries[0].linkedServices).toEqual([]);
  });
});

describe('two requests at the same moment', () => {
  const at = (count: number, work: (n: number) => Promise<string>) =>
    Promise.all(Array.from({ length: count }, (_, n) => work(n)));
  const accepted = (answers: readonly string[]) => answers.filter((answer) => answer.startsWith('20')).length;

  test('that fit a quota or a capacity each do not both get it', async () => {
    const quota = { ...defaultConfig.quota, services: 3, storageGb: 25 };
    await using world = await startWorld({ config: { ...defaultConfig, quota } });
    expect(accepted(await at(10, () => world.refusal('POST', '/api/services', small)))).toBe(3);
    expect(accepted(await at(10, () => world.refusal('POST', '/api/volumes', volume)))).toBe(2);
  });

  test('attach a volume once', async () => {
    await using world = await startWorld();
    const { id } = await world.ok('POST', '/api/volumes', volume);
    await world.clock.advance(8_000);
    const attach = () => world.refusal('POST', '/api/services', { ...small, volumeId: id });
    expect(accepted(await at(5, attach))).toBe(1);
  });

  test('delete a volume, or attach it', async () => {
    await using world = await startWorld();
    const { id } = await world.ok('POST', '/api/volumes', volume);
    await world.clock.advance(8_000);
    const answers = await Promise.all([
      world.refusal('POST', '/api/services', { ...small, volumeId: id }),
      world.refusal('DELETE', `/api/volumes/${id}`),
    ]);
    expect(accepted(answers)).toBe(1);
  });

  test('patch one revision once; deleting what is being created leaves nothing', async () => {
    await using world = await startWorld();
    const { id } = await world.ok('POST', '/api/services', { ...small, volumeGb: 10 });
    const patch = (n: number) =>
      world.refusal('PATCH', `/api/services/${id}`, { revision: 1, patch: { image: `i:${n}` } });
    expect(accepted(await at(5, patch))).toBe(1);
    await world.act(id, 'delete');
    await world.clock.advance(30_000);
    const { services, volumes } = await world.ok('GET', '/api/account');
    expect([services, volumes]).toEqual([[], []]);
  });
});

describe('compute that runs is paid for', () => {
  const balanceAfter = async (world: World, ms: number) => {
    const { balanceMicros: before } = await world.ok('GET', '/api/account');
    await world.clock.advance(ms);
    return before - (await world.ok('GET', '/api/account')).balanceMicros;
  };

  test.each([
    ['a patch', 'PATCH', (id: string) => `/api/services/${id}`, { revision: 2, patch: { image: 'b' } }],
    ['a restart', 'POST', (id: string) => `/api/services/${id}/actions`, { action: 'restart' }],
  ] as const)('while the image of %s never comes', async (_, method, path, body) => {
    const runtime = new ScriptedRuntime();
    await using world = await startWorld({ runtime: runtime.factory });
    const { id, hourlyMicros } = await world.ok('POST', '/api/services', small);
    // Nothing runs yet.
    expect(await balanceAfter(world, 3_600_000)).toBe(0);
    runtime.done(id);
    await world.ok(method, path(id), body);
    expect((await world.service(id)).state).toBe('provisioning');
    expect(await balanceAfter(world, 3_600_000)).toBe(hourlyMicros);
    await world.act(id, 'stop');
    runtime.done(id);
    expect(await balanceAfter(world, 3_600_000)).toBe(0);
    await world.act(id, 'start');
    expect(await balanceAfter(world, 3_600_000)).toBe(0);
  });

  test('while a launch is replaced by another one, again and again: the first may have started its container', async () => {
    const runtime = new ScriptedRuntime();
    await using world = await startWorld({ runtime: runtime.factory });
    const { id, hourlyMicros, revision } = await world.ok('POST', '/api/services', small);
    await world.ok('PATCH', `/api/services/${id}`, { revision, patch: { image: 'b' } });
    expect((await world.service(id)).state).toBe('provisioning');
    expect(await balanceAfter(world, 3_600_000)).toBe(hourlyMicros);
  });
});

describe('what a container answers', () => {
  /** A world whose runtime keeps each read and command waiting. */
  async function waiting() {
    const open: ((text: string) => void)[] = [];
    const runtime = new ScriptedRuntime();
    const later = () => new Promise<string>((resolve) => void open.push(resolve));
    const world = await startWorld({
      runtime: (host) => ({
        ...runtime.factory(host),
        logs: later,
        exec: async () => ({ exitCode: 0, stdout: await later(), stderr: '', truncated: false }),
      }),
    });
    const { id } = await world.ok('POST', '/api/services', small);
    runtime.done(id);
    return { world, id, open };
  }

  test.each([
    ['logs', 4, undefined],
    ['exec', 16, { command: ['true'] }],
  ] as const)('is had by so many requests for %s at once, %s', async (what, most, body) => {
    const { world, id, open } = await waiting();
    await using _ = world;
    const ask = () => world.call(body ? 'POST' : 'GET', `/api/services/${id}/${what}`, body);
    const begun = Array.from({ length: most }, ask);
    await expect.poll(() => open.length).toBe(most);
    expect((await ask()).status).toBe(429);
    for (const end of open.splice(0)) end('done');
    expect((await Promise.all(begun)).map(({ status }) => status)).toEqual(begun.map(() => 200));
    const again = ask();
    await expect.poll(() => open.length).toBe(1);
    open[0]?.('done');
    expect((await again).status).toBe(200);
  });

  test('is kept for repetitions within a bound of bytes', async () => {
    const { world, id, open } = await waiting();
    await using _ = world;
    const run = async (idempotencyKey: string) => {
      const body = { command: ['true'] };
      const answer = world.call('POST', `/api/services/${id}/exec`, body, { idempotencyKey });
      await expect.poll(() => open.length).toBe(1);
      // In JSON, six bytes each.
      open.pop()?.('\0'.repeat(64 * 1024));
      return answer;
    };
    for (let index = 0; index < 12; index += 1) await run(`k${index}`);
    const replay = async (idempotencyKey: string) =>
      (await world.call('POST', `/api/services/${id}/exec`, { command: ['true'] }, { idempotencyKey }))
        .status;
    expect(await replay('k11')).toBe(200);
    expect(await replay('k0')).toBe(409);
  });
});

describe('requests that say two things', () => {
  async function exchange(world: World, text: string): Promise<string> {
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (part) => (answer += String(part)));
    socket.on('error', () => undefined);
    socket.end(text.replaceAll('\n', '\r\n'));
    await new Promise((resolve) => void socket.once('close', resolve));
    return answer;
  }
  const head = (rest: string, as = key.bob) =>
    `POST /api/volumes HTTP/1.1\nHost: h\nAuthorization: Bearer ${as}\nIdempotency-Key: k\nContent-Type: application/json\n${rest}`;
  const smuggled = `GET /api/me HTTP/1.1\nHost: h\nAuthorization: Bearer ${key.bob}\n\n`;

  test.each([
    ['two lengths', `Content-Length: 2\nContent-Length: 80\n\n{}${smuggled}`],
    ['a length and chunks', `Content-Length: 4\nTransfer-Encoding: chunked\n\n0\n\n${smuggled}`],
    ['chunks that are not the last coding', `Transfer-Encoding: chunked, identity\n\n0\n\n${smuggled}`],
    ['a length with a sign', `Content-Length: +2\n\n{}${smuggled}`],
    ['two keys', `Idempotency-Key: other\nContent-Length: 2\nConnection: close\n\n{}`],
  ])('%s are refused, and what comes after them is not read', async (_, rest) => {
    await using world = await startWorld();
    const answer = await exchange(world, head(rest));
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer.split('HTTP/1.1 ').length).toBe(2);
    expect(answer).not.toContain('bob@example.com');
  });

  test('of two keys of accounts only one counts', async () => {
    await using world = await startWorld();
    const answer = await exchange(
      world,
      `GET /api/me HTTP/1.1\nHost: h\nConnection: close\nAuthorization: Bearer ${key.bob}\nAuthorization: Bearer ${key.alice}\n\n`,
    );
    expect(answer).toContain('bob@example.com');
    expect(answer).not.toContain('alice@example.com');
  });

  test.each(['X-HTTP-Method-Override: DELETE', 'X-Original-URL: /faults', 'X-Forwarded-For: 10.0.0.1'])(
    'the header "%s" means nothing',
    async (header) => {
      await using world = await startWorld();
      const text = `GET /api/me HTTP/1.1\nHost: h\nConnection: close\n${header}\nAuthorization: Bearer ${key.bob}\n\n`;
      expect(await exchange(world, text)).toContain('bob@example.com');
    },
  );
});

describe('names and numbers', () => {
  test.each([
    ['environment', '{"__proto__": {"polluted": "yes"}}'],
    ['environment', '{"constructor": {"prototype": {"polluted": "yes"}}}'],
    ['resources', '{"__proto__": {"cpu": 0}, "gpuCount": 0, "cpu": 1, "memoryGb": 1}'],
  ])('a prototype in %s is refused', async (field, value) => {
    await using world = await startWorld();
    const body = JSON.stringify({ ...small, [field]: 'HERE' }).replace('"HERE"', value);
    expect(await world.refusal('POST', '/api/services', body)).toMatch(/^400/);
    expect(({} as Json).polluted).toBe(undefined);
  });

  test('names of properties of every object are ordinary names of variables', async () => {
    const runtime = new ScriptedRuntime();
    await using world = await startWorld({ runtime: runtime.factory });
    const environment = { constructor: 'a', toString: 'b', hasOwnProperty: 'c', valueOf: 'd' };
    const { id, environmentNames } = await world.ok('POST', '/api/services', { ...small, environment });
    expect(environmentNames).toEqual(Object.keys(environment));
    expect(runtime.launch(id).environment.reveal()).toEqual(environment);
  });

  test.each([
    { resources: { gpuCount: 1e308, cpu: 1, memoryGb: 1 } },
    { resources: { gpuCount: 2 ** 53, cpu: 1, memoryGb: 1 } },
    { resources: { gpuCount: -1, cpu: 1, memoryGb: 1 } },
    { resources: { gpuCount: 0, cpu: 1e308, memoryGb: 1 } },
    { resources: { gpuCount: 0.5, cpu: 1, memoryGb: 1 } },
    { volumeGb: 2 ** 53 },
    { volumeGb: -10 },
    { volumeGb: 10.5 },
    { httpPort: 65_536 },
    { sleepAfterMinutes: 1e9 },
    { region: '__proto__' },
    { geography: 'constructor' },
    { volumeId: '../../etc/passwd' },
    { volumeId: "' OR 1=1 --" },
  ])('%j is refused', async (fields) => {
    await using world = await startWorld();
    expect(await world.refusal('POST', '/api/services', { ...small, ...fields })).toMatch(/^400/);
    expect((await world.ok('GET', '/api/account')).services).toEqual([]);
  });

  test('1e400, which is no number, is refused', async () => {
    await using world = await startWorld();
    const body = JSON.stringify(small).replace('"cpu":1', '"cpu":1e400');
    expect(await world.refusal('POST', '/api/services', body)).toMatch(/^400/);
  });

  const hostileNames = [
    "'; DROP TABLE services; --",
    '%',
    '_',
    '../../etc/passwd',
    '\u001b[2J\u001b]0;owned\u0007',
    'a\u202eb',
    'K\u212a',
    '{"id":"x"}',
    '</script>',
  ];

  test('hostile names are kept as they are, and reach the operator in JSON only', async () => {
    const log: string[] = [];
    const { default: pino } = await import('pino');
    const logger = pino({ level: 'trace' }, { write: (line: string) => void log.push(line) });
    await using world = await startWorld({ logger });
    for (const name of hostileNames) {
      const made = await world.ok('POST', '/api/volumes', { ...volume, name });
      expect(made.name).toBe(name);
      await world.ok('POST', '/api/services', { ...small, name });
      await world.ok('POST', '/api/templates', { name, image: 'i' });
      await world.call('GET', `/api/services/${encodeURIComponent(name)}`);
      await world.call('GET', `/${encodeURIComponent(name)}`);
    }
    const account = await world.ok('GET', '/api/account');
    expect(account.volumes.map(({ name }: Json) => name)).toEqual(hostileNames);
    const journal = await world.admin('GET', '/requests');
    const isControl = (character: string) => character < ' ' && character !== '\n';
    for (const text of [...log, journal.text]) expect(Array.from(text).filter(isControl)).toEqual([]);
  });

  test.each(['/faults', '/requests', '/accounts', '/accounts/alice/credits', '/metrics', '/healthz'])(
    'the API has no %s, however it is written',
    async (path) => {
      await using world = await startWorld();
      for (const one of [path, `/api/..${path}`, `/api/%2e%2e${path}`, `/${path}`, path.toUpperCase()]) {
        for (const method of ['GET', 'PUT', 'POST']) {
          expect(await world.refusal(method, one, method === 'GET' ? undefined : {})).toMatch(/^404/);
        }
      }
    },
  );
});
