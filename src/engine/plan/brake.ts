/**
 * The mass-change brake. A wrong folder, a bad mount, and an account read that suddenly shows nothing all look as if
 * many objects were removed at once. Acting on that destroys a fleet. At most `max(5, 10 %)` may be removed within
 * one window. Beyond that, creations and deletions stop until an operator confirms.
 */
export const brakeWindowMs = 60_000;

export function massChangeLimit(total: number): number {
  return Math.max(5, Math.floor(total / 10));
}

/** Whether losing `missing` of `total` objects, after `recently` in the same window, is too much at once. */
export function isMassChange(total: number, missing: number, recently: number): boolean {
  return missing > 0 && missing + recently > massChangeLimit(total);
}

/**
 * Whether an account read lacks so many managed things that it does not count: more than the limit at once, or all of
 * at least two.
 */
export function isSuspiciousRead(known: number, missing: number): boolean {
  return missing > massChangeLimit(known) || (missing >= 2 && missing === known);
}
