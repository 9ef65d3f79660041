/** Admission of what a cluster shows: objects have their own uid and generation, and stay while they are being deleted. */
import { beforeEach, describe, expect, test } from 'vitest';
import { VersionedMap, digestKey, systemRandom } from '../../../../src/base/index.ts';
import { desiredObjects, type DesiredObject, type DesiredSnapshot } from '../../../../src/desired/index.ts';
import { Admission, oneShotGrace } from '../../../../src/engine/index.ts';
import type { ObjectKey } from '../../../../src/resources/index.ts';
import { ClusterStore } from '../../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../../support/desired.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

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
  readonly retained?: true;
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
    const { generation = 1, deleted, image, retained } = services[name] ?? {};
    const deletionPolicy: 'Retain' | 'Delete' = retained ? 'Retain' : 'Delete';
    const changes = { deletionPolicy, ...(image === undefined ? {} : { image }) };
    const spec = { ...(object as DesiredObject<'ContainerService'>).spec, ...changes };
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
  return { ...folder, objects: desiredObjects(objects), cluster: VersionedMap.of() };
}

async function admit(services: Readonly<Record<string, Shown>>, unread: readonly string[] = []) {
  const snapshot = { ...snapshotOf(services), unread: new Set(unread) };
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

  test('that is being deleted when a process first sees it is known with its document', async () => {
    await admit({ web: { deleted: true, image: 'other:1', generation: 3 }, other: {} });
    expect(store.record(keyOf('web'))).toMatchObject({
      deletionRequestedAt: deletedAt,
      generation: 3,
      manifest: { spec: { image: 'other:1' } },
    });
  });

  test('that is shown no more is forgotten, and not taken for deleted', async () => {
    await admit({ web: {}, other: {} });
    const { changed, brakes } = await admit({ other: {} });
    expect([changed, brakes.size, store.record(keyOf('web'))]).toEqual([[], 0, undefined]);
  });
});

/** Each of them stands for something at the provider. */
async function provision(services: Readonly<Record<string, Shown>>): Promise<void> {
  await admit(services);
  for (const record of store.records()) {
    await store.saveAll([{ ...record, externalId: `id of ${record.key}` }]);
  }
}

/** One is deleted, its cleanup done, and it is gone: `kubectl delete`, which waits. */
async function deleteAndWait(services: Readonly<Record<string, Shown>>, name: string) {
  const admitted = await admit({ ...services, [name]: { ...services[name], deleted: true } });
  const { [name]: _gone, ...others } = services;
  await clock.advance(1000);
  await admit(others);
  return { admitted, others };
}

describe('the brake', () => {
  test('does not stop what is deleted by name, one after the other, each waited for', async () => {
    let services: Readonly<Record<string, Shown>> = many(20);
    await provision(services);
    for (let index = 0; index < 12; index += 1) {
      const { admitted, others } = await deleteAndWait(services, `s${index}`);
      expect([admitted.brakes.size, admitted.changed]).toEqual([0, [keyOf(`s${index}`)]]);
      services = others;
    }
  });

  test('counts what was deleted a moment ago, and is not gone yet', async () => {
    await provision(many(20));
    expect((await admit({ ...many(20), ...many(5, { deleted: true }) })).changed).toHaveLength(5);
    await clock.advance(2000);
    const { brakes, changed } = await admit({ ...many(20), ...many(6, { deleted: true }) });
    expect([brakes.get('default')?.reason, changed]).toEqual(['MassChangeBrake', []]);
  });

  test('does not count what stays at the provider, or was never there', async () => {
    await provision({ ...many(20, { retained: true }), web: {} });
    const gone = { ...many(20, { retained: true, deleted: true }), web: {} };
    const first = await admit(gone);
    expect([first.brakes.size, first.changed.length]).toEqual([0, 20]);
    const unmade = (shown: Shown) =>
      Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`new${index}`, shown]));
    await admit({ web: {}, ...unmade({}) });
    expect((await admit({ web: {}, ...unmade({ deleted: true }) })).changed).toHaveLength(9);
  });

  test('lets go of an object that is told to be retained after all', async () => {
    await provision(many(20));
    await admit({ ...many(20), ...many(6, { deleted: true }) });
    const retained = { ...many(20), ...many(6, { deleted: true, retained: true }) };
    expect(await admit(retained)).toMatchObject({ brakes: new Map() });
    expect([...store.records()].filter((record) => record.deletionRequestedAt !== undefined)).toHaveLength(6);
  });

  test('stops a definition that goes as a whole, although no namespace loses many', async () => {
    const spread = (shown: Shown) =>
      Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`team-${index}/web`, shown]));
    await provision(spread({}));
    const { brakes, changed } = await admit(spread({ deleted: true }));
    expect([brakes.size, changed]).toEqual([8, []]);
    expect(brakes.get('team-3')?.message).toMatch(
      /^every ContainerService of the cluster .*kubectl annotate accounts.fleetkeeper.dev --all --namespace team-3 fleetkeeper.dev\/allow-mass-change-until/,
    );
  });

  test('stops the deletion of many at once, until a person says go', async () => {
    await provision(many(20));
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
    await provision({ ...many(20), 'ours/web': {}, 'ours/db': {} });
    const { brakes, changed } = await admit({ ...theirs, 'ours/web': {}, 'ours/db': { deleted: true } });
    expect([...brakes.keys()]).toEqual(['default']);
    expect(changed).toContain('ContainerService/ours/db');
  });

  test('forgets no deletion that was under way when the process before this one ended', async () => {
    await provision(many(20));
    for (const record of [...store.records()].slice(0, 6)) {
      await store.saveAll([{ ...record, deletedByUs: true }]);
    }
    const { brakes, changed } = await admit({ ...many(20), ...many(6, { deleted: true }) });
    expect([brakes.size, changed.length]).toEqual([0, 6]);
  });

  test('of a namespace that can not be read is not needed: nothing in it counts as removed', async () => {
    await provision({ 'lab/web': {}, 'lab/db': {}, 'shop/web': {}, 'shop/db': {} });
    const deleted = {
      'lab/web': {},
      'lab/db': { deleted: true },
      'shop/web': {},
      'shop/db': { deleted: true },
    } as const;
    const { changed, lingering } = await admit(deleted, ['lab']);
    expect(changed).toEqual(['ContainerService/shop/db']);
    expect([...lingering].map(([key, { reason }]) => [key, reason])).toEqual([
      ['ContainerService/lab/db', 'SourceIncomplete'],
    ]);
    expect((await admit(deleted)).changed).toEqual(['ContainerService/lab/db']);
  });

  test('lets a few go', async () => {
    await provision(many(20));
    const { brakes, changed } = await admit({ ...many(20), ...many(5, { deleted: true }) });
    expect([brakes.size, changed.length]).toEqual([0, 5]);
  });
});
