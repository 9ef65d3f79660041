import { beforeEach, describe, expect, test } from 'vitest';
import { digestKey, sameValue, systemRandom } from '../../../src/base/index.ts';
import { KubernetesError } from '../../../src/kubernetes/index.ts';
import { annotations, cleanupFinalizer } from '../../../src/resources/index.ts';
import {
  ClusterStore,
  capacitySignature,
  lastReport,
  pricesSignature,
  shownCapacity,
  shownPrices,
  writeResolution,
  type CapacityEntry,
  type ObjectRecord,
  type OwnerRevision,
  type StoredObject,
} from '../../../src/state/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ObjectCluster } from '../../support/object-cluster.ts';
import { intentOf, trainer } from './support.ts';

let cluster: ObjectCluster;
let store: ClusterStore;
let clock: ManualClock;

/** As another process of the same operator, which knows nothing yet. */
function another(keyByte = 7): ClusterStore {
  const identity = { digestKey: digestKey(Buffer.alloc(32, keyByte)), ownerName: 'cluster' };
  return new ClusterStore({ api: cluster, identity, clock, random: systemRandom });
}

beforeEach(() => {
  cluster = new ObjectCluster();
  clock = new ManualClock();
  store = another();
});

const nothing = new Set<never>();
const observe = (objects: readonly StoredObject[], by = store) => by.observe(objects, nothing);

async function known(by = store): Promise<ObjectRecord> {
  await observe([cluster.has(trainer) ? cluster.shown(trainer) : cluster.add(trainer, 'uid-1')], by);
  const record = by.record(trainer);
  if (!record) throw new Error('the store does not know it');
  return record;
}

/** What a process that starts now would take the object for. */
async function afterRestart(keyByte?: number) {
  const next = another(keyByte);
  await observe([cluster.shown(trainer)], next);
  return { record: next.record(trainer), intent: next.lastIntent(trainer), open: next.openIntent(trainer) };
}

describe('an object of a cluster', () => {
  test('is known by its own uid, and nothing is written for having been seen', async () => {
    expect((await known()).uid).toBe('uid-1');
    expect(cluster.patches).toEqual([]);
  });

  test('holds everything that was learned of it, for the next process', async () => {
    const record = {
      ...(await known()),
      externalId: 'id-1',
      account: 'default/default',
      applied: { image: 'd' },
    };
    const status = { observedGeneration: 2, conditions: [], state: 'running' };
    const saved = { ...record, status, report: lastReport(status) };
    await store.save(saved);
    const { record: later } = await afterRestart();
    expect(sameValue(later, saved)).toBe(true);
  });

  test('is written when something has changed only', async () => {
    const drift = [{ path: 'a', kind: 'Changed' as const, desired: null, observed: 1, since: 'now' }];
    const status = { observedGeneration: 1, conditions: [], drift };
    const record = { ...(await known()), externalId: 'id-1', status };
    await store.save(record);
    const written = cluster.patches.length;
    await store.flush(trainer);
    await store.save(record);
    cluster.edit(trainer, (object) => {
      // A server may keep no nulls.
      object.status = JSON.parse(JSON.stringify(object.status).replace('"desired":null,', ''));
    });
    await observe([cluster.shown(trainer)]);
    await store.save(record);
    expect(cluster.patches).toHaveLength(written);
  });

  test('loses in its status what is not said of it any more', async () => {
    const record = { ...(await known()), externalId: 'id-1' };
    const drift = [{ path: 'image', kind: 'Changed' as const, desired: 'a', observed: 'b', since: 'now' }];
    await store.save({
      ...record,
      applied: { a: '1', b: '2' },
      status: { observedGeneration: 1, conditions: [], drift },
    });
    await store.save({ ...record, applied: { a: '1' }, status: { observedGeneration: 1, conditions: [] } });
    const { record: later } = await afterRestart();
    expect([later?.applied, later?.status]).toEqual([{ a: '1' }, { observedGeneration: 1, conditions: [] }]);
  });

  test('gets the finalizer before anything is sent that needs a cleanup, after its first intent, and no sooner', async () => {
    const record = await known();
    await store.save({ ...record, status: { observedGeneration: 1, conditions: [] } });
    expect(cluster.shown(trainer).finalizers).toEqual([]);
    await store.saveIntent(intentOf(trainer, 'key-1'), record);
    expect(cluster.shown(trainer).finalizers).toEqual([cleanupFinalizer]);
    const [, intent, finalizer] = cluster.patches;
    expect([intent?.patch.subresource, finalizer?.patch.subresource]).toEqual(['status', undefined]);
  });

  test('gets the finalizer before an id is written down that was found', async () => {
    await store.save({ ...(await known()), externalId: 'id-1' });
    expect(cluster.patches.map(({ patch }) => patch.subresource)).toEqual([undefined, 'status']);
  });

  test('goes when its cleanup is done, and is not taken up again while others keep it', async () => {
    const record = await known();
    await store.saveIntent(intentOf(trainer, 'key-1'), record);
    cluster.edit(trainer, ({ metadata }) => {
      metadata.finalizers.push('example.com/other');
      metadata.deletionTimestamp = '2026-11-21T12:00:00Z';
    });
    await observe([cluster.shown(trainer)]);
    await store.remove(trainer);
    expect(cluster.shown(trainer).finalizers).toEqual(['example.com/other']);
    expect(await observe([cluster.shown(trainer)])).toMatchObject({ tampered: [], vanished: [] });
    expect(store.record(trainer)).toBeUndefined();
  });

  test('that goes without us is forgotten, and told with what it stood for', async () => {
    await store.save({ ...(await known()), externalId: 'id-1' });
    const { vanished } = await observe([]);
    expect(vanished.map(({ externalId }) => externalId)).toEqual(['id-1']);
    expect(store.recordOf('id-1')).toBeUndefined();
  });

  test('that was deleted and made anew under its name is another one', async () => {
    await store.save({ ...(await known()), externalId: 'id-1' });
    cluster.drop(trainer);
    const { vanished } = await observe([cluster.add(trainer, 'uid-2')]);
    expect(vanished.map(({ uid }) => uid)).toEqual(['uid-1']);
    expect(store.record(trainer)).toMatchObject({ uid: 'uid-2', externalId: undefined });
  });

  test('that was made anew under its name while the old one is written to, or let go, is not forgotten with that', async () => {
    for (const write of [
      (record: ObjectRecord) => store.remove(record.key),
      (record: ObjectRecord) => store.save({ ...record, doubted: ['env'] }).catch(() => undefined),
    ]) {
      const uid = cluster.has(trainer) ? 'uid-3' : 'uid-1';
      await store.save({ ...(await known()), externalId: `id of ${uid}` });
      cluster.beforePatch = () => {
        cluster.beforePatch = () => undefined;
        cluster.drop(trainer);
        cluster.add(trainer, `${uid} anew`);
        void observe([cluster.shown(trainer)]);
      };
      const record = store.record(trainer);
      if (record) await write(record);
      expect(store.record(trainer)).toMatchObject({ uid: `${uid} anew`, externalId: undefined });
      cluster.drop(trainer);
      await observe([cluster.add(trainer, 'uid-3')]);
    }
  });

  for (const [name, isConflict, write] of [
    ['its finalizer is removed', false, (record: ObjectRecord) => store.remove(record.key)],
    ['its status is written', false, (record: ObjectRecord) => store.save({ ...record, doubted: ['env'] })],
    ['it is read again', true, (record: ObjectRecord) => store.save({ ...record, doubted: ['env'] })],
  ] as const) {
    test(`that was made anew under its name is followed, when the answer comes late: ${name}`, async () => {
      await store.save({ ...(await known()), externalId: 'id-1' });
      const record = await known();
      const conflict = () => {
        cluster.beforePatch = () => undefined;
        cluster.edit(trainer, ({ status }) => Object.assign(status, { foreign: true }));
      };
      if (isConflict) cluster.beforePatch = conflict;
      cluster.beforeAnswer = async () => {
        cluster.beforeAnswer = () => undefined;
        cluster.drop(trainer);
        await observe([cluster.add(trainer, 'uid-2')]);
      };
      await write(record).catch(() => undefined);
      expect(store.record(trainer)).toMatchObject({ uid: 'uid-2', externalId: undefined });
      await store.save({ ...(await known()), externalId: 'id-2' });
      expect((await afterRestart()).record).toMatchObject({ uid: 'uid-2', externalId: 'id-2' });
    });
  }

  test('that can not be read right now is not taken for gone', async () => {
    await store.save({ ...(await known()), externalId: 'id-1' });
    const { vanished } = await store.observe([], new Set([trainer]));
    expect([vanished, store.recordOf('id-1')?.key]).toEqual([[], trainer]);
  });
});

describe('an intent', () => {
  test('is in the cluster before it is sent, and its outcome with the next flush', async () => {
    const record = await known();
    const intent = intentOf(trainer, 'key-1');
    await store.saveIntent(intent, record);
    expect((await afterRestart()).open).toEqual(intent);
    await store.saveIntent(
      { ...intent, outcome: 'applied', finishedAt: 2 },
      { ...record, externalId: 'id-1' },
    );
    expect((await afterRestart()).open).toEqual(intent);
    await store.flush(trainer);
    const { record: later, intent: last, open } = await afterRestart();
    expect([later?.externalId, last?.outcome, open]).toEqual(['id-1', 'applied', undefined]);
  });

  test('that could not be written is not taken for written', async () => {
    const record = await known();
    cluster.beforePatch = () => {
      throw new KubernetesError('the API is not there', { status: 503 });
    };
    await expect(store.saveIntent(intentOf(trainer, 'key-1'), record)).rejects.toThrow('not there');
    expect(store.openIntent(trainer)).toBeUndefined();
  });

  test('whose object can not be given the finalizer is refused, and written over', async () => {
    const record = await known();
    cluster.beforePatch = () => {
      if (cluster.patches.length > 0) throw new KubernetesError('it is being deleted', { status: 422 });
    };
    await expect(store.saveIntent(intentOf(trainer, 'key-1'), record)).rejects.toThrow('being deleted');
    expect([store.openIntent(trainer), (await afterRestart()).open?.idempotencyKey]).toEqual([
      undefined,
      'key-1',
    ]);
    cluster.beforePatch = () => undefined;
    await store.flush(trainer);
    expect((await afterRestart()).open).toBeUndefined();
  });

  test('of an object that is no more is refused', async () => {
    const record = await known();
    cluster.drop(trainer);
    await expect(store.saveIntent(intentOf(trainer, 'key-1'), record)).rejects.toThrow('not in the cluster');
  });
});

describe('a status', () => {
  test('that somebody copied from another object says nothing', async () => {
    await store.save({ ...(await known()), externalId: 'id-1' });
    const { status } = cluster.shown(trainer);
    cluster.drop(trainer);
    cluster.add(trainer, 'uid-2', status as Record<string, unknown>);
    expect((await afterRestart()).record?.externalId).toBeUndefined();
  });

  test('that was made with another digest key keeps the id, and forgets the digests', async () => {
    await store.save({ ...(await known()), externalId: 'id-1', applied: { image: 'digest' } });
    expect((await afterRestart(8)).record).toMatchObject({ externalId: 'id-1', applied: {} });
  });

  test('that somebody wiped is noticed, and written again', async () => {
    await store.save({ ...(await known()), externalId: 'id-1' });
    cluster.edit(trainer, (object) => {
      object.status = {};
    });
    expect((await observe([cluster.shown(trainer)])).tampered).toEqual([trainer]);
    await store.flush(trainer);
    expect((await afterRestart()).record?.externalId).toBe('id-1');
  });

  test.each(['nonsense', { uid: 'uid-1' }, { uid: 'uid-1', digestKey: 1, sequence: 'x', record: [] }, null])(
    'whose bookkeeping is %j is one that says nothing',
    async (bookkeeping) => {
      cluster.add(trainer, 'uid-1', { bookkeeping });
      expect((await afterRestart()).record).toMatchObject({ uid: 'uid-1', externalId: undefined });
    },
  );
});

describe('an object whose status was wiped while no process ran', () => {
  const wiped = async (status: object) => {
    cluster.edit(trainer, (object) => Object.assign(object, { status }));
    return (await afterRestart()).record;
  };

  test.each<[string, object]>([
    ['all of it', {}],
    ['its bookkeeping', { observedGeneration: 1, conditions: [] }],
    ['what is left of its bookkeeping says nothing', { bookkeeping: 'nonsense' }],
  ])('may have had a creation, when it has our finalizer: %s', async (_, status) => {
    await store.saveIntent(intentOf(trainer, 'key-1'), await known());
    expect(await wiped(status)).toMatchObject({ creationInDoubt: { idempotencyKey: 'uid-1' } });
  });

  test('had none, when it never got our finalizer', async () => {
    await store.save({ ...(await known()), status: { observedGeneration: 1, conditions: [] } });
    expect((await wiped({}))?.creationInDoubt).toBeUndefined();
  });

  test('had none, when it was copied with our finalizer while a process looks on', async () => {
    await observe([]);
    cluster.add(trainer, 'uid-1');
    cluster.edit(trainer, ({ metadata }) => void metadata.finalizers.push(cleanupFinalizer));
    expect((await known()).creationInDoubt).toBeUndefined();
  });

  test('may have had one, when its document could not be read at first', async () => {
    cluster.add(trainer, 'uid-1');
    cluster.edit(trainer, ({ metadata }) => void metadata.finalizers.push(cleanupFinalizer));
    await store.observe([], new Set([trainer]));
    expect((await known()).creationInDoubt).toEqual({ idempotencyKey: 'uid-1' });
  });

  test('may have had one, when its namespace could not be read at first', async () => {
    cluster.add(trainer, 'uid-1');
    cluster.edit(trainer, ({ metadata }) => void metadata.finalizers.push(cleanupFinalizer));
    await store.observe([], new Set(), new Set(['default']));
    expect((await known()).creationInDoubt).toEqual({ idempotencyKey: 'uid-1' });
  });

  test('keeps that doubt over the next restarts', async () => {
    await store.saveIntent(intentOf(trainer, 'key-1'), await known());
    await wiped({});
    const next = another();
    await next.save(await known(next));
    expect((await afterRestart()).record).toMatchObject({ creationInDoubt: { idempotencyKey: 'uid-1' } });
  });
});

describe('an object that owns others', () => {
  const revision: OwnerRevision = {
    number: 1,
    content: { image: 'a:1' },
    data: [],
    values: 'v',
    digest: 'd',
    outcome: 'Healthy',
    at: 1,
  };

  test('is in memory as it is saved only when that is durable: others follow it', async () => {
    const record = await known();
    const changed = { ...record, doubted: ['env'] };
    const seen: unknown[] = [];
    cluster.beforeAnswer = () => void seen.push(store.record(trainer)?.doubted);
    await store.saveOwner(changed, undefined, async () => void seen.push(store.record(trainer)?.doubted));
    expect(seen).toEqual([[], ['env']]);
    expect((await afterRestart()).record?.doubted).toEqual(['env']);
  });

  test('is as it was, with its revisions, when it could not be saved', async () => {
    const record = await known();
    cluster.beforePatch = () => {
      throw new KubernetesError('down', {});
    };
    let hasFollowed = false;
    const follow = async () => void (hasFollowed = true);
    const changed = { ...record, doubted: ['env'] };
    await expect(store.saveOwner(changed, [revision], follow)).rejects.toThrow('down');
    expect([store.record(trainer)?.doubted, store.revisions(trainer), hasFollowed]).toEqual([[], [], false]);
  });
});

describe('a write', () => {
  const unreachable = () => {
    throw new KubernetesError('the API is not there', { status: 503 });
  };

  test('that failed is made up for by the next flush', async () => {
    const record = await known();
    cluster.beforePatch = unreachable;
    await expect(store.save({ ...record, externalId: 'id-1' })).rejects.toThrow('not there');
    cluster.beforePatch = () => undefined;
    await store.flush(trainer);
    expect((await afterRestart()).record?.externalId).toBe('id-1');
  });

  test('of the pin of an account that failed is made up for, too', async () => {
    const account = 'Account/default/main';
    await observe([cluster.add(account, 'uid-a')]);
    cluster.beforePatch = unreachable;
    const pin = { id: 'who', emailDigest: undefined };
    await expect(store.saveIdentityPin('default/main', pin)).rejects.toThrow('not there');
    expect(store.identityPinIsDurable('default/main')).toBe(false);
    cluster.beforePatch = () => undefined;
    await store.flush(account);
    expect(store.identityPinIsDurable('default/main')).toBe(true);
    const next = another();
    await observe([cluster.shown(account)], next);
    expect(next.identityPin('default/main')).toEqual({ id: 'who' });
  });

  test.each(['seen', 'not seen'])(
    'whose answer was lost is known for our own, whether it was %s in the meantime',
    async (how) => {
      const record = { ...(await known()), externalId: 'id-1' };
      await store.save(record);
      cluster.losesAnswers = true;
      await expect(store.saveIntent(intentOf(trainer, 'key-1'), record)).rejects.toThrow('reset');
      cluster.losesAnswers = false;
      if (how === 'seen') store.notice(cluster.shown(trainer));
      await store.saveIntent(intentOf(trainer, 'key-2'), record);
      expect((await afterRestart()).open?.idempotencyKey).toBe('key-2');
    },
  );
});

test('conditions that somebody edits are noticed, and written again', async () => {
  const status = { observedGeneration: 1, conditions: [], state: 'running' };
  await store.save({ ...(await known()), externalId: 'id-1', status });
  cluster.edit(trainer, (object) => {
    object.status = { ...object.status, state: 'edited' };
  });
  expect(store.notice(cluster.shown(trainer))).toBe(true);
  await store.flush(trainer);
  expect((await afterRestart()).record?.status?.['state']).toBe('running');
  const written = cluster.patches.length;
  cluster.edit(trainer, ({ metadata }) => Object.assign(metadata, { labels: { a: 'b' } }));
  expect(store.notice(cluster.shown(trainer))).toBe(false);
  await store.flush(trainer);
  expect(cluster.patches).toHaveLength(written);
});

describe('somebody who is faster', () => {
  test('is not written over by who has only seen what they wrote', async () => {
    const record = await known();
    const other = another();
    await other.save({ ...(await known(other)), externalId: 'theirs' });
    store.notice(cluster.shown(trainer));
    await expect(store.saveIntent(intentOf(trainer, 'key-1'), record)).rejects.toThrow('another manager');
    expect((await afterRestart()).record?.externalId).toBe('theirs');
  });

  test('and edits the document is no obstacle', async () => {
    const record = await known();
    let edits = 0;
    cluster.beforePatch = (key) => {
      edits += 1;
      if (edits === 1) cluster.edit(key, ({ metadata }) => Object.assign(metadata, { labels: { a: 'b' } }));
    };
    await store.save({ ...record, externalId: 'id-1' });
    expect((await afterRestart()).record?.externalId).toBe('id-1');
  });

  test('and is another manager has the last word', async () => {
    const record = await known();
    const other = another();
    await other.save({ ...(await known(other)), externalId: 'theirs' });
    await expect(store.saveIntent(intentOf(trainer, 'key-1'), record)).rejects.toThrow('another manager');
    expect(store.record(trainer)?.externalId).toBe('theirs');
    expect((await afterRestart()).open).toBeUndefined();
  });

  test('and deletes the object ends the write', async () => {
    const record = await known();
    cluster.beforePatch = (key) => cluster.drop(key);
    await expect(store.save({ ...record, externalId: 'id-1' })).rejects.toThrow('not in the cluster');
  });
});

test('who leads no more writes nothing, not even over what it has seen of another manager', async () => {
  let leads = true;
  const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'cluster' };
  const mayAct = () => leads;
  const former = new ClusterStore({ api: cluster, identity, mayAct, clock, random: systemRandom });
  await former.save({ ...(await known(former)), externalId: 'id-1' });
  leads = false;
  await store.save({ ...(await known()), externalId: 'id-2' });
  const [record] = [...former.records()];
  if (!record) throw new Error('the store does not know it');
  const later = { ...record, externalId: 'id-3' };
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await expect(former.save(later)).rejects.toThrow('does not lead');
    await expect(former.saveIntent(intentOf(trainer, 'key-1'), later)).rejects.toThrow('does not lead');
  }
  await expect(former.remove(trainer)).rejects.toThrow('does not lead');
  expect((await afterRestart()).record?.externalId).toBe('id-2');
});

test('what only looks writes nothing', async () => {
  const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'cluster' };
  const looking = new ClusterStore({ api: undefined, identity, clock, random: systemRandom });
  await looking.save({ ...(await known(looking)), externalId: 'id-1' });
  await looking.remove(trainer);
  expect(cluster.patches).toEqual([]);
});

test('the pin of an account lies in its object, and is there for the next process', async () => {
  const account = 'Account/default/main';
  await observe([cluster.add(account, 'uid-a')]);
  await store.saveIdentityPin('default/main', { id: 'who', emailDigest: undefined });
  const next = another();
  await observe([cluster.shown(account)], next);
  expect(next.identityPin('default/main')).toEqual({ id: 'who' });
});

test('the pin of an account that is made anew under its name is durable once it is in the new object', async () => {
  const account = 'Account/default/main';
  const pin = { id: 'who', emailDigest: undefined, origin: 'https://a.example' };
  await observe([cluster.add(account, 'uid-a')]);
  await store.saveIdentityPin('default/main', pin);
  cluster.drop(account);
  await observe([]);
  await observe([cluster.add(account, 'uid-b')]);
  expect(store.identityPin('default/main')).toEqual(pin);
  expect(store.identityPinIsDurable('default/main')).toBe(false);
  await store.saveIdentityPin('default/main', pin);
  expect(store.identityPinIsDurable('default/main')).toBe(true);
  const next = another();
  await observe([cluster.shown(account)], next);
  expect(next.identityPin('default/main')?.origin).toBe(pin.origin);
});

test('what an account learned of capacity lies in its status, and is there for the next leader', async () => {
  const account = 'Account/default/main';
  await observe([cluster.add(account, 'uid-a')]);
  const record = store.record(account);
  if (!record) throw new Error('the store does not know it');
  expect(store.capacity('default/main')).toEqual([]);
  const entry: CapacityEntry = {
    demand: { region: 'standard', geography: 'auto', gpuCount: 1, cpu: 8, memoryGb: 64, storageGb: 0 },
    state: 'Scarce',
    since: 1000,
    at: 5000,
    grantedAt: undefined,
    failures: 2,
    retryAt: 20_000,
    refusal: { status: 409, code: 'no_capacity', message: 'none left' },
  };
  const capacity = shownCapacity([entry]);
  const signature = capacitySignature('default/main', capacity, store.digestKey);
  const status = { observedGeneration: 1, conditions: [], capacity, capacitySignature: signature };
  await store.save({ ...record, status });
  const next = another();
  await observe([cluster.shown(account)], next);
  expect(next.capacity('default/main')).toEqual([entry]);
  expect(next.capacity('default/other')).toEqual([]);
});

test('the prices of an account lie in its status, and are there for the next process', async () => {
  const account = 'Account/default/main';
  const price = {
    region: 'standard',
    geography: 'europe',
    demand: { storageGb: 10 },
    gpuModel: undefined,
    hourlyMicros: 1400,
    at: 0,
  };
  await observe([cluster.add(account, 'uid-a')]);
  const record = store.record(account);
  if (!record) throw new Error('the store does not know it');
  const prices = shownPrices([price]);
  const signature = pricesSignature('default/main', prices, store.digestKey);
  const status = { observedGeneration: 1, conditions: [], prices, pricesSignature: signature };
  await store.save({ ...record, status });
  const next = another();
  await observe([cluster.shown(account)], next);
  expect(next.prices('default/main')).toEqual([price]);
  expect(next.prices('default/other')).toEqual([]);
});

test('a word that a person left on the object is found', async () => {
  const word = { idempotencyKey: 'key-1', applied: true, id: 'id-1' };
  const record = await known();
  const given = { [annotations.resolve]: writeResolution(word) };
  await store.saveAll([{ ...record, manifest: { ...record.manifest, annotations: given } }]);
  expect(store.resolution(trainer)).toEqual(word);
});

describe('an activity registration', () => {
  const registration = { serviceId: 'service-1', activityId: 'uid-1', releaseKey: 'key-1' };
  const refuse = () => {
    throw new KubernetesError('forbidden', { status: 403, reason: 'Forbidden' });
  };

  test('is durable when it is in the cluster, whatever else could not be written since', async () => {
    const record = { ...(await known()), kind: { registration } };
    await store.save(record);
    expect(store.isKindStateDurable(trainer)).toBe(true);
    cluster.beforePatch = refuse;
    await expect(store.save({ ...record, account: 'default/other' })).rejects.toThrow('forbidden');
    await expect(store.flush(trainer)).rejects.toThrow('forbidden');
    expect(store.isKindStateDurable(trainer)).toBe(true);
  });

  test('is not when it, or another one in its place, could not be written', async () => {
    const record = { ...(await known()), kind: { registration } };
    cluster.beforePatch = refuse;
    await expect(store.save(record)).rejects.toThrow('forbidden');
    expect(store.isKindStateDurable(trainer)).toBe(false);
    cluster.beforePatch = () => undefined;
    await store.flush(trainer);
    cluster.beforePatch = refuse;
    const moved = { ...record, kind: { registration: { ...registration, serviceId: 'service-2' } } };
    await expect(store.save(moved)).rejects.toThrow('forbidden');
    expect(store.isKindStateDurable(trainer)).toBe(false);
  });

  test('is not when somebody else has written it', async () => {
    const record = { ...(await known()), kind: { registration } };
    await store.save(record);
    cluster.edit(trainer, ({ status }) => {
      const forged = { ...registration, serviceId: 'service-2' };
      (status['bookkeeping'] as { kind: object }).kind = { registration: forged };
    });
    await observe([cluster.shown(trainer)]);
    expect(store.isKindStateDurable(trainer)).toBe(false);
  });
});
