/**
 * The steps of a rollout: how many replicas have the new revision, and when it stops for a person, or for an analysis.
 *
 *     replicas, weight ── so many are available at it ──> the next step
 *     pause            ── its time is over, or `promote` ──> the next step
 *     analysis         ── it has passed (analysis.ts), or `promote` ──> the next step
 *     after the last one: all replicas
 *
 * A first rollout has no steps: there is nothing to compare with. Neither has a move of replicas with a Healthy revision.
 * Until the last step is passed, replicas that are added for another reason get the newest Healthy revision.
 */
import type { Arrange } from '../../engine/plan/index.ts';
import { begunAnalyses, verdictOf, withAnalysis } from './analysis.ts';
import { arrange, inPhase, type FleetInputs } from './inputs.ts';
import { provingRollout } from './failure.ts';
import { revisionName } from './revisions.ts';
import type { UpdateStep } from './schema.ts';
import type { RolloutRecord } from './state.ts';

export interface StepsLeft {
  readonly rollout: RolloutRecord;
  readonly steps: readonly UpdateStep[];
  readonly current: UpdateStep;
  /** How many replicas are to have the new revision. */
  readonly goal: number;
}

/** Undefined: all replicas are to have the new revision. */
export function stepsLeft(inputs: FleetInputs): StepsLeft | undefined {
  const { object, healthy, wanted } = inputs;
  const rollout = provingRollout(inputs);
  const steps = healthy ? (object.spec.update.steps ?? []) : [];
  const current = rollout && steps[rollout.step];
  if (!rollout || !current) return undefined;
  const counts = steps.slice(0, rollout.step + 1).flatMap((step) => countOf(step, wanted.count) ?? []);
  return { rollout, steps, current, goal: counts.at(-1) ?? 0 };
}

function countOf({ replicas, weight }: UpdateStep, wanted: number): number | undefined {
  if (replicas !== undefined) return Math.min(replicas, wanted);
  return weight === undefined ? undefined : Math.max(1, Math.ceil((weight * wanted) / 100));
}

/** Of a pause: Unix milliseconds; infinite if only a person ends it. */
export function pauseEnd({ rollout, current }: StepsLeft): number {
  const { seconds } = current.pause ?? {};
  return seconds === undefined ? Number.POSITIVE_INFINITY : rollout.since + seconds * 1000;
}

/** Begins the next step when this one is over. */
export function stepOn(inputs: FleetInputs): Arrange | undefined {
  const rollout = provingRollout(inputs);
  if (!rollout) return undefined;
  const { phase } = rollout;
  const { nowMs, object } = inputs;
  const steps = object.spec.update.steps ?? [];
  const left = stepsLeft(inputs);
  const to = (step: number) => moved(inputs, passed(rollout, steps, step, nowMs));
  // The document has other steps now.
  if (!left) return phase === 'Progressing' ? undefined : to(steps.length);
  if (phase !== phaseOf(left.current)) return to(rollout.step);
  return isStepOver(inputs, left) ? to(rollout.step + 1) : undefined;
}

function isStepOver(inputs: FleetInputs, left: StepsLeft): boolean {
  const { replicas, update, nowMs } = inputs;
  const { rollout, steps, current } = left;
  if (current.pause) return nowMs >= pauseEnd(left);
  if (current.analysis) {
    const begun = begunAnalyses(rollout, steps, nowMs).find(({ record }) => record.step === rollout.step);
    return begun !== undefined && verdictOf(begun, nowMs) === 'passed';
  }
  const there = inPhase(replicas, 'wanted').filter(
    ({ revision, isAvailable }) => isAvailable && revision?.number === update?.number,
  );
  return there.length >= left.goal;
}

function phaseOf(step: UpdateStep | undefined): 'Paused' | 'Analysing' | 'Progressing' {
  if (step?.pause) return 'Paused';
  return step?.analysis ? 'Analysing' : 'Progressing';
}

/** At the step of this index, from 0. */
export function passed(
  rollout: RolloutRecord,
  steps: readonly UpdateStep[],
  step: number,
  nowMs: number,
): RolloutRecord {
  const analyses = withAnalysis(rollout, steps, step, nowMs);
  const phase = phaseOf(steps[step]);
  return {
    ...rollout,
    step,
    phase,
    since: nowMs,
    ...(analyses.length > 0 ? { analyses: [...analyses] } : {}),
  };
}

function moved(inputs: FleetInputs, rollout: RolloutRecord): Arrange {
  const count = inputs.object.spec.update.steps?.length ?? 0;
  const name = revisionName(rollout.revision);
  const message =
    rollout.step < count
      ? `the rollout to ${name} is at step ${rollout.step + 1} of ${count}`
      : `the rollout to ${name} has passed all steps`;
  return arrange(inputs, [], { reason: 'RollingOut', message, change: undefined }, { rollout });
}

/** `, steps 1 → analysis → 50% → pause`, for a plan. */
export function stepsText(steps: readonly UpdateStep[]): string {
  const texts = steps.map(({ replicas, weight, pause }) => {
    if (replicas !== undefined) return String(replicas);
    if (weight !== undefined) return `${weight}%`;
    return pause ? 'pause' : 'analysis';
  });
  return texts.length === 0 ? '' : `, steps ${texts.join(' → ')}`;
}
