import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import pino from 'pino';
import { systemRandom } from '../../../src/base/random.ts';
import { commandsAtOnce } from '../../../src/control-plane/domain/config.ts';
import type { BrowserSessions } from '../../../src/control-plane/domain/browser-sessions.ts';
import { bounded, Containers } from '../../../src/control-plane/domain/containers.ts';
import type { Platform } from '../../../src/control-plane/domain/platform.ts';
import type { ExecutionResult } from '../../../src/control-plane/domain/runtime.ts';
import type { Services } from '../../../src/control-plane/domain/services.ts';
import { defaultConfig, openControlPlane } from '../../../src/control-plane/main.ts';
import type { AccountRecord } from '../../../src/control-plane/store/records.ts';
import { Store } from '../../../src/control-plane/store/store.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { ScriptedRuntime } from './scripted-runtime.ts';
import { accounts, key, startWorld, trainer } from './support.ts';

const nobody = '00000000-0000-4000-8000-000000000000';
const list = { command: ['ls', '-l'] };

test('logs are plain text, and say that they are a simulation', async () => {
  await using world = await startWorld();
  const { id } = await world.running();
  const answer = await world.call('GET', `/api/services/${id}/logs`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(answer.text).toContain('2026-01-01T00:00:08.000Z simulation: the service is running');
  expect((await world.call('GET', `/api/services/${id}/logs`)).text).toBe(answer.text);
});

test('a command in a running service is answered with its result, which is a failure and says that it is a simulation', async () => {
  await using world = await startWorld();
  const { id } = await world.running();
  const result = await world.ok('POST', `/api/services/${id}/exec`, { ...list, timeoutSeconds: 5 });
  expect(result).toEqual({
    exitCode: 126,
    stdout: expect.stringContaining('simulation'),
    stderr: '',
    truncated: false,
  });
  const { events } = await world.ok('GET', `/api/services/${id}/events`);
  expect(events[0].message).toBe('exec requested by alice');
});

test('a command needs a running service', async () => {
  await using world = await startWorld();
  const { id } = await world.running();
  await world.act(id, 'stop');
  const path = `/api/services/${id}/exec`;
  expect(await world.refusal('POST', path, list)).toBe('409 invalid_state');
  await world.clock.advance(3_000);
  expect(await world.refusal('POST', path, list)).toBe('409 invalid_state');
});

test('a command is run once per Idempotency-Key, and needs one', async () => {
  await using world = await startWorld();
  const { id } = await world.running();
  const run = (idempotencyKey: string | null, body: object = list) =>
    world.call('POST', `/api/services/${id}/exec`, body, { idempotencyKey });
  const first = await run('k');
  const second = await run('k');
  expect([second.status, second.text]).toEqual([200, first.text]);
  expect(second.headers.get('idempotency-replayed')).toBe('true');
  expect((await run('k', { command: ['rm'] })).body.error.code).toBe('idempotency_key_reused');
  expect((await run(null)).body.error.code).toBe('idempotency_key_missing');
  const { events } = await world.ok('GET', `/api/services/${id}/events`);
  expect(events.filter(({ message }: { message: string }) => message.startsWith('exec'))).toHaveLength(1);
});

test('a command whose transaction is rolled back takes no place', () => {
  const store = new Store(temporaryFile('plane.db'));
  const service = { id: 's', accountId: 'a', state: 'running', operation: null };
  const platform = {
    store,
    config: { browserEnabled: false },
    events: { add: () => undefined },
    runtime: {},
  };
  const containers = new Containers(
    platform as unknown as Platform,
    { find: () => service } as unknown as Services,
    {} as BrowserSessions,
  );
  const admit = () => containers.admit({ id: 'a' } as AccountRecord, 's', list);
  const full = new Error('the disk is full');
  for (let place = 0; place < commandsAtOnce; place += 1) {
    const failing = () =>
      store.unit.run(() => {
        admit();
        throw full;
      });
    expect(failing).toThrow(full);
  }
  for (let place = 0; place < commandsAtOnce; place += 1) store.unit.run(admit);
  expect(() => store.unit.run(admit)).toThrow(`at most ${commandsAtOnce} commands`);
  store.close();
});

test('of commands that arrive in one moment so many run as an account may have at once; the others were not begun', async () => {
  const logged: string[] = [];
  const scripted = new ScriptedRuntime();
  const ends: (() => void)[] = [];
  const result: ExecutionResult = { exitCode: 0, stdout: '', stderr: '', truncated: false };
  const { api, close } = await openControlPlane({
    listen: { host: '127.0.0.1', port: 0 },
    database: ':memory:',
    accounts,
    random: systemRandom,
    clock: new ManualClock(),
    logger: pino({ level: 'error' }, { write: (line: string) => void logged.push(line) }),
    runtime: (host) => ({
      ...scripted.factory(host),
      exec: () => new Promise((resolve) => void ends.push(() => resolve(result))),
    }),
  });
  const post = async (url: string, payload: object) => {
    const headers = { authorization: `Bearer ${key.alice}`, 'idempotency-key': randomUUID() };
    return api.inject({ method: 'POST', url, payload, headers });
  };
  const { id } = (await post('/api/services', trainer)).json<{ id: string }>();
  scripted.done(id);
  const run = () => post(`/api/services/${id}/exec`, list);
  const all = Promise.all(Array.from({ length: commandsAtOnce + 3 }, run));
  await expect.poll(() => ends.length).toBe(commandsAtOnce);
  for (const end of ends) end();
  const answers = (await all).map((answer) => {
    const { error } = answer.json<{ error?: { code: string } }>();
    return `${answer.statusCode} ${error?.code ?? 'done'}`;
  });
  expect(answers.toSorted()).toEqual([
    ...Array<string>(commandsAtOnce).fill('200 done'),
    ...Array<string>(3).fill('429 rate_limited'),
  ]);
  expect(logged).toEqual([]);
  // Each has given its place back.
  const next = run();
  await expect.poll(() => ends.length).toBe(commandsAtOnce + 1);
  ends.at(-1)?.();
  expect((await next).statusCode).toBe(200);
  await close();
});

test.each([
  {},
  { command: [] },
  { command: 'ls' },
  { ...list, timeoutSeconds: 61 },
  { ...list, shell: true },
])('the command %j is refused', async (body) => {
  await using world = await startWorld();
  const { id } = await world.running();
  expect(await world.refusal('POST', `/api/services/${id}/exec`, body)).toBe('400 invalid_request');
});

test('output beyond 64 KiB is cut off, and that is said', () => {
  const result = { exitCode: 1, stdout: `a${'é'.repeat(40_000)}`, stderr: 'short', truncated: false };
  const cut = bounded(result);
  expect(cut).toMatchObject({ exitCode: 1, stderr: 'short', truncated: true });
  expect(Buffer.byteLength(cut.stdout)).toBe(64 * 1024 - 1);
  expect(bounded({ ...result, stdout: '' })).toMatchObject({ truncated: false });
});

test.each([15, 60, 360])('metrics of %i minutes say that they are a simulation', async (minutes) => {
  await using world = await startWorld();
  const { id } = await world.running();
  await world.clock.advance(minutes * 60_000);
  const metrics = await world.ok('GET', `/api/services/${id}/metrics?minutes=${minutes}`);
  expect(metrics).toMatchObject({ minutes, simulated: true, intervalSeconds: minutes });
  expect(metrics.samples).toHaveLength(60);
  expect(metrics.samples.at(-1)).toEqual({
    at: expect.any(Number),
    cpuCores: expect.any(Number),
    memoryGb: expect.any(Number),
    gpuPercent: expect.any(Number),
  });
  expect(await world.ok('GET', `/api/services/${id}/metrics?minutes=${minutes}`)).toEqual(metrics);
  await world.act(id, 'stop');
  await world.clock.advance(3_000);
  expect((await world.ok('GET', `/api/services/${id}/metrics?minutes=${minutes}`)).samples).toEqual([]);
});

test.each(['', '?minutes=', '?minutes=30', '?minutes=15.0', '?minutes=15&minutes=60'])(
  'metrics%s are refused',
  async (query) => {
    await using world = await startWorld();
    const { id } = await world.running();
    expect(await world.refusal('GET', `/api/services/${id}/metrics${query}`)).toBe('400 invalid_request');
  },
);

test('metrics are refused where none are collected', async () => {
  await using world = await startWorld({ config: { ...defaultConfig, metricsEnabled: false } });
  const { id } = await world.running();
  expect(await world.refusal('GET', `/api/services/${id}/metrics?minutes=15`)).toBe('409 metrics_disabled');
});

test('a browser session is opened only where the catalog offers it, in a running service', async () => {
  await using world = await startWorld();
  const { id } = await world.running();
  expect((await world.ok('GET', '/api/catalog')).browserEnabled).toBe(false);
  expect(await world.refusal('POST', `/api/services/${id}/browser-session`)).toBe('409 browser_disabled');

  await using offering = await startWorld({ config: { ...defaultConfig, browserEnabled: true } });
  expect((await offering.ok('GET', '/api/catalog')).browserEnabled).toBe(true);
  const service = await offering.running();
  const path = `/api/services/${service.id}/browser-session`;
  const [one, other] = [await offering.ok('POST', path), await offering.ok('POST', path)];
  expect(one).toEqual({ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/s\//) });
  expect(other.url).not.toBe(one.url);
  await offering.act(service.id, 'stop');
  expect(await offering.refusal('POST', path)).toBe('409 invalid_state');
});

test('the address of a browser session is not written to the disk, and repeated for five minutes only', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fleetkeeper-browser-'));
  const database = join(folder, 'control-plane.db');
  await using world = await startWorld({ database, config: { ...defaultConfig, browserEnabled: true } });
  const { id } = await world.running();
  const open = async () => {
    const options = { idempotencyKey: 'one-intent' };
    return world.call('POST', `/api/services/${id}/browser-session`, undefined, options);
  };
  const { url } = (await open()).body;
  expect((await open()).body).toEqual({ url });
  await world.clock.advance(300_000);
  expect((await open()).body.error.code).toBe('outcome_unknown');
  await world.close();
  const files = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file))));
  expect(files.some((file) => file.includes(url))).toBe(false);
  expect(files.some((file) => file.includes(id))).toBe(true);
  await rm(folder, { recursive: true });
});

test('the containers of another account do not exist', async () => {
  await using world = await startWorld({ config: { ...defaultConfig, browserEnabled: true } });
  const { id } = await world.running();
  for (const service of [id, nobody]) {
    for (const [method, path, body] of [
      ['GET', 'logs'],
      ['GET', 'metrics?minutes=15'],
      ['POST', 'exec', list],
      ['POST', 'browser-session'],
    ] as const) {
      expect(await world.refusal(method, `/api/services/${service}/${path}`, body, key.bob)).toBe(
        '404 not_found',
      );
    }
  }
});
