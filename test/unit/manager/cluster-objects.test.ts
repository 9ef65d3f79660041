/** Snapshots of a cluster reach everybody when the store has taken them in. */
import { describe, expect, test } from 'vitest';
import { digestKey, systemRandom, VersionedMap } from '../../../src/base/index.ts';
import { desiredObjects, type DesiredSnapshot } from '../../../src/desired/index.ts';
import { KubernetesError } from '../../../src/kubernetes/index.ts';
import { watchedByStore } from '../../../src/manager/cluster-objects.ts';
import { ClusterStore, type OwnerRevision } from '../../../src/state/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ObjectCluster } from '../../support/object-cluster.ts';

const fleet: ObjectKey = 'ServiceFleet/default/llm';
const revision: OwnerRevision = {
  number: 1,
  content: { image: 'web:1' },
  data: [],
  values: 'v',
  digest: 'd',
  outcome: 'Healthy',
  at: 5,
};

const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'cluster' };
const storeOf = (api: ObjectCluster, clock: ManualClock) =>
  new ClusterStore({ api, identity, clock, random: systemRandom });

/** A cluster in which a process has left fleets with a revision each. */
async function clusterWith(fleets: readonly ObjectKey[]): Promise<ObjectCluster> {
  const cluster = new ObjectCluster();
  const store = storeOf(cluster, new ManualClock());
  for (const [index, key] of fleets.entries()) cluster.add(key, `uid-${index + 1}`);
  await store.observe(
    fleets.map((key) => cluster.shown(key)),
    new Set(),
  );
  for (const key of fleets) {
    const record = store.record(key);
    if (!record) throw new Error('the fleet is not known');
    await Promise.all([store.saveRevisions(key, [revision]), store.save(record)]);
  }
  return cluster;
}

function snapshotOf(cluster: ObjectCluster): DesiredSnapshot {
  const { key, ...facts } = cluster.shown(fleet);
  const object = { key, kind: 'ServiceFleet', namespace: 'default', name: 'llm', cluster: facts };
  return {
    objects: desiredObjects([[key, object as never]]),
    unusable: VersionedMap.of([]),
  } as unknown as DesiredSnapshot;
}

test('a fleet whose revisions can not be read yet is not taken in without them, and nothing ends', async () => {
  const cluster = await clusterWith([fleet]);
  const clock = new ManualClock();
  const store = storeOf(cluster, clock);
  const failures: string[] = [];
  const told: DesiredSnapshot[] = [];
  let tell: (snapshot: DesiredSnapshot) => void = () => undefined;
  const none = { ...snapshotOf(cluster), objects: desiredObjects() };
  const source = watchedByStore({
    source: {
      description: '',
      start: async (onChange) => {
        tell = onChange;
        return none;
      },
      stop: async () => {},
    },
    store,
    onNoticed: () => {},
    onFailure: ({ message }) => failures.push(message),
    clock,
    random: systemRandom,
  });
  await source.start((snapshot) => told.push(snapshot));
  const list = cluster.list.bind(cluster);
  const refusals = 20;
  cluster.list = async (...args) => {
    if (failures.length < refusals)
      throw new KubernetesError('list controllerrevisions: connect ECONNREFUSED', {});
    return list(...args);
  };
  const shown = snapshotOf(cluster);
  tell(shown);
  for (let waits = 0; failures.length < refusals && waits < 100; waits += 1) {
    expect(store.record(fleet)).toBeUndefined();
    await clock.advance(1000);
  }
  await clock.advance(5000);
  await source.passedOn();
  expect(failures).toHaveLength(refusals);
  expect(told).toEqual([shown]);
  expect(store.revisions(fleet)).toEqual([revision]);
  await source.stop();
});

test('what waits for the API server ends with the process', async () => {
  const cluster = await clusterWith([fleet]);
  const store = storeOf(cluster, new ManualClock());
  cluster.list = async () => {
    throw new KubernetesError('list controllerrevisions: connect ECONNREFUSED', {});
  };
  const source = watchedByStore({
    source: { description: '', start: async () => snapshotOf(cluster), stop: async () => {} },
    store,
    onNoticed: () => {},
    onFailure: () => void source.stop(),
    clock: new ManualClock(),
    random: systemRandom,
  });
  await source.start(() => {});
  expect(store.record(fleet)).toBeUndefined();
});

describe('of several namespaces, one whose revisions can not be read when it comes', () => {
  const second: ObjectKey = 'ServiceFleet/default/second';
  const other: ObjectKey = 'ServiceFleet/shop/other';
  const web: ObjectKey = 'ContainerService/default/web';
  const forbidden = new KubernetesError('controllerrevisions is forbidden', { status: 403 });

  /** Objects as the store of a leader sees them: an account has moved into its shard, say. */
  async function leader() {
    const cluster = await clusterWith([fleet, second, other]);
    cluster.add(web, 'uid-web');
    const store = storeOf(cluster, new ManualClock());
    await store.observe([], new Set(), new Set());
    const asked: string[] = [];
    let isRefused = true;
    const list = cluster.list.bind(cluster);
    cluster.list = async (type, scope) => {
      asked.push(`${scope.namespace}/${scope.labelSelector}`);
      if (isRefused && scope.namespace === 'default') throw forbidden;
      return list(type, scope);
    };
    const keys = [fleet, second, other, web];
    return {
      cluster,
      store,
      asked,
      allow: () => void (isRefused = false),
      see: (changed: readonly ObjectKey[], unread: readonly string[] = []) =>
        store.observeChanges(changed, (key) => cluster.shown(key), new Set(unread)),
      known: () => keys.filter((key) => store.record(key)),
    };
  }

  test('is left, with the reason, and asked for once; all else is taken in', async () => {
    const { see, known, asked } = await leader();
    const { left } = await see([fleet, second, other, web]);
    expect([...left]).toEqual([['default', forbidden.message]]);
    expect(known()).toEqual([other, web]);
    expect(asked.filter((request) => request.startsWith('default/'))).toHaveLength(1);
  });

  test('is taken in with its revisions as soon as it is known as a whole, and nobody asks before', async () => {
    const { cluster, store, see, known, asked, allow } = await leader();
    await see([fleet, second, other, web]);
    const patches = cluster.patches.length;
    const requests = asked.length;
    allow();
    await see([other], ['default']);
    expect(asked).toHaveLength(requests);
    expect(known()).toEqual([other, web]);
    const { left } = await see([]);
    expect(left.size).toBe(0);
    expect(known()).toEqual([fleet, second, other, web]);
    expect([fleet, second].map((key) => store.revisions(key))).toEqual([[revision], [revision]]);
    expect(cluster.patches).toHaveLength(patches);
  });

  test('is forgotten when it is gone', async () => {
    const { cluster, see, asked, allow, store } = await leader();
    await see([fleet]);
    cluster.drop(fleet);
    allow();
    await store.observeChanges([fleet], () => undefined, new Set());
    const requests = asked.length;
    await see([]);
    expect(asked).toHaveLength(requests);
  });
});
