/**
 * The mass-change brake. A wrong folder, a bad mount or an account read that suddenly shows nothing
 * all look like many objects going at once, and acting on them destroys a fleet. At most `max(5, 10 %)` may go
 * within one window; beyond it, creations and deletions stop until a person says go.
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
 * Whether an account read shows so many fewer of our things than there should be that it is not to be
 * believed: more than the limit at once, or none of at least two.
 */
export function isSuspiciousRead(known: number, missing: number): boolean {
  return missing > massChangeLimit(known) || (missing >= 2 && missing === known);
}
