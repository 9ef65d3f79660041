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
  const store = new SlowStore(identity, [], []);
  const manager = await managing(store, service('one'));
  const { promise, resolve } = Promise.withResolvers<void>();
  store.hold = () => promise;
  tell(service('two'));
  await settle();
  store.hold = () => Promise.resolve();
  manager.lookAt(web);
  await settle();
  expect(store.record(web)).toMatchObject({ generation: 2, status: { observedGeneration: 2 } });
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

test('tasks go on to be beaten for when the document of their account, and its key, are lost', async () => {
  const serviceId = '00000000-0000-4000-8000-000000000001';
  const shown: Record<string, object> = {
    '/api/me': { id: 'acme', emailVerified: true },
    '/api/account': { balanceMicros: 5, currency: 'USD', services: [], volumes: [], ledger: [] },
    [`/api/services/${serviceId}/activity`]: { heartbeatSeconds: 30, expiresInSeconds: 300 },
  };
  const sent: string[] = [];
  const createTransport = () => ({
    exchange: async ({ method, url }: HttpRequest): Promise<HttpReply> => {
      const { pathname } = new URL(url);
      sent.push(`${method} ${pathname}`);
      const body = shown[pathname] ?? { error: { code: 'not_found', message: 'not found' } };
      const status = pathname in shown ? 200 : 404;
      return { kind: 'reply', status, retryAfter: undefined, body: JSON.stringify(body) };
    },
    close: async () => {},
  });
  const task = stringify({
    apiVersion,
    kind: 'ProtectedTask',
    metadata: { name: 'epoch' },
    spec: { serviceRef: { name: 'web' } },
  });
  const others = { 'web.yaml': serviceDocument('web'), 'task.yaml': task };
  const lost = { 'account.yaml': accountDocument, 'secret.yaml': secretDocument };
  const known = { ...newRecord(web, 'uid'), externalId: serviceId, account: 'default/default' };
  const store = new MemoryStore(identity, [known], []);
  const manager = await managing(store, desiredOf({ ...others, ...lost }), createTransport);
  await clock.advance(40_000);
  expect(sent).toContain(`POST /api/services/${serviceId}/activity`);
  tell(desiredOf(others));
  await clock.advance(10_000);
  sent.length = 0;
  await clock.advance(60_000);
  const beat = `POST /api/services/${serviceId}/activity`;
  expect(sent).toEqual([beat, beat]);
  await manager.stop();
});
