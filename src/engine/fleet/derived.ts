/**
 * Objects that other objects own. Such an object has no document: it follows from the document and the record of its owner
 * (`children` of its kind, which is pure). It has a record of its own, and is planned and carried out like any other one.
 *
 *     documents ──┐
 *                 ├──> merged snapshot ──> admission ──> records of owners and owned objects
 *     records of owners ──┘
 *
 * A document with the name of an owned object wins. While the document of an owner is missing or can't be used, its objects stay
 * as they were recorded, and nothing is changed in them.
 *
 * In a cluster, owned objects are resources, and their owners are compared with these, too (controlled.ts).
 *
 * The merged objects are versions of one map. Their owners are compared by what their objects follow from, so an edit elsewhere
 * makes none of them anew.
 */
import { invariant, sameValue } from '../../base/index.ts';
import {
  byKind,
  desiredObjects,
  type Derivation,
  type DesiredObject,
  type DesiredObjects,
  type DesiredSnapshot,
} from '../../desired/index.ts';
import {
  managedKinds,
  objectKey,
  parseObjectKey,
  traitsOf,
  type CommonSpec,
  type ManagedKind,
  type ObjectKey,
  type OwnerGate,
  type Specs,
} from '../../resources/index.ts';
import type { ObjectRecord, OwnerRevision, StateStore } from '../../state/index.ts';
import type { Kinds, OwnedObject } from '../kind.ts';
import { derivedUid } from '../plan/index.ts';
import { contentDigests, hasSameValues, valuesOf, type Data, type Values } from './content.ts';
import {
  ControlledResources,
  heldMessage,
  heldResource,
  inResource,
  leftMessage,
  type Resources,
} from './controlled.ts';

/** What the objects of an owner follow from. */
interface Basis {
  readonly document: DesiredObject | undefined;
  readonly manifest: ObjectRecord['manifest'] | undefined;
  readonly state: object;
  readonly isDeleting: boolean;
  /** By its documents: not usable, or missing. */
  readonly isLeft: boolean;
  readonly revisions: readonly OwnerRevision[];
  readonly values: Values;
  /** In a cluster. */
  readonly resources: Resources | undefined;
  /** Of its record. Undefined: there is none. */
  readonly uid: string | undefined;
}

interface Owned {
  readonly basis: Basis;
  readonly objects: ReadonlyMap<ObjectKey, DesiredObject>;
  /** In a cluster: what its resources are to be. Undefined: that is not known. */
  readonly wanted: ReadonlyMap<ObjectKey, DesiredObject> | undefined;
}

/** What an owner wants in a cluster, and what is there. */
export interface WantedResources {
  readonly uid: string;
  readonly wanted: ReadonlyMap<ObjectKey, DesiredObject>;
  /** With a reference to this owner. */
  readonly resources: Resources;
}

export interface DerivedOptions {
  readonly store: StateStore;
  readonly kinds: Kinds;
}

const owningKinds = (kinds: Kinds) => managedKinds.filter((kind) => kinds[kind].children !== undefined);

export class DerivedObjects {
  readonly #options: DerivedOptions;
  readonly #owning: readonly ManagedKind[];
  readonly #controlled: ControlledResources;
  readonly #owners = new Map<ObjectKey, Owned>();
  /** Of all owners. */
  readonly #owned = new Map<ObjectKey, DesiredObject>();
  #source: DesiredSnapshot | undefined;
  #merged: DesiredObjects | undefined;

  constructor(options: DerivedOptions) {
    this.#options = options;
    this.#owning = owningKinds(options.kinds);
    this.#controlled = new ControlledResources(this.#owning);
  }

  /** The last snapshot of the source that was merged. */
  get source(): DesiredSnapshot | undefined {
    return this.#source;
  }

  ownerOf(key: ObjectKey): ObjectKey | undefined {
    return this.#owned.get(key)?.derived?.owner ?? this.#options.store.record(key)?.derived?.owner;
  }

  /** As the records are now. Undefined: not in a cluster, or it is not known. */
  wantedResources(owner: ObjectKey): WantedResources | undefined {
    const { basis, wanted } = this.#owners.get(owner) ?? {};
    const { uid, resources, state } = basis ?? {};
    const isCurrent = state === this.#options.store.record(owner)?.kind;
    if (!wanted || !resources || uid === undefined || !isCurrent) return undefined;
    const own = [...resources].filter(([, { controller }]) => controller?.uid === uid);
    return { uid, wanted, resources: new Map(own) };
  }

  /** The snapshot with the owned objects. */
  merge(source: DesiredSnapshot): DesiredSnapshot {
    const before = this.#source;
    this.#controlled.follow(source, before);
    const moved = this.#deriveAll(source);
    this.#source = source;
    if (!this.#merged && this.#owned.size === 0) return source;
    const mayOwn = (key: ObjectKey) => !source.unusable.has(key);
    // In a cluster it is one with the resource, which names its owner.
    const valueOf = (key: ObjectKey) =>
      source.cluster
        ? (this.#owned.get(key) ?? source.objects.get(key))
        : (source.objects.get(key) ?? (mayOwn(key) ? this.#owned.get(key) : undefined));
    const changed = [
      before ? source.objects.changedSince(before.objects) : 'all',
      before ? source.unusable.changedSince(before.unusable) : 'all',
    ] as const;
    const [documents, unusable] = changed;
    if (!this.#merged || documents === 'all' || unusable === 'all') {
      const entries = [...this.#owned].filter(([key]) => mayOwn(key));
      const whole = new Map(
        source.cluster ? [...source.objects, ...this.#owned] : [...entries, ...source.objects],
      );
      this.#merged = this.#merged ? this.#merged.become(whole) : desiredObjects(whole);
    } else {
      const keys = new Set([...documents, ...unusable, ...moved]);
      this.#merged = this.#merged.with([...keys].map((key) => [key, valueOf(key)] as const));
    }
    return { ...source, objects: this.#merged };
  }

  /** The keys of owned objects that differ from before. */
  #deriveAll(source: DesiredSnapshot): Set<ObjectKey> {
    const moved = new Set<ObjectKey>();
    const owners = new Set<ObjectKey>([...this.#owners.keys(), ...this.#controlled.owners()]);
    for (const kind of this.#owning) {
      for (const { key } of byKind(source.objects, kind)) owners.add(key);
      for (const { key } of this.#options.store.recordsOfKind(kind)) owners.add(key);
    }
    for (const owner of owners) {
      const before = this.#owners.get(owner);
      const basis = this.#basisOf(owner, source);
      if (before && basis && sameBasis(before.basis, basis)) continue;
      const owned = basis && this.#derive(owner, basis, source);
      const objects = owned?.objects ?? new Map<ObjectKey, DesiredObject>();
      if (owned) this.#owners.set(owner, owned);
      else this.#owners.delete(owner);
      for (const key of before?.objects.keys() ?? []) {
        if (objects.has(key)) continue;
        // Another owner may have it by now.
        if (this.#owned.get(key)?.derived?.owner === owner) this.#owned.delete(key);
        moved.add(key);
      }
      for (const [key, object] of objects) {
        const known = before?.objects.get(key);
        if (known && isSame(known, object)) continue;
        this.#owned.set(key, object);
        moved.add(key);
      }
    }
    return moved;
  }

  /** Undefined: nothing is recorded of it yet, so it owns nothing. */
  #basisOf(owner: ObjectKey, source: DesiredSnapshot): Basis | undefined {
    const { store } = this.#options;
    const record = store.record(owner);
    const resources = source.cluster && this.#controlled.of(owner);
    if (!record) return resources && resources.size > 0 ? { ...nothing, resources } : undefined;
    const document = source.objects.get(owner);
    const { kind, namespace } = parseObjectKey(owner);
    const revisions = store.revisions(owner);
    // Each by itself: only what one environment has is bounded.
    const sets = document
      ? [traitsOf(kind).data?.(document.spec) ?? [], ...revisions.map(({ data }) => data)]
      : [];
    return {
      document,
      manifest: document ? undefined : record.manifest,
      state: record.kind,
      isDeleting: record.deletionRequestedAt !== undefined,
      isLeft: !document,
      revisions,
      values: sets.flatMap((references) => valuesOf(references, namespace, source)),
      resources,
      uid: record.uid,
    };
  }

  #derive(owner: ObjectKey, basis: Basis, source: DesiredSnapshot): Owned {
    const { resources, document, uid } = basis;
    if (!resources)
      return { basis, objects: this.#wanted(owner, basis, source) ?? new Map(), wanted: undefined };
    const wanted = document && uid !== undefined ? this.#wanted(owner, basis, source) : undefined;
    const objects = new Map<ObjectKey, DesiredObject>();
    for (const [key, { controller }] of resources) {
      const shown = source.objects.get(key);
      if (!shown) continue;
      const isOwn = controller?.uid === uid;
      const own = isOwn ? wanted?.get(key) : undefined;
      const isLeaving = isOwn && wanted !== undefined;
      // Naming another owner, or one that is gone, is no claim on what carries the marks of this name.
      const markedAs = isOwn ? derivedUid(this.#options.store.ownerName, key) : undefined;
      const message = isLeaving ? `${owner} does not have it any more` : heldMessage(owner, basis, isOwn);
      const held = { owner, message, isLeaving, markedAs };
      objects.set(key, own ? inResource(own, shown, markedAs) : heldResource(shown, held));
    }
    return { basis, objects, wanted };
  }

  /** Undefined: the owner does not know yet what it owns. */
  #wanted(owner: ObjectKey, basis: Basis, snapshot: Data): Map<ObjectKey, DesiredObject> | undefined {
    const { store, kinds } = this.#options;
    const { document, manifest, state, revisions } = basis;
    const { kind, namespace, name } = parseObjectKey(owner);
    const spec = (document?.spec ?? manifest?.spec) as CommonSpec | undefined;
    // Without it the owned objects would be taken for removed ones.
    invariant(spec && Object.keys(spec).length > 0, `nothing is recorded of the document of ${owner}`);
    const owned = kinds[kind].children?.({ name, spec, state, revisions });
    const location = document?.location ?? { file: store.record(owner)?.file ?? '', line: undefined };
    const held = document ? undefined : { message: leftMessage(owner, basis), since: 0 };
    return (
      owned &&
      new Map(
        owned.map((each) => {
          const key = objectKey(each.kind, namespace, each.name);
          const object: DesiredObject = {
            key,
            kind: each.kind,
            namespace,
            name: each.name,
            annotations: each.annotations,
            labels: each.labels,
            spec: each.spec as Specs[ManagedKind],
            location,
            document: {
              locate: (path) => document?.document.locate(pathInOwner(each, path)) ?? location,
            },
            derived: {
              owner,
              specPath: each.specPath,
              ...this.#contentOf(each, namespace, snapshot),
              mayCorrect: each.mayCorrect,
              restartedFor: each.restartedFor,
              draining:
                each.drainingSince === undefined
                  ? held
                  : { message: `it is to be removed by ${owner}`, since: each.drainingSince, removes: true },
            },
          };
          return [key, object];
        }),
      )
    );
  }

  /** Values of Secrets and ConfigMaps count only while an object is compared, or gets the revision that was made of them. */
  #contentOf(
    { kind, spec, content, revision }: OwnedObject,
    namespace: string,
    snapshot: Data,
  ): Pick<Derivation, 'content' | 'granted' | 'hasOlderValues'> {
    const { store } = this.#options;
    if (!content) return { content: undefined, granted: undefined, hasOlderValues: false };
    if (revision) {
      const hasOlderValues = !hasSameValues({ store, snapshot }, namespace, revision);
      return { content: revision.digest, granted: revision.digest, hasOlderValues };
    }
    const references = traitsOf(kind).data?.(spec) ?? [];
    const { digest } = contentDigests({ store, snapshot }, namespace, content, references);
    return { content: digest, granted: undefined, hasOlderValues: false };
  }
}

const nothing: Basis = {
  document: undefined,
  manifest: undefined,
  state: {},
  isDeleting: false,
  isLeft: true,
  revisions: [],
  values: [],
  resources: undefined,
  uid: undefined,
};

function sameBasis(left: Basis, right: Basis): boolean {
  return (
    left.document === right.document &&
    left.manifest?.spec === right.manifest?.spec &&
    left.state === right.state &&
    left.isDeleting === right.isDeleting &&
    left.resources === right.resources &&
    left.uid === right.uid &&
    left.revisions === right.revisions &&
    sameValue(left.values, right.values)
  );
}

function isSame(left: DesiredObject, right: DesiredObject): boolean {
  return (
    sameValue(left.spec, right.spec) &&
    sameValue(left.annotations, right.annotations) &&
    sameValue(left.labels, right.labels) &&
    sameValue(left.derived, right.derived) &&
    left.cluster === right.cluster &&
    sameValue(left.location, right.location)
  );
}

/** The part of an owner's document that a path in an owned object comes from. */
export function pathInOwner(
  { specPath }: Pick<Derivation, 'specPath'>,
  path: readonly (string | number)[],
): readonly (string | number)[] {
  const [first, ...rest] = path;
  if (first === 'spec') return [...specPath, ...rest];
  return specPath.at(-1) === 'spec' ? [...specPath.slice(0, -1), ...path] : specPath;
}

/** What holds back changes of an owned object. */
export function ownerGate(object: DesiredObject | undefined, record: ObjectRecord): OwnerGate | undefined {
  const { derived } = object ?? {};
  if (!derived || record.deletionRequestedAt !== undefined) return undefined;
  if (derived.draining) return { reason: 'Draining', ...derived.draining };
  if (derived.content === undefined) return undefined;
  if (record.derived?.settled === derived.content) {
    const message = `what others changed in it is corrected when ${derived.owner} allows it`;
    return { reason: 'AwaitsTurn', message, since: 0, correction: derived.mayCorrect ? 'allowed' : 'asked' };
  }
  if (derived.granted === derived.content) return undefined;
  return { reason: 'AwaitsTurn', message: `it is updated when ${derived.owner} allows it`, since: 0 };
}
