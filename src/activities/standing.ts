/**
 * What the list of a service's activities proves about a registration whose request was refused. A refusal alone
 * proves nothing. A list may be stale by minutes, leave something out, and show an id in another letter case, or not
 * at all: the contract does not show the fields of its entries (§4 "Gaps in endpoints"). A wrong conclusion that an
 * activity is over registers a second one beside it, or never releases it; it would protect the service for ever (§4
 * rule 6).
 *
 * | the list                                        | what it proves                                              |
 * |-------------------------------------------------|-------------------------------------------------------------|
 * | shows it as released                            | it is over                                                  |
 * | shows it                                        | it is not                                                   |
 * | has an entry without an id that may be it       | nothing: no name, or the same one                           |
 * | lacks it; no request of this fleet can have registered it | it is over                                        |
 * | lacks it; none has shown it, and it was registered less than `visibilityMs` before the read | nothing         |
 * | lacks it otherwise                              | it is over, if a list `confirmMs` earlier lacked it, too    |
 *
 * Times are monotonic milliseconds.
 */
import type { wire } from '../api/index.ts';

/** Between two lists that lack an activity. */
const confirmMs = 5000;

export interface Listed {
  readonly activityId: string;
  readonly name: string;
  readonly visibilityMs: number;
}

export class Standing {
  /** Since when a request of this fleet may have registered it; undefined: none can have. */
  #sinceMs: number | undefined;
  /** A list has shown it since. */
  #isShown = false;
  /** When the first of the lists was asked for that lacked it since it was last shown, or renewed. */
  #missingSinceMs: number | undefined;

  /** `registeredBefore`: an earlier process may have registered it, until just now. */
  constructor(registeredBefore: boolean, nowMs: number) {
    this.#sinceMs = registeredBefore ? nowMs : undefined;
  }

  /** A request of this fleet may have registered it. */
  get isOpen(): boolean {
    return this.#sinceMs !== undefined;
  }

  /** A heartbeat may have had its effect. One after the record had expired may have registered it anew. */
  mayBeRegistered(nowMs: number, expiresAtMs: number | undefined): void {
    this.#missingSinceMs = undefined;
    if (this.#sinceMs !== undefined && nowMs <= (expiresAtMs ?? nowMs)) return;
    this.#sinceMs = nowMs;
    this.#isShown = false;
  }

  /** Takes in a list that was requested at `readAtMs`, and returns whether it proves that the activity is over. */
  isOver(activities: readonly wire.Activity[], wanted: Listed, readAtMs: number): boolean {
    const own = entryOf(activities, wanted.activityId);
    if (own) {
      this.#isShown = true;
      this.#missingSinceMs = undefined;
      return own.released === true;
    }
    return !mayBeActive(activities, wanted) && this.isMissing(readAtMs, wanted.visibilityMs);
  }

  /** `visibilityMs`: 0 for what has been seen otherwise. */
  isMissing(readAtMs: number, visibilityMs: number): boolean {
    if (this.#sinceMs === undefined) return true;
    if (!this.#isShown && readAtMs < this.#sinceMs + visibilityMs) return false;
    this.#missingSinceMs ??= readAtMs;
    return readAtMs >= this.#missingSinceMs + confirmMs;
  }
}

/** The list shows it, and not as released, or has an entry without an id that may be it. */
export function mayBeActive(
  activities: readonly wire.Activity[],
  { activityId, name: wanted }: Pick<Listed, 'activityId' | 'name'>,
): boolean {
  const own = entryOf(activities, activityId);
  if (own) return own.released !== true;
  return activities.some(({ id, name }) => id === undefined && (name === undefined || name === wanted));
}

/** A list that keeps what was released may show an id twice: one that was registered again is not released. */
export function entryOf(activities: readonly wire.Activity[], activityId: string): wire.Activity | undefined {
  const wanted = activityId.toLowerCase();
  const own = activities.filter(({ id }) => id?.toLowerCase() === wanted);
  return own.find(({ released }) => released !== true) ?? own[0];
}
