/** The manager between a source and a store that do not do as they should. */
import pino from 'pino';
import { stringify } from 'yaml';
import { beforeEach, expect, test } from 'vitest';
import type { HttpReply, HttpRequest } from '../../src/api/index.ts';
import { digestKey, systemRandom } from '../../src/base/index.ts';
import type { DesiredSnapshot } from '../../src/desired/index.ts';
import { Manager, type ManagerOptions } from '../../src/manager/index.ts';
import { apiVersion, type ObjectKey } from '../../src/resources/index.ts';
import { MemoryStore, newRecord, type ObjectRecord } from '../../src/state/index.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import { desiredOf, serviceDocument } from '../support/desired.ts';
import { ManualClock, settle } from '../support/manual-clock.ts';

const web: ObjectKey = 'ContainerService/default/web';

/** `hold`: saved at once, as every reader sees, and durable only when it resolves; or refused. */
class SlowStore extends MemoryStore {
  hold: () => Promise<void> = () => Promise.resolve();

  override async saveAll(records: readonly ObjectRecord[]): Promise<void> {
    const held = this.hold();
    await Promise.race([held, super.saveAll(records)]);
    await held;
  }
}

class FullStore extends MemoryStore {
  isFull = false;

  override async saveAll(records: readonly ObjectRecord[]): Promise<void> {
    if (this.isFull) throw new Error('database or disk is full');
    await super.saveAll(records);
  }
}

const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'lab', ownerConfirmed: true };
let clock: ManualClock;
let tell: (snapshot: DesiredSnapshot) => void;

beforeEach(() => {
  clock = new ManualClock();
});

async function managing(
  store: MemoryStore,
  first: DesiredSnapshot,
  createTransport?: ManagerOptions['createTransport'],
): Promise<Manager> {
  const manager = new Manager({
    source: {
      description: 'what the test wants',
      start: async (onChange) => {
        tell = onChange;
        return first;
      },
      stop: async () => {},
    },
    store,
    environment: { url: undefined, apiKey: () => undefined },
    clock,
    random: systemRandom,
    logger: pino({ level: 'silent' }),
    metrics: createMetrics(),
    settleMs: 1000,
    graceMs: 0,
    allowMassChange: false,
    mode: 'manage',
    ...(createTransport ? { createTransport } : {}),
  });
  await manager.start();
  await settle();
  return manager;
}

const service = (image: string) => desiredOf({ 'web.yaml': serviceDocument('web', [`command: [${image}]`]) });

test('what the source says is taken in later when the disk has no room for it now', async () => {
  const store = new FullStore(identity, [], []);
  await managing(store, service('one'));
  store.isFull = true;
  tell(service('two'));
  await clock.advance(30_000);
  expect(store.record(web)?.generation).toBe(1);
  store.isFull = false;
  await clock.advance(300_000);
  expect(store.record(web)).toMatchObject({ generation: 2, status: { observedGeneration: 2 } });
});

test('what could not be taken in does not come back over what the source says by then', async () => {
  const store = new SlowStore(identity, [], []);
  await managing(store, service('one'));
  store.hold = () => Promise.reject(new Error('database or disk is full'));
  tell(service('two'));
  await settle();
  const { promise, resolve } = Promise.withResolvers<void>();
  store.hold = () => promise;
  tell(service('three'));
  await settle();
  // The time to try again comes while the newer one is being written down.
  await clock.advance(30_000);
  store.hold = () => Promise.resolve();
  resolve();
  await clock.advance(300_000);
  expect(store.record(web)?.manifest.spec).toMatchObject({ command: ['three'] });
});

test('while an edit is being written down, what is planned is planned for the edit', async () => {
  const inAccount = (name: string) =>
    desiredOf({ 'web.yaml': serviceDocument('web', [`accountRef: {name: ${name}}`]) });
  const store = new SlowStore(identity, [], []);
  const manager = await managing(store, inAccount('one'));
  const { promise, resolve } = Promise.withResolvers<void>();
  store.hold = () => promise;
  tell(inAccount('two'));
  await settle();
  store.hold = () => Promise.resolve();
  manager.lookAt(web);
  await settle();
  const record = store.record(web);
  expect(record).toMatchObject({ generation: 2, status: { observedGeneration: 2 } });
  expect(record?.status?.conditions[0]?.message).toContain('there is no Account two');
  resolve();
});

const accountDocument = stringify({
  apiVersion,
  kind: 'Account',
  metadata: { name: 'default' },
  spec: { url: 'https://api.invalid', credentialsSecretRef: { name: 'compute', key: 'apiKey' } },
});
const secretDocument = stringify({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'compute' },
  stringData: { apiKey: 'key' },
});

test('an account is kept, with its limits and its key, while the folder shows not one document, or not all', async () => {
  const first = desiredOf({ 'account.yaml': accountDocument });
  const manager = await managing(new MemoryStore(identity, [], []), first);
  const [before] = manager.accounts.handles();
  expect(before?.name).toBe('default/default');
  tell(desiredOf({}));
  await settle();
  tell({ ...service('one'), complete: false });
  await settle();
  tell(first);
  await settle();
  const [after] = manager.accounts.handles();
  expect(after).toBe(before);
  await manager.stop();
});

const serviceId = '00000000-0000-4000-8000-000000000001';
const beat = `POST /api/services/${serviceId}/activity`;

/** An API of one account, in which nothing is: what it was asked, and what it answers to `METHOD path`. */
class ScriptedApi {
  readonly sent: string[] = [];
  /** Whoever asks for the account waits for it. */
  readable: Promise<void> = Promise.resolve();
  readonly refused = new Set<string>();
  readonly #shown: Readonly<Record<string, object>> = {
    'GET /api/me': { id: 'acme', emailVerified: true },
    'GET /api/account': { balanceMicros: 5, currency: 'USD', services: [], volumes: [], ledger: [] },
    [beat]: { heartbeatSeconds: 30, expiresInSeconds: 300 },
  };

  readonly createTransport = () => ({
    exchange: async ({ method, url }: HttpRequest): Promise<HttpReply> => {
      const asked = `${method} ${new URL(url).pathname}`;
      this.sent.push(asked);
      if (asked === 'GET /api/account') await this.readable;
      const status = this.refused.has(asked) ? 401 : asked in this.#shown ? 200 : 404;
      const body = status === 200 ? this.#shown[asked] : { error: { code: 'no', message: 'no' } };
      return { kind: 'reply', status, retryAfter: undefined, body: JSON.stringify(body) };
    },
    close: async () => {},
  });

  /** What it was asked since this was called last. */
  news(): string[] {
    return this.sent.splice(0);
  }
}

const taskDocument = stringify({
  apiVersion,
  kind: 'ProtectedTask',
  metadata: { name: 'epoch' },
  spec: { serviceRef: { name: 'web' } },
});
const access = { 'account.yaml': accountDocument, 'secret.yaml': secretDocument };
const held = { 'web.yaml': serviceDocument('web'), 'task.yaml': taskDocument };
/** The service is known by its id. */
const knowing = () =>
  new MemoryStore(
    identity,
    [{ ...newRecord(web, 'uid'), externalId: serviceId, account: 'default/default' }],
    [],
  );

test('tasks go on to be beaten for when the document of their account, and its key, are lost', async () => {
  const api = new ScriptedApi();
  const manager = await managing(knowing(), desiredOf({ ...held, ...access }), api.createTransport);
  await clock.advance(40_000);
  expect(api.news()).toContain(beat);
  tell(desiredOf(held));
  await clock.advance(10_000);
  api.news();
  await clock.advance(60_000);
  expect(api.news()).toEqual([beat, beat]);
  await manager.stop();
});

test('a heartbeat that is answered 401 makes it asked soon whose key it is, however seldom the account is read', async () => {
  const api = new ScriptedApi();
  const seldom = accountDocument.replace('spec:', 'spec:\n  pollSeconds: 900');
  const first = desiredOf({ ...held, ...access, 'account.yaml': seldom });
  const manager = await managing(knowing(), first, api.createTransport);
  await clock.advance(300_000);
  expect(api.news()).toContain(beat);
  api.refused.add(beat);
  await clock.advance(30_000);
  api.refused.clear();
  expect(api.news()).toContain(beat);
  await clock.advance(40_000);
  const asked = api.news();
  expect(asked).toContain(beat);
  await manager.stop();
});

test('while what the source says now can not be written down, nothing is done by what it said before', async () => {
  const api = new ScriptedApi();
  const { promise: readable, resolve: read } = Promise.withResolvers<void>();
  api.readable = readable;
  const store = new FullStore(identity, [], []);
  const manager = await managing(
    store,
    desiredOf({ ...access, 'web.yaml': held['web.yaml'] }),
    api.createTransport,
  );
  store.isFull = true;
  tell(desiredOf({ ...access, 'other.yaml': serviceDocument('other') }));
  // Each try comes later than the one before.
  await clock.advance(25_000);
  store.isFull = false;
  read();
  await settle();
  await clock.advance(100);
  expect(api.sent.filter((asked) => asked === 'GET /api/account')).toHaveLength(2);
  expect(store.record(web)?.status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Ready', reason: 'SourceIncomplete' }),
  );
  expect(api.sent).not.toContain('POST /api/services');
  await manager.stop();
});
