/**
 * How long a provider was observed to need: to respond to a change, to give up on one, or to show what it has
 * made. The next time it may need twice the longest time of the last hour.
 */
import type { Clock } from '../../base/index.ts';

const memoryMs = 3_600_000;
const margin = 2;

export class ProviderPace {
  readonly #clock: Clock;
  readonly #longest = new Map<string, { readonly ms: number; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  learn(account: string, ms: number): void {
    const atMs = this.#clock.monotonicMs();
    if (ms >= this.#longestMs(account)) this.#longest.set(account, { ms, atMs });
  }

  /** 0 if nothing is known. */
  needsMs(account: string): number {
    return this.#longestMs(account) * margin;
  }

  #longestMs(account: string): number {
    const longest = this.#longest.get(account);
    const isFresh = longest !== undefined && this.#clock.monotonicMs() - longest.atMs < memoryMs;
    return isFresh ? longest.ms : 0;
  }
}
