/** Snapshots of a cluster reach everybody when the store has taken them in. */
import { expect, test } from 'vitest';
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

/** A cluster in which a process has left a fleet with a revision. */
async function clusterWithFleet(): Promise<ObjectCluster> {
  const cluster = new ObjectCluster();
  cluster.add(fleet, 'uid-1');
  const store = storeOf(cluster, new ManualClock());
  await store.observe([cluster.shown(fleet)], new Set());
  const record = store.record(fleet);
  if (!record) throw new Error('the fleet is not known');
  await Promise.all([store.saveRevisions(fleet, [revision]), store.save(record)]);
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
  const cluster = await clusterWithFleet();
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
  const cluster = await clusterWithFleet();
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
