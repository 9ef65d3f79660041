/**
 * State that an earlier version has written (test/fixtures/state), served by today's code: on simulated time that goes on where that
 * version was killed, before today's control plane with that version's database.
 */
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import type { HttpRequest, Transport } from '../../src/api/index.ts';
import { Sqlite, digestKey, type DigestKey, type Random } from '../../src/base/index.ts';
import { openControlPlane } from '../../src/control-plane/main.ts';
import { Manager, Operator } from '../../src/manager/index.ts';
import { defaultShortenedGrace } from '../../src/engine/index.ts';
import { managedKinds, resourceTypes, type ObjectKey } from '../../src/resources/index.ts';
import { readBookkeeping } from '../../src/state/bookkeeping.ts';
import {
  identitySecretName,
  openState,
  readPrices,
  type Intent,
  type ObjectRecord,
  type StateStore,
} from '../../src/state/index.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import { apiKey } from '../fixtures/state/documents.ts';
import { ApiServer, typeOf } from '../simulation/cluster/api-server.ts';
import { ReplicaApi } from '../simulation/cluster/replica-api.ts';
import { randomPort } from '../simulation/random-port.ts';
import { Life, Scheduler } from '../simulation/scheduler.ts';
import { desiredOf } from './desired.ts';
import { SeededRandom } from './seeded-random.ts';

// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body: string;
}

/** What is sent now. */
export interface SentNow extends Sent {
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** What the maker of the fixtures has written down. */
export interface Kept {
  /** Unix milliseconds at which it was killed. */
  readonly atMs: number;
  readonly url: string;
  readonly unanswered: readonly (Sent & {
    readonly name: string;
    readonly fate: 'carried-out' | 'cut' | 'lost';
  })[];
}

export interface Reading {
  readonly key: ObjectKey;
  readonly written: { readonly record: Json; readonly intent: Json };
  readonly read: { readonly record: ObjectRecord | undefined; readonly intent: Intent | undefined };
}

export interface Earlier {
  readonly kept: Kept;
  /** What changes something, in its order. */
  readonly sent: SentNow[];
  /** Names at the provider. */
  readonly things: () => readonly string[];
  records(): readonly ObjectRecord[];
  lastIntent(key: ObjectKey): Intent | undefined;
  /** Whose key the account has, and what things cost: as they were, and as they are read now. */
  readonly learned: readonly { readonly written: unknown; readonly read: unknown }[];
  /** What the earlier version had written: each record and its newest intent, as it was and as it is read now. */
  readonly before: readonly Reading[];
  start(): Promise<void>;
  /** Simulated time goes on. */
  run(durationMs: number): Promise<void>;
  stop(): Promise<void>;
}

const logger = pino({ level: 'silent' });
const fixtures = path.resolve(import.meta.dirname, '../fixtures/state');
const settleMs = 5000;

interface World {
  readonly folder: string;
  /** For what is changed meanwhile; it goes with the rest. */
  readonly work: string;
  readonly kept: Kept;
  readonly scheduler: Scheduler;
  readonly life: Life;
  readonly random: Random;
  readonly seeded: SeededRandom;
  readonly sent: SentNow[];
  readonly eventLoop: { endOfTurn(run: () => void): void; crash(error: unknown): void };
  readonly plane: Awaited<ReturnType<typeof openControlPlane>>;
  readonly createTransport: () => Transport;
}

export async function openEarlier(version: string, place: 'folder' | 'cluster'): Promise<Earlier> {
  const world = await openWorld(path.join(fixtures, version, place));
  return place === 'folder' ? openFolder(world) : openCluster(world);
}

async function openWorld(folder: string): Promise<World> {
  const kept = JSON.parse(readFileSync(path.join(folder, 'requests.json'), 'utf8')) as Kept;
  const seeded = new SeededRandom(1);
  const scheduler = new Scheduler(seeded);
  const random = randomPort(seeded);
  const life = new Life(scheduler, () => kept.atMs + scheduler.nowMs, 0);
  const eventLoop = {
    endOfTurn: (run: () => void) => {
      const turn = new Promise<void>((resolve) => {
        setImmediate(() => {
          run();
          resolve();
        });
      });
      void scheduler.busy(turn);
    },
    crash: (error: unknown) => {
      throw error;
    },
  };
  const work = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-'));
  const database = path.join(work, 'plane.db');
  copyFileSync(path.join(folder, 'plane.db'), database);
  const account = {
    name: 'acme',
    email: 'a@b.example',
    emailVerified: true,
    balanceMicros: 1e9,
    apiKeys: [apiKey],
  };
  const plane = await openControlPlane({
    listen: { host: 'nowhere', port: 0 },
    database,
    accounts: { accounts: [account] },
    timeScale: 60,
    clock: life.clock,
    random,
    eventLoop,
    logger,
  });
  await plane.api.ready();
  const sent: SentNow[] = [];
  const exchange = async ({ method, url, headers, body = '' }: HttpRequest) => {
    const { pathname } = new URL(url);
    const request = { method, path: pathname, key: headers['idempotency-key'] ?? '', body };
    if (method !== 'GET') sent.push({ ...request, atMs: life.clock.wallMs() });
    const reply = await scheduler.busy(
      plane.api.inject({
        method: method as 'GET',
        url: pathname,
        headers: { ...headers, host: 'control.example' },
        ...(body === '' ? {} : { payload: body }),
      }),
    );
    const retryAfter = reply.headers['retry-after']?.toString();
    return { kind: 'reply' as const, status: reply.statusCode, retryAfter, body: reply.body };
  };
  const createTransport = () => ({ exchange, close: async () => {} });
  return { folder, work, kept, scheduler, life, random, seeded, sent, eventLoop, plane, createTransport };
}

function shared({ kept, sent, scheduler, plane }: World) {
  return {
    kept,
    sent,
    things: () => {
      const { services, volumes, templates, registries } = plane.store;
      const named = [...services.all(), ...volumes.all()].map(({ name }) => name);
      const others = [...templates.all()].map(({ name }) => name);
      const repositories = [...registries.all()].map(({ repository }) => repository);
      return [...named, ...others, ...repositories];
    },
    run: (durationMs: number) => scheduler.run(scheduler.nowMs + durationMs, () => false),
  };
}

function openFolder(world: World): Earlier {
  const { folder, work, random, eventLoop, life, plane, createTransport } = world;
  const file = path.join(work, 'state.db');
  copyFileSync(path.join(folder, 'state.db'), file);
  const state = openState(file, random, { default: 'fleet', explicit: undefined }, eventLoop);
  const documents = path.join(folder, 'fleet');
  const files = readdirSync(documents).map((name) => [
    name,
    readFileSync(path.join(documents, name), 'utf8'),
  ]);
  const snapshot = desiredOf(Object.fromEntries(files) as Record<string, string>);
  const manager = new Manager({
    source: {
      description: 'the documents that were kept',
      start: async () => snapshot,
      stop: async () => {},
    },
    store: state.store,
    environment: { url: undefined, apiKey: () => undefined },
    clock: life.clock,
    random,
    logger,
    metrics: createMetrics(),
    settleMs,
    grace: { goneMs: 0, ...defaultShortenedGrace },
    allowMassChange: false,
    mode: 'manage',
    createTransport,
  });
  return {
    ...shared(world),
    ...readingsOf(path.join(folder, 'state.db'), state.store),
    records: () => [...state.store.records()],
    lastIntent: (key) => state.store.lastIntent(key),
    start: () => manager.start(),
    stop: async () => {
      life.end();
      state.close();
      await plane.close();
      rmSync(work, { recursive: true });
    },
  };
}

/** Columns of the table are not called as the members of an intent are: those that tell which one it is are compared. */
function readingsOf(file: string, store: StateStore): Pick<Earlier, 'before' | 'learned'> {
  const database = new Sqlite(file, { readOnly: true });
  try {
    const before = database.all('SELECT key, record FROM objects').map((row) => {
      const key = row['key'] as ObjectKey;
      const intent = database.get(
        `SELECT idempotency_key AS idempotencyKey, body_digest AS bodyDigest, action, outcome, generation, created_at AS createdAt
           FROM intents WHERE object = $key ORDER BY number DESC LIMIT 1`,
        { key },
      );
      return {
        key,
        written: { record: JSON.parse(String(row['record'])), intent: intent && { ...intent } },
        read: { record: store.record(key), intent: store.lastIntent(key) },
      };
    });
    const pin = database.get("SELECT value FROM meta WHERE name = 'identity:default/default'")?.['value'];
    const learned: { written: unknown; read: unknown }[] = [
      { written: JSON.parse(String(pin)), read: store.identityPin('default/default') },
    ];
    if (database.version() > 2) {
      const prices = database.get("SELECT prices FROM prices WHERE account = 'default/default'")?.['prices'];
      learned.push({ written: JSON.parse(String(prices)), read: store.prices('default/default') });
    }
    return { before, learned };
  } finally {
    database.close();
  }
}

const operatorsNamespace = 'fleetkeeper';

function openCluster(world: World): Earlier {
  const { folder, work, kept, scheduler, seeded, random, life, createTransport, plane } = world;
  const objects: Json[] = JSON.parse(readFileSync(path.join(folder, 'objects.json'), 'utf8'));
  const server = new ApiServer({ random: seeded, wallMs: () => kept.atMs + scheduler.nowMs });
  for (const object of objects) putBack(server, object);
  const { data } = objects.find(({ metadata }) => metadata.name === identitySecretName);
  const key = digestKey(Buffer.from(Buffer.from(data.digestKey, 'base64').toString(), 'hex'));
  const all = () =>
    managedKinds.flatMap((kind) =>
      server.list(resourceTypes[kind], undefined).map((object) => ({ object, kind })),
    );
  const read = ({ object: { metadata, status }, kind }: { readonly object: Json; readonly kind: string }) => {
    const objectKey = `${kind}/${metadata.namespace}/${metadata.name}` as ObjectKey;
    return readBookkeeping(objectKey, metadata.uid, status, key);
  };
  const before = all().map((each) => {
    const { record, intent } = read(each);
    const { bookkeeping = {} }: Json = each.object.status ?? {};
    return { key: record.key, written: bookkeeping, read: { record, intent } };
  });
  const stopping = new AbortController();
  const operator = new Operator({
    api: new ReplicaApi({
      server,
      scheduler,
      random: seeded,
      life,
      lifeNumber: 1,
      faults: new Map(),
      healAtMs: 0,
      onFault: () => {},
      touch: () => {},
      isDown: () => false,
    }),
    identity: 'the-next-version',
    environment: { url: undefined, apiKey: () => undefined },
    owner: undefined,
    namespaces: [],
    shard: undefined,
    leaseMs: 15_000,
    settleMs,
    stopped: stopping.signal,
    createTransport,
    clock: life.clock,
    random,
    logger,
    metrics: createMetrics(),
  });
  return {
    ...shared(world),
    before,
    learned: learnedOf(
      all().map(({ object }) => object),
      key,
    ),
    records: () => all().map((each) => read(each).record),
    lastIntent: (objectKey) =>
      all()
        .map(read)
        .find(({ record }) => record.key === objectKey)?.intent,
    start: async () => void operator.run(),
    stop: async () => {
      life.end();
      await plane.close();
      rmSync(work, { recursive: true });
    },
  };
}

/** As it was, but for its resource version; what the operator keeps lies in its own namespace. */
function putBack(server: ApiServer, object: Json): void {
  const { kind, metadata } = object;
  const type = kind === 'Secret' ? typeOf('Secret', 'secrets') : resourceTypes[kind as 'Account'];
  const namespace = metadata.name === identitySecretName ? operatorsNamespace : metadata.namespace;
  server.store.put(server.kindOf(type).storage, { ...object, metadata: { ...metadata, namespace } });
}

function learnedOf(objects: readonly Json[], key: DigestKey): Earlier['learned'] {
  const { metadata, status } = objects.find(({ kind }) => kind === 'Account');
  const { identity } = readBookkeeping('Account/default/default', metadata.uid, status, key);
  const shown = readPrices('default/default', status, key).map(({ hourlyMicros }) => hourlyMicros);
  return [
    { written: status.bookkeeping.identity, read: identity },
    { written: (status.prices ?? []).map(({ hourlyMicros }: Json) => hourlyMicros), read: shown },
  ];
}
