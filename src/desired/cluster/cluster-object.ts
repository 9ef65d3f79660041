/**
 * Converts one object of a cluster into what the engine reads of it. Pure, except for the facts, which are live by design
 * (`ClusterFacts`).
 *
 * | what changed since the object was last read        | what follows                                    |
 * |----------------------------------------------------|-------------------------------------------------|
 * | status, managed fields, `last-applied-configuration` | the entry stays, and its facts follow         |
 * | finalizers                                         | the same, until the object is being deleted     |
 * | labels, annotations, owners, deletion              | a new entry with the same spec, not parsed again |
 * | generation or uid, or the object is new            | it is parsed                                    |
 *
 * An object that the schema refuses is unusable: it exists, and is left alone. A later version may have written it, or an
 * upgrade made the schema stricter. So is one that is too large to be kept (kept-object.ts). Messages never show a value.
 * Once somebody deletes it, it is read without its long texts and lists, as far as these were all that was wrong.
 */
import { parseRfc3339, sameValue } from '../../base/index.ts';
import type { KubernetesObject } from '../../kubernetes/index.ts';
import {
  annotations as ours,
  apiVersion,
  documents as schemas,
  managedKinds,
  objectKey,
  resourceTypes,
  type ManagedKind,
  traitsOf,
} from '../../resources/index.ts';
import { referencesOf, type Referring } from '../references.ts';
import { explain, plainWords, type Finding } from '../explain.ts';
import { limits } from '../limits.ts';
import { boundPassedBy, lastApplied, withoutLarge, type Beyond } from './kept-object.ts';
import { pathText, printable } from '../problem.ts';
import type { ClusterFacts, Controller, DesiredObject, Location, Problem } from '../source.ts';

export interface ClusterEntry extends Referring {
  readonly kind: ManagedKind;
  readonly facts: LiveFacts;
  /** Also of unusable objects, whose account may still be readable. */
  readonly spec: unknown;
  readonly read:
    | { readonly is: 'object'; readonly object: DesiredObject }
    | { readonly is: 'unusable'; readonly problems: readonly Problem[] };
}

export class LiveFacts implements ClusterFacts {
  #object: KubernetesObject;

  constructor(object: KubernetesObject) {
    this.#object = object;
  }

  get uid(): string {
    return this.#object.metadata.uid;
  }

  get generation(): number {
    return this.#object.metadata.generation ?? 0;
  }

  get resourceVersion(): string {
    return this.#object.metadata.resourceVersion;
  }

  get deletionRequestedAt(): number | undefined {
    const { deletionTimestamp } = this.#object.metadata;
    return deletionTimestamp === undefined ? undefined : parseRfc3339(deletionTimestamp);
  }

  get createdAt(): number | undefined {
    return parseRfc3339(this.#object.metadata.creationTimestamp ?? '');
  }

  get finalizers(): readonly string[] {
    return this.#object.metadata.finalizers ?? [];
  }

  get status(): unknown {
    return this.#object.status;
  }

  get controller(): Controller | undefined {
    const { namespace = 'default', ownerReferences = [] } = this.#object.metadata;
    const owner = ownerReferences.find(({ controller }) => controller === true);
    if (owner?.apiVersion !== apiVersion) return undefined;
    const kind = managedKinds.find((each) => each === owner.kind);
    return kind && { key: objectKey(kind, namespace, owner.name), uid: owner.uid };
  }

  get object(): KubernetesObject {
    return this.#object;
  }

  /** Moves the facts to a newer state of the same object, if nothing changed that a pass would read. */
  move(object: KubernetesObject): void {
    this.#object = object;
  }
}

/** Returns `previous` if nothing changed that a pass would read. */
export function readClusterObject(
  kind: ManagedKind,
  object: KubernetesObject,
  previous: ClusterEntry | undefined,
): ClusterEntry {
  const before = previous?.facts.object;
  const sameSpec = before !== undefined && isSameSpec(before, object) && isSameBound(before, object);
  if (previous && sameSpec && isSameMetadata(before, object)) {
    previous.facts.move(object);
    return previous;
  }
  const facts = new LiveFacts(object);
  const { namespace = 'default', name } = object.metadata;
  const key = objectKey(kind, namespace, name);
  const isDeleting = facts.deletionRequestedAt !== undefined;
  const entry = { key, kind, facts, spec: object.spec, references: [], isDeleting };
  const passed = boundPassedBy(object);
  if (passed && !(isDeleting && passed.isDeletable)) return refusedEntry(entry, findingOf(passed));
  if (previous?.read.is === 'unusable' && sameSpec && !isDeleting) return { ...entry, read: previous.read };
  if (previous?.read.is === 'object' && sameSpec) return usable(entry, previous.read.object.spec);
  const value = documentOf(kind, object);
  const checked = schemas[kind].safeParse(value, { error: plainWords });
  if (checked.success) return usable(entry, checked.data.spec);
  const forDeletion = isDeleting && schemas[kind].safeParse({ ...value, spec: withoutLarge(object.spec) });
  if (forDeletion && forDeletion.success) return usable(entry, forDeletion.data.spec);
  const findings = explain(
    checked.error.issues,
    { schema: schemas[kind], hints: traitsOf(kind).hints },
    value,
  );
  return {
    ...entry,
    read: { is: 'unusable', problems: findings.map((finding) => asProblem(entry, finding)) },
  };
}

/** The same, as one that can't be used. */
export function refusedEntry(entry: Omit<ClusterEntry, 'read'>, finding: Finding): ClusterEntry {
  return { ...entry, references: [], read: { is: 'unusable', problems: [asProblem(entry, finding)] } };
}

function asProblem({ key, kind, facts }: Omit<ClusterEntry, 'read'>, finding: Finding): Problem {
  const { path, message, remedy } = finding;
  const shown = path.length === 0 ? undefined : printable(pathText(path));
  return { ...locationOf(kind, facts.object), path: shown, message, remedy, key };
}

/**
 * Whether somebody edited the object or requested a recheck. Then its Secrets and ConfigMaps are read again
 * as well.
 */
export function isEdit(entry: ClusterEntry, previous: ClusterEntry | undefined): boolean {
  if (!previous || !isSameSpec(previous.facts.object, entry.facts.object)) return true;
  const asked = ({ facts }: ClusterEntry) => facts.object.metadata.annotations?.[ours.reconcileAt];
  return asked(entry) !== asked(previous);
}

function usable(entry: Omit<ClusterEntry, 'read'>, spec: DesiredObject['spec']): ClusterEntry {
  const { key, kind, facts } = entry;
  const { namespace = 'default', name, labels = {} } = facts.object.metadata;
  const location = locationOf(kind, facts.object);
  const object: DesiredObject = {
    key,
    kind,
    namespace,
    name,
    annotations: annotationsOf(facts.object),
    labels,
    spec,
    location,
    document: { locate: () => location },
    cluster: facts,
  };
  return { ...entry, references: referencesOf(object), read: { is: 'object', object } };
}

function findingOf({ bound, isDeletable }: Beyond): Finding {
  const most = `${limits[bound] / 1024} KiB`;
  if (bound === 'finalizersBytes') {
    const message = `is too large: the list has more than ${most}, so the object is not used`;
    return { path: ['metadata', 'finalizers'], message, remedy: 'remove some of them' };
  }
  return {
    path: ['spec'],
    message: `is too large: spec, labels and annotations have more than ${most} together, so the object is not used`,
    remedy: isDeletable
      ? 'put what is large into the image, a volume, or Secrets and ConfigMaps, or delete the object'
      : 'make it smaller, also to delete it',
  };
}

/** As an author would write it, without what the API server adds. */
function documentOf(kind: ManagedKind, object: KubernetesObject): object {
  const { namespace, name } = object.metadata;
  return { apiVersion, kind, metadata: { namespace, name }, spec: object.spec };
}

function locationOf(kind: ManagedKind, { metadata }: KubernetesObject): Location {
  const { namespace = 'default', name } = metadata;
  return { file: `${resourceTypes[kind].plural}/${namespace}/${name}`, line: undefined };
}

function isSameSpec(before: KubernetesObject, now: KubernetesObject): boolean {
  const { uid, generation } = now.metadata;
  return uid === before.metadata.uid && generation !== undefined && generation === before.metadata.generation;
}

function isSameBound(before: KubernetesObject, now: KubernetesObject): boolean {
  return boundPassedBy(before)?.bound === boundPassedBy(now)?.bound;
}

function isSameMetadata(before: KubernetesObject, now: KubernetesObject): boolean {
  return sameValue(relevantMetadata(before), relevantMetadata(now));
}

function relevantMetadata(object: KubernetesObject): unknown[] {
  const { labels = {}, finalizers = [], deletionTimestamp, ownerReferences = [] } = object.metadata;
  const deletion = deletionTimestamp === undefined ? [] : [deletionTimestamp, finalizers];
  return [annotationsOf(object), labels, deletion, ownerReferences];
}

function annotationsOf({ metadata }: KubernetesObject): Readonly<Record<string, string>> {
  const { [lastApplied]: _copy, ...annotations } = metadata.annotations ?? {};
  return annotations;
}
