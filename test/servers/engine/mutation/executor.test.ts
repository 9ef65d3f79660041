import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ControlApi, Limiter, createTransport } from '../../../../src/api/index.ts';
import { Sensitive, systemClock, systemRandom } from '../../../../src/base/index.ts';
import { execute, type Target } from '../../../../src/engine/mutation/index.ts';
import type { Action, Step } from '../../../../src/engine/plan/index.ts';
import {
  openState,
  readState,
  type Intent,
  type ObjectRecord,
  type OpenState,
} from '../../../../src/state/index.ts';
import { createMetrics } from '../../../../src/telemetry/index.ts';
import { key as apiKeys, startWorld, trainer, type World } from '../../control-plane/support.ts';
import { aRecord, serviceKey, volumeKey } from '../../../support/plan.ts';
import { rememberedOf } from '../../../../src/kinds/container-service/remembered.ts';
import { servicePart } from '../../../support/kind-state.ts';

const ownerChoice = { default: 'lab', explicit: undefined };

/** What was durable when a request arrived at the server's side of the wire. */
interface Arrival {
  readonly idempotencyKey: string | undefined;
  readonly intent: Intent | undefined;
  readonly record: ObjectRecord | undefined;
}

let world: World;
let folder: string;
let state: OpenState;
let arrivals: Arrival[];
let api: ControlApi;
let unreachable: ControlApi;
const metrics = createMetrics();
const transport = createTransport(systemClock);
const proxy = createServer((request, response) => void passOn(request, response));

const stateFile = () => path.join(folder, 'state.db');

function newLimiter(): Limiter {
  const options = { account: 'alice', perSecond: 1000, burst: 1000, concurrency: 4 };
  return new Limiter(options, systemClock, metrics);
}

const proxyUrl = () => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;

function client(baseUrl: string, limiter = newLimiter()): ControlApi {
  const credential = () => new Sensitive(apiKeys.alice);
  return new ControlApi({ baseUrl, credential, transport, limiter, clock: systemClock, metrics });
}

/** Between client and server: reads the state file as another process would, then passes the request on. */
async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const durable = readState(stateFile(), systemRandom, ownerChoice);
  arrivals.push({
    idempotencyKey: request.headers['idempotency-key'] as string | undefined,
    intent: durable.lastIntent(serviceKey),
    record: durable.record(serviceKey),
  });
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { host: _host, connection: _connection, ...headers } = request.headers;
  try {
    const answer = await fetch(`${world.url}${request.url}`, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  } catch {
    request.socket.destroy();
  }
}

beforeAll(async () => {
  world = await startWorld();
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  api = client(proxyUrl());
  unreachable = client('http://127.0.0.1:1');
});

afterAll(async () => {
  await transport.close();
  proxy.close();
  await world.close();
});

beforeEach(async () => {
  await world.admin('PUT', '/faults', []);
  await world.admin('DELETE', '/requests');
  arrivals = [];
  folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-execute-'));
  state = openState(stateFile(), systemRandom, ownerChoice);
  return () => {
    state.close();
    rmSync(folder, { recursive: true });
  };
});

const creation = (image = trainer.image): Step => ({
  action: { do: 'create-service', body: { ...trainer, image }, environment: new Sensitive({ A: 'one' }) },
  reason: 'Create',
  disruptive: false,
  differences: [],
});

function step(action: Action, reason: Step['reason'] = 'SpecChanged'): Step {
  return { action, reason, disruptive: false, differences: [] };
}

function target(record: Partial<ObjectRecord> = {}): Target {
  const known = state.store.record(serviceKey) ?? aRecord(serviceKey);
  const digests = { image: 'i', command: 'c', env: 'e', resources: 'r', desiredState: 'd' };
  return {
    record: { ...known, ...record },
    revision: 5,
    state: 'running',
    digests,
    restartToken: '1',
    remember: rememberedOf,
  };
}

function run(what: Step, through = api, on = target()) {
  const { store } = state;
  const options = {
    store,
    clock: systemClock,
    random: systemRandom,
    logger: pino({ level: 'silent' }),
    metrics,
  };
  return execute(options, through, what, on, () => true);
}

const last = () => state.store.lastIntent(serviceKey);
const record = () => state.store.record(serviceKey);
const fault = (...faults: object[]) => world.admin('PUT', '/faults', faults);

async function services(): Promise<number> {
  return (await world.ok('GET', '/api/account')).services.length;
}

/** Evidence has shown that it did not happen. */
async function shownNotApplied(): Promise<void> {
  const intent = last();
  const now = record();
  if (!intent || !now) throw new Error('nothing was intended');
  await state.store.saveIntent({ ...intent, outcome: 'not-applied' }, now);
}

describe('an intent', () => {
  // COVERAGE 8, 99
  test('is durable before its request arrives, and its outcome when the answer is told', async () => {
    const outcome = await run(creation());
    expect(outcome).toMatchObject({ kind: 'applied', status: 201 });
    expect(arrivals).toHaveLength(1);
    expect(arrivals[0]?.intent).toMatchObject({
      outcome: 'pending',
      action: 'create-service',
      idempotencyKey: arrivals[0]?.idempotencyKey,
      finishedAt: undefined,
    });
    const durable = readState(stateFile(), systemRandom, ownerChoice);
    expect(durable.lastIntent(serviceKey)).toMatchObject({
      outcome: 'applied',
      idempotencyKey: arrivals[0]?.idempotencyKey,
    });
    expect(durable.record(serviceKey)).toMatchObject({
      externalId: outcome.kind === 'applied' && outcome.value.id,
      restartToken: '1',
    });
    expect(durable.openIntent(serviceKey)).toBeUndefined();
  });

  test('to delete says so before it is sent: an absence is then no surprise', async () => {
    const { id } = await world.running();
    await run(step({ do: 'delete-service', id }), api, target({ externalId: id }));
    expect(arrivals[0]?.record).toMatchObject({ deletedByUs: true, externalId: id });
    expect(record()).toMatchObject({ deletedByUs: true });
  });

  test('to pause for a volume says so before it is sent', async () => {
    const { id } = await world.running();
    await run(step({ do: 'stop-service', id }, 'VolumeExpansion'), api, target({ externalId: id }));
    expect(arrivals[0]?.record).toMatchObject({ kind: { pausedFor: 'VolumeExpansion' } });
    await world.clock.advance(3000);
    await run(step({ do: 'start-service', id }));
    expect(servicePart(record()).pausedFor).toBeUndefined();
  });

  test('that was applied leaves the revision of its answer, so that no read from before it is believed', async () => {
    const { id } = await world.running();
    const { revision } = (await world.ok('GET', `/api/services/${id}`)).service;
    const seen = { id, revision, state: 'running', since: 0 };
    const resources = { gpuCount: 0, cpu: 4, memoryGb: 8 };
    await run(step({ do: 'resize-service', id, resources }), api, target({ externalId: id, seen }));
    expect(record()?.seen).toEqual({ ...seen, revision: revision + 1 });
  });

  test('is given up when the document was edited or put back while its request waited for its turn', async () => {
    const { id } = await world.running();
    const limiter = newLimiter();
    const waiting = client(proxyUrl(), limiter);
    for (const change of [{ generation: 2 }, { deletionRequestedAt: undefined }]) {
      limiter.rateLimited(systemClock.monotonicMs(), 150);
      const leaving = aRecord(serviceKey, { externalId: id, generation: 1, deletionRequestedAt: 5 });
      await state.store.save(leaving);
      const outcome = run(step({ do: 'delete-service', id }), waiting, { ...target(), record: leaving });
      await state.store.save({ ...leaving, ...change });
      expect(await outcome).toMatchObject({ kind: 'not-sent' });
      expect(record()).toMatchObject({ deletedByUs: false, ...change });
    }
    expect(arrivals).toEqual([]);
  });

  // COVERAGE 11
  test('that is open keeps every other one out', async () => {
    await fault({ method: 'POST', fault: 'drop-response', times: 1 });
    await run(creation());
    await expect(run(creation('b:2'))).rejects.toThrow(/while another one is open/);
    expect(arrivals).toHaveLength(1);
  });

  test('holds no value of the environment', async () => {
    const canary = 'canary-9f8e7d6c5b4a';
    const action: Action = { ...creation().action, environment: new Sensitive({ TOKEN: canary }) } as Action;
    await run(step(action));
    expect(JSON.stringify([last(), record()])).not.toContain(canary);
  });
});

describe('the key', () => {
  // COVERAGE 100
  test('is the same for the same request that was not sent, and another for another body', async () => {
    expect(await run(creation(), unreachable)).toMatchObject({ kind: 'not-sent' });
    const first = last()?.idempotencyKey;
    await run(creation(), unreachable);
    expect(last()?.idempotencyKey).toBe(first);
    await run(creation('b:2'), unreachable);
    const second = last()?.idempotencyKey;
    expect(second).not.toBe(first);
    await run(creation('b:2'));
    expect(last()).toMatchObject({ outcome: 'applied', idempotencyKey: second });
    expect(arrivals.map(({ idempotencyKey }) => idempotencyKey)).toEqual([second]);
  });

  // COVERAGE 98
  test('of a request shown not to have been applied is used again, and the server makes one service of it', async () => {
    const before = await services();
    await fault({ method: 'POST', fault: 'drop-response', times: 1 });
    expect(await run(creation())).toMatchObject({ kind: 'unknown' });
    expect(state.store.openIntent(serviceKey)).toMatchObject({ outcome: 'unknown' });
    await shownNotApplied();
    expect(await run(creation())).toMatchObject({ kind: 'applied' });
    expect(arrivals).toHaveLength(2);
    expect(arrivals[1]?.idempotencyKey).toBe(arrivals[0]?.idempotencyKey);
    expect(await services()).toBe(before + 1);
  });

  // COVERAGE 100
  test('of a refused request is never used again, nor that of one that was applied', async () => {
    await fault({ method: 'POST', fault: 'status', status: 409, code: 'no_capacity', times: 2 });
    await run(creation());
    await run(creation());
    await run(creation());
    await run(creation());
    expect(arrivals.map(({ intent }) => intent?.outcome)).toEqual(Array(4).fill('pending'));
    expect(new Set(arrivals.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(4);
  });
});

describe('outcomes', () => {
  // COVERAGE 91
  test('refused: what the API said is recorded, and nothing of it as done', async () => {
    await fault({ method: 'POST', fault: 'status', status: 403, code: 'email_unverified', times: 1 });
    await run(creation());
    expect(last()).toMatchObject({
      outcome: 'refused',
      note: expect.stringContaining('403 email_unverified'),
    });
    expect(record()).toMatchObject({
      refusal: { action: 'create-service', status: 403, code: 'email_unverified' },
      externalId: undefined,
      applied: {},
      restartToken: undefined,
    });
    await run(creation());
    expect(record()?.refusal).toBeUndefined();
  });

  test.each([
    ['drop-request', { fault: 'drop-request' }],
    ['drop-response', { fault: 'drop-response' }],
    ['a 502 of a proxy', { fault: 'status', status: 502 }],
    ['a 404 of a proxy', { fault: 'status', status: 404 }],
    ['a 200 of a proxy', { fault: 'status', status: 200 }],
    ['a 500, even in the form of the API', { fault: 'status', status: 500, code: 'internal' }],
  ])('unknown: %s', async (_name, how) => {
    await fault({ method: 'POST', times: 1, ...how });
    expect(await run(creation())).toMatchObject({ kind: 'unknown' });
    const durable = readState(stateFile(), systemRandom, ownerChoice);
    expect(durable.openIntent(serviceKey)).toMatchObject({ outcome: 'unknown', note: expect.any(String) });
    expect(record()).toMatchObject({ externalId: undefined, applied: {} });
  });

  test.each([
    [
      'refused',
      () => fault({ method: 'POST', fault: 'status', status: 409, code: 'conflict', times: 1 }),
      () => api,
    ],
    ['not sent', () => fault(), () => unreachable],
  ])(
    'a deletion or a pause that was %s did not happen: its traces are taken back',
    async (_name, arrange, through) => {
      const { id } = await world.running();
      await arrange();
      await run(step({ do: 'delete-service', id }), through(), target({ externalId: id }));
      expect(record()).toMatchObject({ externalId: id, deletedByUs: false });
      await arrange();
      await run(step({ do: 'stop-service', id }, 'VolumeExpansion'), through());
      expect(servicePart(record()).pausedFor).toBeUndefined();
    },
  );

  test('the same correction is counted, another one starts anew', async () => {
    const { id } = await world.running();
    const sleep = (sleepAfterMinutes: number) => step({ do: 'set-sleep-policy', id, sleepAfterMinutes });
    for (const [minutes, count] of [
      [5, 1],
      [5, 2],
      [6, 1],
    ] as const) {
      await run(sleep(minutes));
      expect(record()?.repeated?.count).toBe(count);
    }
  });

  // FAULTS 15
  test('a creation that is answered with what another object stands for has an unknown outcome', async () => {
    const { id } = await world.running();
    await state.store.save({ ...aRecord(volumeKey), externalId: id });
    const mixedUp = new ControlApi({
      baseUrl: world.url,
      credential: () => new Sensitive(apiKeys.alice),
      limiter: new Limiter(
        { account: 'alice', perSecond: 1000, burst: 1000, concurrency: 4 },
        systemClock,
        metrics,
      ),
      clock: systemClock,
      metrics,
      transport: {
        exchange: async () => ({
          kind: 'reply',
          status: 201,
          retryAfter: undefined,
          body: JSON.stringify({ id }),
        }),
        close: async () => {},
      },
    });
    expect(await run(creation(), mixedUp)).toEqual({
      kind: 'unknown',
      reason: `a 201 with the id ${id}, which belongs to ${volumeKey}`,
    });
    expect(record()?.externalId).toBeUndefined();
  });

  // COVERAGE 28, 61
  test('a deleted volume answers with its id, and the operation of its deletion is remembered', async () => {
    const { id } = await world.ok('POST', '/api/volumes', { name: 'v', region: 'standard', sizeGb: 10 });
    expect(await run(step({ do: 'delete-volume', id }))).toMatchObject({ kind: 'applied', value: { id } });
    expect(last()?.note).toMatch(/^operation \S+$/);
  });
});
