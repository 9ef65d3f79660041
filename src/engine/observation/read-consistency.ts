import type { Clock } from '../../base/index.ts';
import { distrust, isRegressed, lagMs, seenInAnswer, type Plan } from '../plan/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, Seen } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Pass } from '../pass.ts';

export interface TrustOptions {
  readonly clock: Clock;
  readonly fleet: Fleet;
  readonly mode: 'manage' | 'preview';
}

/** Whether an observation counts (engine/plan/seen.ts). */
export class ReadConsistency {
  readonly #options: TrustOptions;
  /** Since when the revision has been lower than before. */
  readonly #regressedSinceMs = new Map<ObjectKey, number>();
  /** The last observation that counted. A pass observes twice before it records what it has seen. */
  readonly #believed = new Map<ObjectKey, Seen>();

  constructor(options: TrustOptions) {
    this.#options = options;
  }

  forget(key: ObjectKey): void {
    this.#regressedSinceMs.delete(key);
    this.#believed.delete(key);
  }

  /** The plan if the observation does not count. Undefined if it counts. */
  check(pass: Pass, account: AccountHandle): Plan | undefined {
    const { clock, fleet, mode } = this.#options;
    const record = this.#withBelieved(pass.record());
    const observation = pass.observation();
    if (!isRegressed(record, observation) || fleet.acceptsRevisions(record, account)) {
      this.#regressedSinceMs.delete(record.key);
      const plan = distrust(record, observation, undefined);
      if (!plan && observation.kind === 'present') {
        const { id, revision } = observation.value;
        this.#believed.set(record.key, { id, revision, state: undefined, since: clock.wallMs() });
      }
      return plan;
    }
    const sinceMs = this.#regressedSinceMs.get(record.key) ?? clock.monotonicMs();
    this.#regressedSinceMs.set(record.key, sinceMs);
    // One observation can't distinguish a stale read from a lost change.
    return distrust(record, observation, mode === 'preview' ? lagMs : clock.monotonicMs() - sinceMs);
  }

  #withBelieved(record: ObjectRecord): ObjectRecord {
    const believed = this.#believed.get(record.key);
    if (!believed) return record;
    return {
      ...record,
      seen: record.seen?.id === believed.id ? seenInAnswer(record.seen, believed) : believed,
    };
  }
}
