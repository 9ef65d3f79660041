/**
 * How many replicas are wanted:
 *
 *     replicas of the document, or of a command ── limited by minReplicas and maxReplicas ──> wanted
 *                                                    ^── the first open schedule replaces what it gives
 *
 * A budget may limit that to fewer (shedding.ts), but never to less than the least number.
 *
 * Where the limits of a schedule contradict those of the document, the schedule decides: its `maxReplicas` lowers
 * `minReplicas`, and its `minReplicas` raises `maxReplicas`.
 *
 * The command `scale` gives a number by hand. It counts until `replicas` of the document changes. One for a time
 * counts before one that stays, which counts again after it.
 */
import { rfc3339 } from '../../base/index.ts';
import type { CountOrShare } from './schema-counts.ts';
import type { ServiceFleetSpec } from './schema.ts';
import { countAt, inForce, limitsOf, type Counts, type Scaled } from './schema-wanted.ts';
import type { FleetState } from './state.ts';

export interface Wanted {
  readonly count: number;
  /** The schedule that decides it. */
  readonly schedule: string | undefined;
  /** The command that decides it, unless limits do. */
  readonly scaled: Scaled | undefined;
  /** Unix milliseconds at which a schedule opens or closes, or the time of a command is over; infinite without one. */
  readonly changesAt: number;
  /** That limits it. */
  readonly budget?: string;
  /** Where it is from, if a command gives it. */
  readonly from?: string;
}

/** `most`: more must not be wanted, because of a budget. */
export function wantedReplicas(
  spec: Counts,
  nowMs: number,
  given: FleetState['scaled'] = [],
  most = Number.POSITIVE_INFINITY,
): Wanted {
  const { count, schedule, scaled, changesAt } = countAt(spec, nowMs, given);
  return {
    count: Math.min(count, Math.max(most, limitsOf(spec, schedule).least)),
    schedule: schedule?.name,
    scaled,
    changesAt,
    ...(scaled ? { from: commandText(spec, scaled) } : {}),
  };
}

/** `command scale until 2026-11-22T18:00:00Z, replicas of the document: 6`. */
function commandText(spec: Counts, { until }: Scaled): string {
  const end = until === undefined ? '' : ` until ${rfc3339(until)}`;
  return `command scale${end}, replicas of the document: ${spec.replicas}`;
}

export function scaledWith(
  given: FleetState['scaled'],
  spec: Counts,
  asked: Scaled,
  nowMs: number,
): Scaled[] {
  if (asked.until === undefined) return [asked];
  return [...inForce(given, spec, nowMs).filter(({ until }) => until === undefined), asked];
}

/** Never fewer are wanted now. */
export function leastReplicas(spec: Counts, nowMs: number): number {
  return limitsOf(spec, countAt(spec, nowMs, []).schedule).least;
}

/** In replicas, of so many. */
export function countOf(value: CountOrShare, of: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const share = (Number.parseInt(value, 10) * of) / 100;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}

/** In replicas. Where both shares are rounded to 0, nothing could ever be updated: one may be unavailable then. */
export function unavailableAtMost(
  { maxSurge, maxUnavailable }: Pick<ServiceFleetSpec['update'], 'maxSurge' | 'maxUnavailable'>,
  of: number,
): number {
  const isStuck = countOf(maxSurge, of, 'up') === 0;
  return Math.max(countOf(maxUnavailable, of, 'down'), isStuck ? 1 : 0);
}
