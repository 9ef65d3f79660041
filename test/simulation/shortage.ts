/**
 * Times in which the provider has no capacity, or only for a few. Of a stream of its own: they come in addition to all else that goes wrong.
 */
import type { SeededRandom } from '../support/seeded-random.ts';

interface Time {
  readonly fromMs: number;
  readonly untilMs: number;
  /** How many requests get what they ask for. */
  room: number;
}

/** The contract says neither with which status, nor in which words (§7 "Gaps"). */
export const scarceWords = [
  { status: 409, code: 'capacity_unavailable' },
  { status: 503, code: 'no_capacity' },
  { status: 400, code: 'CapacityUnavailable' },
] as const;
export type ScarceWords = (typeof scarceWords)[number];

/** Codes of refusals for capacity, in any world. */
export const capacityCodes: ReadonlySet<string | undefined> = new Set(scarceWords.map(({ code }) => code));

export class Shortage {
  readonly #times: Time[];
  readonly #random: SeededRandom;

  constructor(random: SeededRandom, healAtMs: number) {
    this.#random = random;
    this.#times = Array.from({ length: random.between(1, 4) }, () => {
      const fromMs = random.chance(0.5) ? 0 : random.between(0, healAtMs - 1);
      const untilMs = Math.min(healAtMs, fromMs + random.between(20_000, 600_000));
      return { fromMs, untilMs, room: random.pick([0, 0, 1, 3]) };
    });
  }

  /** Undefined: there is room. */
  refusal(nowMs: number): ScarceWords | undefined {
    const time = this.#times.find(({ fromMs, untilMs }) => nowMs >= fromMs && nowMs < untilMs);
    if (!time) return undefined;
    // Now and then something is given back.
    if (time.room > 0 && this.#random.chance(0.2)) {
      time.room -= 1;
      return undefined;
    }
    return this.#random.pick(scarceWords);
  }
}
