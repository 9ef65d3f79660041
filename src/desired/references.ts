/** The Secrets and ConfigMaps that objects refer to. In a cluster, no others are read. */
import { accountNamed, traitsOf, type ObjectKey } from '../resources/index.ts';
import type { DesiredObject } from './source.ts';

export type DataKind = 'Secret' | 'ConfigMap';

export interface Referred {
  readonly kind: DataKind;
  readonly namespace: string;
  readonly name: string;
  /** The keys that are used. No others are kept. */
  readonly keys: ReadonlySet<string>;
  /** An object that refers to it is being deleted. */
  readonly deleting: boolean;
  /** An object that refers to it has been edited. */
  readonly edited: boolean;
  /** An Account refers to it, without which nothing else of it works. */
  readonly isKey: boolean;
}

/** `Kind/namespace/name`. */
export type DataId = `${DataKind}/${string}/${string}`;

export interface Reference {
  readonly id: DataId;
  readonly kind: DataKind;
  readonly namespace: string;
  readonly name: string;
  readonly keys: readonly string[];
}

/** What an object refers to, and the facts that matter for that. */
export interface Referring {
  readonly key: ObjectKey;
  /** Empty if the object can't be read. */
  readonly references: readonly Reference[];
  readonly isDeleting: boolean;
}

/**
 * Counts the references to each Secret and ConfigMap. A change costs as much as the references of the changed
 * object.
 */
export class DataUsers {
  readonly #users = new Map<DataId, Users>();
  /** The references with which each object was counted. */
  readonly #counted = new Map<ObjectKey, Referring>();

  /**
   * Takes in the current state of these objects; undefined means that one is gone. Returns what has to be
   * read or is used in another way; undefined means that nothing refers to it any more.
   */
  move(
    changes: Iterable<readonly [ObjectKey, Referring | undefined]>,
    edited: ReadonlySet<ObjectKey>,
  ): ReadonlyMap<DataId, Referred | undefined> {
    const before = new Map<DataId, Referred | undefined>();
    const asked = new Set<DataId>();
    for (const [key, now] of changes) {
      for (const object of [this.#counted.get(key), now])
        for (const { id } of object?.references ?? [])
          if (!before.has(id)) before.set(id, this.#referred(id));
      this.#count(this.#counted.get(key), -1);
      this.#count(now, 1);
      if (now && now.references.length > 0) this.#counted.set(key, now);
      else this.#counted.delete(key);
      if (edited.has(key)) for (const { id } of now?.references ?? []) asked.add(id);
    }
    const moved = new Map<DataId, Referred | undefined>();
    for (const [id, known] of before) {
      const now = this.#referred(id);
      if (asked.has(id) && now) moved.set(id, { ...now, edited: true });
      else if (!sameUse(known, now)) moved.set(id, now);
    }
    return moved;
  }

  #count(object: Referring | undefined, by: 1 | -1): void {
    for (const reference of object?.references ?? []) {
      const users = this.#users.get(reference.id) ?? {
        reference,
        keys: new Map(),
        references: 0,
        deleting: 0,
        accounts: 0,
      };
      this.#users.set(reference.id, users);
      users.references += by;
      if (object?.isDeleting) users.deleting += by;
      if (object && accountNamed(object.key) !== undefined) users.accounts += by;
      for (const key of reference.keys) {
        const count = (users.keys.get(key) ?? 0) + by;
        if (count === 0) users.keys.delete(key);
        else users.keys.set(key, count);
      }
      if (users.references === 0) this.#users.delete(reference.id);
    }
  }

  #referred(id: DataId): Referred | undefined {
    const users = this.#users.get(id);
    if (!users) return undefined;
    const { kind, namespace, name } = users.reference;
    return {
      kind,
      namespace,
      name,
      keys: new Set(users.keys.keys()),
      deleting: users.deleting > 0,
      edited: false,
      isKey: users.accounts > 0,
    };
  }
}

interface Users {
  /** Any one of the references. */
  readonly reference: Reference;
  /** Number of references to each key. */
  readonly keys: Map<string, number>;
  references: number;
  /** Number of users that are being deleted, and that are Accounts. */
  deleting: number;
  accounts: number;
}

function sameUse(left: Referred | undefined, right: Referred | undefined): boolean {
  if (!left || !right) return left === right;
  const sameKeys = left.keys.size === right.keys.size && [...left.keys].every((key) => right.keys.has(key));
  return sameKeys && left.deleting === right.deleting;
}

export function referencesOf({ kind, namespace, spec }: DesiredObject): Reference[] {
  const data = traitsOf(kind).data?.(spec) ?? [];
  return data.map(({ kind: dataKind, name, keys }) => ({
    id: `${dataKind}/${namespace}/${name}`,
    kind: dataKind,
    namespace,
    name,
    keys,
  }));
}
