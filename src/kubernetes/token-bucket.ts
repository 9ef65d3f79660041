import type { Clock } from '../base/index.ts';

/** So much at once, and after that so often. */
export interface Rate {
  readonly burst: number;
  readonly everyMs: number;
}

export class TokenBucket {
  readonly #rate: Rate;
  readonly #clock: Clock;
  #tokens: number;
  #filledAtMs: number;

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
    this.#tokens = rate.burst;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** Takes a token if there is one. */
  take(): boolean {
    if (this.waitMs > 0) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Until there is one. */
  get waitMs(): number {
    const nowMs = this.#clock.monotonicMs();
    const { burst, everyMs } = this.#rate;
    this.#tokens = Math.min(burst, this.#tokens + (nowMs - this.#filledAtMs) / everyMs);
    this.#filledAtMs = nowMs;
    // What rounding leaves short of a whole token counts as one.
    return this.#tokens >= 1 - 1e-9 ? 0 : (1 - this.#tokens) * everyMs;
  }
}
