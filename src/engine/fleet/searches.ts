/**
 * Where this process has searched for things of an object that its record lacks, and found none. A record of a state file that was restored from
 * a backup lacks what was made since; what this process makes or removes itself is recorded.
 */
import type { ObjectKey } from '../../resources/index.ts';

export class Searches {
  readonly #done = new Map<ObjectKey, Set<string>>();

  /** `account`: as the object names it. */
  isDone(key: ObjectKey, account: string): boolean {
    return this.#done.get(key)?.has(account) === true;
  }

  done(key: ObjectKey, account: string): void {
    this.#done.set(key, (this.#done.get(key) ?? new Set()).add(account));
  }

  forget(key: ObjectKey): void {
    this.#done.delete(key);
  }
}
