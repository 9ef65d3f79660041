/** Somebody who may patch the status of our objects writes their bookkeeping. */
import { beforeEach, describe, expect, test } from 'vitest';
import { digestKey, systemRandom } from '../../../src/base/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { ClusterStore, type ObjectRecord } from '../../../src/state/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ObjectCluster } from '../../support/object-cluster.ts';
import { intentOf, trainer } from './support.ts';
import { taskPart } from '../../support/kind-state.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const other: ObjectKey = 'ContainerService/default/other';
const task: ObjectKey = 'ProtectedTask/default/task';
const account: ObjectKey = 'Account/default/main';
const victim = 'id-of-a-colleague';
let cluster: ObjectCluster;
let store: ClusterStore;

function another(keyByte = 7): ClusterStore {
  const identity = { digestKey: digestKey(Buffer.alloc(32, keyByte)), ownerName: 'cluster' };
  return new ClusterStore({ api: cluster, identity, clock: new ManualClock(), random: systemRandom });
}

async function shownTo(by: ClusterStore, key: ObjectKey): Promise<ObjectRecord> {
  if (!cluster.has(key)) cluster.add(key, `uid of ${key}`);
  await by.observe([cluster.shown(key)], new Set());
  const record = by.record(key);
  if (!record) throw new Error(`the store does not know ${key}`);
  return record;
}

/** What the next process takes it for. */
const next = async (key: ObjectKey = trainer) => {
  const by = another();
  const record = await shownTo(by, key);
  return { by, record };
};

const forge = (key: ObjectKey, change: (bookkeeping: Json) => void) =>
  cluster.edit(key, (object) => {
    const status: Json = structuredClone(object.status);
    change(status.bookkeeping);
    object.status = status;
  });

beforeEach(async () => {
  cluster = new ObjectCluster();
  store = another();
  const record = await shownTo(store, trainer);
  await store.save({ ...record, externalId: 'id-1', doubted: ['env'], account: 'default/main' });
});

test('what the operator has written is its own again for the next process, nulls or none', async () => {
  const drift = [{ path: 'a', kind: 'Changed' as const, desired: null, observed: 1, since: 'now' }];
  const status = { observedGeneration: 1, conditions: [], drift };
  const record = { ...(await shownTo(store, trainer)), status };
  await store.saveIntent(intentOf(trainer, 'key-1', { note: undefined }), record);
  cluster.edit(trainer, (object) => {
    object.status = JSON.parse(JSON.stringify(object.status).replace('"desired":null,', ''));
  });
  const { record: read, by } = await next();
  expect([read.externalId, read.distrusted]).toEqual(['id-1', undefined]);
  expect(by.openIntent(trainer)?.idempotencyKey).toBe('key-1');
});

describe('the next process', () => {
  test.each<[string, (bookkeeping: Json) => void]>([
    ['another id', ({ record }) => (record.externalId = victim)],
    ['one field more', ({ record }) => (record.madeVolumeId = victim)],
    ['one field more of its kind', ({ kind }) => (kind.madeVolumeId = victim)],
    ['another version', (bookkeeping) => (bookkeeping.version = 1)],
    ['a later version', (bookkeeping) => (bookkeeping.version = 99)],
    ['an intent', (bookkeeping) => (bookkeeping.intent = intentOf(trainer, 'key', { targetId: victim }))],
    ['a higher sequence', (bookkeeping) => (bookkeeping.sequence += 1)],
    ['another signature', (bookkeeping) => (bookkeeping.signature = 'f'.repeat(64))],
  ])('takes nothing from bookkeeping with %s', async (_, change) => {
    forge(trainer, change);
    const { record, by } = await next();
    expect(record).toMatchObject({ distrusted: 'forged', externalId: undefined });
    expect(record.kind).toEqual({});
    expect(by.lastIntent(trainer)).toBeUndefined();
  });

  test('takes nothing that was copied from another object, not even under the uid of this one', async () => {
    const theirs = await shownTo(store, other);
    await store.save({ ...theirs, externalId: victim });
    const { bookkeeping } = structuredClone(cluster.shown(other).status) as Json;
    for (const uid of [bookkeeping.uid, `uid of ${trainer}`]) {
      cluster.edit(trainer, (object) => {
        object.status = { bookkeeping: { ...bookkeeping, uid } };
      });
      expect((await next()).record.externalId).toBeUndefined();
    }
  });

  test.each<[string, (bookkeeping: Json) => void]>([
    ['no signature, as 0.1.0 wrote it', (bookkeeping) => delete bookkeeping.signature],
    ['the key of another operator', (bookkeeping) => (bookkeeping.digestKey = 'ffffffff')],
  ])('reads bookkeeping with %s, and takes the id for a claim', async (_, change) => {
    forge(trainer, change);
    const { record } = await next();
    expect(record).toMatchObject({ distrusted: 'unsigned', externalId: 'id-1', account: 'default/main' });
  });

  test('takes no marks of another object', async () => {
    const record = await shownTo(store, trainer);
    await store.save({ ...record, markedAs: 'uid of its name' });
    expect((await next()).record.markedAs).toBe('uid of its name');
    forge(trainer, (bookkeeping) => {
      delete bookkeeping.signature;
      bookkeeping.record.markedAs = 'uid of a colleague';
    });
    expect((await next()).record.markedAs).toBeUndefined();
  });

  test('signs a claim as a claim', async () => {
    forge(trainer, (bookkeeping) => {
      delete bookkeeping.signature;
      bookkeeping.record.externalId = victim;
    });
    const { record, by } = await next();
    await by.save({ ...record, doubted: [] });
    expect((await next()).record).toMatchObject({ distrusted: 'unsigned', externalId: victim });
  });

  test('takes no activity that goes by another name than the task', async () => {
    const record = await shownTo(store, task);
    const registration = { serviceId: 'id-1', activityId: record.uid, releaseKey: 'key' };
    await store.save({ ...record, kind: { registration } });
    forge(task, (bookkeeping) => delete bookkeeping.signature);
    expect(taskPart((await next(task)).record).registration).toEqual(registration);
    forge(task, (bookkeeping) => (bookkeeping.kind.registration.activityId = 'of a colleague'));
    expect(taskPart((await next(task)).record).registration).toBeUndefined();
  });

  test('does not let an account be sent elsewhere by an edit of its pin', async () => {
    await shownTo(store, account);
    await store.saveIdentityPin('default/main', { id: 'who', emailDigest: undefined, origin: 'https://a' });
    expect((await next(account)).by.identityPin('default/main')?.origin).toBe('https://a');
    forge(account, ({ identity }) => (identity.origin = 'https://evil'));
    expect((await next(account)).by.identityPin('default/main')?.origin).toBe('an unknown origin');
  });

  test('takes no pin of an account from another kind of object', async () => {
    forge(trainer, (bookkeeping) => {
      delete bookkeeping.signature;
      bookkeeping.identity = { id: 'evil' };
    });
    expect((await next()).by.identityPin('default/trainer')).toBeUndefined();
  });
});

describe('a process that knows better', () => {
  test('writes over a forged sequence that is higher than its own, and does not take it for another manager', async () => {
    forge(trainer, (bookkeeping) => {
      bookkeeping.sequence = 1_000_000;
      bookkeeping.record.externalId = victim;
    });
    const known = store.record(trainer);
    if (!known) throw new Error('it is known');
    await store.saveIntent(intentOf(trainer, 'key-1'), known);
    expect(store.record(trainer)?.externalId).toBe('id-1');
    expect((await next()).record).toMatchObject({ externalId: 'id-1', distrusted: undefined });
  });

  test('writes over an older bookkeeping of the same object that was put back', async () => {
    const older = structuredClone(cluster.shown(trainer).status);
    const record = await shownTo(store, trainer);
    await store.save({ ...record, externalId: 'id-2' });
    cluster.edit(trainer, (object) => {
      object.status = older as Json;
    });
    expect(store.notice(cluster.shown(trainer))).toBe(true);
    await store.flush(trainer);
    expect((await next()).record.externalId).toBe('id-2');
  });
});
