/**
 * How many replicas are wanted:
 *
 *     replicas of the document ── limited by minReplicas and maxReplicas ──> wanted
 *                                    ^── the first open schedule replaces what it gives
 *
 * Where the limits of a schedule contradict those of the document, the schedule decides: its `maxReplicas` lowers
 * `minReplicas`, and its `minReplicas` raises `maxReplicas`.
 */
import { windowSpan } from '../../resources/index.ts';
import type { CountOrShare, FleetSchedule, ServiceFleetSpec } from './schema.ts';

export interface Wanted {
  readonly count: number;
  /** The schedule that decides it. */
  readonly schedule: string | undefined;
  /** Unix milliseconds at which a schedule opens or closes; infinite without one. */
  readonly changesAt: number;
}

type Counts = Pick<ServiceFleetSpec, 'replicas' | 'minReplicas' | 'maxReplicas' | 'schedules'>;

export function wantedReplicas(spec: Counts, nowMs: number): Wanted {
  const spans = (spec.schedules ?? []).map((schedule) => ({ schedule, span: windowSpan(schedule, nowMs) }));
  const open = spans.find(({ span }) => span.isOpen)?.schedule;
  const changesAt = Math.min(Number.POSITIVE_INFINITY, ...spans.map(({ span }) => span.changesAt));
  return { count: limited(spec, open), schedule: open?.name, changesAt };
}

function limited(spec: Counts, open: FleetSchedule | undefined): number {
  const most = open?.maxReplicas ?? Math.max(spec.maxReplicas, open?.minReplicas ?? 0);
  const least = Math.min(open?.minReplicas ?? spec.minReplicas, most);
  return Math.min(Math.max(open?.replicas ?? spec.replicas, least), most);
}

/** In replicas, of so many. */
export function countOf(value: CountOrShare, of: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const share = (Number.parseInt(value, 10) * of) / 100;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}
