/**
 * Whether the revision of a rollout has failed, and what follows.
 *
 * | failed                                                              | not failed: the revision is not to blame                    |
 * |---------------------------------------------------------------------|-------------------------------------------------------------|
 * | more than `failureLimit` replicas can't run it, or their change was refused | capacity, funds, limits, rate, permission            |
 * | as many were available at it, and then not for a minute             | an account or API that can't be reached                     |
 * | no replica became available at it for `progressDeadlineSeconds`     | protection, windows, nothing wanted                         |
 * | an analysis of it failed (analysis.ts)                              |                                                             |
 * | a person ended it (`abort`)                                         |                                                             |
 *
 * The deadline counts from the last progress: the begin, or a replica that became available. It stands still while something on the
 * right side keeps all replicas that are under way; while none is under way, and no step is possible: others do not leave yet, or
 * there is no place; and while no pass was made: the process was down, or the account unreadable.
 *
 * What follows is a return to the newest Healthy revision (RollingBack). The fleet stays as it is (Frozen) with `onFailure: Freeze`,
 * if there is no Healthy one, and if values of its Secrets have changed since: they are not known any more.
 */
import type { Arrange, Plan } from '../../engine/plan/index.ts';
import type { Reason } from '../../reasons/index.ts';
import { begunAnalyses, failureOf, verdictOf } from './analysis.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { arrange, inPhase, type FleetInputs } from './inputs.ts';
import type { Replica } from './replica.ts';
import { revisionName, runsTheSame, withOutcome } from './revisions.ts';
import type { FleetState, RolloutRecord } from './state.ts';
import { isGrowthForbidden } from './volumes.ts';

const minuteMs = 60_000;
/** So often it is recorded that the deadline counts. */
export const recordMs = 2 * minuteMs;
/** Without a pass for longer than that, it did not count. */
const gapMs = 5 * minuteMs;

export const activePhases: ReadonlySet<string> = new Set(['Progressing', 'Paused', 'Analysing']);

/** Of a revision that has yet to be proven. A move of replicas with a Healthy one can't fail. */
export function provingRollout({ state, update }: FleetInputs): RolloutRecord | undefined {
  return provingIn(state, update);
}

export function provingIn(
  { rollout }: FleetState,
  update: OwnerRevision | undefined,
): RolloutRecord | undefined {
  const isProving = rollout?.revision === update?.number && update?.outcome !== 'Healthy';
  return rollout && isProving && activePhases.has(rollout.phase) ? rollout : undefined;
}

/**
 * No replica has run the revision of the rollout yet. One that is asleep may have got it in its sleep, and shows nothing. If what runs
 * is that of the newest Healthy revision, nothing has to be shown.
 */
export function isUntried(
  { rollout }: FleetState,
  revision: OwnerRevision,
  healthy: OwnerRevision | undefined,
): boolean {
  if (rollout?.revision !== revision.number || revision.outcome === 'Healthy') return false;
  const isTried = rollout.ran === true || rollout.reached.length > 0;
  return !isTried && !(healthy && runsTheSame(revision, healthy));
}

/** What was added or repaired would get a revision that has failed: there is no other one. */
export function hasOnlyFailed({ state: { rollout }, update, healthy }: FleetInputs): boolean {
  const isFrozen = rollout?.phase === 'Frozen' && rollout.revision === update?.number;
  return isFrozen && update?.outcome === 'Failed' && !healthy;
}

/** With what this pass observes of the rollout. It is saved with the next change, at the latest after two minutes. */
export function noted(inputs: FleetInputs): FleetInputs {
  const { nowMs, state, wanted } = inputs;
  const rollout = provingRollout(inputs);
  if (!rollout || wanted.count === 0) return inputs;
  const at = atUpdate(inputs);
  // A replica that has left shows nothing about the next one in its slot.
  const before = rollout.reached.filter((slot) => at.some(({ entry }) => entry.slot === slot));
  const reached = at.flatMap(({ isAvailable, entry }) =>
    isAvailable && !before.includes(entry.slot) ? [entry.slot] : [],
  );
  const known = new Set(rollout.failures.map(({ slot }) => slot));
  const failures = at.flatMap((replica) => {
    const reason = known.has(replica.entry.slot) ? undefined : faultOf(rollout, replica, nowMs);
    const message = replica.fault === reason ? replica.faultText : undefined;
    return reason === undefined
      ? []
      : [{ slot: replica.entry.slot, reason, ...(message === undefined ? {} : { message }) }];
  });
  // Its first replica may fall asleep before it is available.
  const isFirst = !rollout.ran && reached.length + rollout.reached.length === 0 && at.some(runs);
  const isNews = isFirst || reached.length + failures.length > 0;
  const next = {
    ...clockOf(inputs, rollout),
    reached: [...before, ...reached],
    ...(isFirst || rollout.reached.length > 0 ? { ran: true as const } : {}),
    failures: [...rollout.failures, ...failures],
    ...(reached.length > 0 ? { progressAt: nowMs } : {}),
  };
  return { ...inputs, state: { ...state, rollout: next }, ...(isNews ? { isUnsaved: true } : {}) };
}

function runs({ isReady, isAsleep, isSettled }: Replica): boolean {
  return isReady && !isAsleep && isSettled;
}

function atUpdate({ replicas, update }: FleetInputs): Replica[] {
  return inPhase(replicas, 'wanted').filter(({ entry }) => entry.revision === update?.number);
}

function faultOf({ reached }: RolloutRecord, replica: Replica, nowMs: number): string | undefined {
  const { fault, unready, entry } = replica;
  if (fault !== undefined) return fault;
  const isLost = reached.includes(entry.slot) && unready !== undefined && !unready.isExcused;
  return isLost && nowMs >= unready.since + minuteMs ? unready.reason : undefined;
}

/** The deadline stands still from the moment at which this is recorded. */
function clockOf(inputs: FleetInputs, rollout: RolloutRecord): RolloutRecord {
  const { nowMs } = inputs;
  const stopper = stopperOf(inputs, rollout);
  const { stopped, ...running } = rollout;
  const passed = nowMs - (stopped?.since ?? rollout.seenAt);
  const isGap = stopped !== undefined || passed > gapMs;
  const lost = isGap ? Math.max(0, passed) : 0;
  const next = { ...running, seenAt: nowMs, progressAt: Math.min(nowMs, rollout.progressAt + lost) };
  if (stopper === undefined) return next;
  // Until it ends, the deadline stays as it was when it began.
  return stopped
    ? { ...rollout, seenAt: nowMs, stopped: { ...stopped, reason: stopper } }
    : { ...next, stopped: { reason: stopper, since: nowMs } };
}

/**
 * With what keeps the rollout if no replica is under way at the revision, and this pass has no step: all that have it are available, and
 * the next one can't begin. `end`: what the fleet waits for.
 */
export function notedIdle(inputs: FleetInputs, before: RolloutRecord | undefined, end: Plan): FleetInputs {
  const rollout = provingRollout(inputs);
  if (rollout?.phase !== 'Progressing' || rollout.stopped || inputs.wanted.count === 0) return inputs;
  const isComing = atUpdate(inputs).some(({ isAvailable }) => !isAvailable);
  if (isComing || (end.kind !== 'wait' && end.kind !== 'hold')) return inputs;
  const reason = leavingReason(inputs) ?? end.reason;
  const since = before?.stopped?.since ?? inputs.nowMs;
  const progressAt = before?.stopped ? before.progressAt : rollout.progressAt;
  return {
    ...inputs,
    state: { ...inputs.state, rollout: { ...rollout, progressAt, stopped: { reason, since } } },
  };
}

/** Replicas wait until others are gone. */
export function leavingReason({ replicas, wanted }: FleetInputs): Reason | undefined {
  const leaving = replicas.filter(({ entry }) => entry.phase !== 'wanted');
  if (leaving.length === 0 || inPhase(replicas, 'wanted').length >= wanted.count) return undefined;
  const isProtected = leaving.some(
    ({ entry, protection }) => entry.phase === 'draining' && protection === 'yes',
  );
  return isProtected ? 'ReplicasProtected' : 'ReplicasLeaving';
}

/** Why no progress is possible, and the revision is not to blame. */
function stopperOf(inputs: FleetInputs, { phase }: RolloutRecord): string | undefined {
  if (phase === 'Paused') return 'RolloutPaused';
  if (phase === 'Analysing') return isWithoutResult(inputs) ? 'AnalysisInconclusive' : 'Analysing';
  const coming = atUpdate(inputs).filter(({ isAvailable }) => !isAvailable);
  if (coming.length === 0) {
    if (inputs.isWindowClosed) return 'OutsideWindow';
    const isStuck = inPhase(inputs.replicas, 'wanted').some(({ entry }) =>
      isGrowthForbidden(inputs, entry, inputs.target),
    );
    return isStuck ? 'ExpansionNeedsPause' : undefined;
  }
  return coming.every(({ excuse }) => excuse !== undefined) ? coming[0]?.excuse : undefined;
}

/** The time of the analysis that is awaited is over, and its measurements do not decide. */
export function isWithoutResult({ object, state, nowMs }: FleetInputs): boolean {
  const { rollout } = state;
  if (rollout?.phase !== 'Analysing') return false;
  const begun = begunAnalyses(rollout, object.spec.update.steps ?? [], nowMs);
  const current = begun.find(({ record }) => record.step === rollout.step);
  // While a measurement is under way, it may decide, and the one before has not.
  const known = current && { ...current, record: { ...current.record, asked: undefined } };
  return known !== undefined && verdictOf(known, nowMs) === 'inconclusive';
}

/** Unix milliseconds; undefined while it stands still. */
export function deadlineOf({ object, state }: FleetInputs): number | undefined {
  const { rollout } = state;
  if (!rollout || rollout.phase !== 'Progressing' || rollout.stopped) return undefined;
  return rollout.progressAt + object.spec.update.progressDeadlineSeconds * 1000;
}

export function failed(inputs: FleetInputs): Arrange | undefined {
  const rollout = provingRollout(inputs);
  const cause = rollout && causeOf(inputs, rollout);
  return rollout && cause !== undefined ? fail(inputs, rollout, cause) : undefined;
}

function causeOf(inputs: FleetInputs, rollout: RolloutRecord): string | undefined {
  const { isAborted, failures } = rollout;
  const { failureLimit, progressDeadlineSeconds, steps = [] } = inputs.object.spec.update;
  if (isAborted) return 'it was aborted';
  if (failures.length > failureLimit) {
    const shown = failures.slice(0, 5).map(failureText);
    const count = failures.length === 1 ? '1 replica' : `${failures.length} replicas`;
    return `${count} failed: ${shown.join(', ')}`;
  }
  const analysis = failureOf(rollout, steps, inputs.nowMs);
  if (analysis !== undefined) return analysis;
  const deadline = deadlineOf(inputs);
  if (deadline === undefined || inputs.nowMs < deadline) return undefined;
  return `no replica became available at it for ${progressDeadlineSeconds} s`;
}

function failureText({ slot, reason, message }: RolloutRecord['failures'][number]): string {
  return `replica ${slot} (${reason}${message === undefined ? '' : `: ${message}`})`;
}

function fail(inputs: FleetInputs, rollout: RolloutRecord, cause: string): Arrange {
  const { revisions, healthy, object, nowMs, hasHealthyValues } = inputs;
  const mayReturn = object.spec.update.onFailure === 'Rollback' && healthy !== undefined && hasHealthyValues;
  const { stopped: _stopped, isAborted: _aborted, ...rest } = rollout;
  const phase = mayReturn ? 'RollingBack' : 'Frozen';
  const name = revisionName(rollout.revision);
  const then = mayReturn
    ? `the replicas return to ${revisionName(healthy.number)}`
    : 'the replicas stay as they are';
  const message = `${name} failed: ${cause}; ${then}`;
  return arrange(
    inputs,
    [],
    {
      reason: mayReturn ? 'RollingBack' : 'RollingOut',
      message,
      change: 'update',
      news: [{ reason: 'RevisionFailed', message }],
      differences: [{ path: 'template', desired: `(${name})`, observed: `(failed: ${cause})`, drift: false }],
    },
    // What was added and does not work leaves first.
    { rollout: { ...rest, phase, since: nowMs, cause, ...(mayReturn ? { surge: 0 } : {}) } },
    withOutcome(revisions, rollout.revision, 'Failed', nowMs, cause),
  );
}

/** Saves what `noted` remembers when nothing else does. */
export function recorded(inputs: FleetInputs, before: RolloutRecord | undefined): Arrange | undefined {
  const { rollout } = inputs.state;
  if (!rollout || !before || !provingRollout(inputs)) return undefined;
  const isOld = rollout.seenAt - before.seenAt >= recordMs || rollout.seenAt < before.seenAt;
  if (before.stopped?.reason === rollout.stopped?.reason && !(isOld && !rollout.stopped)) return undefined;
  const message = rollout.stopped
    ? `the deadline stands still: ${rollout.stopped.reason}`
    : 'the deadline counts';
  return arrange(inputs, [], { reason: 'RollingOut', message, change: undefined });
}
