/** Remembers that the API refused for want of funds, so that not every object has to be refused to find out. */
import type { Clock } from '../../base/index.ts';
import type { Gate } from '../plan/index.ts';

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

/** Why nothing is spent in each account, as of its last read. */
export class SpendingStops {
  readonly #reasons = new Map<string, string | undefined>();

  /** Whether it was for another reason before, or for none; of the first read nothing is told. */
  moved(account: string, gate: Gate | undefined): boolean {
    const isFirst = !this.#reasons.has(account);
    const moved = !isFirst && this.#reasons.get(account) !== gate?.reason;
    this.#reasons.set(account, gate?.reason);
    return moved;
  }
}
