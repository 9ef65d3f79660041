/**
 * In a cluster, an owned object is a resource with a controller reference to its owner. It can't be planned before the API server has
 * given it a uid. What is wanted of it follows from its owner all the same, whatever somebody writes into the resource.
 *
 * | the resource                                  | the object is planned                                              |
 * |-----------------------------------------------|--------------------------------------------------------------------|
 * | is not there yet                              | not at all; it is applied (manager/owned-resources.ts)              |
 * | is that of an object which its owner wants    | as its owner wants it, with its own uid, deletion and foreign annotations |
 * | is not wanted any more                        | as it is; nothing is changed until it is deleted                    |
 * | has an owner that is not known, or can't be used | the same                                                        |
 * | has its name, and no reference to its owner   | as any other: it has precedence                                     |
 */
import type { ClusterFacts, DesiredObject, DesiredSnapshot } from '../../desired/index.ts';
import { parseObjectKey, type ManagedKind, type ObjectKey } from '../../resources/index.ts';

export type Resources = ReadonlyMap<ObjectKey, ClusterFacts>;

const none: Resources = new Map();

/** The resources of each owner. Those of an owner are the same map until one of them changes. */
export class ControlledResources {
  readonly #owning: ReadonlySet<ManagedKind>;
  readonly #byOwner = new Map<ObjectKey, Resources>();
  readonly #ownerOf = new Map<ObjectKey, ObjectKey>();

  constructor(owning: readonly ManagedKind[]) {
    this.#owning = new Set(owning);
  }

  follow({ cluster }: DesiredSnapshot, before: DesiredSnapshot | undefined): void {
    if (!cluster || cluster === before?.cluster) return;
    const changed = before?.cluster ? cluster.changedSince(before.cluster) : 'all';
    const keys = changed === 'all' ? new Set([...cluster.keys(), ...this.#ownerOf.keys()]) : changed;
    for (const key of keys) this.#move(key, cluster.get(key));
  }

  of(owner: ObjectKey): Resources {
    return this.#byOwner.get(owner) ?? none;
  }

  owners(): Iterable<ObjectKey> {
    return this.#byOwner.keys();
  }

  #move(key: ObjectKey, facts: ClusterFacts | undefined): void {
    const before = this.#ownerOf.get(key);
    const named = facts?.controller?.key;
    const owner = named !== undefined && this.#owning.has(parseObjectKey(named).kind) ? named : undefined;
    if (before !== undefined && before !== owner) this.#put(before, key, undefined);
    if (owner !== undefined) this.#put(owner, key, facts);
    if (owner === undefined) this.#ownerOf.delete(key);
    else this.#ownerOf.set(key, owner);
  }

  #put(owner: ObjectKey, key: ObjectKey, facts: ClusterFacts | undefined): void {
    const resources = new Map(this.of(owner));
    if (facts) resources.set(key, facts);
    else resources.delete(key);
    if (resources.size === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, resources);
  }
}

/** What is wanted, in the resource that is there. */
export function inResource(
  wanted: DesiredObject,
  shown: DesiredObject,
  markedAs: string | undefined,
): DesiredObject {
  const derived = wanted.derived && { ...wanted.derived, ...(markedAs === undefined ? {} : { markedAs }) };
  return {
    ...wanted,
    ...(derived ? { derived } : {}),
    annotations: { ...shown.annotations, ...wanted.annotations },
    labels: { ...shown.labels, ...wanted.labels },
    ...(shown.cluster ? { cluster: shown.cluster } : {}),
  };
}

interface Owning {
  /** Of its record. Undefined: there is none. */
  readonly uid: string | undefined;
  readonly document: DesiredObject | undefined;
  readonly isDeleting: boolean;
}

export function leftMessage(owner: ObjectKey, { isDeleting }: Pick<Owning, 'isDeleting'>): string {
  return isDeleting
    ? `${owner} was removed, and its replicas are removed one after the other`
    : `the document of ${owner} is missing or can't be used, so nothing is changed in its replicas`;
}

/** Why nothing is changed in a resource in a cluster. */
export function heldMessage(owner: ObjectKey, basis: Owning, isOwn: boolean): string {
  if (basis.uid === undefined || !isOwn)
    return `it belongs to ${owner}, which is gone or can't be used, so nothing is changed in it`;
  return basis.document ? `${owner} has not found out yet which replicas it has` : leftMessage(owner, basis);
}

interface Held {
  readonly owner: ObjectKey;
  readonly message: string;
  readonly isLeaving: boolean;
  readonly markedAs: string | undefined;
}

/** The resource as it is, in which nothing is changed. */
export function heldResource(
  shown: DesiredObject,
  { owner, message, isLeaving, markedAs }: Held,
): DesiredObject {
  const derived = {
    owner,
    specPath: ['spec'],
    content: '',
    granted: undefined,
    mayCorrect: false,
    hasOlderValues: true,
    draining: { message, since: 0 },
    ...(isLeaving ? { isLeaving } : {}),
    ...(markedAs === undefined ? {} : { markedAs }),
  } as const;
  return { ...shown, derived };
}
