/** The manager between a source and a store that do not do as they should. */
import pino from 'pino';
import { stringify } from 'yaml';
import { beforeEach, expect, test } from 'vitest';
import { digestKey, systemRandom } from '../../src/base/index.ts';
import type { DesiredSnapshot } from '../../src/desired/index.ts';
import { Manager } from '../../src/manager/index.ts';
import { apiVersion, type ObjectKey } from '../../src/resources/index.ts';
import { MemoryStore, type ObjectRecord } from '../../src/state/index.ts';
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

async function managing(store: MemoryStore, first: DesiredSnapshot): Promise<Manager> {
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

test('a status is of the generation that was planned for, also while an edit is being written down', async () => {
  const store = new SlowStore(identity, [], []);
  const manager = await managing(store, service('one'));
  const { promise, resolve } = Promise.withResolvers<void>();
  store.hold = () => promise;
  tell(service('two'));
  await settle();
  store.hold = () => Promise.resolve();
  manager.lookAt(web);
  await settle();
  expect(store.record(web)).toMatchObject({ generation: 2, status: { observedGeneration: 1 } });
  resolve();
  await settle();
  expect(store.record(web)?.status?.observedGeneration).toBe(2);
});

test('an account is kept, with its limits and its key, while the folder shows not one document, or not all', async () => {
  const account = {
    apiVersion,
    kind: 'Account',
    metadata: { name: 'default' },
    spec: { url: 'https://api.invalid', credentialsSecretRef: { name: 'compute', key: 'apiKey' } },
  };
  const first = desiredOf({ 'account.yaml': stringify(account) });
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
