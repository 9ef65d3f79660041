/**
 * What objects leave at the provider (`deletionPolicy: Retain`), short after they made it. In a folder another object of the name carries the same
 * mark, and so finds it. While reads may still lag behind, that they do not show it says nothing: a second one would be made. Lost at a restart.
 */
import type { Clock } from '../../base/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { AbsenceRule } from '../outcomes/creations.ts';

/** Longer than any two account reads are apart. */
const keptMs = 86_400_000;

export class LeftBehind {
  readonly #clock: Clock;
  /** By uid, in monotonic milliseconds: from when on a read that does not show it says that it is not there. */
  readonly #shownByMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `rule`: when it may be believed that what the object stands for is gone. */
  leave({ uid }: ObjectRecord, { notBeforeMs }: AbsenceRule): void {
    const nowMs = this.#clock.monotonicMs();
    if (notBeforeMs > nowMs) this.#shownByMs.set(uid, notBeforeMs);
    for (const [each, shownByMs] of this.#shownByMs) {
      if (nowMs - shownByMs > keptMs) this.#shownByMs.delete(each);
    }
  }

  /** From then on reads tell that the object has made nothing. */
  shownByMs({ uid }: ObjectRecord): number {
    return this.#shownByMs.get(uid) ?? Number.NEGATIVE_INFINITY;
  }
}
