import type { Random } from './random.ts';

export interface BackoffLimits {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * Exponential backoff with equal jitter: the n-th delay (from 0) is between half of
 * `min(firstMs * 2^n, longestMs)` and the whole of it, so it never collapses to zero.
 */
export function backoffMs(failures: number, limits: BackoffLimits, random: Random): number {
  const ceiling = Math.min(limits.firstMs * 2 ** Math.min(failures, 30), limits.longestMs);
  return ceiling / 2 + (ceiling / 2) * random.fraction();
}
