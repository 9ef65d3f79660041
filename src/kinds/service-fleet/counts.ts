/**
 * How many replicas are wanted:
 *
 *     replicas of the document, or of a command ── limited by minReplicas and maxReplicas ──> wanted
 *                                                    ^── the first open schedule replaces what it gives
 *
 * Where the limits of a schedule contradict those of the document, the schedule decides: its `maxReplicas` lowers
 * `minReplicas`, and its `minReplicas` raises `maxReplicas`.
 *
 * The command `scale` gives a number by hand. It counts until `replicas` of the document changes. One for a time
 * counts before one that stays, which counts again after it.
 */
import { rfc3339 } from '../../base/index.ts';
import { windowSpan } from '../../resources/index.ts';
import type { CountOrShare } from './schema-counts.ts';
import type { FleetSchedule, ServiceFleetSpec } from './schema.ts';
import type { FleetState } from './state.ts';

export type Scaled = NonNullable<FleetState['scaled']>[number];

export interface Wanted {
  readonly count: number;
  /** The schedule that decides it. */
  readonly schedule: string | undefined;
  /** The command that decides it, unless limits do. */
  readonly scaled: Scaled | undefined;
  /** Unix milliseconds at which a schedule opens or closes, or the time of a command is over; infinite without one. */
  readonly changesAt: number;
  /** Where it is from, if a command gives it. */
  readonly from?: string;
}

type Counts = Pick<ServiceFleetSpec, 'replicas' | 'minReplicas' | 'maxReplicas' | 'schedules'>;

export function wantedReplicas(spec: Counts, nowMs: number, given: FleetState['scaled'] = []): Wanted {
  const spans = (spec.schedules ?? []).map((schedule) => ({ schedule, span: windowSpan(schedule, nowMs) }));
  const open = spans.find(({ span }) => span.isOpen)?.schedule;
  const scaled = inForce(given, spec, nowMs).at(-1);
  const times = [...spans.map(({ span }) => span.changesAt), scaled?.until ?? Number.POSITIVE_INFINITY];
  const isByCommand = scaled !== undefined && open?.replicas === undefined;
  return {
    count: limited(spec, open, isByCommand ? scaled.replicas : spec.replicas),
    schedule: open?.name,
    scaled: isByCommand ? scaled : undefined,
    changesAt: Math.min(Number.POSITIVE_INFINITY, ...times),
    ...(isByCommand ? { from: commandText(spec, scaled) } : {}),
  };
}

/** `command scale until 2026-11-22T18:00:00Z, replicas of the document: 6`. */
function commandText(spec: Counts, { until }: Scaled): string {
  const end = until === undefined ? '' : ` until ${rfc3339(until)}`;
  return `command scale${end}, replicas of the document: ${spec.replicas}`;
}

/** The one that stays first, that for a time last. An edit of `replicas` ends both. */
function inForce(given: FleetState['scaled'] = [], spec: Counts, nowMs: number): Scaled[] {
  return given.filter(({ of, until = Number.POSITIVE_INFINITY }) => of === spec.replicas && nowMs < until);
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

function limited(spec: Counts, open: FleetSchedule | undefined, replicas: number): number {
  const most = open?.maxReplicas ?? Math.max(spec.maxReplicas, open?.minReplicas ?? 0);
  const least = Math.min(open?.minReplicas ?? spec.minReplicas, most);
  return Math.min(Math.max(open?.replicas ?? replicas, least), most);
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
