/**
 * How a changed template reaches the replicas.
 *
 *     Stable ── a new revision, or replicas differ ──> Progressing ── all wanted replicas have it and are available ──> Stable
 *                                                        ^──┘ the template changes again: the newest content counts
 *
 * In place: one more replica is updated if enough others are available. With `maxUnavailable: 0`, surge replicas with the new
 * content come first and leave last. Replaced (`mode: Replace`, or another place): new ones are added up to `maxSurge`, and
 * for each one that is available an old one drains.
 *
 * A replica that does not become available stops the rollout where it is. Nothing is rolled back.
 */
import type { Arrange } from '../../engine/plan/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { countOf, unavailableAtMost } from './counts.ts';
import { arrange, inNewPhase, inPhase, scaleInPace, slotsText, type FleetInputs } from './inputs.ts';
import { isReliable, type Replica } from './replica.ts';
import { revisionName, withOutcome } from './revisions.ts';
import type { RolloutRecord } from './state.ts';
import { updateOrder, victims } from './victims.ts';

export interface Rollout {
  /** The number of replicas that are wanted at the moment, with those of the surge. */
  readonly target: number;
  /** The greatest number in the roster, with those that leave. */
  readonly most: number;
  readonly surge: number;
  /** It can't be updated in place. */
  readonly isToReplace: (replica: Replica) => boolean;
  /**
   * Those of them, in their order, that may be interrupted without leaving fewer than the floor. One that may serve, and is not
   * available, waits for the floor all the same: after a start of the manager, that is each of them until its probe has answered.
   */
  readonly withinFloor: (replicas: readonly Replica[]) => Replica[];
  /** Differing replicas, by what becomes of them. */
  readonly toUpdate: readonly Replica[];
  readonly toReplace: readonly Replica[];
}

export function floorOf({ object, wanted }: Pick<FleetInputs, 'object' | 'wanted'>): number {
  return Math.max(0, wanted.count - unavailableAtMost(object.spec.update, wanted.count));
}

export function rolloutOf(inputs: FleetInputs): Rollout {
  const { object, wanted, replicas, state, target } = inputs;
  const { mode, maxSurge } = object.spec.update;
  const isToReplace = ({ isMisplaced, rejection, content: own }: Replica) =>
    isMisplaced || rejection !== undefined || (mode === 'Replace' && own === 'outdated');
  const running = inPhase(replicas, 'wanted');
  const toReplace = running.filter(isToReplace);
  const toUpdate = running.filter((replica) => replica.content === 'outdated' && !isToReplace(replica));
  const record = state.rollout?.revision === target?.number ? state.rollout : undefined;
  const overlap = replicas.filter(
    ({ entry, protection }) => entry.phase === 'draining' && protection === 'yes',
  );
  const surgeAtMost = countOf(maxSurge, wanted.count, 'up');
  const needed = surgeNeeded(inputs, toUpdate.length, toReplace.length);
  const surge = record && running.length > 0 ? Math.min(surgeAtMost, Math.max(record.surge, needed)) : 0;
  const available = running.filter(isReliable).length;
  return {
    target: wanted.count === 0 ? 0 : wanted.count + surge,
    most: wanted.count + surgeAtMost + Math.min(overlap.length, surgeAtMost),
    surge,
    isToReplace,
    toReplace,
    toUpdate,
    withinFloor: (chosen) => {
      let left = available - floorOf(inputs);
      return chosen.filter((replica) => {
        if (!isReliable(replica)) return !replica.mayServe || left >= 0;
        if (left <= 0) return false;
        left -= 1;
        return true;
      });
    },
  };
}

/** In place, no others are needed if some may be unavailable. */
function surgeNeeded({ object, wanted }: FleetInputs, updates: number, replacements: number): number {
  const { update } = object.spec;
  const needsNone = replacements === 0 && unavailableAtMost(update, wanted.count) > 0;
  return needsNone ? 0 : Math.min(countOf(update.maxSurge, wanted.count, 'up'), updates + replacements);
}

/** Begins one for a new revision, or for replicas that differ, and ends it. */
export function steerRollout(inputs: FleetInputs, rollout: Rollout): Arrange | undefined {
  const { state, target, wanted } = inputs;
  if (!target || wanted.count === 0) return undefined;
  if (state.rollout?.revision !== target.number) return beginRollout(inputs, target, rollout);
  return isOver(inputs, rollout) ? endRollout(inputs, target) : undefined;
}

function beginRollout(inputs: FleetInputs, target: OwnerRevision, rollout: Rollout): Arrange | undefined {
  const { replicas, nowMs } = inputs;
  const { toUpdate, toReplace } = rollout;
  const differing = toUpdate.length + toReplace.length;
  const running = inPhase(replicas, 'wanted');
  const isKnown = running.every(({ content }) => content !== 'unknown');
  if (differing === 0 && (target.outcome === 'Healthy' || !isKnown || running.length === 0)) return undefined;
  const surge = surgeNeeded(inputs, toUpdate.length, toReplace.length);
  const ways = [
    ...(toUpdate.length > 0 ? [`${toUpdate.length} in place`] : []),
    ...(toReplace.length > 0 ? [`${toReplace.length} replaced`] : []),
  ];
  const observed = `${differing} of ${running.length} replicas differ (${ways.join(', ')})`;
  return arrange(
    inputs,
    [],
    {
      reason: 'RollingOut',
      message: `the template has changed: ${ways.join(', ')}`,
      change: differing > 0 ? 'update' : undefined,
      differences:
        differing > 0 ? [{ path: 'template', desired: '(as declared)', observed, drift: false }] : [],
    },
    { rollout: rolloutTo(target.number, nowMs, surge) },
  );
}

export function rolloutTo(revision: number, since: number, surge: number): RolloutRecord {
  return { revision, phase: 'Progressing', since, surge };
}

function isOver({ replicas, wanted }: FleetInputs, { toUpdate, toReplace }: Rollout): boolean {
  const running = inPhase(replicas, 'wanted');
  const isDone = running.every(({ content, isAvailable }) => content === 'updated' && isAvailable);
  return isDone && running.length >= wanted.count && toUpdate.length + toReplace.length === 0;
}

function endRollout(inputs: FleetInputs, { number }: OwnerRevision): Arrange {
  const { revisions, nowMs } = inputs;
  return arrange(
    inputs,
    [],
    {
      reason: 'RollingOut',
      message: `the rollout to ${revisionName(number)} is complete`,
      change: undefined,
    },
    { rollout: undefined },
    withOutcome(revisions, number, 'Healthy', nowMs),
  );
}

export function planUpdates(inputs: FleetInputs, rollout: Rollout): Arrange | undefined {
  const { target, nowMs } = inputs;
  const { toUpdate, toReplace, withinFloor } = rollout;
  const replaced = withinFloor(victims(toReplace)).slice(0, scaleInPace(inputs).left);
  if (replaced.length > 0) {
    return arrange(
      inputs,
      inNewPhase(replaced, 'draining', nowMs),
      { reason: 'RollingOut', message: `to be replaced: ${slotsText(replaced)}`, change: undefined },
      { pace: scaleInPace(inputs).begin(replaced.length) },
    );
  }
  const updated = withinFloor(updateOrder(toUpdate));
  if (updated.length === 0 || !target) return undefined;
  return arrange(
    inputs,
    updated.map(({ entry: { granted: _earlier, ...entry } }) => ({ ...entry, revision: target.number })),
    { reason: 'RollingOut', message: `to be updated: ${slotsText(updated)}`, change: undefined },
  );
}
