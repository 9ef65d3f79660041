/**
 * The records that a condition holds for, by namespace. Each account read asks for those of its account, and must not walk over all records.
 * The condition is examined again when a record changes, as the store reports, and when it was `touched` for another reason.
 */
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';

export class NearIndex {
  readonly #store: StateStore;
  readonly #holds: (record: ObjectRecord) => boolean;
  readonly #byNamespace = new Map<string, Set<ObjectKey>>();
  readonly #moved = new Set<ObjectKey>();

  constructor(store: StateStore, holds: (record: ObjectRecord) => boolean) {
    this.#store = store;
    this.#holds = holds;
    store.listen((key) => this.#moved.add(key));
    this.touched(store.everyKey());
  }

  touched(keys: Iterable<ObjectKey>): void {
    for (const key of keys) this.#moved.add(key);
  }

  /** A superset of those of the account, as `recordsNear`. */
  near({ name, isShared }: Pick<AccountHandle, 'name' | 'isShared'>): ObjectRecord[] {
    for (const key of this.#moved) this.#ask(key);
    this.#moved.clear();
    if (isShared) return [...this.#byNamespace.values()].flatMap((keys) => this.#recordsOf(keys));
    const [namespace = ''] = name.split('/');
    const own = this.#byNamespace.get(namespace);
    if (this.#byNamespace.size === (own ? 1 : 0)) return this.#recordsOf(own ?? []);
    const isElsewhere = ({ key }: ObjectRecord) =>
      !own?.has(key) && this.#byNamespace.get(parseObjectKey(key).namespace)?.has(key) === true;
    return [...this.#recordsOf(own ?? []), ...this.#store.recordsOf(name).filter(isElsewhere)];
  }

  #ask(key: ObjectKey): void {
    const { namespace } = parseObjectKey(key);
    const record = this.#store.record(key);
    const keys = this.#byNamespace.get(namespace);
    if (record && this.#holds(record)) this.#byNamespace.set(namespace, (keys ?? new Set()).add(key));
    else if (keys?.delete(key) && keys.size === 0) this.#byNamespace.delete(namespace);
  }

  #recordsOf(keys: Iterable<ObjectKey>): ObjectRecord[] {
    return [...keys].flatMap((key) => this.#store.record(key) ?? []);
  }
}
