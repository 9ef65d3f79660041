/**
 * Objects that have left the source and still have a record, by namespace: what they have at the provider is still to be deleted. Each
 * account read asks for those of its account, so they are not searched among all records: a record is checked when it changes, as the store
 * reports, and when its document is added or removed.
 */
import type { DesiredObjects } from '../../desired/index.ts';
import { accountNamed, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';

export class LeavingObjects {
  readonly #store: StateStore;
  readonly #byNamespace = new Map<string, Set<ObjectKey>>();
  readonly #moved = new Set<ObjectKey>();
  #objects: DesiredObjects | undefined;

  constructor(store: StateStore) {
    this.#store = store;
    store.listen((key) => this.#moved.add(key));
  }

  /** A superset of those of the account, as `recordsNear`. `objects`: all that the source has now. */
  near(
    objects: DesiredObjects,
    { name, isShared }: Pick<AccountHandle, 'name' | 'isShared'>,
  ): ObjectRecord[] {
    this.#catchUp(objects);
    if (isShared) return [...this.#byNamespace.values()].flatMap((keys) => this.#recordsOf(keys));
    const [namespace = ''] = name.split('/');
    const own = this.#byNamespace.get(namespace);
    const elsewhere = this.#store
      .recordsOf(name)
      .filter(({ key }) => !own?.has(key) && this.#byNamespace.get(parseObjectKey(key).namespace)?.has(key));
    return [...this.#recordsOf(own ?? []), ...elsewhere];
  }

  #catchUp(objects: DesiredObjects): void {
    const changed = this.#objects ? objects.changedSince(this.#objects) : 'all';
    this.#objects = objects;
    for (const key of changed === 'all' ? this.#store.everyKey() : changed) this.#moved.add(key);
    for (const key of this.#moved) this.#check(key, objects);
    this.#moved.clear();
  }

  #check(key: ObjectKey, objects: DesiredObjects): void {
    const { namespace } = parseObjectKey(key);
    const isLeaving =
      !objects.has(key) && accountNamed(key) === undefined && this.#store.record(key) !== undefined;
    const keys = this.#byNamespace.get(namespace);
    if (isLeaving) this.#byNamespace.set(namespace, (keys ?? new Set()).add(key));
    else if (keys?.delete(key) && keys.size === 0) this.#byNamespace.delete(namespace);
  }

  #recordsOf(keys: Iterable<ObjectKey>): ObjectRecord[] {
    return [...keys].flatMap((key) => this.#store.record(key) ?? []);
  }
}
