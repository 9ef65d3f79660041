import { beforeEach, expect, test } from 'vitest';
import { digestKey, systemRandom } from '../../../src/base/index.ts';
import type { KubernetesObject } from '../../../src/kubernetes/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { ClusterStore, type OwnerRevision } from '../../../src/state/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ObjectCluster } from '../../support/object-cluster.ts';

const fleet: ObjectKey = 'ServiceFleet/default/llm';
let cluster: ObjectCluster;

beforeEach(() => {
  cluster = new ObjectCluster();
  cluster.add(fleet, 'uid-1');
});

async function process(isReader = false): Promise<ClusterStore> {
  const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'cluster' };
  const api = isReader ? undefined : cluster;
  const store = new ClusterStore({
    api,
    reader: cluster,
    identity,
    clock: new ManualClock(),
    random: systemRandom,
  });
  await store.observe([cluster.shown(fleet)], new Set());
  return store;
}

function revision(number: number, image = `web:${number}`): OwnerRevision {
  const content = { image, env: [{ name: 'A', value: 'a' }] };
  return { number, content, data: [], values: 'v', digest: `d${number}`, outcome: 'New', at: 5 };
}

/** As a pass does: the revisions, and then the roster that names them. */
async function save(store: ClusterStore, revisions: readonly OwnerRevision[], slots: readonly number[]) {
  const record = store.record(fleet);
  if (!record) throw new Error('the fleet is not known');
  const place = { account: 'default', region: 'standard' };
  const roster = slots.map((slot) => ({ slot, phase: 'wanted', since: 1, revision: 1, place }));
  const next = { ...record, kind: { ...record.kind, roster } };
  await Promise.all([store.saveRevisions(fleet, revisions), store.save(next)]);
}

const namesIn = () => [...cluster.revisions.keys()].sort();

test('revisions outlive the process, and one that is kept no more is removed', async () => {
  await save(await process(), [revision(1), revision(2)], [0]);
  expect(namesIn()).toEqual(['llm-r1', 'llm-r2']);
  const next = await process();
  expect(next.revisions(fleet)).toEqual([revision(1), revision(2)]);
  await save(next, [revision(2)], [0]);
  expect(namesIn()).toEqual(['llm-r2']);
  expect((await process()).revisions(fleet)).toEqual([revision(2)]);
});

test('what changes of a revision is in the status of its owner: the ControllerRevision stays as it was', async () => {
  const store = await process();
  await save(store, [revision(1)], [0]);
  const before = cluster.revisions.get('llm-r1');
  await save(store, [{ ...revision(1), outcome: 'Failed', reason: 'it broke', at: 9 }], [0]);
  expect(cluster.revisions.get('llm-r1')).toBe(before);
  expect((await process()).revisions(fleet)).toMatchObject([
    { outcome: 'Failed', reason: 'it broke', at: 9 },
  ]);
});

test('no roster names a revision that does not exist: the revision is created first', async () => {
  const seen: string[][] = [];
  cluster.beforePatch = () => void seen.push(namesIn());
  await save(await process(), [revision(1)], [0]);
  expect(seen.length).toBeGreaterThan(0);
  expect(seen).toEqual(seen.map(() => ['llm-r1']));
});

test('one that was left by a process that ended too early is replaced', async () => {
  await cluster.create({} as never, controllerRevision('uid-1', { image: 'left:1' }));
  await save(await process(), [revision(1)], [0]);
  expect((await process()).revisions(fleet)).toEqual([revision(1)]);
});

test('so is one that was left beside others, and was seen by the process that makes the next one of its number', async () => {
  await save(await process(), [revision(1)], [0]);
  const left = controllerRevision('uid-1', { image: 'left:2' });
  await cluster.create({} as never, { ...left, revision: 2, metadata: { ...left.metadata, name: 'llm-r2' } });
  await save(await process(), [revision(1), revision(2)], [0]);
  expect((await process()).revisions(fleet)).toEqual([revision(1), revision(2)]);
});

test('one of an earlier fleet of that name is not read, and replaced', async () => {
  await cluster.create({} as never, controllerRevision('uid-0', revision(1).content));
  await save(await process(), [revision(1)], [0]);
  expect(cluster.revisions.get('llm-r1')?.metadata.ownerReferences).toMatchObject([{ uid: 'uid-1' }]);
});

test('a forged content is not used, and neither is what the status does not name', async () => {
  await save(await process(), [revision(1), revision(2)], [0]);
  const real = cluster.revisions.get('llm-r1');
  const data = { content: { image: 'evil:1' }, data: [] };
  cluster.revisions.set('llm-r1', { ...(real as KubernetesObject), data });
  await cluster.create({} as never, {
    ...controllerRevision('uid-1', {}),
    metadata: { ...real?.metadata, name: 'llm-r9' },
  });
  expect((await process()).revisions(fleet)).toEqual([revision(2)]);
});

test('commands that only read know them, too', async () => {
  await save(await process(), [revision(1)], [0]);
  expect((await process(true)).revisions(fleet)).toEqual([revision(1)]);
  cluster.list = async () => {
    throw new Error('forbidden');
  };
  expect((await process(true)).revisions(fleet)).toEqual([{ ...revision(1), content: {}, data: [] }]);
});

test('a fleet with replicas has the finalizer before its roster is there', async () => {
  const finalizers: boolean[] = [];
  cluster.beforePatch = () => void finalizers.push(cluster.shown(fleet).finalizers.length > 0);
  await save(await process(), [], [0, 1]);
  expect(finalizers).toEqual([false, true]);
  expect(cluster.shown(fleet).finalizers).toEqual(['fleetkeeper.dev/cleanup']);
});

function controllerRevision(uid: string, content: object): KubernetesObject {
  const owner = {
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'ServiceFleet',
    name: 'llm',
    uid,
    controller: true,
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: 'llm-r1',
      uid: '',
      resourceVersion: '',
      labels: { 'fleetkeeper.dev/fleet': 'llm' },
      ownerReferences: [owner],
    },
    revision: 1,
    data: { content, data: [] },
  };
}
