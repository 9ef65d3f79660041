import type { Plan } from '../plan/index.ts';
import { entryOf } from '../../reasons/index.ts';
import type { ObjectKey } from '../../resources/index.ts';

/**
 * Since when objects have been waiting for reads (engine/status/progress.ts has the bound). Lost at a
 * restart; then the time begins again.
 */
export class Waits {
  readonly #since = new Map<ObjectKey, number>();

  forget(key: ObjectKey): void {
    this.#since.delete(key);
  }

  /** Unix milliseconds. Undefined if it does not wait for a read. */
  since(key: ObjectKey, plan: Plan, nowMs: number): number | undefined {
    if (plan.kind !== 'wait' || entryOf(plan.reason).stalled?.since !== 'read') {
      this.forget(key);
      return undefined;
    }
    const since = this.#since.get(key) ?? nowMs;
    this.#since.set(key, since);
    return since;
  }
}
