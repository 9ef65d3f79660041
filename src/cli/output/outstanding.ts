/** Which objects a command still waits for. */
import type { ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';

export class Outstanding {
  readonly #store: Pick<StateStore, 'records' | 'record'>;
  readonly #isSettled: (record: ObjectRecord) => boolean;
  readonly #keys = new Set<ObjectKey>();

  constructor(store: Pick<StateStore, 'records' | 'record'>, isSettled: (record: ObjectRecord) => boolean) {
    this.#store = store;
    this.#isSettled = isSettled;
  }

  /** Something about this object has changed. */
  check(key: ObjectKey): void {
    const record = this.#store.record(key);
    if (record && !this.#isSettled(record)) this.#keys.add(key);
    else this.#keys.delete(key);
  }

  /** Whether nothing is awaited. All objects are checked only when none is known to be outstanding. */
  get isEmpty(): boolean {
    if (this.#keys.size > 0) return false;
    for (const record of this.#store.records()) {
      if (!this.#isSettled(record)) this.#keys.add(record.key);
    }
    return this.#keys.size === 0;
  }
}
