/**
 * What etcd and the watch cache are to a real API server: all objects under one counter, and the changes of late.
 *
 *   write    → the counter grows, the object gets it as resourceVersion, the change is kept and told to the listeners
 *   history  → a list at an older resourceVersion undoes the changes since; a watch begins after any change still kept
 *   compact  → the changes are forgotten: pages and watches that begin before are `expired` (410)
 *
 * An object is made into JSON once, however many lists and watches it is sent to.
 */
import { ApiError, expired } from './errors.ts';
import type { StoredObject } from './objects.ts';

/** An object at one resourceVersion. */
export class Entry {
  readonly key: string;
  readonly object: StoredObject;
  #body: string | undefined;
  #metadata: string | undefined;

  constructor(object: StoredObject) {
    this.key = keyOf(object.metadata.namespace, object.metadata.name);
    this.object = object;
  }

  /** JSON without `apiVersion` and `kind`. */
  get body(): string {
    this.#body ??= JSON.stringify(this.object);
    return this.#body;
  }

  get metadata(): string {
    this.#metadata ??= JSON.stringify(this.object.metadata);
    return this.#metadata;
  }
}

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resourceVersion: number;
  /** Of a deletion: the object as it last was, at the resourceVersion of the deletion. */
  readonly entry: Entry;
  readonly previous: Entry | undefined;
  /** Lines of watches, by their form. */
  readonly lines: Map<string, string>;
}

type Listener = (change: Change) => void;

interface Collection {
  readonly entries: Map<string, Entry>;
  readonly listeners: Set<Listener>;
  changes: Change[];
  /** The entries in the order of their keys. */
  sorted: Entry[];
}

/** As in etcd. */
const sizeLimit = 1.5 * 1024 * 1024;

export function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

export class Store {
  readonly #collections = new Map<string, Collection>();
  readonly #listeners = new Set<(storage: string, change: Change) => void>();
  readonly #historyLength: number;
  #revision = 1;
  #compacted = 0;

  constructor(historyLength: number) {
    this.#historyLength = historyLength;
  }

  get revision(): number {
    return this.#revision;
  }

  get(storage: string, namespace: string | undefined, name: string): Entry | undefined {
    return this.#collection(storage).entries.get(keyOf(namespace, name));
  }

  storages(): readonly string[] {
    return [...this.#collections.keys()];
  }

  /** In the order of their keys; to be read before the next write. */
  list(storage: string): readonly Entry[] {
    return this.#collection(storage).sorted;
  }

  /** As `list` was when the counter stood at `revision`; throws `expired`. */
  listAt(storage: string, revision: number): readonly Entry[] {
    const collection = this.#collection(storage);
    const since = this.changesSince(storage, revision);
    if (since.length === 0) return this.list(storage);
    const entries = new Map(collection.entries);
    for (const { entry, previous } of since.toReversed()) {
      if (previous) entries.set(entry.key, previous);
      else entries.delete(entry.key);
    }
    return [...entries.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
  }

  /** Oldest first; throws `expired`. */
  changesSince(storage: string, revision: number): readonly Change[] {
    if (revision < this.#compacted) {
      throw expired(`too old resource version: ${revision} (${this.#compacted})`);
    }
    const { changes } = this.#collection(storage);
    return changes.slice(firstIndex(changes, (change) => change.resourceVersion > revision));
  }

  put(storage: string, object: StoredObject): Entry {
    const entry = new Entry(this.#stamped(object));
    if (entry.body.length > sizeLimit) {
      throw new ApiError({ code: 500, reason: '', message: 'etcdserver: request is too large' });
    }
    const collection = this.#collection(storage);
    const previous = collection.entries.get(entry.key);
    collection.entries.set(entry.key, entry);
    this.#tell(storage, previous ? 'MODIFIED' : 'ADDED', entry, previous);
    return entry;
  }

  remove(storage: string, previous: Entry): Entry {
    const entry = new Entry(this.#stamped(previous.object));
    this.#collection(storage).entries.delete(entry.key);
    this.#tell(storage, 'DELETED', entry, previous);
    return entry;
  }

  /** Returns what ends the subscription. */
  subscribe(storage: string, listener: Listener): () => void {
    const { listeners } = this.#collection(storage);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  subscribeToAll(listener: (storage: string, change: Change) => void): void {
    this.#listeners.add(listener);
  }

  /** Forgets all changes: what is older than now is gone. */
  compact(): void {
    this.#revision += 1;
    this.#compacted = this.#revision;
    for (const collection of this.#collections.values()) collection.changes = [];
  }

  #stamped(object: StoredObject): StoredObject {
    this.#revision += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
  }

  #tell(storage: string, type: Change['type'], entry: Entry, previous: Entry | undefined): void {
    const collection = this.#collection(storage);
    const change = {
      type,
      resourceVersion: this.#revision,
      entry,
      previous,
      lines: new Map<string, string>(),
    };
    sortIn(collection.sorted, type, entry);
    collection.changes.push(change);
    if (collection.changes.length > 2 * this.#historyLength) this.#forget(collection);
    for (const listener of this.#listeners) listener(storage, change);
    for (const listener of collection.listeners) listener(change);
  }

  #forget(collection: Collection): void {
    const dropped = collection.changes.length - this.#historyLength;
    this.#compacted = Math.max(this.#compacted, collection.changes[dropped - 1]?.resourceVersion ?? 0);
    collection.changes = collection.changes.slice(dropped);
  }

  #collection(storage: string): Collection {
    let collection = this.#collections.get(storage);
    if (!collection) {
      collection = { entries: new Map(), listeners: new Set(), changes: [], sorted: [] };
      this.#collections.set(storage, collection);
    }
    return collection;
  }
}

function sortIn(sorted: Entry[], type: Change['type'], entry: Entry): void {
  const index = firstIndex(sorted, ({ key }) => key >= entry.key);
  if (type === 'DELETED') sorted.splice(index, 1);
  else sorted.splice(index, type === 'ADDED' ? 0 : 1, entry);
}

/** Of a list in which all that pass come after all that don't. */
function firstIndex<Item>(list: readonly Item[], passes: (item: Item) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = list[middle];
    if (item !== undefined && passes(item)) high = middle;
    else low = middle + 1;
  }
  return low;
}
