import type { Clock } from '../../base/index.ts';
import { distrust, isRegressed, lagMs, seenInAnswer, type Plan } from '../plan/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, Seen } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Pass } from '../pass.ts';

export interface ReadConsistencyOptions {
  readonly clock: Clock;
  readonly fleet: Fleet;
  readonly mode: 'manage' | 'preview';
}

/** Whether an observation counts (engine/plan/seen.ts). */
export class ReadConsistency {
  readonly #options: ReadConsistencyOptions;
  /** Since when the revision has been lower than before. */
  readonly #regressedSinceMs = new Map<ObjectKey, number>();
  /** The last observation that counted, until it is recorded: a pass observes twice before that. */
  readonly #accepted = new Map<ObjectKey, Seen>();

  constructor(options: ReadConsistencyOptions) {
    this.#options = options;
  }

  forget(key: ObjectKey): void {
    this.#regressedSinceMs.delete(key);
    this.#accepted.delete(key);
  }

  /** The plan if the observation does not count. Undefined if it counts. */
  check(pass: Pass, account: AccountHandle): Plan | undefined {
    const { clock, fleet, mode } = this.#options;
    const record = this.#withAccepted(pass.record());
    const observation = pass.observation();
    if (!isRegressed(record, observation) || fleet.acceptsRevisions(record, account)) {
      this.#regressedSinceMs.delete(record.key);
      const plan = distrust(record, observation, undefined);
      if (!plan && observation.kind === 'present') {
        const { id, revision } = observation.value;
        if (hasRecorded(pass.record(), id, revision)) this.#accepted.delete(record.key);
        else this.#accepted.set(record.key, { id, revision, state: undefined, since: clock.wallMs() });
      }
      return plan;
    }
    const sinceMs = this.#regressedSinceMs.get(record.key) ?? clock.monotonicMs();
    this.#regressedSinceMs.set(record.key, sinceMs);
    // One observation can't distinguish a stale read from a lost change.
    return distrust(record, observation, mode === 'preview' ? lagMs : clock.monotonicMs() - sinceMs);
  }

  #withAccepted(record: ObjectRecord): ObjectRecord {
    const accepted = this.#accepted.get(record.key);
    if (!accepted) return record;
    return {
      ...record,
      seen: record.seen?.id === accepted.id ? seenInAnswer(record.seen, accepted) : accepted,
    };
  }
}

function hasRecorded({ seen }: ObjectRecord, id: string, revision: number | undefined): boolean {
  if (seen?.id !== id) return false;
  return revision === undefined || (seen.revision !== undefined && seen.revision >= revision);
}
