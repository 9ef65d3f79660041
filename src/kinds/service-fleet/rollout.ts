/**
 * How a changed template reaches the replicas.
 *
 *     no rollout ── replicas differ ──> rollout ── all are updated and available, or none is left beyond the wanted number ──> no rollout
 *                                          ^──┘ the template changes again: the newest content counts
 *
 * In place: one more replica is updated if enough others are available. With `maxUnavailable: 0`, surge replicas with the new
 * content come first and leave last. Replaced (`mode: Replace`, or another place): new ones are added up to `maxSurge`, and
 * for each one that is available an old one drains.
 *
 * A replica that does not become available stops the rollout where it is. Nothing is rolled back.
 */
import type { Arrange } from '../../engine/plan/index.ts';
import { countOf } from './counts.ts';
import { arrange, inNewPhase, inPhase, scaleInPace, slotsText, type FleetInputs } from './inputs.ts';
import { isReliable, type Replica } from './replica.ts';
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
  return Math.max(0, wanted.count - countOf(object.spec.update.maxUnavailable, wanted.count, 'down'));
}

export function rolloutOf(inputs: FleetInputs): Rollout {
  const { object, wanted, replicas, state, content } = inputs;
  const { mode, maxSurge } = object.spec.update;
  const isToReplace = ({ isMisplaced, content: own }: Replica) =>
    isMisplaced || (mode === 'Replace' && own === 'outdated');
  const running = inPhase(replicas, 'wanted');
  const toReplace = running.filter(isToReplace);
  const toUpdate = running.filter((replica) => replica.content === 'outdated' && !isToReplace(replica));
  const surge = state.rollout?.content === content && running.length > 0 ? state.rollout.surge : 0;
  const overlap = replicas.filter(
    ({ entry, protection }) => entry.phase === 'draining' && protection === 'yes',
  );
  const surgeAtMost = countOf(maxSurge, wanted.count, 'up');
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

/** Also when its content has changed again. */
export function beginRollout(inputs: FleetInputs, { toUpdate, toReplace }: Rollout): Arrange | undefined {
  const { state, content, object, wanted, replicas, nowMs } = inputs;
  const differing = [...toUpdate, ...toReplace];
  const running = inPhase(replicas, 'wanted');
  if (state.rollout && (wanted.count === 0 || isOver(inputs, differing))) {
    return arrange(
      inputs,
      [],
      { reason: 'RollingOut', message: 'the rollout is complete', change: undefined },
      { rollout: undefined },
    );
  }
  if (differing.length === 0 || wanted.count === 0 || state.rollout?.content === content) return undefined;
  const { maxSurge, maxUnavailable } = object.spec.update;
  const most = Math.min(countOf(maxSurge, wanted.count, 'up'), differing.length);
  // In place, no others are needed if some may be unavailable.
  const needsNone = toReplace.length === 0 && countOf(maxUnavailable, wanted.count, 'down') > 0;
  const ways = [
    ...(toUpdate.length > 0 ? [`${toUpdate.length} in place`] : []),
    ...(toReplace.length > 0 ? [`${toReplace.length} replaced`] : []),
  ];
  const message = `the template has changed: ${ways.join(', ')}`;
  const observed = `${differing.length} of ${running.length} replicas differ (${ways.join(', ')})`;
  return arrange(
    inputs,
    [],
    {
      reason: 'RollingOut',
      message,
      change: 'update',
      differences: [{ path: 'template', desired: '(as declared)', observed, drift: false }],
    },
    { rollout: { content, since: nowMs, surge: needsNone ? 0 : most } },
  );
}

function isOver({ replicas, wanted }: FleetInputs, differing: readonly Replica[]): boolean {
  const running = inPhase(replicas, 'wanted');
  const isKnown = running.every(({ content }) => content === 'updated');
  const isSettled = running.length <= wanted.count || running.every(({ isAvailable }) => isAvailable);
  return differing.length === 0 && isKnown && isSettled;
}

export function planUpdates(inputs: FleetInputs, rollout: Rollout): Arrange | undefined {
  const { content, nowMs } = inputs;
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
  if (updated.length === 0) return undefined;
  return arrange(
    inputs,
    updated.map(({ entry }) => ({ ...entry, granted: content })),
    { reason: 'RollingOut', message: `to be updated: ${slotsText(updated)}`, change: undefined },
  );
}
