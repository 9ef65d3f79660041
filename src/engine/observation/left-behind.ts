/**
 * What objects leave at the provider (`deletionPolicy: Retain`) shortly after they created it. In a folder, another object of the same name has
 * the same mark, and finds it by that. But reads may lag behind. Until then, an account read that lacks the mark proves nothing, and a creation
 * would make a second one. The time is saved with the removal, because the next process may be the one that creates. It is saved of what reads
 * have long shown, too: a fleet takes nothing for its own that somebody left at the provider (roster-seen.ts).
 */
import type { Clock } from '../../base/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import { longestMs } from '../outcomes/creation-times.ts';
import type { AbsenceRule } from '../outcomes/creations.ts';

/** Longer than the interval of any two account reads. */
const keptMs = 86_400_000;

export class LeftBehind {
  readonly #clock: Clock;
  readonly #settleMs: number;
  readonly #store: Pick<StateStore, 'leftUntil'>;
  /** By uid, in monotonic milliseconds: an account read that begins later shows what was left. */
  readonly #shownByMs = new Map<string, number>();

  constructor(clock: Clock, settleMs: number, store: Pick<StateStore, 'leftUntil'>) {
    this.#clock = clock;
    this.#settleMs = settleMs;
    this.#store = store;
  }

  /**
   * The object is about to be forgotten. `rule`: when the absence of what it leaves would be proven; undefined when its account is gone.
   * Returns the time to save with the removal, in Unix milliseconds: now, when reads show everything.
   */
  leave({ uid }: ObjectRecord, rule: AbsenceRule | undefined): number {
    const nowMs = this.#clock.monotonicMs();
    for (const [each, shownByMs] of this.#shownByMs) {
      if (nowMs - shownByMs > keptMs) this.#shownByMs.delete(each);
    }
    const { notBeforeMs = nowMs } = rule ?? {};
    if (notBeforeMs <= nowMs) return this.#clock.wallMs();
    this.#shownByMs.set(uid, notBeforeMs);
    return this.#clock.wallMs() + Math.min(notBeforeMs - nowMs, keptMs);
  }

  /** An account read that begins before that (monotonic milliseconds) does not prove that the object has created nothing. */
  shownByMs({ uid }: ObjectRecord, account: AccountHandle): number {
    const known = this.#shownByMs.get(uid);
    if (known !== undefined) return known;
    const until = this.#store.leftUntil(uid);
    if (until === undefined) return Number.NEGATIVE_INFINITY;
    // Computed once: the wall clock may be set meanwhile. One that was set back before claims that more is left
    // than there ever was.
    const leftMs = Math.min(until - this.#clock.wallMs(), longestMs(account, this.#settleMs));
    const shownByMs = this.#clock.monotonicMs() + leftMs;
    this.#shownByMs.set(uid, shownByMs);
    return shownByMs;
  }
}
