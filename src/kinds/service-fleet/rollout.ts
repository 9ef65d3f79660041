/**
 * How a changed template reaches the replicas. The phases of a rollout:
 *
 * | phase                  | what is done                                              | leaves it                                     |
 * |------------------------|-----------------------------------------------------------|-----------------------------------------------|
 * | Stable (no record)     | nothing                                                   | a new revision, or replicas differ: Progressing |
 * | Progressing            | replicas get the new revision, within floor and step (steps.ts) | all have it and are available: Stable   |
 * | Paused                 | a step of the rollout is a pause: nothing gets the new revision | its end, `promote`: Progressing         |
 * | Analysing              | a step is an analysis: what has the new revision is measured (measuring.ts) | it has passed, `promote`: Progressing |
 * | RollingBack            | replicas get the newest Healthy revision, within the floor | all have it: RolledBack                       |
 * | RolledBack             | the document requires what has failed: nothing            | a change of the document; `retry`: Progressing |
 * | Frozen                 | nothing gets the new revision                             | a change of the document; `thaw`, `retry`: Progressing |
 *
 * | in any phase                                                              | next                          |
 * |---------------------------------------------------------------------------|-------------------------------|
 * | the document has another content                                          | Progressing, to that revision |
 * | it has the content of the newest Healthy revision again                   | RollingBack, and then Stable  |
 * | it has a content that has failed                                          | RolledBack, or Frozen         |
 * | the revision fails, and there is a Healthy one to return to (failure.ts)  | RollingBack                   |
 * | the revision fails otherwise; `freeze`                                    | Frozen                        |
 *
 * In place: one more replica is updated if enough others are available. With `maxUnavailable: 0`, surge replicas with the new
 * content come first and leave last. Replaced (`mode: Replace`, or another place): new ones are added up to `maxSurge`, and
 * for each one that is available an old one drains.
 *
 * In a rollback, a replica that does not work needs no floor, and no disruption window is awaited: one was open when the failed
 * revision came in. Work in a replica is awaited as ever.
 */
import type { Arrange, Difference } from '../../engine/plan/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { contentDifferences } from './content-differences.ts';
import { countOf, unavailableAtMost } from './counts.ts';
import { activePhases, failed } from './failure.ts';
import { arrange, inNewPhase, inPhase, scaleInPace, slotsText, type FleetInputs } from './inputs.ts';
import { measure } from './measuring.ts';
import { hasProbe } from './move-back.ts';
import { boundReplicas } from './placement.ts';
import { countDifferences } from './number-shown.ts';
import { isReliable, type Replica } from './replica.ts';
import { withoutRetry } from './retries.ts';
import { revisionName, withOutcome } from './revisions.ts';
import type { FleetState, RolloutRecord, RosterEntry } from './state.ts';
import { stepsLeft, stepOn, stepsText } from './steps.ts';
import { updateOrder, victims } from './victims.ts';
import { isGrowthForbidden } from './volumes.ts';

/** Between two replicas that keep their revision because somebody works in them, or that are taken back. */
export const spareEveryMs = 15_000;

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
  /** How many more replicas may get the new revision in this step; infinite without steps. */
  readonly room: number;
  /** Of so many replicas that are added, those that get the revision of the rollout. The others get the newest Healthy one. */
  readonly newest: (added: number, missing: number) => number;
}

export function floorOf({ object, wanted }: Pick<FleetInputs, 'object' | 'wanted'>): number {
  return Math.max(0, wanted.count - unavailableAtMost(object.spec.update, wanted.count));
}

/** Nothing gets another revision in them. */
const stillPhases: ReadonlySet<string> = new Set(['Paused', 'Analysing', 'Frozen']);

export function rolloutOf(inputs: FleetInputs): Rollout {
  const { object, wanted, replicas, state, update } = inputs;
  const { mode, maxSurge } = object.spec.update;
  const bound = boundReplicas(inputs);
  const isToReplace = (replica: Replica) =>
    (replica.isMisplaced && !bound.includes(replica)) ||
    replica.rejection !== undefined ||
    (mode === 'Replace' && replica.content === 'outdated');
  const running = inPhase(replicas, 'wanted');
  const record = state.rollout?.revision === update?.number ? state.rollout : undefined;
  const isStill = record !== undefined && stillPhases.has(record.phase);
  const toReplace = isStill ? [] : running.filter(isToReplace);
  const toUpdate = isStill
    ? []
    : running.filter(
        (replica) =>
          replica.content === 'outdated' &&
          !isToReplace(replica) &&
          !isGrowthForbidden(inputs, replica.entry, inputs.target),
      );
  const overlap = replicas.filter(
    ({ entry, protection }) => entry.phase === 'draining' && protection === 'yes',
  );
  const surgeAtMost = countOf(maxSurge, wanted.count, 'up');
  const overlapAtMost = countOf(object.spec.drain.overlap ?? maxSurge, wanted.count, 'up');
  const needed = surgeNeeded(inputs, toUpdate, toReplace.length, record?.phase === 'RollingBack');
  const aimed = Math.max(record?.surge ?? 0, isStill ? 0 : needed);
  const step = stepsLeft(inputs);
  const there = running.filter(({ entry }) => entry.revision === update?.number).length;
  const room = step ? Math.max(0, step.goal - there) : Number.POSITIVE_INFINITY;
  // None is added while it stands still, or for a later step; those that are there stay.
  const surplus = Math.max(0, running.length - wanted.count);
  const most = isStill ? surplus : Math.min(surgeAtMost, surplus + room);
  const surge = record && running.length > 0 ? Math.min(most, aimed) : 0;
  const available = running.filter(isReliable).length;
  return {
    target: wanted.count === 0 ? 0 : wanted.count + Math.max(surge, hasProbe(inputs) ? 1 : 0),
    most: wanted.count + surgeAtMost + Math.min(overlap.length, overlapAtMost),
    surge,
    isToReplace,
    toReplace: step
      ? victims(toReplace).slice(0, Math.max(0, toReplace.length - (wanted.count - step.goal)))
      : toReplace,
    toUpdate,
    room,
    newest: (added, missing) => {
      if (!step) return added;
      const forScale = mode === 'Replace' ? 0 : Math.max(0, wanted.count - running.length);
      const allowed = isStill ? 0 : Math.min(room, missing - forScale);
      return Math.max(0, allowed - (missing - added));
    },
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

/** In place, no others are needed if some may be unavailable, and for what does not work anyway. */
function surgeNeeded(
  { object, wanted }: FleetInputs,
  updates: readonly Replica[],
  replacements: number,
  isReturn: boolean,
): number {
  const { update } = object.spec;
  const needsNone = replacements === 0 && unavailableAtMost(update, wanted.count) > 0;
  const working = isReturn ? updates.filter(({ mayServe }) => mayServe) : updates;
  return needsNone
    ? 0
    : Math.min(countOf(update.maxSurge, wanted.count, 'up'), working.length + replacements);
}

/** The revision that all replicas are to have in the end. */
export function targetOf(
  { rollout }: FleetState,
  update: OwnerRevision | undefined,
  healthy: OwnerRevision | undefined,
): OwnerRevision | undefined {
  const isLeft = rollout !== undefined && rollout.revision === update?.number && !isForward(rollout);
  return isLeft ? (healthy ?? update) : update;
}

function isForward({ phase }: RolloutRecord): boolean {
  return activePhases.has(phase);
}

/** Begins one for a new revision, or for replicas that differ, and ends it. */
export function steerRollout(inputs: FleetInputs, rollout: Rollout): Arrange | undefined {
  const { state, update, wanted } = inputs;
  if (!update || wanted.count === 0) return undefined;
  const record = state.rollout;
  if (!record && update.outcome === 'Failed') return stoppedAgain(inputs, update);
  if (record?.revision !== update.number) return beginRollout(inputs, update, rollout);
  const ended = failed(inputs) ?? stepOn(inputs) ?? measure(inputs);
  if (ended) return ended;
  if (isForward(record) && update.outcome === 'Failed') return retried(inputs, update);
  const isMoving = record.phase === 'Progressing' || record.phase === 'RollingBack';
  return isMoving && isOver(inputs, rollout) ? endRollout(inputs, update, record) : undefined;
}

/** Its document was removed meanwhile, and is back. Replicas that still have it return to the newest Healthy revision. */
function stoppedAgain(inputs: FleetInputs, update: OwnerRevision): Arrange {
  const { replicas, healthy } = inputs;
  const stopped = stoppedRollout(inputs, update);
  const isLeft = healthy && replicas.some(({ entry }) => entry.revision === update.number);
  const message = `${revisionName(update.number)} has failed, and is not tried again`;
  return arrange(
    inputs,
    [],
    { reason: isLeft ? 'RollingBack' : 'RollingOut', message, change: undefined },
    { rollout: isLeft ? { ...stopped, phase: 'RollingBack' } : stopped },
  );
}

/** An operator command has begun it again. */
function retried(inputs: FleetInputs, { number }: OwnerRevision): Arrange {
  const message = `${revisionName(number)} is tried again`;
  const revisions = withOutcome(inputs.revisions, number, 'RollingOut', inputs.nowMs);
  return arrange(inputs, [], { reason: 'RollingOut', message, change: undefined }, {}, revisions);
}

function beginRollout(inputs: FleetInputs, update: OwnerRevision, rollout: Rollout): Arrange | undefined {
  const { replicas, nowMs } = inputs;
  const { toUpdate, toReplace } = rollout;
  const differing = toUpdate.length + toReplace.length;
  const running = inPhase(replicas, 'wanted');
  const isKnown = running.every(({ content }) => content !== 'unknown');
  const isHealthy = update.outcome === 'Healthy';
  if (differing === 0 && (isHealthy || !isKnown || running.length === 0)) return undefined;
  const ways = [
    ...(toUpdate.length > 0 ? [`${toUpdate.length} in place`] : []),
    ...(toReplace.length > 0 ? [`${toReplace.length} replaced`] : []),
  ];
  const steps = inputs.healthy && !isHealthy ? stepsText(inputs.object.spec.update.steps ?? []) : '';
  const observed = `${differing} of ${running.length} replicas differ (${ways.join(', ')})${steps}`;
  // One with an earlier revision was left behind.
  const isReturn = isHealthy && toUpdate.some(({ revision }) => (revision?.number ?? 0) > update.number);
  // Those that have it before its rollout were found with it.
  const isKnownToRun = running.some(({ content, isReady }) => content === 'updated' && isReady);
  const surge = surgeNeeded(inputs, toUpdate, toReplace.length, isReturn);
  const record = {
    ...rolloutTo(update.number, nowMs, surge),
    ...(isKnownToRun ? { ran: true as const } : {}),
  };
  return arrange(
    inputs,
    [],
    {
      reason: isReturn ? 'RollingBack' : 'RollingOut',
      message: `the template has changed: ${ways.join(', ')}`,
      change: differing > 0 ? 'update' : undefined,
      differences:
        differing > 0
          ? [
              { path: 'template', desired: '(as declared)', observed, drift: false },
              ...revisionDifferences(inputs, update),
              ...countDifferences(inputs),
            ]
          : [],
    },
    { rollout: isReturn ? { ...record, phase: 'RollingBack' } : record },
  );
}

/** From the newest Healthy revision; in a return to that one, from the newest that replicas have. */
export function revisionDifferences({ replicas, healthy }: FleetInputs, update: OwnerRevision): Difference[] {
  const others = replicas.flatMap(({ revision }) =>
    revision && revision.number !== update.number ? [revision] : [],
  );
  const newest = others.toSorted((one, other) => other.number - one.number)[0];
  const before = healthy && healthy.number !== update.number ? healthy : newest;
  if (!before) return contentDifferences(healthy, update);
  const [desired, observed] = [revisionName(update.number), revisionName(before.number)];
  return [{ path: 'revision', desired, observed, drift: false }, ...contentDifferences(before, update)];
}

export function rolloutTo(revision: number, since: number, surge: number): RolloutRecord {
  const begin = { attempt: 1, step: 0, progressAt: since, seenAt: since, reached: [], failures: [] };
  return { revision, phase: 'Progressing', since, surge, ...begin };
}

/** A failed revision is not sent again without a command, or another content. */
export function stoppedRollout(
  { healthy, nowMs }: FleetInputs,
  { number, reason }: OwnerRevision,
): RolloutRecord {
  const phase = healthy ? 'RolledBack' : 'Frozen';
  return { ...rolloutTo(number, nowMs, 0), phase, ...(reason === undefined ? {} : { cause: reason }) };
}

function isOver(inputs: FleetInputs, { toUpdate, toReplace }: Rollout): boolean {
  const { replicas, wanted, state } = inputs;
  const running = inPhase(replicas, 'wanted');
  const needsAll = state.rollout?.phase !== 'RollingBack';
  const done = running.filter(
    ({ content, isAvailable }) => content === 'updated' && (isAvailable || !needsAll),
  );
  // One that was added beside them may wait for room for ever.
  const isDone = running.every((replica) => done.includes(replica) || isAdded(replica));
  const isLast = stepsLeft(inputs) === undefined;
  return isLast && isDone && done.length >= wanted.count && toUpdate.length + toReplace.length === 0;
}

/** It never had another revision, and was not observed to have this one yet. */
function isAdded({ content, entry }: Replica): boolean {
  return content === 'updating' && entry.updated === undefined;
}

function endRollout(inputs: FleetInputs, update: OwnerRevision, record: RolloutRecord): Arrange {
  const { revisions, nowMs, target } = inputs;
  if (target && target.number !== update.number) {
    const message = `all replicas have ${revisionName(target.number)} again`;
    const rollout = { ...record, phase: 'RolledBack', since: nowMs, surge: 0 } as const;
    return arrange(inputs, [], { reason: 'RollingBack', message, change: undefined }, { rollout });
  }
  const message = `the rollout to ${revisionName(update.number)} is complete`;
  return arrange(
    inputs,
    [],
    {
      reason: 'RollingOut',
      message,
      change: undefined,
      // A restart of a rollout that was complete before is none.
      ...(update.outcome === 'Healthy' ? {} : { news: [{ reason: 'RolloutComplete', message }] }),
    },
    { rollout: undefined },
    withOutcome(revisions, update.number, 'Healthy', nowMs),
  );
}

export function planUpdates(inputs: FleetInputs, rollout: Rollout): Arrange | undefined {
  const { target, nowMs } = inputs;
  const { toUpdate, toReplace, withinFloor, room } = rollout;
  const replaced = withinFloor(victims(toReplace)).slice(0, scaleInPace(inputs).left);
  if (replaced.length > 0) {
    return arrange(
      inputs,
      inNewPhase(replaced, 'draining', nowMs),
      { reason: 'RollingOut', message: `to be replaced: ${slotsText(replaced)}`, change: undefined },
      { pace: scaleInPace(inputs).begin(replaced.length) },
    );
  }
  const ready = toUpdate.filter((replica) => mayBegin(inputs, replica));
  // One that gave way is tried again when no other one is left, or a quarter of an hour later.
  const free = ready.filter(({ protection }) => protection !== 'yes');
  const updated = withinFloor(updateOrder(free.length > 0 ? free : ready).slice(0, room));
  if (updated.length === 0 || !target) return undefined;
  const isReturn = inputs.state.rollout?.phase === 'RollingBack';
  return arrange(
    inputs,
    updated.map(({ entry }) => grantedTo(target, entry, inputs)),
    {
      reason: isReturn ? 'RollingBack' : 'RollingOut',
      message: `to be updated: ${slotsText(updated)}`,
      change: undefined,
    },
  );
}

/** What works waits for its window, except in a rollback. */
function mayBegin(
  { isWindowClosed, state, target }: FleetInputs,
  { mayServe, entry, fault }: Replica,
): boolean {
  const { revision = 0, earlier = 0 } = entry;
  // For a retry, it has the revision before again until its refusal is forgotten.
  if (fault !== undefined && earlier > revision && earlier === target?.number) return false;
  return !isWindowClosed || !mayServe || state.rollout?.phase === 'RollingBack';
}

function grantedTo(
  { number }: OwnerRevision,
  before: RosterEntry,
  { revisions, nowMs }: FleetInputs,
): RosterEntry {
  const { granted: _granted, earlier: _earlier, revision, ...rest } = withoutRetry(before, revisions);
  return {
    ...rest,
    revision: number,
    updated: nowMs,
    ...(revision === undefined ? {} : { earlier: revision }),
  };
}

/**
 * One that somebody works in keeps its revision for now, and another one is updated instead. At most once in 15 s. If the floor does not allow
 * the other one, it waits until the first one is available again.
 */
export function giveWay(inputs: FleetInputs, { toUpdate, withinFloor }: Rollout): Arrange | undefined {
  const { replicas, target, nowMs, state } = inputs;
  const isTooSoon = state.roster.some(({ spared = 0 }) => spared <= nowMs && nowMs < spared + spareEveryMs);
  const blocked = inPhase(replicas, 'wanted').find(
    ({ isBlocked, entry }) => isBlocked && entry.earlier !== undefined && entry.revision === target?.number,
  );
  const [other] = updateOrder(toUpdate.filter(({ protection }) => protection !== 'yes'));
  if (!blocked || !other || !target || isTooSoon) return undefined;
  const [instead] = withinFloor([other]);
  const { updated: _updated, retried: _retried, earlier, ...rest } = blocked.entry;
  const back = { ...rest, ...(earlier === undefined ? {} : { revision: earlier }), spared: nowMs };
  const then = instead ? 'to be updated instead' : 'to be updated when it is available again';
  return arrange(inputs, [back, ...(instead ? [grantedTo(target, instead.entry, inputs)] : [])], {
    reason: 'RollingOut',
    message: `${slotsText([blocked])} is protected; ${then}: ${slotsText([other])}`,
    change: undefined,
  });
}
