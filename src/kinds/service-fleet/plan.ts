/**
 * The planner of a ServiceFleet. One planner does scaling and rollout, so the two never select against each other. It
 * sends nothing: its steps change the roster (roster.ts), and each replica is an object with a planner of its own.
 *
 * The first rule that applies is the step of a pass:
 *
 * | rule        | when                                                 | step                                                |
 * |-------------|------------------------------------------------------|-----------------------------------------------------|
 * | clean up    | a retiring replica is gone; a document has its name  | its slot leaves the roster                          |
 * | held        | the fleet is paused                                  | Hold; the replicas are reconciled all the same      |
 * | drained     | a draining replica is not protected, after its grace | it retires                                          |
 * | deletion    | the document is gone                                 | all drain at the pace of `scaleIn`; `Retain`: none  |
 * | spare       | a draining replica is protected, and another is not  | the other one drains instead                        |
 * | revision    | the document requires another content                | a revision is recorded (revising.ts), with the next step |
 * | relocate    | replicas can't be where they are                     | they get another place, or drain (moves.ts)         |
 * | rollout     | a new revision; replicas differ from it              | a rollout begins, or ends (rollout.ts)              |
 * | repair      | replicas stay broken                                 | they drain, unless too many are broken (repair.ts)  |
 * | scale       | too few, or too many are wanted                      | slots are added, or victims drain                   |
 * | correct     | others changed a replica, and it has to be interrupted | it may be, as the floor allows (corrections.ts)   |
 * | update      | a rollout is under way                               | replicas are updated or replaced, as the floor allows |
 * | give way    | somebody works in a replica that is to be updated    | it keeps its revision, and another one is updated     |
 * | record      | what keeps the deadline of the rollout has changed   | that is recorded (failure.ts)                         |
 * | in sync     | nothing of this                                      | Wait for replicas, or InSync until a schedule changes |
 *
 * No step removes or updates an available replica when that leaves fewer than the floor: the wanted number less
 * `maxUnavailable`. A replica that is known not to work protects nothing. One that may work, and is not available (its probe has
 * not answered yet, or it became Ready just now), is not taken while fewer than the floor are available.
 */
import { holdFor, inSync, waitFor, type Arrange, type Plan } from '../../engine/plan/index.ts';
import { annotations } from '../../resources/index.ts';
import { awaitedCorrections, correct } from './corrections.ts';
import { deadlineOf, noted, recorded, recordMs } from './failure.ts';
import {
  arrange,
  countDifference,
  inNewPhase,
  inPhase,
  scaleInPace,
  slotsText,
  type FleetInputs,
} from './inputs.ts';
import { relocate, slowTimes } from './moves.ts';
import { choose, placementObstacle } from './placement.ts';
import { failuresText, isToLeave, repair, repairsOf } from './repair.ts';
import { revised } from './revising.ts';
import { isReliable } from './replica.ts';
import { revisionName } from './revisions.ts';
import {
  floorOf,
  giveWay,
  planUpdates,
  rolloutOf,
  spareEveryMs,
  steerRollout,
  type Rollout,
} from './rollout.ts';
import { freeSlots } from './roster.ts';
import { victims } from './victims.ts';

const longestRecheckMs = 3_600_000;

export function planFleet(inputs: FleetInputs): Plan {
  const { object } = inputs;
  const cleaned = cleanUp(inputs);
  if (cleaned) return cleaned;
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
  if (object.deleting) return planDeletion(inputs);
  const next = revised(inputs);
  return 'kind' in next ? next : planRunning(next);
}

function planRunning(given: FleetInputs): Plan {
  const inputs = noted(given);
  const rollout = rolloutOf(inputs);
  const begun = spareProtected(inputs, rollout) ?? relocate(inputs) ?? steerRollout(inputs, rollout);
  const step = begun ?? repair(inputs) ?? scale(inputs, rollout);
  const update = step ?? correct(inputs, rollout) ?? planUpdates(inputs, rollout);
  const last = update ?? giveWay(inputs, rollout) ?? recorded(inputs, given.state.rollout);
  return last ?? finish(inputs, rollout);
}

function cleanUp({ replicas, taken, state, isFound }: FleetInputs): Arrange | undefined {
  const gone = replicas.filter(
    ({ entry, isRecorded }) => taken.has(entry.slot) || (entry.phase === 'retiring' && !isRecorded),
  );
  if (gone.length === 0 && !(isFound && replicas.length > 0)) return undefined;
  const slots = new Set(gone.map(({ entry }) => entry.slot));
  const roster = state.roster.filter(({ slot }) => !slots.has(slot));
  const reason = isFound ? 'ReplicasFound' : 'ScalingIn';
  const message = isFound ? `found again: ${slotsText(replicas)}` : `gone: ${slotsText(gone)}`;
  return {
    kind: 'arrange',
    reason,
    message,
    change: undefined,
    differences: [],
    state: { ...state, roster },
  };
}

function retireDrained(inputs: FleetInputs): Arrange | undefined {
  const { replicas, object, nowMs } = inputs;
  const graceMs = object.spec.drain.graceSeconds * 1000;
  const drained = inPhase(replicas, 'draining').filter(
    ({ entry, isMade, protection }) => !isMade || (protection === 'no' && nowMs >= entry.since + graceMs),
  );
  if (drained.length === 0) return undefined;
  return arrange(inputs, inNewPhase(drained, 'retiring', nowMs), {
    reason: 'ScalingIn',
    message: `to be deleted: ${slotsText(drained)}`,
    change: undefined,
  });
}

// ---- deletion ----------------------------------------------------------------------------------------

function planDeletion(inputs: FleetInputs): Plan {
  const { replicas, object, state, nowMs } = inputs;
  if (replicas.length === 0) return inSync();
  const wanted = inPhase(replicas, 'wanted');
  const change = {
    reason: 'ScalingIn',
    change: 'delete',
    differences: [{ path: 'replicas', desired: 0, observed: wanted.length, drift: false }],
  } as const;
  if (wanted.length > 0 && object.spec.deletionPolicy === 'Retain') {
    const message = `left at the provider: ${slotsText(wanted)}`;
    return arrange(inputs, inNewPhase(wanted, 'retiring', nowMs), { ...change, message });
  }
  if (wanted.length === 0) return waitForLeaving(inputs);
  const pace = scaleInPace(inputs);
  const leaving = victims(wanted).slice(0, pace.left);
  if (leaving.length === 0) return paced(inputs, wanted.length);
  const message = `draining: ${slotsText(leaving)}, of ${state.roster.length}`;
  const rest = { pace: pace.begin(leaving.length), rollout: undefined };
  return arrange(inputs, inNewPhase(leaving, 'draining', nowMs), { ...change, message }, rest);
}

// ---- scaling -----------------------------------------------------------------------------------------

function scale(inputs: FleetInputs, rollout: Rollout): Arrange | undefined {
  const missing = rollout.target - inPhase(inputs.replicas, 'wanted').length;
  if (missing > 0) return scaleOut(inputs, rollout, missing);
  return missing < 0 ? scaleIn(inputs, rollout, -missing) : undefined;
}

/**
 * Draining replicas are taken back first. Each one saves a start. During a rollout, one that was found again may drain
 * because it is to be replaced, and is compared with nothing while it drains.
 */
function scaleOut(inputs: FleetInputs, rollout: Rollout, missing: number): Arrange | undefined {
  const { replicas, taken, wanted, target, nowMs, state } = inputs;
  const count = inPhase(replicas, 'wanted').length;
  const draining = inPhase(replicas, 'draining').filter(
    (replica) =>
      !rollout.isToReplace(replica) &&
      !isToLeave(replica) &&
      (!state.rollout || replica.content !== 'unknown'),
  );
  const back = victims(draining).toReversed().slice(0, missing);
  const room = rollout.most - replicas.length;
  const slots = freeSlots(state.roster, new Set(taken.keys()), Math.min(missing - back.length, room));
  const places = choose(inputs, slots.length);
  if (back.length + places.length === 0) return undefined;
  const added = places.map(
    ({ place, name: candidate }, index) =>
      ({
        slot: slots[index] ?? 0,
        phase: 'wanted',
        since: nowMs,
        revision: target?.number,
        place,
        candidate,
      }) as const,
  );
  const names = added.map(({ slot }) => slot).join(', ');
  const parts = [
    ...(back.length > 0 ? [`taken back: ${slotsText(back)}`] : []),
    ...(added.length > 0 ? [`added: ${added.length === 1 ? 'replica' : 'replicas'} ${names}`] : []),
  ];
  const isForRollout = count >= wanted.count;
  return arrange(
    inputs,
    [...inNewPhase(back, 'wanted', nowMs), ...added],
    {
      reason: isForRollout ? 'RollingOut' : 'ScalingOut',
      message: parts.join('; '),
      change: isForRollout ? undefined : 'scale',
      differences: [countDifference(wanted, count)],
    },
    // What was added for the rollout stays until its end.
    state.rollout ? { rollout: { ...state.rollout, surge: rollout.surge } } : {},
  );
}

function scaleIn(inputs: FleetInputs, rollout: Rollout, surplus: number): Arrange | undefined {
  const { replicas, wanted, nowMs } = inputs;
  const running = inPhase(replicas, 'wanted');
  const pace = scaleInPace(inputs);
  const leaving = rollout.withinFloor(victims(running)).slice(0, Math.min(surplus, pace.left));
  if (leaving.length === 0) return undefined;
  const left = surplus - leaving.length;
  const more = left > 0 ? `; ${left} more follow` : '';
  return arrange(
    inputs,
    inNewPhase(leaving, 'draining', nowMs),
    {
      reason: 'ScalingIn',
      message: `draining: ${slotsText(leaving)}${more}`,
      change: running.length > wanted.count && rollout.surge > 0 ? undefined : 'scale',
      differences: [countDifference(wanted, running.length)],
    },
    { pace: pace.begin(leaving.length) },
  );
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
  return arrange(
    inputs,
    [
      { ...kept.entry, phase: 'wanted', since: nowMs, spared: nowMs },
      ...inNewPhase([instead], 'draining', nowMs),
    ],
    {
      reason: 'ScalingIn',
      message: `${slotsText([kept])} is protected by ${kept.protector}; draining instead: ${slotsText([instead])}`,
      change: undefined,
    },
    { pace: pace.begin(1) },
  );
}

// ---- nothing left to arrange -------------------------------------------------------------------------

function finish(inputs: FleetInputs, rollout: Rollout): Plan {
  const { replicas, wanted, taken, isFound, isUnsaved, state, nowMs, object } = inputs;
  if (isFound || isUnsaved) {
    const message = replicas.length === 0 ? 'no replicas' : `observed: ${slotsText(replicas)}`;
    return arrange(inputs, [], { reason: 'RollingOut', message, change: undefined });
  }
  const running = inPhase(replicas, 'wanted');
  const isDone = running.every(
    ({ isAvailable, content, correction }) => isAvailable && content === 'updated' && correction === 'none',
  );
  if (running.length > wanted.count && !state.rollout && scaleInPace(inputs).left === 0)
    return paced(inputs, running.length - wanted.count);
  const { massFailure, nextAt } = repairsOf(inputs);
  if (massFailure !== undefined) return holdFor('MassFailure', massFailure);
  const stopped = stoppedRollout(inputs);
  if (stopped) return stopped;
  const missing = Math.min(rollout.target - running.length, rollout.most - replicas.length);
  const obstacle = placementObstacle(inputs, missing, longestRecheckMs);
  if (obstacle) return obstacle;
  const isRolling = state.rollout !== undefined && state.rollout.phase !== 'RolledBack' && wanted.count > 0;
  if (!isDone || running.length !== wanted.count || isRolling) return waitForReplicas(inputs, nextAt);
  if (replicas.length > running.length) return waitForLeaving(inputs);
  const [first] = taken.values();
  if (first !== undefined) {
    const count = taken.size === 1 ? 'A document has' : `${taken.size} documents have`;
    return holdFor(
      'NameTaken',
      `${count} the name of a replica: ${first}; the fleet ${object.name} uses other numbers`,
    );
  }
  return inSync([], Number.isFinite(wanted.changesAt) ? recheckAt(wanted.changesAt, nowMs) : undefined);
}

/** A person has to decide what becomes of it. */
function stoppedRollout({ state, target, replicas, wanted }: FleetInputs): Plan | undefined {
  const { phase, revision, cause } = state.rollout ?? {};
  if (revision === undefined || (phase !== 'RolledBack' && phase !== 'Frozen')) return undefined;
  const name = revisionName(revision);
  const running = inPhase(replicas, 'wanted');
  const isInOrder =
    running.length === wanted.count &&
    running.length === replicas.length &&
    running.every(({ isAvailable }) => isAvailable);
  const why = cause === undefined ? '' : `: ${cause}`;
  if (phase === 'Frozen') {
    const message = `the rollout to ${name} is frozen${why}`;
    return holdFor('RolloutFrozen', `${message}; change the template, or thaw or retry it`);
  }
  if (!isInOrder) return undefined;
  const has = target ? revisionName(target.number) : 'none';
  return holdFor(
    'RolloutFailed',
    `${name} failed${why}; all replicas have ${has} again; change the template, or retry it`,
    { differences: [{ path: 'template', desired: `(${name})`, observed: `(${has})`, drift: false }] },
  );
}

function recheckAt(timeMs: number, nowMs: number): number {
  return Math.min(Math.max(timeMs - nowMs, 1001), longestRecheckMs);
}

function waitForReplicas(inputs: FleetInputs, repairAt: number): Plan {
  const { replicas, wanted, nowMs, state } = inputs;
  const running = inPhase(replicas, 'wanted');
  const notReady = running.filter(({ isAvailable }) => !isAvailable);
  const due = notReady.flatMap(({ availableAt }) => availableAt ?? []);
  const leaving = replicas.filter(({ entry }) => entry.phase !== 'wanted');
  const missing = wanted.count - running.length;
  const outdated = running.filter(({ content }) => content === 'outdated').length;
  const unknown = running.filter(({ content }) => content === 'unknown').length;
  const failures = failuresText(running);
  const { waiting, changesAt } = awaitedCorrections(inputs);
  const parts = [
    ...(missing > 0 ? [`${missing} of ${wanted.count} replicas wait until others are gone`] : []),
    ...(notReady.length > 0 ? [`not available yet: ${slotsText(notReady)}`] : []),
    ...(failures === '' ? [] : [`given up: ${failures}`]),
    ...(leaving.length > 0 ? [`leaving: ${slotsText(leaving)}`] : []),
    ...(waiting.length > 0 ? [`changed by others, and to be corrected: ${slotsText(waiting)}`] : []),
    ...(outdated > 0 ? [`${outdated} still to be updated`] : []),
    ...(unknown > 0 ? [`${unknown} not compared with the template yet`] : []),
  ];
  const times = [
    ...due,
    wanted.changesAt,
    repairAt,
    ...slowTimes(inputs),
    ...changesAt,
    ...(state.rollout && state.pace ? [state.pace.at + 60_000] : []),
    ...deadlineTimes(inputs),
  ];
  return waitFor('ReplicasNotReady', parts.join('; ') || 'the rollout ends', {
    recheckAfterMs: recheckAt(
      Math.min(...times.filter((time) => time > nowMs), nowMs + longestRecheckMs),
      nowMs,
    ),
  });
}

/** When the deadline ends, or is to be recorded as counting (Unix milliseconds). */
function deadlineTimes(inputs: FleetInputs): number[] {
  const deadline = deadlineOf(inputs);
  const { rollout } = inputs.state;
  if (deadline === undefined || !rollout) return [];
  const losses = inputs.replicas.flatMap(({ unready }) => (unready ? [unready.since + 60_000] : []));
  return [deadline, rollout.seenAt + recordMs, ...losses];
}

function paced({ state, object, nowMs }: FleetInputs, left: number): Plan {
  const { maxPerMinute } = object.spec.scaleIn;
  const nextAt = (state.pace?.at ?? nowMs) + 60_000;
  return waitFor(
    'ScaleInPaced',
    `${left} more replicas are to be removed; scaleIn.maxPerMinute is ${maxPerMinute}`,
    {
      recheckAfterMs: recheckAt(nextAt, nowMs),
    },
  );
}

function waitForLeaving({ replicas, object, nowMs, wanted }: FleetInputs): Plan {
  const leaving = replicas.filter(({ entry }) => entry.phase !== 'wanted');
  const graceMs = object.spec.drain.graceSeconds * 1000;
  const held = leaving.filter(({ entry, protection }) => entry.phase === 'draining' && protection === 'yes');
  const ends = leaving.flatMap(({ entry }) => (entry.phase === 'draining' ? [entry.since + graceMs] : []));
  const times = [...ends, ...(object.deleting ? [] : [wanted.changesAt])].filter((time) => time > nowMs);
  const recheckAfterMs = recheckAt(Math.min(...times, nowMs + longestRecheckMs), nowMs);
  if (held.length > 0) {
    const reasons = held.slice(0, 3).map(({ entry, protector }) => `replica ${entry.slot} by ${protector}`);
    const more = held.length > 3 ? `, and ${held.length - 3} more` : '';
    return waitFor('ReplicasProtected', `protected: ${reasons.join(', ')}${more}`, { recheckAfterMs });
  }
  return waitFor('ReplicasLeaving', `leaving: ${slotsText(leaving)}`, { recheckAfterMs });
}
