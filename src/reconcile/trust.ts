import type { Clock } from '../base/index.ts';
import { distrust, isRegressed, lagMs, type Plan } from '../plan/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { AccountHandle } from './accounts.ts';
import type { Fleet } from './fleet.ts';
import type { KindPass } from './kind-pass.ts';

export interface TrustOptions {
  readonly clock: Clock;
  readonly fleet: Fleet;
  readonly mode: 'manage' | 'preview';
}

/** Whether what is seen may be concluded from (plan/seen.ts). */
export class Trust {
  readonly #options: TrustOptions;
  /** Since when the revision has been lower than it was before. */
  readonly #regressedSinceMs = new Map<ObjectKey, number>();

  constructor(options: TrustOptions) {
    this.#options = options;
  }

  forget(key: ObjectKey): void {
    this.#regressedSinceMs.delete(key);
  }

  /** What to do instead; undefined when it is believed. */
  doubt(kind: KindPass, account: AccountHandle): Plan | undefined {
    const { clock, fleet, mode } = this.#options;
    const record = kind.record();
    const observation = kind.observation();
    if (!isRegressed(record, observation) || fleet.acceptsRevisions(record, account)) {
      this.#regressedSinceMs.delete(record.key);
      return distrust(record, observation, undefined);
    }
    const sinceMs = this.#regressedSinceMs.get(record.key) ?? clock.monotonicMs();
    this.#regressedSinceMs.set(record.key, sinceMs);
    // One look can't tell what lags from what is lost.
    return distrust(record, observation, mode === 'preview' ? lagMs : clock.monotonicMs() - sinceMs);
  }
}
