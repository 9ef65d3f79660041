/** What a fleet waits for when nothing is left to arrange in its roster, and when it looks again. */
import { rfc3339 } from '../../base/index.ts';
import { holdFor, inSync, waitFor, type Plan } from '../../engine/plan/index.ts';
import { entryOf, isBlocking, isReason } from '../../reasons/index.ts';
import { awaitedCorrections } from './corrections.ts';
import { forbidden, heldText, retiresAt } from './deletion-window.ts';
import { begunAnalyses, countsText, spentMs } from './analysis.ts';
import { deadlineOf, isWithoutResult, leavingReason, recordMs } from './failure.ts';
import { arrange, inPhase, scaleInPace, slotsText, type FleetInputs } from './inputs.ts';
import { measurementTimes } from './measuring.ts';
import { moveTimes } from './move-back.ts';
import { slowTimes } from './moves.ts';
import { unprovenSurplus } from './number-found.ts';
import { boundObstacle, boundReplicas, placementObstacle } from './placement.ts';
import { failuresText, repairsOf } from './repair.ts';
import { isReliable, type Replica } from './replica.ts';
import { revisionName } from './revisions.ts';
import type { Rollout } from './rollout.ts';
import { pauseEnd, stepsLeft } from './steps.ts';
import { isGrowthForbidden, volumeName } from './volumes.ts';

const longestRecheckMs = 3_600_000;

/**
 * Whatever the fleet waits for, it looks again when a draining replica may be deleted at the earliest, and when another number of
 * replicas is wanted.
 */
export function inTime(inputs: FleetInputs, plan: Plan): Plan {
  const { replicas, object, wanted, nowMs } = inputs;
  if (plan.kind !== 'wait' && plan.kind !== 'hold') return plan;
  const graceMs = object.spec.drain.graceSeconds * 1000;
  const ends = inPhase(replicas, 'draining').map(({ entry }) => entry.since + graceMs);
  const opens = retiresAt(inputs) ?? 0;
  const times = [...ends, opens, ...(object.deleting ? [] : [wanted.changesAt])].filter(
    (time) => time > nowMs,
  );
  const next = Math.min(...times);
  if (!Number.isFinite(next)) return plan;
  const recheckAfterMs = Math.min(recheckAt(next, nowMs), plan.recheckAfterMs ?? longestRecheckMs);
  return { ...plan, recheckAfterMs };
}

export function finish(inputs: FleetInputs, rollout: Rollout): Plan {
  const { replicas, wanted, isFound, isUnsaved, state, nowMs } = inputs;
  if (isFound || isUnsaved) {
    const message = replicas.length === 0 ? 'no replicas' : `observed: ${slotsText(replicas)}`;
    const made = arrange(inputs, [], { reason: 'RollingOut', message, change: undefined });
    // Its first revision, of replicas that are there: they can be compared with it from now on.
    const isAgain = replicas.length > 0 && inputs.newRevisions?.length === 1;
    return isAgain ? { ...made, recalls: true } : made;
  }
  const running = inPhase(replicas, 'wanted');
  const isDone = running.every(
    ({ isAvailable, content, correction }) => isAvailable && content === 'updated' && correction === 'none',
  );
  const unproven = unprovenSurplus(inputs, rollout);
  if (unproven) return unproven;
  if (running.length > wanted.count && !state.rollout && scaleInPace(inputs).left === 0)
    return paced(inputs, running.length - wanted.count);
  const { massFailure, nextAt } = repairsOf(inputs);
  if (massFailure !== undefined) return holdFor('MassFailure', massFailure);
  const halted =
    stoppedRollout(inputs) ?? pausedRollout(inputs, rollout.surge) ?? analysedRollout(inputs, rollout.surge);
  if (halted) return halted;
  const missing = Math.min(rollout.target - running.length, rollout.most - replicas.length);
  const obstacle = placementObstacle(inputs, missing, longestRecheckMs) ?? volumeObstacle(inputs);
  if (obstacle) return obstacle;
  const isRolling = state.rollout !== undefined && state.rollout.phase !== 'RolledBack' && wanted.count > 0;
  if (!isDone || running.length !== wanted.count || isRolling) return waitForReplicas(inputs, nextAt);
  if (replicas.length > running.length) return waitForLeaving(inputs);
  const conflict = nameTaken(inputs);
  if (conflict) return conflict;
  const times = [wanted.changesAt, ...moveTimes(inputs)].filter((time) => time > nowMs);
  const nextMs = Math.min(...times);
  return inSync([], Number.isFinite(nextMs) ? recheckAt(nextMs, nowMs) : undefined);
}

function nameTaken({ taken, volumes, object }: FleetInputs): Plan | undefined {
  const all = [...taken.values(), ...volumes.taken.values()];
  const [first] = all;
  if (first === undefined) return undefined;
  const count = all.length === 1 ? 'A document has' : `${all.length} documents have`;
  return holdFor(
    'NameTaken',
    `${count} the name of a replica or its volume: ${first}; the fleet ${object.name} uses other numbers`,
  );
}

/** Volumes that are in the way of what their replicas are to be. A person has to decide. */
function volumeObstacle(inputs: FleetInputs): Plan | undefined {
  const stuck = boundReplicas(inputs);
  if (stuck.length > 0) {
    const remedy = 'remove a replica with its volume by `fleetkeeper retire`, with `retire: Delete`';
    return boundObstacle(
      inputs,
      stuck.map(({ entry }) => entry.slot),
      remedy,
    );
  }
  const growing = inPhase(inputs.replicas, 'wanted').filter(
    ({ entry, content, isMisplaced }) =>
      content === 'outdated' && !isMisplaced && isGrowthForbidden(inputs, entry, inputs.target),
  );
  if (growing.length === 0) return undefined;
  const message = `volumes grow only while their replicas are paused (§3 rule 5), and \`expansion: Never\` forbids that: ${slotsText(growing)}; allow it with \`expansion: PauseService\``;
  return holdFor('ExpansionNeedsPause', message, { path: ['spec', 'storage', 'perReplica', 'expansion'] });
}

/** Once all is in order apart from that. */
function pausedRollout(inputs: FleetInputs, surge: number): Plan | undefined {
  const left = stepsLeft(inputs);
  if (left?.rollout.phase !== 'Paused') return undefined;
  const { rollout, steps } = left;
  if (!isComplete(inputs, surge)) return undefined;
  const end = pauseEnd(left);
  const step = rollout.step + 1;
  const until = Number.isFinite(end) ? `until ${rfc3339(end)}, or ` : '';
  const command = `promote@${revisionName(rollout.revision)}#${step}`;
  const message = `step ${step} of ${steps.length} is a pause, ${until}until the command ${command}`;
  const nextMs = Math.min(end, ...measurementTimes(inputs));
  return waitFor('RolloutPaused', message, { recheckAfterMs: recheckAt(nextMs, inputs.nowMs) });
}

function isComplete({ replicas, wanted }: FleetInputs, surge: number): boolean {
  const running = inPhase(replicas, 'wanted');
  return running.length === wanted.count + surge && running.every(isReliable);
}

function analysedRollout(inputs: FleetInputs, surge: number): Plan | undefined {
  const left = stepsLeft(inputs);
  if (left?.rollout.phase !== 'Analysing') return undefined;
  const { nowMs } = inputs;
  const { rollout, steps } = left;
  const begun = begunAnalyses(rollout, steps, nowMs).find(({ record }) => record.step === rollout.step);
  const isOver = isWithoutResult(inputs);
  if (!begun || (!isOver && !isComplete(inputs, surge))) return undefined;
  const { record, spec } = begun;
  const step = `step ${rollout.step + 1} of ${steps.length}`;
  const recheckAfterMs = recheckAt(Math.min(...measurementTimes(inputs), Infinity), nowMs);
  if (!isOver) {
    const end = rfc3339(nowMs + Math.max(0, spec.forSeconds * 1000 - spentMs(begun, nowMs)));
    const message = `${step} is an analysis, until ${end}; ${countsText(record)}`;
    return waitFor('Analysing', message, { recheckAfterMs });
  }
  const command = `promote@${revisionName(rollout.revision)}#${rollout.step + 1}`;
  const message = `the analysis in ${step} has no result: ${countsText(record)}; it waits until more pass, or until the command ${command}`;
  return waitFor('AnalysisInconclusive', message, { recheckAfterMs });
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
  const volumes = waitingVolumes(inputs);
  const parts = [
    ...(missing > 0 ? [`${missing} of ${wanted.count} replicas wait until others are gone`] : []),
    ...(notReady.length > 0 ? [`not available yet: ${slotsText(notReady)}`] : []),
    ...excusesText(inputs, notReady),
    ...(failures === '' ? [] : [`given up: ${failures}`]),
    ...(volumes === '' ? [] : [`volumes: ${volumes}`]),
    ...(leaving.length > 0 ? [`leaving: ${slotsText(leaving)}`] : []),
    ...protectedText(leaving),
    ...heldText(inputs),
    ...(waiting.length > 0 ? [`changed by others, and to be corrected: ${slotsText(waiting)}`] : []),
    ...(outdated > 0 ? [`${outdated} still to be updated`] : []),
    ...(unknown > 0 ? [`${unknown} not compared with the template yet`] : []),
  ];
  const times = [
    ...due,
    repairAt,
    ...slowTimes(inputs),
    ...moveTimes(inputs),
    ...changesAt,
    ...(state.rollout && state.pace ? [state.pace.at + 60_000] : []),
    ...deadlineTimes(inputs),
  ];
  // Of what leaves, a budget asks why it does not: an update that waits for work is another matter.
  const isProtected =
    notReady.length === 0
      ? leavingReason(inputs) === 'ReplicasProtected'
      : leaving.length === 0 && notReady.every(({ isBlocked }) => isBlocked);
  const reason = isProtected ? 'ReplicasProtected' : 'ReplicasNotReady';
  return waitFor(reason, parts.join('; ') || 'the rollout ends', {
    recheckAfterMs: recheckAt(
      Math.min(...times.filter((time) => time > nowMs), nowMs + longestRecheckMs),
      nowMs,
    ),
  });
}

/** What replicas wait for that have not failed. An additional one in a rollout needs room in each budget. */
function excusesText({ wanted, replicas }: FleetInputs, notReady: readonly Replica[]): string[] {
  const waiting = Map.groupBy(notReady, ({ excuse }) => excuse);
  const isSurge = inPhase(replicas, 'wanted').length > wanted.count;
  return [...waiting].flatMap(([reason, which]) => {
    if (reason === undefined) return [];
    const isForBudget = isReason(reason) && isBlocking(reason) && entryOf(reason).forBudget === true;
    const advice = isForBudget && isSurge ? ' (`maxSurge: 0` with `maxUnavailable: 1` needs no room)' : '';
    return [`${reason}: ${slotsText(which)}${advice}`];
  });
}

/** Volumes of replicas that are not as they are to be, with their reasons. */
function waitingVolumes({ state, volumes, object }: FleetInputs): string {
  const texts = state.roster.flatMap(({ slot, phase, place }) => {
    const pending = phase === 'wanted' && place.volume ? volumes.facts.get(slot)?.pending : undefined;
    return pending === undefined ? [] : [`${volumeName(object.name, slot)} (${pending})`];
  });
  return `${texts.slice(0, 5).join(', ')}${texts.length > 5 ? ', …' : ''}`;
}

/** When a pause or the deadline ends, or it is to be recorded that it counts (Unix milliseconds). */
function deadlineTimes(inputs: FleetInputs): number[] {
  const deadline = deadlineOf(inputs);
  const { rollout } = inputs.state;
  const left = stepsLeft(inputs);
  const measurements = measurementTimes(inputs);
  if (left?.rollout.phase === 'Paused') return [pauseEnd(left), ...measurements];
  if (left?.rollout.phase === 'Analysing') return measurements;
  if (deadline === undefined || !rollout) return [];
  const losses = inputs.replicas.flatMap(({ unready }) => (unready ? [unready.since + 60_000] : []));
  return [deadline, rollout.seenAt + recordMs, ...losses, ...measurements];
}

export function paced({ state, object, nowMs }: FleetInputs, left: number): Plan {
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

export function waitForLeaving(inputs: FleetInputs): Plan {
  const recheckAfterMs = longestRecheckMs;
  const leaving = inputs.replicas.filter(({ entry }) => entry.phase !== 'wanted');
  const [held] = protectedText(leaving);
  const hold = forbidden(inputs);
  if (hold) return hold;
  return held === undefined
    ? waitFor('ReplicasLeaving', [`leaving: ${slotsText(leaving)}`, ...heldText(inputs)].join('; '), {
        recheckAfterMs,
      })
    : waitFor('ReplicasProtected', held, { recheckAfterMs });
}

/** Empty if nobody works in them. */
function protectedText(leaving: readonly Replica[]): string[] {
  const held = leaving.filter(({ entry, protection }) => entry.phase === 'draining' && protection === 'yes');
  if (held.length === 0) return [];
  const reasons = held.slice(0, 3).map(({ entry, protector }) => `replica ${entry.slot} by ${protector}`);
  const more = held.length > 3 ? `, and ${held.length - 3} more` : '';
  return [`protected: ${reasons.join(', ')}${more}`];
}
