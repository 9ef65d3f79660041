/** Remembers that the API refused for lack of funds, so that not every object needs a refusal to find out. */
import type { Clock } from '../../base/index.ts';
import type { Gate } from '../plan/index.ts';

const memoryMs = 600_000;

export class FundsMemory {
  readonly #clock: Clock;
  #refusal: { readonly balanceMicros: number; readonly atMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `balanceMicros`: as last read before. Undefined before the first read; then nothing can be concluded. */
  refused(balanceMicros: number | undefined): void {
    if (balanceMicros === undefined) return;
    this.#refusal = { balanceMicros, atMs: this.#clock.monotonicMs() };
  }

  /** The balance that was recently insufficient. */
  get refusedAtMicros(): number | undefined {
    const refusal = this.#refusal;
    return refusal && this.#clock.monotonicMs() < refusal.atMs + memoryMs ? refusal.balanceMicros : undefined;
  }
}

/** Why spending is stopped in each account, as of its last read. */
export class SpendingStops {
  readonly #reasons = new Map<string, string | undefined>();

  /** Whether the reason is new. The first read reports nothing. */
  moved(account: string, gate: Gate | undefined): boolean {
    const isFirst = !this.#reasons.has(account);
    const moved = !isFirst && this.#reasons.get(account) !== gate?.reason;
    this.#reasons.set(account, gate?.reason);
    return moved;
  }
}
