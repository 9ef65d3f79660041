/**
 * What controllers do beside a real API server: the end of namespaces and of definitions, and garbage collection. (A bare
 * kube-apiserver without a controller manager, such as envtest's, does none of it but the end of definitions.)
 *
 * It looks again after every change that may matter, until nothing is left to do.
 */
import type { Kinds } from './kinds.ts';
import {
  fieldsOf,
  without,
  type Fields,
  type Metadata,
  type OwnerReference,
  type StoredObject,
} from './objects.ts';
import { ignoringAbsence, remove, type DeleteOptions } from './removals.ts';
import type { Change, Entry, Store } from './store.ts';

const inBackground: DeleteOptions = {
  propagationPolicy: 'Background',
  isDryRun: false,
  uid: undefined,
  resourceVersion: undefined,
};
const definitions = 'customresourcedefinitions.apiextensions.k8s.io';

export class Housekeeping {
  readonly #store: Store;
  readonly #kinds: Kinds;
  readonly #hasControllers: boolean;
  /** Objects by the uid of an owner of theirs: `storage`, `key`. */
  readonly #dependents = new Map<string, Map<string, readonly [storage: string, entry: Entry]>>();
  readonly #uids = new Set<string>();
  /** Objects that wait for their end, by storage and key. */
  readonly #waiting = new Map<string, readonly [storage: string, entry: Entry]>();
  #isDue = false;

  constructor(store: Store, kinds: Kinds, hasControllers: boolean) {
    this.#store = store;
    this.#kinds = kinds;
    this.#hasControllers = hasControllers;
    store.subscribeToAll((storage, change) => this.#notice(storage, change));
  }

  #notice(storage: string, { type, entry, previous }: Change): void {
    const { metadata } = entry.object;
    if (type === 'DELETED') this.#uids.delete(metadata.uid);
    else this.#uids.add(metadata.uid);
    const id = `${storage} ${entry.key}`;
    const waits = type !== 'DELETED' && metadata.deletionTimestamp !== undefined;
    if (waits) this.#waiting.set(id, [storage, entry]);
    else this.#waiting.delete(id);
    for (const { uid } of previous?.object.metadata.ownerReferences ?? [])
      this.#dependents.get(uid)?.delete(id);
    if (type !== 'DELETED') {
      for (const { uid } of metadata.ownerReferences ?? []) {
        const dependents = this.#dependents.get(uid) ?? new Map<string, readonly [string, Entry]>();
        this.#dependents.set(uid, dependents.set(id, [storage, entry]));
      }
    }
    const matters = type === 'DELETED' || waits || metadata.ownerReferences !== undefined;
    if (!matters || this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#tidy();
    });
  }

  #tidy(): void {
    this.#endDefinitions();
    if (!this.#hasControllers) return;
    this.#endNamespaces();
    this.#finishPolicies();
    this.#collectGarbage();
  }

  #endDefinitions(): void {
    for (const entry of this.#deleting(definitions)) {
      const { group, names } = fieldsOf(entry.object['spec']);
      const storage = `${String(fieldsOf(names)['plural'])}.${String(group)}`;
      const left = this.#removeAll(storage, () => true);
      if (left === 0)
        this.#withoutFinalizer(definitions, entry, 'customresourcecleanup.apiextensions.k8s.io');
    }
  }

  #endNamespaces(): void {
    for (const entry of this.#deleting('namespaces')) {
      const { name } = entry.object.metadata;
      const left = this.#store
        .storages()
        .reduce((sum, storage) => sum + this.#removeAll(storage, ({ namespace }) => namespace === name), 0);
      const current = this.#store.get('namespaces', undefined, name);
      if (left === 0 && current) this.#store.remove('namespaces', current);
    }
  }

  #deleting(storage: string): readonly Entry[] {
    return [...this.#waiting.values()].filter(([of]) => of === storage).map(([, entry]) => entry);
  }

  /** How many remain, because of their finalizers. */
  #removeAll(storage: string, selects: (metadata: Metadata) => boolean): number {
    const kind = this.#kinds.ofStorage(storage);
    if (!kind) return 0;
    let left = 0;
    for (const { object } of this.#store.list(storage).slice()) {
      const { namespace, name } = object.metadata;
      if (!selects(object.metadata)) continue;
      const removal = ignoringAbsence(() => remove(this.#store, kind, namespace, name, inBackground));
      if (removal && !removal.isGone) left += 1;
    }
    return left;
  }

  /** Owners that wait for their dependents. */
  #finishPolicies(): void {
    for (const [storage, entry] of this.#waiting.values()) {
      const { finalizers = [], uid } = entry.object.metadata;
      if (finalizers.includes('orphan')) {
        for (const dependent of this.#dependentsOf(uid)) this.#forgetOwner(...dependent, uid);
        this.#withoutFinalizer(storage, entry, 'orphan');
      } else if (finalizers.includes('foregroundDeletion')) {
        const left = this.#dependentsOf(uid).filter((dependent) => !this.#removeDependent(...dependent));
        if (left.length === 0) this.#withoutFinalizer(storage, entry, 'foregroundDeletion');
      }
    }
  }

  #dependentsOf(uid: string): readonly (readonly [string, Entry])[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  /** What has owners, none of which is there any more. */
  #collectGarbage(): void {
    for (const [uid, dependents] of this.#dependents) {
      if (dependents.size === 0) this.#dependents.delete(uid);
      if (this.#uids.has(uid)) continue;
      for (const [storage, entry] of dependents.values()) {
        const { ownerReferences = [] } = entry.object.metadata;
        if (ownerReferences.some((owner) => this.#uids.has(owner.uid)))
          this.#forgetOwner(storage, entry, uid);
        else this.#removeDependent(storage, entry);
      }
    }
  }

  #removeDependent(storage: string, { object }: Entry): boolean {
    const kind = this.#kinds.ofStorage(storage);
    const { namespace, name } = object.metadata;
    if (!kind) return true;
    return ignoringAbsence(() => remove(this.#store, kind, namespace, name, inBackground))?.isGone ?? true;
  }

  #forgetOwner(storage: string, { object }: Entry, uid: string): void {
    const owners = (object.metadata.ownerReferences ?? []).filter(
      (owner: OwnerReference) => owner.uid !== uid,
    );
    const rest = without(object.metadata as unknown as Fields, 'ownerReferences') as unknown as Metadata;
    const metadata = owners.length > 0 ? { ...rest, ownerReferences: owners } : rest;
    this.#store.put(storage, { ...object, metadata });
  }

  #withoutFinalizer(storage: string, { object }: Entry, finalizer: string): void {
    const { namespace, name } = object.metadata;
    const current = this.#store.get(storage, namespace, name);
    if (!current) return;
    const finalizers = (current.object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
    if (finalizers.length === 0) this.#store.remove(storage, current);
    else this.#store.put(storage, withFinalizers(current.object, finalizers));
  }
}

function withFinalizers(object: StoredObject, finalizers: readonly string[]): StoredObject {
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
