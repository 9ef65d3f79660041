/**
 * What starts may fail a moment later, when it has been reported as Ready. So what a command has started must stay Ready for a
 * time, and is then read once more:
 *
 *     started ── Ready ──> checking ── `stableMs` without another pass that finds it otherwise ──> due ── read again ──> steady
 *                  ^───────────┴── not Ready any more
 *
 * An object is started by an action after which its container runs anew. If an earlier command has sent it, and the object was not
 * Ready yet, it counts as well. What holds no compute once it is Ready (stopped, asleep) is steady.
 */
import { actionOf } from '../../actions/index.ts';
import type { Clock } from '../../base/index.ts';
import type { PassResult } from '../../engine/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import { conditionOf, isReady } from '../output/settled.ts';

export interface SteadinessOptions {
  readonly clock: Clock;
  readonly store: Pick<StateStore, 'record' | 'lastIntent'>;
  readonly stableMs: number;
}

export class Steadiness {
  readonly #options: SteadinessOptions;
  readonly #started = new Set<ObjectKey>();
  /** Since when each has been Ready, in monotonic milliseconds. */
  readonly #readyAtMs = new Map<ObjectKey, number>();

  constructor(options: SteadinessOptions) {
    this.#options = options;
  }

  /** After a pass. True: the object is to be checked from now on. */
  observe(key: ObjectKey, { plan, removed }: PassResult): boolean {
    const { clock, store, stableMs } = this.#options;
    const record = store.record(key);
    if (stableMs === 0 || removed || !record) {
      this.#forget(key);
      return false;
    }
    if (plan.kind === 'act') {
      const { action, disruptive } = plan.step;
      if (disruptive || startsAnew(action.do)) this.#started.add(key);
    }
    if (!isReady(record)) {
      this.#readyAtMs.delete(key);
      if (startsAnew(store.lastIntent(key)?.action)) this.#started.add(key);
      return false;
    }
    if (!this.#started.has(key) || this.#readyAtMs.has(key)) return false;
    if (conditionOf(record, 'Allocated') !== 'True') {
      this.#forget(key);
      return false;
    }
    this.#readyAtMs.set(key, clock.monotonicMs());
    return true;
  }

  /** Milliseconds until all that is being checked has been Ready long enough; undefined: nothing is being checked. */
  get leftMs(): number | undefined {
    if (this.#readyAtMs.size === 0) return undefined;
    const { clock, stableMs } = this.#options;
    return Math.max(0, ...this.#readyAtMs.values()) + stableMs - clock.monotonicMs();
  }

  /** A read that began when all of them were due has found them Ready: these are steady. */
  confirm(): readonly ObjectKey[] {
    const keys = [...this.#readyAtMs.keys()];
    for (const key of keys) this.#forget(key);
    return keys;
  }

  #forget(key: ObjectKey): void {
    this.#started.delete(key);
    this.#readyAtMs.delete(key);
  }
}

/** `action`: as it was recorded, perhaps by another version. */
function startsAnew(action: string | undefined): boolean {
  return action !== undefined && actionOf(action)?.answersRestart === true;
}
