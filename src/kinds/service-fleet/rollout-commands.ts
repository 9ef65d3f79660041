/**
 * What operator commands change in a rollout. Pure. Each names the revision that its author saw.
 *
 * | command        | effect                                                    | outdated when                                   |
 * |----------------|-----------------------------------------------------------|-------------------------------------------------|
 * | `abort@r7`     | the revision fails (failure.ts)                           | no rollout to it is under way                   |
 * | `retry@r7#1`   | the failed revision is tried again, as another attempt: replicas that failed with it are restarted | it has not failed, or in another attempt |
 * | `freeze@r7`    | nothing gets the revision any more                         | no rollout to it is under way                   |
 * | `promote@r7#2` | ends step 2 of the rollout; `promote-full@r7#2` ends all   | it is not at that step                          |
 * | `thaw@r7`      | a frozen rollout continues                                | it is not frozen, or has failed (`retry`)       |
 */
import type { CommandEffect } from '../../engine/index.ts';
import type { OperatorCommand } from '../../resources/index.ts';
import { lost } from './analysis.ts';
import { activePhases } from './failure.ts';
import { inNewPhase, inPhase, type FleetInputs } from './inputs.ts';
import type { Replica } from './replica.ts';
import { withoutRetry } from './retries.ts';
import { revisionName } from './revisions.ts';
import { rolloutTo } from './rollout.ts';
import { withEntries } from './roster.ts';
import { passed, stepsLeft } from './steps.ts';
import type { RolloutRecord, RosterEntry } from './state.ts';

type Effect = (inputs: FleetInputs, command: OperatorCommand) => CommandEffect;

function done({ state }: FleetInputs, rollout: RolloutRecord, message: string): CommandEffect {
  return {
    result: 'Done',
    message,
    state: { ...state, rollout },
    change: 'update',
    differences: [{ path: 'rollout', desired: message, observed: '(as it is)', drift: false }],
  };
}

function outdated(message: string): CommandEffect {
  return { result: 'Outdated', message };
}

/** The rollout to the revision of this name, in one of the phases. */
function rolloutIn(
  { state }: FleetInputs,
  name: string,
  phases: ReadonlySet<string>,
): RolloutRecord | undefined {
  const { rollout } = state;
  return rollout && revisionName(rollout.revision) === name && phases.has(rollout.phase)
    ? rollout
    : undefined;
}

const abort: Effect = (inputs, { target }) => {
  const rollout = rolloutIn(inputs, target, activePhases);
  if (!rollout || inputs.update?.outcome === 'Healthy')
    return outdated(`no rollout to ${target} is under way`);
  return done(inputs, { ...rollout, isAborted: true }, `the rollout to ${target} is aborted`);
};

const freeze: Effect = (inputs, { target }) => {
  const rollout = rolloutIn(inputs, target, activePhases);
  if (!rollout) return outdated(`no rollout to ${target} is under way`);
  const { stopped: _stopped, analyses = [], ...rest } = rollout;
  const steps = inputs.object.spec.update.steps ?? [];
  // What is under way is not waited for, and must not be asked a second time after a thaw.
  const ended = analyses.map((record) => {
    const spec = steps[record.step]?.analysis;
    return spec && record.asked ? lost(record, spec) : record;
  });
  const measured = ended.length > 0 ? { analyses: ended } : {};
  const since = inputs.nowMs;
  const frozen = { ...rest, ...measured, phase: 'Frozen', since, cause: 'a person froze it' } as const;
  return done(inputs, frozen, `the rollout to ${target} is frozen`);
};

const thaw: Effect = (inputs, { target }) => {
  const { nowMs, update } = inputs;
  const rollout = rolloutIn(inputs, target, new Set(['Frozen']));
  if (!rollout) return outdated(`the rollout to ${target} is not frozen`);
  if (update?.outcome === 'Failed') return outdated(`${target} has failed; retry it`);
  const { cause: _cause, ...rest } = rollout;
  const next = { ...rest, phase: 'Progressing', since: nowMs, progressAt: nowMs, seenAt: nowMs } as const;
  return done(inputs, next, `the rollout to ${target} continues`);
};

const retry: Effect = (inputs, { target }) => {
  const [name = '', attempt = ''] = target.split('#');
  const rollout = rolloutIn(inputs, name, new Set(['RollingBack', 'RolledBack', 'Frozen']));
  if (!rollout || inputs.update?.outcome !== 'Failed') return outdated(`${name} has not failed`);
  if (rollout.attempt !== Number(attempt)) return outdated(`${name} is in attempt ${rollout.attempt}`);
  const next = { ...rolloutTo(rollout.revision, inputs.nowMs, 0), attempt: rollout.attempt + 1 };
  const slots = new Set(rollout.failures.map(({ slot }) => slot));
  const failed = inPhase(inputs.replicas, 'wanted').filter(
    ({ entry, fault, isReady }) =>
      entry.revision === rollout.revision && (fault !== undefined || (slots.has(entry.slot) && !isReady)),
  );
  const again = failed.flatMap((replica) => triedAgain(replica, next.attempt, inputs));
  const roster = withEntries(inputs.state.roster, again);
  const tried = { ...inputs, state: { ...inputs.state, roster } };
  return done(tried, next, `${name} is tried again, in attempt ${next.attempt}`);
};

/**
 * Its failures until now do not count any more. What was refused is sent again once the replica has its earlier revision. If nothing
 * was made, another one is made in its place.
 */
function triedAgain(replica: Replica, attempt: number, { revisions, nowMs }: FleetInputs): RosterEntry[] {
  const { entry, isMade, isSettled, fault } = replica;
  if (!isMade) return inNewPhase([replica], 'draining', nowMs);
  const { updated: _updated, earlier, ...rest } = withoutRetry(entry, revisions);
  if (fault === 'Refused' && earlier !== undefined && rest.revision !== undefined)
    return [{ ...rest, revision: earlier, earlier: rest.revision }];
  const corrects = isSettled ? { corrects: nowMs } : {};
  return [{ ...entry, updated: nowMs, retried: attempt, ...corrects }];
}

/** Ends the step that its author saw, or all of them. */
function promoted(inputs: FleetInputs, { target }: OperatorCommand, isFull: boolean): CommandEffect {
  const [name = '', number = ''] = target.split('#');
  const left = rolloutIn(inputs, name, activePhases) && stepsLeft(inputs);
  if (!left) return outdated(`no step of a rollout to ${name} is under way`);
  const { rollout, steps } = left;
  if (rollout.step + 1 !== Number(number))
    return outdated(`the rollout to ${name} is at step ${rollout.step + 1}`);
  const { stopped: _stopped, ...rest } = rollout;
  const begun = { ...rest, progressAt: inputs.nowMs, seenAt: inputs.nowMs };
  // A person who ends all steps ends their measurements, too.
  const { analyses: _analyses, ...unmeasured } = begun;
  const next = isFull
    ? passed(unmeasured, steps, steps.length, inputs.nowMs)
    : passed(begun, steps, rollout.step + 1, inputs.nowMs);
  const what = isFull
    ? `all steps of the rollout to ${name} are`
    : `step ${number} of the rollout to ${name} is`;
  return done(inputs, next, `${what} passed`);
}

const promote: Effect = (inputs, command) => promoted(inputs, command, false);
const promoteFull: Effect = (inputs, command) => promoted(inputs, command, true);

export const rolloutCommands = {
  abort,
  freeze,
  thaw,
  retry,
  promote,
  'promote-full': promoteFull,
} as const;
