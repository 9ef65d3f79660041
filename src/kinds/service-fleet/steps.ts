/**
 * The steps of a rollout: how many replicas have the new revision, and when it stops for a person, or for an analysis.
 *
 *     replicas, weight ── so many are available at it ──> the next step
 *     pause            ── its time is over, or `promote` ──> the next step
 *     analysis         ── it has passed (analysis.ts), or `promote` ──> the next step
 *     after the last one: all replicas
 *
 * Where all replicas are gone that an analysis measures, others get the new revision first. A pause is for a person, and stands.
 *
 * A first rollout has no steps: there is nothing to compare with. Neither has a move of replicas with a Healthy revision.
 * Until the last step is passed, replicas that are added for another reason get the newest Healthy revision.
 */
import type { Arrange } from '../../engine/plan/index.ts';
import { begunAnalyses, verdictOf, withAnalysis } from './analysis.ts';
import { arrange, inPhase, type FleetInputs } from './inputs.ts';
import { provingRollout } from './failure.ts';
import type { Replica } from './replica.ts';
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
  // Without a step before it, an analysis has one to measure.
  const least = current.analysis ? Math.min(1, wanted.count) : 0;
  return { rollout, steps, current, goal: counts.at(-1) ?? least };
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
  const isOver = phase === phaseOf(left.current) && isStepOver(inputs, left);
  if (isOver) return to(rollout.step + 1);
  if (left.current.analysis && isUnmeasurable(inputs, left))
    return phase === 'Progressing' ? undefined : refilled(inputs, rollout);
  return phase === phaseOf(left.current) ? undefined : to(rollout.step);
}

function isStepOver(inputs: FleetInputs, left: StepsLeft): boolean {
  const { nowMs } = inputs;
  const { rollout, steps, current } = left;
  if (current.pause) return nowMs >= pauseEnd(left);
  if (current.analysis) {
    const begun = begunAnalyses(rollout, steps, nowMs).find(({ record }) => record.step === rollout.step);
    return begun !== undefined && verdictOf(begun, nowMs) === 'passed';
  }
  return hasGoal(inputs, left);
}

function atUpdate({ replicas, update }: FleetInputs): Replica[] {
  return inPhase(replicas, 'wanted').filter(({ entry }) => entry.revision === update?.number);
}

/** As many as the step wants are available at the new revision. */
function hasGoal(inputs: FleetInputs, { goal }: StepsLeft): boolean {
  return atUpdate(inputs).filter(({ isAvailable }) => isAvailable).length >= goal;
}

/**
 * Those that an analysis measures have left: by a scale-in, a repair, or a person. Once they are gone, as many as the step wants have
 * to be available before it continues.
 */
function isUnmeasurable(inputs: FleetInputs, left: StepsLeft): boolean {
  return left.rollout.phase === 'Analysing'
    ? left.goal > 0 && atUpdate(inputs).length === 0
    : !hasGoal(inputs, left);
}

/** Others get the revision, before the analysis continues. What was measured counts. */
function refilled(inputs: FleetInputs, rollout: RolloutRecord): Arrange {
  const { nowMs } = inputs;
  const { stopped: _stopped, ...rest } = rollout;
  return moved(inputs, { ...rest, phase: 'Progressing', since: nowMs, progressAt: nowMs, seenAt: nowMs });
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
