/**
 * EI2: admission of changes gives the same as admission of everything. Two worlds have the same history. In one, each snapshot follows the one
 * before, so that only changes are examined. In the other, each snapshot stands for itself, so that everything is. A history has up to 40
 * snapshots.
 */
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { VersionedMap, digestKey, systemRandom } from '../../../../src/base/index.ts';
import {
  changedKeys,
  desiredObjects,
  following,
  referringTo,
  type ClusterFacts,
  type DesiredObject,
  type DesiredSnapshot,
} from '../../../../src/desired/index.ts';
import { watchedByStore } from '../../../../src/manager/cluster-objects.ts';
import { Admission, defaultShortenedGrace } from '../../../../src/engine/index.ts';
import { objectKey, parseObjectKey, type ObjectKey } from '../../../../src/resources/index.ts';
import {
  ClusterStore,
  MemoryStore,
  type Intent,
  type ObjectRecord,
  type StateStore,
} from '../../../../src/state/index.ts';
import { desiredOf, inCluster, serviceDocument } from '../../../support/desired.ts';
import { indexMistake, objectsMistake } from '../../../support/full-count.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'lab' };
const grace = { goneMs: 2000, ...defaultShortenedGrace };

// ---- what happens -------------------------------------------------------------------------------------

type Drawn<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
const namespaces = ['default', 'team'];
const anyName = fc.constantFrom(...names);

/** Of the documents. `place`: the file in a folder, the namespace in a cluster. */
const anyEdit = fc.record({
  name: anyName,
  what: fc.constantFrom('write', 'write', 'annotate', 'remove', 'remove', 'break', 'delete', 'retain'),
  place: fc.nat(1),
  value: fc.nat(3),
});
type Edit = Drawn<typeof anyEdit>;

/** Of the records, by passes. */
const anyPass = fc.record({
  name: anyName,
  what: fc.constantFrom('made', 'made', 'made', 'unmade', 'intended', 'settled', 'forgotten', 'deleted'),
});

const anyStep = fc.record({
  edits: fc.oneof(
    { weight: 6, arbitrary: fc.array(anyEdit, { maxLength: 2 }) },
    { weight: 1, arbitrary: fc.array(anyEdit, { minLength: 8, maxLength: 16 }) },
  ),
  passes: fc.array(anyPass, { maxLength: 8 }),
  /** So many of the documents do not show (a bad mount), or are being deleted in a cluster, and are back with the next snapshot. */
  hidden: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(12) }),
  /** A file that can't be read. */
  isTorn: chance(10),
  /** The file is there, and without any document. */
  isCut: chance(10),
  isAllowed: chance(10),
  isPassedOver: chance(10),
  /** Before or after memory says so. */
  failsToSave: fc.constantFrom(...Array<undefined>(10).fill(undefined), 'early' as const, 'late' as const),
  isNewProcess: chance(20),
  waitMs: fc.constantFrom(0, 0, 1000, 2000, 60_000, 300_000),
});
export type Step = Drawn<typeof anyStep>;

function chance(oneIn: number) {
  return fc.nat(oneIn - 1).map((drawn) => drawn === 0);
}

// ---- the documents --------------------------------------------------------------------------------------

interface Written {
  readonly place: number;
  readonly image: number;
  readonly note: number;
  readonly isBroken: boolean;
  readonly isDeleted: boolean;
  readonly isRetained: boolean;
}

const unwritten: Written = {
  place: 0,
  image: 0,
  note: 0,
  isBroken: false,
  isDeleted: false,
  isRetained: false,
};

function edited(before: Written | undefined, { what, place, value }: Edit): Written | undefined {
  switch (what) {
    case 'write':
      return { ...unwritten, ...before, place, image: value, isBroken: false };
    case 'annotate':
      return before && { ...before, note: value };
    case 'remove':
      return undefined;
    case 'break':
      return before && { ...before, isBroken: true };
    case 'delete':
      return before && { ...before, isDeleted: true };
    case 'retain':
      return before && { ...before, isRetained: !before.isRetained };
  }
}

function documentOf(name: string, { image, note, isBroken, isRetained }: Written, namespace = 'default') {
  const lines = [
    `httpPort: ${8000 + image}`,
    `storage: {volumeRef: {name: v${image}}}`,
    ...(isBroken ? ['colour: blue'] : []),
    ...(isRetained ? ['deletionPolicy: Retain'] : []),
  ];
  const metadata = `metadata: {name: ${name}, namespace: ${namespace}, annotations: {note: "${note}"}}`;
  return serviceDocument(name, lines).replace(`metadata: {name: ${name}}`, metadata);
}

/** Each second one has a file of its own; the others share two. */
function folderOf(documents: ReadonlyMap<string, Written>, { isTorn, isCut, hidden }: Step): DesiredSnapshot {
  const files: Record<string, string> = {};
  for (const [name, written] of [...documents].slice(hidden)) {
    const file = Number(name.slice(1)) % 2 === 0 ? `${name}.yaml` : `shared-${written.place}.yaml`;
    files[file] = `${files[file] ?? ''}${documentOf(name, written)}---\n`;
  }
  if (isCut && 'shared-0.yaml' in files) files['shared-0.yaml'] = '# cut\n';
  return desiredOf({ ...files, ...(isTorn ? { 'torn.yaml': 'kind: [' } : {}) });
}

const shownBefore = new WeakMap<ClusterFacts, DesiredObject>();

/** `uids` and `generations` are those of the cluster: the same in both worlds. */
function clusterOf(
  documents: ReadonlyMap<string, Written>,
  { isTorn, hidden }: Step,
  factsOf: (name: string, written: Written) => ClusterFacts,
): DesiredSnapshot {
  const files = [...documents].map(
    ([name, written]) => [`${name}.yaml`, documentOf(name, written, namespaces[written.place])] as const,
  );
  const folder = inCluster(desiredOf(Object.fromEntries(files)));
  const objects = [...folder.objects.values()].map((object) => {
    const written = documents.get(object.name) ?? unwritten;
    const isDeleted = written.isDeleted || [...documents.keys()].indexOf(object.name) < hidden;
    const cluster = factsOf(object.name, { ...written, isDeleted });
    // One that did not change is the same one.
    const shown = shownBefore.get(cluster) ?? { ...object, cluster };
    shownBefore.set(cluster, shown);
    return [object.key, shown] as const;
  });
  const cluster = objects.flatMap(([key, object]) =>
    object.cluster ? [[key, object.cluster] as const] : [],
  );
  const shown = { objects: desiredObjects(objects), cluster: VersionedMap.of(cluster) };
  return { ...folder, ...shown, complete: !isTorn, empty: documents.size === 0 };
}

// ---- the worlds -----------------------------------------------------------------------------------------

/** The disk is full when it is to be: then memory is as before. */
class FolderStore extends MemoryStore {
  failsToSave: Step['failsToSave'];

  override async saveAll(records: readonly ObjectRecord[]): Promise<void> {
    if (this.failsToSave === 'early') throw new Error('the disk is full');
    const before = records.map(({ key }) => [key, this.record(key), this.lastIntent(key)] as const);
    await super.saveAll(records);
    if (!this.failsToSave) return;
    await Promise.resolve();
    for (const [key, record, intent] of before) {
      this.drop(key);
      if (record) this.keep(record, intent);
    }
    throw new Error('the disk is full');
  }
}

class World {
  readonly store: StateStore;
  readonly #clock: ManualClock;
  readonly #isFollowing: boolean;
  #admission: Admission;
  #last: DesiredSnapshot | undefined;
  #isAllowed = false;
  #tell: ((snapshot: DesiredSnapshot) => void) | undefined;
  #passedOn: () => Promise<void> = async () => {};

  constructor(clock: ManualClock, store: StateStore, isFollowing: boolean) {
    this.#clock = clock;
    this.store = store;
    this.#isFollowing = isFollowing;
    this.#admission = this.#newAdmission();
  }

  get objects(): DesiredSnapshot['objects'] | undefined {
    return this.#last?.objects;
  }

  #newAdmission(): Admission {
    const { store } = this;
    return new Admission({ store, clock: this.#clock, grace, massChangeAllowed: () => this.#isAllowed });
  }

  async take(read: DesiredSnapshot, step: Step): Promise<unknown> {
    const snapshot = this.#isFollowing && this.#last ? following(this.#last, read) : read;
    const isChanges = this.#last !== undefined && changedKeys(snapshot, this.#last) !== 'all';
    if (isChanges !== (this.#isFollowing && this.#last !== undefined))
      throw new Error('the worlds are not what they are to be');
    this.#last = snapshot;
    this.#isAllowed = step.isAllowed;
    if (this.store instanceof ClusterStore) await this.#observe(this.store, snapshot);
    if (step.isNewProcess) this.#admission = this.#newAdmission();
    this.#admission.notice(snapshot);
    if (step.isPassedOver) return undefined;
    if (this.store instanceof FolderStore) this.store.failsToSave = step.failsToSave;
    const { admitted, durable } = this.#admission.admit(snapshot);
    const saved = await durable.then(
      () => true,
      () => false,
    );
    if (this.store instanceof FolderStore) this.store.failsToSave = undefined;
    const { changed, brakes, lingering, againAfterMs } = admitted;
    return {
      saved,
      changed: changed.toSorted(),
      // Maps are compared whatever the order of their entries is.
      brakes: new Map(brakes),
      lingering: new Map(lingering),
      againAfterMs,
    };
  }

  /** As the operator does. */
  async #observe(store: ClusterStore, snapshot: DesiredSnapshot): Promise<void> {
    if (this.#tell) {
      this.#tell(snapshot);
      return this.#passedOn();
    }
    const source = watchedByStore({
      source: {
        description: '',
        start: async (onChange) => {
          this.#tell = onChange;
          return snapshot;
        },
        stop: async () => {},
      },
      store,
      onNoticed: () => {},
      onFailure: () => {},
      clock: new ManualClock(),
      random: systemRandom,
    });
    this.#passedOn = () => source.passedOn();
    await source.start(() => {});
  }

  /** What a pass does to a record. */
  async pass(key: ObjectKey, what: string): Promise<void> {
    const record = this.store.record(key);
    if (!record) return;
    if (what === 'made') await this.store.saveAll([{ ...record, externalId: `id of ${key}` }]);
    if (what === 'unmade') await this.store.saveAll([{ ...record, externalId: undefined }]);
    if (what === 'deleted') await this.store.saveAll([{ ...record, deletedByUs: true }]);
    if (what === 'forgotten' && record.deletionRequestedAt !== undefined) await this.store.remove(key);
    if (what === 'intended' || what === 'settled') {
      const outcome = what === 'intended' ? 'unknown' : 'applied';
      await this.store.saveIntent({ ...noIntent, object: key, outcome }, record);
    }
  }

  get records(): ObjectRecord[] {
    return [...this.store.records()].toSorted((left, right) => (left.key < right.key ? -1 : 1));
  }
}

const noIntent: Omit<Intent, 'object' | 'outcome'> = {
  idempotencyKey: 'key',
  action: 'create-service',
  targetId: undefined,
  bodyDigest: '',
  baseRevision: undefined,
  baseState: undefined,
  generation: 1,
  restartToken: undefined,
  digests: undefined,
  createdAt: 0,
  finishedAt: undefined,
  note: undefined,
};

/** Both worlds have the same history, and say the same of it. */
async function compare(
  steps: readonly Step[],
  newStore: (clock: ManualClock) => StateStore,
  read: (documents: ReadonlyMap<string, Written>, step: Step) => DesiredSnapshot,
): Promise<void> {
  const clock = new ManualClock();
  const changesOnly = new World(clock, newStore(clock), true);
  const everything = new World(clock, newStore(clock), false);
  const documents = new Map<string, Written>();
  for (const step of steps) {
    for (const edit of step.edits) {
      const written = edited(documents.get(edit.name), edit);
      if (written) documents.set(edit.name, written);
      else documents.delete(edit.name);
    }
    await clock.advance(step.waitMs);
    for (const { name, what } of step.passes) {
      for (const key of namespaces.map((namespace) => objectKey('ContainerService', namespace, name)))
        for (const world of [changesOnly, everything]) await world.pass(key, what);
      // In a cluster it loses our finalizer with that.
      const isGone = (key: ObjectKey) => parseObjectKey(key).name === name && !changesOnly.store.record(key);
      const shown = [...(changesOnly.objects?.keys() ?? [])].filter(isGone);
      if (what === 'forgotten' && changesOnly.store instanceof ClusterStore && shown.length > 0)
        documents.delete(name);
    }
    const [some, all] = [
      await changesOnly.take(read(documents, step), step),
      await everything.take(read(documents, step), step),
    ];
    expect(some).toEqual(all);
    expect(changesOnly.records).toEqual(everything.records);
    expect(indexMistake(changesOnly.store)).toBeUndefined();
    expect(dependents(changesOnly)).toEqual(dependents(everything));
    expect(changesOnly.objects && objectsMistake(changesOnly.objects)).toBeUndefined();
  }
}

function dependents({ objects }: World): unknown {
  const volumes = ['v0', 'v1', 'v2', 'v3'].flatMap((name) =>
    namespaces.map((namespace) => objectKey('StorageVolume', namespace, name)),
  );
  return volumes.map(
    (key) =>
      objects &&
      referringTo(objects, key)
        .map((object) => object.key)
        .toSorted(),
  );
}

export const anyHistory = fc.array(anyStep, { minLength: 1, maxLength: 40, size: 'max' });

/** Of documents. */
export const editsIn = (steps: readonly Step[]) => steps.reduce((sum, { edits }) => sum + edits.length, 0);

export function compareInFolder(steps: readonly Step[]): Promise<void> {
  return compare(steps, () => new FolderStore(identity, [], []), folderOf);
}

export function compareInCluster(steps: readonly Step[]): Promise<void> {
  const newStore = (clock: ManualClock) =>
    new ClusterStore({ api: undefined, identity, clock, random: systemRandom });
  const versions = new Map<string, { text: string; version: number; uid: number; cluster: ClusterFacts }>();
  const factsOf = (name: string, written: Written) => {
    const text = JSON.stringify(written);
    const before = versions.get(name);
    const isOther = written.place !== parsePlace(before?.text);
    const version = before?.text === text ? before.version : (before?.version ?? 0) + 1;
    const uid = isOther ? version : (before?.uid ?? 0);
    const cluster =
      before?.text === text
        ? before.cluster
        : {
            uid: `uid ${uid}`,
            generation: version,
            resourceVersion: String(version),
            finalizers: ['fleetkeeper.dev/cleanup'],
            deletionRequestedAt: written.isDeleted ? Date.UTC(2026, 0, 1) : undefined,
            status: undefined,
          };
    versions.set(name, { text, version, uid, cluster });
    return cluster;
  };
  return compare(steps, newStore, (documents, step) => clusterOf(documents, step, factsOf));
}

function parsePlace(text: string | undefined): number | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as Written).place;
}
