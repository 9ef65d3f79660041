/**
 * The planner of a ServiceFleet. One planner does scaling and rollout, so the two never select against each other. It
 * sends nothing: its steps change the roster (roster.ts), and each replica is an object with a planner of its own.
 *
 * The first rule that applies is the step of a pass:
 *
 * | rule        | when                                                 | step                                                |
 * |-------------|------------------------------------------------------|-----------------------------------------------------|
 * | clean up    | a retiring replica is gone; a document has its name  | its slot leaves the roster, and a retired volume the record |
 * | deleted     | somebody deleted the object of a replica in a cluster | it retires; `Retain`: it is made again              |
 * | set back    | times of the roster lie ahead                        | they become the present (clock-set-back.ts)         |
 * | held        | the fleet is paused, its template has names that no replica may get, its ServiceTemplate can't be read (template.ts), or the catalog does not offer its place | Hold or Wait; the replicas are reconciled all the same, and a rollback continues where only a revision can't be made |
 * | drained     | a draining replica is not protected and may be interrupted, after its grace | it retires                   |
 * | deletion    | the document is gone                                 | all drain at the pace of `scaleIn`; `Retain`: none  |
 * | spare       | a draining replica is protected, and another is not  | the other one drains instead                        |
 * | revision    | the document requires another content                | a revision is recorded (revising.ts), with the next step |
 * | relocate    | replicas can't be where they are                     | they get another place, or drain (moves.ts)         |
 * | rollout     | a new revision; replicas differ from it              | a rollout begins, or ends (rollout.ts)              |
 * | measure     | a measurement is due, or has answered                | that is recorded (measuring.ts)                     |
 * | repair      | replicas stay broken                                 | they drain, unless too many are broken (repair.ts)  |
 * | scale       | too few, or too many are wanted                      | slots are added, or victims drain                   |
 * | correct     | others changed a replica, and it has to be interrupted | it may be, as the floor allows (corrections.ts)   |
 * | update      | a rollout is under way                               | replicas are updated or replaced, as the floor allows |
 * | give way    | somebody works in a replica that is to be updated    | it keeps its revision, and another one is updated     |
 * | move back   | a better candidate is open again                     | another one is added there, then one drains (move-back.ts) |
 * | record      | what keeps the deadline of the rollout has changed   | that is recorded (failure.ts)                         |
 * | sizes       | others have made volumes larger                      | they are to be as large from then on                  |
 * | in sync     | nothing of this                                      | Wait for replicas, or InSync until a schedule changes |
 *
 * No step removes or updates an available replica when that leaves fewer than the floor: the wanted number less
 * `maxUnavailable`. A replica that is known not to work protects nothing. One that may work, and is not available (its probe has
 * not answered yet, or it became Ready just now), is not taken while fewer than the floor are available.
 */
import { holdFor, inSync, type Arrange, type Plan } from '../../engine/plan/index.ts';
import { annotations } from '../../resources/index.ts';
import { afterClockSetBack } from './clock-set-back.ts';
import { correct } from './corrections.ts';
import { mayRetire } from './deletion-window.ts';
import { noted, notedIdle, recorded } from './failure.ts';
import { arrange, inNewPhase, inPhase, scaleInPace, slotsText, type FleetInputs } from './inputs.ts';
import { beginMove, steerMove } from './move-back.ts';
import { relocate } from './moves.ts';
import { numberFound } from './number-found.ts';
import { unofferedPlace } from './placement.ts';
import { isToLeave, repair, withoutRepair } from './repair.ts';
import { revised } from './revising.ts';
import { isReliable } from './replica.ts';
import {
  floorOf,
  giveWay,
  planUpdates,
  rolloutOf,
  spareEveryMs,
  steerRollout,
  type Rollout,
} from './rollout.ts';
import type { VolumeEntry } from './state.ts';
import { scale } from './scaling.ts';
import { refusedNames } from './template-metadata.ts';
import { victims } from './victims.ts';
import { hasGrownElsewhere, remaining, retiredWith, retiredWithFleet, volumeName } from './volumes.ts';
import { finish, inTime, paced, waitForLeaving } from './waits.ts';

export function planFleet(inputs: FleetInputs): Plan {
  const { object } = inputs;
  const cleaned = cleanUp(inputs) ?? retireDeleted(inputs);
  if (cleaned) return cleaned;
  const begunAnew = afterClockSetBack(inputs);
  if (begunAnew) return begunAnew;
  if (object.annotations[annotations.paused] === 'true') {
    return holdFor(
      'Paused',
      `the annotation ${annotations.paused} stops all changes of the roster; remove it to continue`,
      {
        path: ['metadata', 'annotations', annotations.paused],
      },
    );
  }
  const retired = retireDrained(inputs);
  if (retired) return retired;
  if (object.deleting) return inTime(inputs, planDeletion(inputs));
  const refused = refusedNames(object.spec.template);
  if (refused) return inTime(inputs, refused);
  if (inputs.problem) return inTime(inputs, returning(inputs) ?? inputs.problem);
  const next = revised(inputs);
  return 'kind' in next ? next : inTime(next, planRunning(next));
}

function planRunning(given: FleetInputs): Plan {
  const unoffered = given.wanted.count > 0 ? unofferedPlace(given) : undefined;
  if (unoffered) return unoffered;
  const inputs = noted(given);
  const rollout = rolloutOf(inputs);
  const placed = spareProtected(inputs, rollout) ?? relocate(inputs) ?? steerMove(inputs, rollout);
  const begun = placed ?? steerRollout(inputs, rollout);
  const step = begun ?? repaired(inputs, given) ?? scale(inputs, rollout);
  const update = step ?? correct(inputs, rollout) ?? planUpdates(inputs, rollout);
  const other = update ?? giveWay(inputs, rollout) ?? beginMove(inputs);
  if (other) return other;
  const idle = notedIdle(inputs, given.state.rollout, finish(inputs, rollout));
  return recorded(idle, given.state.rollout) ?? noteSizes(inputs) ?? finish(idle, rollout);
}

/** Who denies a repair keeps nothing else waiting. `given`: before anything was noted in this pass. */
function repaired(inputs: FleetInputs, given: FleetInputs): Arrange | undefined {
  const step = repair(inputs);
  return step && { ...step, otherwise: () => planRunning(withoutRepair(given)) };
}

/** A return to an earlier revision needs nothing of what the document requires, and continues until it is over. */
function returning(inputs: FleetInputs): Plan | undefined {
  const { state, update, problem } = inputs;
  const { phase, revision } = state.rollout ?? {};
  if (phase !== 'RollingBack' || revision !== update?.number) return undefined;
  const plan = planRunning(inputs);
  if (plan.kind === 'arrange' || problem?.kind !== 'hold') return plan;
  const { recheckAfterMs } = plan.kind === 'wait' || plan.kind === 'hold' ? plan : {};
  return { ...problem, ...(recheckAfterMs === undefined ? {} : { recheckAfterMs }) };
}

/** A volume that others have made larger is to be as large from then on. */
function noteSizes(inputs: FleetInputs): Arrange | undefined {
  if (!hasGrownElsewhere(inputs)) return undefined;
  const message = 'volumes are larger than they were to be, and stay so';
  return arrange(inputs, [], { reason: 'Drift', message, change: undefined });
}

function cleanUp(inputs: FleetInputs): Arrange | undefined {
  const { replicas, taken, state, isFound, object } = inputs;
  const gone = replicas.filter(
    ({ entry, isRecorded }) => taken.has(entry.slot) || (entry.phase === 'retiring' && !isRecorded),
  );
  const slots = new Set(gone.map(({ entry }) => entry.slot));
  const roster = state.roster.filter(({ slot }) => !slots.has(slot));
  const { volumes: known = [] } = state;
  const volumes = remaining(inputs, roster);
  const ended = known.filter((volume) => !volumes.includes(volume));
  const isNews = isFound && replicas.length + known.length > 0;
  if (gone.length + ended.length === 0 && !isNews) return undefined;
  const reason = isFound ? 'ReplicasFound' : 'ScalingIn';
  const names = (of: readonly VolumeEntry[]) =>
    of.map(({ slot }) => volumeName(object.name, slot)).join(', ');
  const parts = isFound
    ? [...(replicas.length > 0 ? [slotsText(replicas)] : []), ...(known.length > 0 ? [names(known)] : [])]
    : [...(gone.length > 0 ? [slotsText(gone)] : []), ...(ended.length > 0 ? [names(ended)] : [])];
  const number = isFound ? numberFound(inputs) : undefined;
  return {
    kind: 'arrange',
    reason,
    message: `${isFound ? 'found again' : 'gone'}: ${[...parts, ...(number?.text ?? [])].join('; ')}`,
    change: number?.differences ? 'scale' : undefined,
    differences: number?.differences ?? [],
    ...(isFound ? { recalls: true as const } : {}),
    state: { ...state, roster, ...(state.volumes ? { volumes } : {}) },
  };
}

/**
 * It is being deleted already, so it can't drain. With `Retain`, its service stays, and it is made again for that service: nothing that is
 * left with its namespace or its fleet may be deleted because somebody deleted its object a moment earlier. One that drains is deleted by its
 * own pass, as the fleet has decided.
 */
function retireDeleted(inputs: FleetInputs): Arrange | undefined {
  const { deleting, spec } = inputs.object;
  const deleted = inputs.replicas.filter(({ isDeleted }) => isDeleted);
  if (deleted.length === 0 || (spec.deletionPolicy === 'Retain' && !deleting)) return undefined;
  return arrange(inputs, inNewPhase(deleted, 'retiring', inputs.nowMs), {
    reason: 'ScalingIn',
    message: `deleted by somebody else: ${slotsText(deleted)}`,
    change: undefined,
  });
}

function retireDrained(inputs: FleetInputs): Arrange | undefined {
  const { replicas, object, nowMs } = inputs;
  const graceMs = object.spec.drain.graceSeconds * 1000;
  const drained = inPhase(replicas, 'draining').filter((replica) => {
    const { entry, isMade, protection } = replica;
    const isOver = protection === 'no' && nowMs >= entry.since + graceMs;
    return !isMade || (isOver && mayRetire(inputs, replica));
  });
  if (drained.length === 0) return undefined;
  return arrange(
    inputs,
    inNewPhase(drained, 'retiring', nowMs),
    { reason: 'ScalingIn', message: `to be deleted: ${slotsText(drained)}`, change: undefined },
    retiredWith(
      inputs,
      drained.map(({ entry }) => entry),
    ),
  );
}

// ---- deletion ----------------------------------------------------------------------------------------

function planDeletion(inputs: FleetInputs): Plan {
  const { replicas, object, state, nowMs } = inputs;
  const volumes = retiredWithFleet(inputs);
  if (volumes) {
    const message = 'the volumes that no replica has are to be deleted';
    return arrange(inputs, [], { reason: 'ScalingIn', message, change: undefined }, { volumes });
  }
  if (replicas.length === 0) return leaveVolumes(inputs);
  const wanted = inPhase(replicas, 'wanted');
  const change = {
    reason: 'ScalingIn',
    change: 'delete',
    differences: [{ path: 'replicas', desired: 0, observed: wanted.length, drift: false }],
  } as const;
  if (wanted.length > 0 && object.spec.deletionPolicy === 'Retain') {
    const message = `left at the provider: ${slotsText(wanted)}`;
    const left = inNewPhase(wanted, 'retiring', nowMs);
    const rest = { ...retiredWith(inputs, left), left: true } as const;
    return arrange(inputs, left, { ...change, change: 'leave', message }, rest);
  }
  if (wanted.length === 0) return waitForLeaving(inputs);
  const pace = scaleInPace(inputs);
  const leaving = victims(wanted).slice(0, pace.left);
  if (leaving.length === 0) return paced(inputs, wanted.length);
  const message = `draining: ${slotsText(leaving)}, of ${state.roster.length}`;
  const rest = { pace: pace.begin(leaving.length), rollout: undefined };
  return arrange(
    inputs,
    inNewPhase(leaving, 'draining', nowMs, 'scale', 'its document was removed'),
    { ...change, message },
    rest,
  );
}

/** Nothing is deleted that was not retired before. */
function leaveVolumes(inputs: FleetInputs): Plan {
  const { object, state } = inputs;
  if (!state.volumes || state.volumes.length === 0) return inSync();
  const message = `left at the provider: ${volumeNames(object.name, state.volumes)}`;
  return arrange(
    inputs,
    [],
    { reason: 'ScalingIn', message, change: undefined },
    { volumes: [], left: true },
  );
}

function volumeNames(fleet: string, volumes: readonly VolumeEntry[]): string {
  return volumes.map(({ slot }) => volumeName(fleet, slot)).join(', ');
}

/** Another replica drains instead of a protected one, if there is one that was not found protected lately. */
function spareProtected(inputs: FleetInputs, rollout: Rollout): Arrange | undefined {
  const { replicas, nowMs, state } = inputs;
  const isTooSoon = state.roster.some(({ spared = 0 }) => spared <= nowMs && nowMs < spared + spareEveryMs);
  const kept = inPhase(replicas, 'draining').find(
    (replica) => replica.protection === 'yes' && !isToLeave(replica),
  );
  const pace = scaleInPace(inputs);
  if (!kept || isTooSoon || pace.left === 0) return undefined;
  const running = inPhase(replicas, 'wanted');
  // The one that comes back counts, if others may rely on it.
  const left = [kept, ...running].filter(isReliable).length - floorOf(inputs);
  const others = running.filter(
    (other) =>
      other.protection !== 'yes' &&
      rollout.isToReplace(other) === rollout.isToReplace(kept) &&
      (isReliable(other) ? left > 0 : left >= 0 || !other.mayServe),
  );
  const [instead] = victims(others);
  if (!instead) return undefined;
  const { cause, by, ...back } = kept.entry;
  return arrange(
    inputs,
    [
      { ...back, phase: 'wanted', since: nowMs, spared: nowMs },
      ...inNewPhase([instead], 'draining', nowMs, cause, by),
    ],
    {
      reason: 'ScalingIn',
      message: `${slotsText([kept])} is protected by ${kept.protector}; draining instead: ${slotsText([instead])}`,
      change: undefined,
    },
    { pace: pace.begin(1) },
  );
}
