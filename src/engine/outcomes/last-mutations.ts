import type { ObjectKey } from '../../resources/index.ts';
import type { AccountHandle } from '../accounts.ts';

/**
 * When our last mutation of an object ended, in monotonic milliseconds: what was read before says nothing of it any more. That
 * outlives the object, since another one may be declared under its key before the account is read again.
 */
export class LastMutations {
  readonly #endedMs = new Map<ObjectKey, number>();
  readonly #forgotten = new Set<ObjectKey>();

  ended(key: ObjectKey, nowMs: number): void {
    this.#endedMs.set(key, nowMs);
    this.#forgotten.delete(key);
  }

  /** Only reads that began from then on count. */
  notBeforeMs(key: ObjectKey): number {
    return this.#endedMs.get(key) ?? Number.NEGATIVE_INFINITY;
  }

  /** The object is gone. `oldestReadMs`: when the oldest read began that anything may still be concluded from. */
  forget(key: ObjectKey, oldestReadMs: number): void {
    this.#forgotten.add(key);
    for (const each of this.#forgotten) {
      if (this.notBeforeMs(each) > oldestReadMs) continue;
      this.#forgotten.delete(each);
      this.#endedMs.delete(each);
    }
  }
}

/** When the oldest read began that anything may still be concluded from; of an account that was read once, it may have begun at any time. */
export function startOfOldestRead(handles: Iterable<AccountHandle>): number {
  const reads = Array.from(handles, ({ informer }) => informer.previous?.startedAtMs);
  return Math.min(...reads.map((startedAtMs) => startedAtMs ?? Number.NEGATIVE_INFINITY));
}
