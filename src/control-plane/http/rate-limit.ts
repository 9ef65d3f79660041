/**
 * Token buckets on the real clock, one for each account or address: `perSecond` tokens come, up to `burst`. A bucket
 * may be overdrawn by one request whose cost is known only afterwards.
 */
import type { Clock } from '../../base/clock.ts';
import { invariant } from '../../base/invariant.ts';
import { ApiError } from '../domain/errors.ts';

/** Beyond so many, buckets that are full again are forgotten. */
const mostBuckets = 10_000;

export class RateLimiter {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #what: string;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  /** `perSecond` may be a fraction, but not 0; `burst` is one second's worth unless given. `what` is for messages. */
  constructor(perSecond: number, clock: Clock, { burst = perSecond, what = 'requests' } = {}) {
    invariant(perSecond > 0, 'a rate limit must be above 0');
    this.#perSecond = perSecond;
    this.#burst = Math.max(1, burst);
    this.#what = what;
    this.#clock = clock;
  }

  /** Takes a token, or refuses with 429 and the whole seconds until there is one. */
  take(id: string): void {
    this.require(id);
    this.spend(id, 1);
  }

  /** Takes a token; false when there is none. */
  tryTake(id: string): boolean {
    const hasOne = this.#tokensOf(id) >= 1;
    if (hasOne) this.spend(id, 1);
    return hasOne;
  }

  /** Refuses with 429 when there is no token. */
  require(id: string): void {
    const tokens = this.#tokensOf(id);
    if (tokens >= 1) return;
    const seconds = Math.max(1, Math.ceil((1 - tokens) / this.#perSecond));
    throw new ApiError(
      429,
      'rate_limited',
      `at most ${this.#perSecond} ${this.#what} per second are answered; wait ${seconds} s`,
      seconds,
    );
  }

  spend(id: string, tokens: number): void {
    if (this.#buckets.size > mostBuckets) this.#forgetFull();
    const left = this.#tokensOf(id) - tokens;
    const atMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(id);
    if (bucket) {
      bucket.tokens = left;
      bucket.atMs = atMs;
    } else this.#buckets.set(id, { tokens: left, atMs });
  }

  #tokensOf(id: string): number {
    const bucket = this.#buckets.get(id);
    if (!bucket) return this.#burst;
    const passedMs = this.#clock.monotonicMs() - bucket.atMs;
    return Math.min(this.#burst, bucket.tokens + (passedMs / 1000) * this.#perSecond);
  }

  #forgetFull(): void {
    for (const id of this.#buckets.keys()) if (this.#tokensOf(id) >= this.#burst) this.#buckets.delete(id);
  }
}
