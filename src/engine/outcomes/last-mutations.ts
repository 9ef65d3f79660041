import type { ObjectKey } from '../../resources/index.ts';
import type { AccountHandle } from '../accounts.ts';

/**
 * When the last mutation of an object ended, in monotonic milliseconds. Earlier reads don't count. The time
 * outlives the object, since another one may be declared with its name before the next account read.
 */
export class LastMutations {
  readonly #endedMs = new Map<ObjectKey, number>();
  readonly #forgotten = new Set<ObjectKey>();

  ended(key: ObjectKey, nowMs: number): void {
    this.#endedMs.set(key, nowMs);
    this.#forgotten.delete(key);
  }

  /** Only reads that began after this count. */
  notBeforeMs(key: ObjectKey): number {
    return this.#endedMs.get(key) ?? Number.NEGATIVE_INFINITY;
  }

  /** The object is gone. `oldestReadMs`: when the oldest read began that still counts. */
  forget(key: ObjectKey, oldestReadMs: number): void {
    this.#forgotten.add(key);
    for (const each of this.#forgotten) {
      if (this.notBeforeMs(each) > oldestReadMs) continue;
      this.#forgotten.delete(each);
      this.#endedMs.delete(each);
    }
  }
}

/** When the oldest read began that still counts. For an account that was read once, that may have been any time. */
export function startOfOldestRead(handles: Iterable<AccountHandle>): number {
  const reads = Array.from(handles, ({ informer }) => informer.previous?.startedAtMs);
  return Math.min(...reads.map((startedAtMs) => startedAtMs ?? Number.NEGATIVE_INFINITY));
}
