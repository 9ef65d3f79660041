/**
 * What a service remembers of its activities while its fleet drains it. The fleet removes it only after a read that shows
 * nothing unreleased. The deletion itself reads them once more.
 */
import type { Reading } from '../../engine/index.ts';
import type { ServiceState } from '../../resources/index.ts';
import { protectorOf } from './disruption.ts';
import type { ServiceLook } from './look.ts';

/** What was read last, unless the record has a newer reading: it could not be saved, or its pass has not ended. */
export function newestReading(
  last: Reading | undefined,
  { activities }: ServiceState,
  nowMs: number,
): Reading | undefined {
  if (!last || last.askedAt > nowMs) return undefined;
  return activities && activities.readAt <= nowMs && last.askedAt < activities.readAt ? undefined : last;
}

export function activitiesWhileDraining(look: ServiceLook): { readonly kind?: ServiceState } {
  const { object, activities, activitiesAskedAt, observation, observedAt, record, mayAppear, nowMs } = look;
  const { activities: known, ...state } = record.kind;
  if (object.gate?.reason !== 'Draining') return known ? { kind: state } : {};
  // In what is gone, only declared tasks can be. What is not there yet may be in use when it is.
  const isGone = observation.kind === 'absent' && observation.confirmed && !mayAppear;
  // A pass that read them before may end now. So may one that has created it, and saw before that it was not there.
  const readAt = isGone ? observedAt : activities && activitiesAskedAt;
  if (readAt === undefined || readAt < object.gate.since) return {};
  const by = protectorOf(isGone ? { ...look, activities: [] } : look);
  const isKnown = known && known.by === by && object.gate.since <= known.readAt && known.readAt <= nowMs;
  if (isKnown) return {};
  return { kind: { ...state, activities: by === undefined ? { readAt } : { readAt, by } } };
}
