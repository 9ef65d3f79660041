/**
 * The objects of one resource, as lists and events have shown them. Repeated, late or misordered input has no effect:
 * a version counts only when it is newer than the known one, an object of another uid is another object, and a
 * deleted one does not come back.
 */
import { newerVersion } from './resource-version.ts';
import { SharedParts } from './shared-parts.ts';
import type { KubernetesObject } from './types.ts';

export type Change =
  | { readonly kind: 'added'; readonly object: KubernetesObject; readonly previous: undefined }
  | { readonly kind: 'updated'; readonly object: KubernetesObject; readonly previous: KubernetesObject }
  /** `object` is its last state. */
  | { readonly kind: 'deleted'; readonly object: KubernetesObject; readonly previous: KubernetesObject };

/** Takes what is worth keeping of an object; of `metadata`, all must stay that is not a label or an annotation. */
export type Keep = (object: KubernetesObject) => KubernetesObject;

const rememberedDeletions = 10_000;

export class ObjectStore {
  readonly #keep: Keep;
  readonly #parts = new SharedParts();
  #items = new Map<string, KubernetesObject>();
  /** Uids deleted since the last list, so that events from before don't bring them back. */
  readonly #deleted = new Set<string>();

  constructor(keep: Keep) {
    this.#keep = keep;
  }

  /** By `namespace/name`, or by `name` for what has no namespace. */
  get items(): ReadonlyMap<string, KubernetesObject> {
    return this.#items;
  }

  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubernetesObject): Change[] {
    return type === 'DELETED' ? this.#remove(object) : this.#put(object);
  }

  /** A whole new state, put together page by page; until it is committed, nothing changes. */
  replacement(): Replacement {
    const items = new Map<string, KubernetesObject>();
    return {
      add: (page) => {
        for (const object of page) {
          const key = keyOf(object);
          const known = this.#items.get(key);
          items.set(key, known && isSame(known, object) ? known : this.#kept(object, known));
        }
      },
      commit: () => {
        const previous = this.#items;
        this.#items = items;
        this.#deleted.clear();
        return differences(previous, items);
      },
    };
  }

  #put(object: KubernetesObject): Change[] {
    const key = keyOf(object);
    const previous = this.#items.get(key);
    const { uid, resourceVersion } = object.metadata;
    if (this.#deleted.has(uid)) return [];
    if (previous && !newerVersion(resourceVersion, previous.metadata.resourceVersion)) return [];
    const kept = this.#kept(object, previous);
    this.#items.set(key, kept);
    if (!previous) return [{ kind: 'added', object: kept, previous }];
    if (previous.metadata.uid === uid) return [{ kind: 'updated', object: kept, previous }];
    this.#noteDeletion(previous.metadata.uid);
    return replaced(previous, kept);
  }

  /** A uid never comes back: its deletion is true, whatever its version. */
  #remove(object: KubernetesObject): Change[] {
    const key = keyOf(object);
    const previous = this.#items.get(key);
    this.#noteDeletion(object.metadata.uid);
    if (previous?.metadata.uid !== object.metadata.uid) return [];
    this.#items.delete(key);
    return [{ kind: 'deleted', object: this.#keep(object), previous }];
  }

  #kept(object: KubernetesObject, previous: KubernetesObject | undefined): KubernetesObject {
    return this.#parts.share(this.#keep(object), previous);
  }

  #noteDeletion(uid: string): void {
    this.#deleted.add(uid);
    const [oldest] = this.#deleted;
    if (this.#deleted.size > rememberedDeletions && oldest !== undefined) this.#deleted.delete(oldest);
  }
}

export interface Replacement {
  add(page: readonly KubernetesObject[]): void;
  /** What changed by it. */
  commit(): Change[];
}

function keyOf({ metadata: { namespace, name } }: KubernetesObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function isSame(left: KubernetesObject, right: KubernetesObject): boolean {
  return (
    left.metadata.uid === right.metadata.uid &&
    left.metadata.resourceVersion === right.metadata.resourceVersion
  );
}

function differences(
  before: ReadonlyMap<string, KubernetesObject>,
  after: ReadonlyMap<string, KubernetesObject>,
): Change[] {
  const changes: Change[] = [];
  for (const [key, previous] of before) {
    if (!after.has(key)) changes.push({ kind: 'deleted', object: previous, previous });
  }
  for (const [key, object] of after) {
    const previous = before.get(key);
    if (previous === object) continue;
    if (!previous) changes.push({ kind: 'added', object, previous });
    else if (previous.metadata.uid === object.metadata.uid)
      changes.push({ kind: 'updated', object, previous });
    else changes.push(...replaced(previous, object));
  }
  return changes;
}

/** Deleted and created anew under one name while nobody looked. */
function replaced(previous: KubernetesObject, object: KubernetesObject): Change[] {
  return [
    { kind: 'deleted', object: previous, previous },
    { kind: 'added', object, previous: undefined },
  ];
}
