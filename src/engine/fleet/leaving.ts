/** Objects that have left the source and still have a record: what they have at the provider is still to be deleted. */
import type { DesiredObjects } from '../../desired/index.ts';
import { accountNamed } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import { NearIndex } from './near-index.ts';

export class LeavingObjects {
  readonly #store: StateStore;
  readonly #index: NearIndex;
  #objects: DesiredObjects | undefined;

  constructor(store: StateStore) {
    this.#store = store;
    this.#index = new NearIndex(store, ({ key }) => {
      return this.#objects?.has(key) === false && accountNamed(key) === undefined;
    });
  }

  /** A superset of those of the account, as `recordsNear`. `objects`: all that the source has now. */
  near(objects: DesiredObjects, account: Pick<AccountHandle, 'name' | 'isShared'>): ObjectRecord[] {
    const changed = this.#objects ? objects.changedSince(this.#objects) : 'all';
    this.#objects = objects;
    this.#index.touched(changed === 'all' ? this.#store.everyKey() : changed);
    return this.#index.near(account);
  }
}
