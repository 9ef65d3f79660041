/** How many replicas a document and its commands ask for at a moment. Pure. The rules: counts.ts. */
import { windowSpan } from '../../resources/parts/windows.ts';
import type { FleetSchedule, ServiceFleetSpec } from './schema.ts';
import type { FleetState } from './state.ts';

export type Counts = Pick<ServiceFleetSpec, 'replicas' | 'minReplicas' | 'maxReplicas' | 'schedules'>;
export type Scaled = NonNullable<FleetState['scaled']>[number];

export interface CountAt {
  readonly count: number;
  /** The schedule that decides it. */
  readonly schedule: FleetSchedule | undefined;
  /** The command that decides it, unless limits do. */
  readonly scaled: Scaled | undefined;
  /** Unix milliseconds at which a schedule opens or closes, or the time of a command is over; infinite without one. */
  readonly changesAt: number;
}

export function countAt(spec: Counts, nowMs: number, given: FleetState['scaled']): CountAt {
  const spans = (spec.schedules ?? []).map((schedule) => ({ schedule, span: windowSpan(schedule, nowMs) }));
  const schedule = spans.find(({ span }) => span.isOpen)?.schedule;
  const command = inForce(given, spec, nowMs).at(-1);
  const times = [...spans.map(({ span }) => span.changesAt), command?.until ?? Number.POSITIVE_INFINITY];
  const scaled = schedule?.replicas === undefined ? command : undefined;
  return {
    count: limited(spec, schedule, scaled?.replicas ?? spec.replicas),
    schedule,
    scaled,
    changesAt: Math.min(Number.POSITIVE_INFINITY, ...times),
  };
}

/** The one that stays first, that for a time last. An edit of `replicas` ends both. */
export function inForce(given: FleetState['scaled'] = [], spec: Counts, nowMs: number): Scaled[] {
  return given.filter(({ of, until = Number.POSITIVE_INFINITY }) => of === spec.replicas && nowMs < until);
}

export function limitsOf(
  spec: Counts,
  open: FleetSchedule | undefined,
): Readonly<Record<'least' | 'most', number>> {
  const most = open?.maxReplicas ?? Math.max(spec.maxReplicas, open?.minReplicas ?? 0);
  return { most, least: Math.min(open?.minReplicas ?? spec.minReplicas, most) };
}

function limited(spec: Counts, open: FleetSchedule | undefined, replicas: number): number {
  const { least, most } = limitsOf(spec, open);
  return Math.min(Math.max(open?.replicas ?? replicas, least), most);
}
