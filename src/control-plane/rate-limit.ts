/** A token bucket per account on the real clock: `perSecond` requests, with a burst of one second's worth. */
import type { Clock } from '../base/clock.ts';
import { invariant } from '../base/invariant.ts';
import { ApiError } from './errors.ts';

export class RateLimiter {
  readonly #perSecond: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  /** `perSecond` may be a fraction, but not 0. */
  constructor(perSecond: number, clock: Clock) {
    invariant(perSecond > 0, 'a rate limit must be above 0');
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** Takes a token, or refuses with 429 and the whole seconds until there is one. */
  take(accountId: string): void {
    const nowMs = this.#clock.monotonicMs();
    const burst = Math.max(1, this.#perSecond);
    const bucket = this.#buckets.get(accountId) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * this.#perSecond);
    const isAllowed = tokens >= 1;
    this.#buckets.set(accountId, { tokens: isAllowed ? tokens - 1 : tokens, atMs: nowMs });
    if (isAllowed) return;
    const seconds = Math.max(1, Math.ceil((1 - tokens) / this.#perSecond));
    throw new ApiError(
      429,
      'rate_limited',
      `at most ${this.#perSecond} requests per second are answered; wait ${seconds} s`,
      seconds,
    );
  }
}
