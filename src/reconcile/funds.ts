/** Remembers that the API refused for want of funds, so that not every object has to be refused to find out. */
import type { Clock } from '../base/index.ts';

const memoryMs = 600_000;

export class FundsMemory {
  readonly #clock: Clock;
  #refusal: { readonly balanceMicros: number; readonly atMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `balanceMicros`: as last read before; undefined before the first read, and then nothing can be concluded. */
  refused(balanceMicros: number | undefined): void {
    if (balanceMicros === undefined) return;
    this.#refusal = { balanceMicros, atMs: this.#clock.monotonicMs() };
  }

  /** The balance that was too little a short while ago. */
  get refusedAtMicros(): number | undefined {
    const refusal = this.#refusal;
    return refusal && this.#clock.monotonicMs() < refusal.atMs + memoryMs ? refusal.balanceMicros : undefined;
  }
}
