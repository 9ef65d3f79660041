/**
 * When the analysis of a rollout measures, and which replicas. Pure; the requests: measurements.ts. What the answers say: analysis.ts.
 *
 *     (waits) ── due: what is asked is recorded ──> asked ── all has answered: that is counted ──> (waits)
 *        ^────── the process that asked is gone: counted, if a command may have run ──┘
 *
 * An analysis begins with its step. Its measurements go on in later steps, until the rollout is over. A promotion of its step
 * ends the wait for it, and not its measurements; one of all steps ends these, too.
 *
 * Measured is what was available at the new revision. What starts, or waits for the provider, is not. At most five replicas are
 * measured at once, in rotation; errors count in all of them.
 */
import type { Arrange } from '../../engine/plan/index.ts';
import {
  answered,
  asked,
  begunAnalyses,
  dueAt,
  lost,
  rotated,
  spentMs,
  type BegunAnalysis,
} from './analysis.ts';
import { provingRollout } from './failure.ts';
import { arrange, inPhase, type FleetInputs } from './inputs.ts';
import type { Replica } from './replica.ts';
import type { AnalysisRecord, RolloutRecord } from './state.ts';

/** Records the next measurement, or what one has found. */
export function measure(inputs: FleetInputs): Arrange | undefined {
  const { object, nowMs, measured, wanted } = inputs;
  const rollout = provingRollout(inputs);
  if (!rollout || measured.by === undefined || wanted.count === 0) return undefined;
  const all = begunAnalyses(rollout, object.spec.update.steps ?? [], nowMs);
  for (const begun of all) {
    const next = nextOf(inputs, rollout, begun, measured.by);
    if (!next) continue;
    const analyses = all.map(({ record }) => (record === begun.record ? next.record : record));
    const change = { reason: 'RollingOut', message: next.message, change: undefined } as const;
    const found = next.measured ? { measured: next.measured } : {};
    return arrange(inputs, [], { ...change, ...found }, { rollout: { ...rollout, analyses } });
  }
  return undefined;
}

interface Next {
  readonly record: AnalysisRecord;
  readonly message: string;
  readonly measured?: Arrange['measured'];
}

function nextOf(
  inputs: FleetInputs,
  rollout: RolloutRecord,
  begun: BegunAnalysis,
  by: string,
): Next | undefined {
  const { record, spec } = begun;
  const { nowMs, measured } = inputs;
  const name = `the analysis in step ${record.step + 1}`;
  if (record.asked) {
    const { trouble } = record.asked;
    const always = { check: 'always', outcome: trouble === undefined ? 'passed' : 'failed' };
    const results = measured.results.get(record.step);
    if (results)
      return {
        record: answered(record, results),
        message: `${name} has measured`,
        measured: [always, ...results],
      };
    if (record.asked.by === by) return undefined;
    const commands = spec.checks.flatMap(({ exec }) =>
      exec ? [{ check: 'exec', outcome: 'inconclusive' }] : [],
    );
    return { record: lost(record, spec), message: `${name} has lost a measurement`, measured: commands };
  }
  if (nowMs < dueAt(begun, nowMs)) return undefined;
  const { slots, isAsleep } = measurable(inputs, rollout);
  const trouble = troubleOf(inputs, rollout, record);
  // Of what starts, or waits for the provider, nothing is known: the time stands still.
  if (slots.length === 0 && !isAsleep && trouble === undefined) return undefined;
  const next = asked(begun, rotated(slots, record.slot), { by, trouble, nowMs });
  if (next.asked) return { record: next, message: `${name} measures` };
  const outcome = trouble === undefined ? 'inconclusive' : 'failed';
  return {
    record: next,
    message: `${name}: ${next.last ?? ''}`,
    measured: [{ check: 'always', outcome }],
  };
}

/** Those that were available at the new revision, and still have it. */
function proving({ replicas }: FleetInputs, { revision, reached }: RolloutRecord): Replica[] {
  return inPhase(replicas, 'wanted').filter(
    ({ entry, isSettled }) => entry.revision === revision && isSettled && reached.includes(entry.slot),
  );
}

function measurable(
  inputs: FleetInputs,
  rollout: RolloutRecord,
): { readonly slots: readonly number[]; readonly isAsleep: boolean } {
  const known = proving(inputs, rollout).filter(
    ({ unready, correction }) => unready?.isExcused !== true && correction !== 'running',
  );
  const awake = known.filter(({ isAsleep }) => !isAsleep);
  return { slots: awake.map(({ entry }) => entry.slot), isAsleep: known.length > awake.length };
}

/** Errors since the last measurement. */
function troubleOf(inputs: FleetInputs, rollout: RolloutRecord, { at }: AnalysisRecord): string | undefined {
  for (const { entry, isInError, restartedAt } of proving(inputs, rollout)) {
    if (isInError) return `replica ${entry.slot} is in error`;
    if (restartedAt !== undefined && restartedAt > at && restartedAt <= inputs.nowMs)
      return `replica ${entry.slot} was restarted after an error`;
  }
  return undefined;
}

/** When a measurement is due, or the time of an analysis is over (Unix milliseconds). */
export function measurementTimes(inputs: FleetInputs): number[] {
  const { object, nowMs } = inputs;
  const rollout = provingRollout(inputs);
  if (!rollout) return [];
  return begunAnalyses(rollout, object.spec.update.steps ?? [], nowMs).flatMap((begun) => {
    const left = begun.spec.forSeconds * 1000 - spentMs(begun, nowMs);
    return begun.record.asked ? [] : [dueAt(begun, nowMs), nowMs + left];
  });
}
