/** Admission of what a cluster shows: objects have their own uid and generation, and stay while they are being deleted. */
import { beforeEach, describe, expect, test } from 'vitest';
import { digestKey, systemRandom } from '../../src/base/index.ts';
import type { DesiredObject, DesiredSnapshot } from '../../src/desired/index.ts';
import { Admission, oneShotGrace } from '../../src/reconcile/index.ts';
import type { ObjectKey } from '../../src/resources/index.ts';
import { ClusterStore } from '../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../support/desired.ts';
import { ManualClock } from '../support/manual-clock.ts';

const deletedAt = Date.UTC(2026, 10, 21);
let store: ClusterStore;
let admission: Admission;
let clock: ManualClock;

beforeEach(() => {
  clock = new ManualClock();
  const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'cluster' };
  store = new ClusterStore({ api: undefined, identity, clock, random: systemRandom });
  admission = new Admission({ store, clock, grace: oneShotGrace, massChangeAllowed: () => false });
});

interface Shown {
  readonly generation?: number;
  readonly deleted?: true;
  readonly image?: string;
}

/** `name`, or `namespace/name`. */
function documentOf(where: string): string {
  const [name = '', namespace] = where.split('/').toReversed();
  const document = serviceDocument(name);
  return namespace === undefined
    ? document
    : document.replace('metadata: {', `metadata: {namespace: ${namespace}, `);
}

/** A snapshot of a cluster with these services; each has our finalizer. */
function snapshotOf(services: Readonly<Record<string, Shown>>): DesiredSnapshot {
  const folder = desiredOf(
    Object.fromEntries(Object.keys(services).map((name) => [`${name}.yaml`, documentOf(name)])),
  );
  const objects = new Map<ObjectKey, DesiredObject>();
  for (const [key, object] of folder.objects) {
    const name = object.namespace === 'default' ? object.name : `${object.namespace}/${object.name}`;
    const { generation = 1, deleted, image } = services[name] ?? {};
    const spec = image === undefined ? object.spec : { ...object.spec, image };
    const cluster = {
      uid: `uid of ${object.name}`,
      generation,
      resourceVersion: String(generation),
      deletionRequestedAt: deleted ? deletedAt : undefined,
      finalizers: ['fleetkeeper.dev/cleanup'],
      status: undefined,
    };
    objects.set(key, { ...object, spec, cluster });
  }
  return { ...folder, objects, cluster: new Map() };
}

async function admit(services: Readonly<Record<string, Shown>>) {
  const snapshot = snapshotOf(services);
  const shown = [...snapshot.objects.values()].flatMap(({ key, cluster }) =>
    cluster ? [{ key, ...cluster }] : [],
  );
  await store.observe(shown, new Set());
  const { admitted, durable } = admission.admit(snapshot);
  await durable;
  return admitted;
}

const keyOf = (name: string): ObjectKey => `ContainerService/default/${name}`;
const many = (count: number, shown: Shown = {}) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, shown]));

describe('an object of a cluster', () => {
  test('has the uid and the generation that the cluster gave it', async () => {
    await admit({ web: { generation: 7 } });
    expect(store.record(keyOf('web'))).toMatchObject({ uid: 'uid of web', generation: 7 });
    const { changed } = await admit({ web: { generation: 8, image: 'other:1' } });
    expect([changed, store.record(keyOf('web'))?.generation]).toEqual([[keyOf('web')], 8]);
  });

  test('that is as it was is not looked at again', async () => {
    await admit({ web: {} });
    expect((await admit({ web: {} })).changed).toEqual([]);
  });

  test('that somebody deletes is marked at once, with the time that the cluster noted', async () => {
    await admit({ web: {}, other: {} });
    const { changed } = await admit({ web: { deleted: true }, other: {} });
    expect(changed).toEqual([keyOf('web')]);
    expect(store.record(keyOf('web'))?.deletionRequestedAt).toBe(deletedAt);
    expect((await admit({ web: { deleted: true }, other: {} })).changed).toEqual([]);
  });

  test('that is shown no more is forgotten, and not taken for deleted', async () => {
    await admit({ web: {}, other: {} });
    const { changed, brakes } = await admit({ other: {} });
    expect([changed, brakes.size, store.record(keyOf('web'))]).toEqual([[], 0, undefined]);
  });
});

describe('the brake', () => {
  test('stops the deletion of many at once, until a person says go', async () => {
    await admit(many(20));
    const deleted = { ...many(20), ...many(6, { deleted: true }) };
    const stopped = await admit(deleted);
    const brake = stopped.brakes.get('default');
    expect([brake?.reason, stopped.changed]).toEqual(['MassChangeBrake', []]);
    // There is no `apply` in a cluster.
    expect(brake?.message).toMatch(
      /^6 of 20 objects of the namespace were deleted .*allow-mass-change-until/,
    );
    expect(brake?.message).not.toContain('fleetkeeper apply');
    admission = new Admission({ store, clock, grace: oneShotGrace, massChangeAllowed: () => true });
    expect((await admit(deleted)).changed).toHaveLength(6);
  });

  test('of one namespace is none of the others', async () => {
    const theirs = { ...many(20), ...many(6, { deleted: true }) };
    const { brakes, changed } = await admit({ ...theirs, 'ours/web': {}, 'ours/db': { deleted: true } });
    expect([...brakes.keys()]).toEqual(['default']);
    expect(changed).toContain('ContainerService/ours/db');
  });

  test('forgets no deletion that was under way when the process before this one ended', async () => {
    await admit(many(20));
    for (const record of [...store.records()].slice(0, 6)) {
      await store.saveAll([{ ...record, deletedByUs: true }]);
    }
    const { brakes, changed } = await admit({ ...many(20), ...many(6, { deleted: true }) });
    expect([brakes.size, changed.length]).toEqual([0, 6]);
  });

  test('lets a few go', async () => {
    await admit(many(20));
    const { brakes, changed } = await admit({ ...many(20), ...many(5, { deleted: true }) });
    expect([brakes.size, changed.length]).toEqual([0, 5]);
  });
});
