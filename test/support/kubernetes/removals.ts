/**
 * Deletion. An object without finalizers goes at once; another gets a `deletionTimestamp` and goes when its last finalizer
 * does. What becomes of its dependents is said by `propagationPolicy`:
 *
 *   Background  they are collected when it is gone (housekeeping.ts)
 *   Foreground  it waits, by the finalizer foregroundDeletion, until they are
 *   Orphan      it waits, by the finalizer orphan, until they have forgotten it
 */
import { ApiError, about, badRequest, conflict, forbidden, notFound } from './errors.ts';
import type { Kind } from './kinds.ts';
import { fieldsOf, textOf, timestamp, type Fields, type StoredObject } from './objects.ts';
import type { Entry, Store } from './store.ts';

export interface DeleteOptions {
  readonly propagationPolicy: string;
  readonly isDryRun: boolean;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** `gracePeriodSeconds: 0`. */
  readonly isForced?: boolean;
  /** When it is asked for (RFC 3339); default: now. */
  readonly time?: string;
}

export function parseDeleteOptions(query: URLSearchParams, body: unknown): DeleteOptions {
  const given: Fields = fieldsOf(body);
  const { uid, resourceVersion } = fieldsOf(given['preconditions']);
  const policy = textOf(given['propagationPolicy'] ?? query.get('propagationPolicy') ?? 'Background');
  if (!['Background', 'Foreground', 'Orphan'].includes(policy)) {
    throw badRequest(`invalid deletion propagation policy: ${policy}`);
  }
  const orphans = given['orphanDependents'] === true;
  return {
    propagationPolicy: orphans ? 'Orphan' : policy,
    isDryRun: query.get('dryRun') === 'All' || [given['dryRun']].flat().includes('All'),
    uid: textOf(uid) || undefined,
    resourceVersion: textOf(resourceVersion) || undefined,
    isForced: textOf(given['gracePeriodSeconds'] ?? query.get('gracePeriodSeconds')) === '0',
  };
}

/** Either it is gone, or it waits: then as it is now. */
export interface Removal {
  readonly entry: Entry;
  readonly isGone: boolean;
}

const permanentNamespaces = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease']);

export function remove(
  store: Store,
  kind: Kind,
  namespace: string | undefined,
  name: string,
  options: DeleteOptions,
): Removal {
  const entry = store.get(kind.storage, namespace, name);
  if (!entry) throw notFound(kind, name);
  refuseOther(kind, entry.object, options);
  if (kind.storage === 'namespaces' && permanentNamespaces.has(name)) {
    throw forbidden(kind, name, 'this namespace may not be deleted');
  }
  const finalizers = finalizersOf(kind, entry.object, options);
  if (options.isDryRun) return { entry, isGone: finalizers.length === 0 };
  const isOnNode = kind.storage === 'pods' && fieldsOf(entry.object['spec'])['nodeName'] !== undefined;
  // Its kubelet removes a Pod when its containers have ended, unless nobody waits for that.
  if (finalizers.length === 0 && kind.storage !== 'namespaces' && !(isOnNode && !options.isForced)) {
    store.remove(kind.storage, entry);
    return { entry, isGone: true };
  }
  return { entry: marked(store, kind, entry, finalizers, options.time), isGone: false };
}

function refuseOther(kind: Kind, { metadata }: StoredObject, { uid, resourceVersion }: DeleteOptions): void {
  const differs = (what: string, given: string, actual: string) =>
    `Precondition failed: ${what} in precondition: ${given}, ${what} in object meta: ${actual}`;
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(kind, metadata.name, differs('UID', uid, metadata.uid));
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      kind,
      metadata.name,
      differs('ResourceVersion', resourceVersion, metadata.resourceVersion),
    );
  }
}

const policyFinalizers: Readonly<Record<string, string>> = {
  Foreground: 'foregroundDeletion',
  Orphan: 'orphan',
};

/** Definitions wait for their objects. */
const ownFinalizers: Readonly<Record<string, string>> = {
  'customresourcedefinitions.apiextensions.k8s.io': 'customresourcecleanup.apiextensions.k8s.io',
};

function finalizersOf(kind: Kind, { metadata }: StoredObject, options: DeleteOptions): readonly string[] {
  const { finalizers = [] } = metadata;
  if (metadata.deletionTimestamp !== undefined) return finalizers;
  const added = [policyFinalizers[options.propagationPolicy], ownFinalizers[kind.storage]];
  return [...new Set([...finalizers, ...added.filter((finalizer) => finalizer !== undefined)])];
}

function marked(
  store: Store,
  kind: Kind,
  entry: Entry,
  finalizers: readonly string[],
  time: string = timestamp(),
): Entry {
  const { metadata } = entry.object;
  if (metadata.deletionTimestamp !== undefined) return entry;
  const object: StoredObject = {
    ...entry.object,
    metadata: {
      ...metadata,
      ...(metadata.generation !== undefined && { generation: metadata.generation + 1 }),
      ...(finalizers.length > 0 && { finalizers }),
      deletionTimestamp: time,
      deletionGracePeriodSeconds: 0,
    },
  };
  return store.put(kind.storage, kind.complete ? kind.complete(object) : object);
}

/** The answer when it is gone at once. */
export function goneStatus(kind: Kind, { object }: Entry): object {
  const details = { ...about(kind, object.metadata.name), uid: object.metadata.uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

export function ignoringAbsence<Result>(action: () => Result): Result | undefined {
  try {
    return action();
  } catch (error) {
    if (error instanceof ApiError && error.refusal.code === 404) return undefined;
    throw error;
  }
}
