/** Objects that wait for a read of their account. */
import type { ObjectKey } from '../resources/index.ts';

export class Sleepers {
  readonly #keys = new Map<string, Set<ObjectKey>>();

  add(account: string, key: ObjectKey): void {
    this.#keys.set(account, (this.#keys.get(account) ?? new Set()).add(key));
  }

  wake(account: string): Iterable<ObjectKey> {
    const keys = this.#keys.get(account) ?? [];
    this.#keys.delete(account);
    return keys;
  }
}
