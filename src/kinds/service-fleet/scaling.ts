/** Scaling of a fleet: what another number of replicas leads to. Pure. */
import type { Arrange } from '../../engine/plan/index.ts';
import { scaledBy } from './asking.ts';
import { creationDifferences } from './content-differences.ts';
import { hasOnlyFailed } from './failure.ts';
import {
  arrange,
  countDifference,
  inNewPhase,
  inPhase,
  scaleInPace,
  slotsText,
  type FleetInputs,
} from './inputs.ts';
import { chooseFor } from './placement.ts';
import type { Replica } from './replica.ts';
import type { Rollout } from './rollout.ts';
import { nextSlots } from './slots.ts';
import { takenBack, withWanted } from './taken-back.ts';
import { victims } from './victims.ts';

/** Replicas are added, or drain, until as many as the rollout needs at the moment are wanted. */
export function scale(inputs: FleetInputs, rollout: Rollout): Arrange | undefined {
  const missing = rollout.target - inPhase(inputs.replicas, 'wanted').length;
  if (missing > 0) return scaleOut(inputs, rollout, missing);
  return missing < 0 ? scaleIn(inputs, rollout, -missing) : undefined;
}

/** Draining replicas are taken back first. Each one saves a start. */
function scaleOut(inputs: FleetInputs, rollout: Rollout, missing: number): Arrange | undefined {
  const { replicas, wanted, target, healthy, nowMs, state } = inputs;
  const count = inPhase(replicas, 'wanted').length;
  const back = takenBack(inputs, rollout, missing);
  // Others would fail as well.
  const room = hasOnlyFailed(inputs) ? 0 : rollout.most - replicas.length;
  const slots = nextSlots(inputs, Math.min(missing - back.length, room));
  const places = chooseFor(withWanted(inputs, back), slots);
  if (back.length + places.length === 0) return undefined;
  const by = scaledBy(inputs);
  const newest = rollout.newest(places.length, missing - back.length);
  const added = places.map(
    ({ slot, candidate: { place, name: candidate } }, index) =>
      ({
        slot,
        phase: 'wanted',
        since: nowMs,
        revision: index < places.length - newest ? (healthy ?? target)?.number : target?.number,
        place,
        candidate,
        by,
      }) as const,
  );
  const names = added.map(({ slot }) => slot).join(', ');
  const parts = [
    ...(back.length > 0 ? [`taken back: ${slotsText(back)}`] : []),
    ...(added.length > 0 ? [`added: ${added.length === 1 ? 'replica' : 'replicas'} ${names}`] : []),
  ];
  const isForRollout = count >= wanted.count;
  const isCreation = isNew(inputs);
  return arrange(
    inputs,
    [...inNewPhase(back, 'wanted', nowMs), ...added],
    {
      reason: isForRollout ? 'RollingOut' : 'ScalingOut',
      message: parts.join('; '),
      change: isForRollout ? undefined : isCreation ? 'create' : 'scale',
      differences: [
        countDifference(wanted, count),
        ...(isCreation ? creationDifferences(inputs.object.spec, inputs.present) : []),
      ],
    },
    // What was added for the rollout stays until its end.
    state.rollout ? { rollout: { ...state.rollout, surge: rollout.surge } } : {},
  );
}

/** This pass makes its first revision, and nothing of it is there. */
function isNew({ newRevisions, replicas }: FleetInputs): boolean {
  return newRevisions?.length === 1 && replicas.length === 0;
}

function scaleIn(inputs: FleetInputs, rollout: Rollout, surplus: number): Arrange | undefined {
  const pace = scaleInPace(inputs);
  const leaving = rollout.withinFloor(removable(inputs)).slice(0, Math.min(surplus, pace.left));
  if (leaving.length === 0) return undefined;
  const observed = inPhase(inputs.replicas, 'wanted').length;
  const isOfRollout = inputs.wanted.count > 0 && observed > inputs.wanted.count && rollout.surge > 0;
  return drained(inputs, leaving, { surplus, observed, change: isOfRollout ? undefined : 'scale' });
}

/** In the order in which they are removed. */
export function removable({ replicas }: FleetInputs): Replica[] {
  return victims(inPhase(replicas, 'wanted').filter(({ isUnproven }) => !isUnproven));
}

interface DrainedFor {
  readonly surplus: number;
  readonly observed: number;
  readonly change: 'scale' | undefined;
}

/** Of the `surplus` that is too much, these drain now. `observed`: the number before. */
export function drained(
  inputs: FleetInputs,
  leaving: readonly Replica[],
  { surplus, observed, change }: DrainedFor,
): Arrange {
  const { wanted, nowMs } = inputs;
  const left = surplus - leaving.length;
  const more = left > 0 ? `; ${left} more follow` : '';
  return arrange(
    inputs,
    inNewPhase(leaving, 'draining', nowMs, 'scale', scaledBy(inputs)),
    {
      reason: 'ScalingIn',
      message: `draining: ${slotsText(leaving)}${more}`,
      change,
      differences: [countDifference(wanted, observed)],
    },
    { pace: scaleInPace(inputs).begin(leaving.length) },
  );
}
