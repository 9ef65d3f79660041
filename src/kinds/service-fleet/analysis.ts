/**
 * What measurements of a new revision say about it. Pure. When they are made: measuring.ts.
 *
 * | a measurement is | when                                                                        |
 * |------------------|-----------------------------------------------------------------------------|
 * | failed           | a replica was in `error`, or was restarted for that, or a check failed in one |
 * | inconclusive     | none of this, and a check could not be made                                 |
 * | passed           | all checks passed in all replicas that were measured                        |
 *
 * | the analysis is  | when                                                                        |
 * |------------------|-----------------------------------------------------------------------------|
 * | failed           | more than `failures` measurements failed                                    |
 * | passed           | its time is over, and more of them passed than were inconclusive            |
 * | inconclusive     | its time is over, and they did not                                          |
 *
 * Nothing is measured while all replicas are asleep. That takes of its time, so it ends without a result. Its time stands still while
 * no measurement is made for another reason: the process was down, the fleet was paused, or the provider had no capacity.
 */
import { digestOf } from '../../base/index.ts';
import type { CheckOutcome, CheckResult } from '../../observed/index.ts';
import type { Analysis } from './schema-analysis.ts';
import type { UpdateStep } from './schema.ts';
import type { AnalysisRecord, RolloutRecord } from './state.ts';

/** In one measurement. */
export const measuredAtMost = 5;
/** Of the time from one measurement to the next one, what counts beyond `everySeconds`. */
const slackMs = 60_000;
const longestMessage = 300;

export interface BegunAnalysis {
  readonly record: AnalysisRecord;
  readonly spec: Analysis;
}

export type Verdict = 'under way' | 'passed' | 'failed' | 'inconclusive';

/** Those that have begun, by step. Results of other checks than those of the document do not count. */
export function begunAnalyses(
  { analyses = [] }: Pick<RolloutRecord, 'analyses'>,
  steps: readonly UpdateStep[],
  nowMs: number,
): BegunAnalysis[] {
  return analyses.flatMap((record) => {
    const spec = steps[record.step]?.analysis;
    if (!spec) return [];
    const isSame = record.checks === checksMark(spec);
    return [{ spec, record: isSame ? record : newAnalysis(record.step, spec, nowMs) }];
  });
}

function newAnalysis(step: number, spec: Analysis, nowMs: number): AnalysisRecord {
  const counts = { passed: 0, failed: 0, inconclusive: 0 };
  return { step, checks: checksMark(spec), at: nowMs, isDue: true, spentMs: 0, ...counts };
}

function checksMark({ checks }: Analysis): string {
  return digestOf(checks).slice(0, 16);
}

/** With that of this step, which begins. What is known of it already stays. */
export function withAnalysis(
  { analyses = [] }: Pick<RolloutRecord, 'analyses'>,
  steps: readonly UpdateStep[],
  step: number,
  nowMs: number,
): readonly AnalysisRecord[] {
  const spec = steps[step]?.analysis;
  if (!spec || analyses.some((known) => known.step === step)) return analyses;
  return [...analyses, newAnalysis(step, spec, nowMs)];
}

/** So much of its time is over (milliseconds). */
export function spentMs({ record, spec }: BegunAnalysis, nowMs: number): number {
  const since = Math.max(0, nowMs - record.at);
  return record.spentMs + Math.min(since, spec.everySeconds * 1000 + slackMs);
}

export function verdictOf({ record, spec }: BegunAnalysis, nowMs: number): Verdict {
  if (record.failed > spec.failures) return 'failed';
  if (record.asked || spentMs({ record, spec }, nowMs) < spec.forSeconds * 1000) return 'under way';
  return record.passed > record.inconclusive ? 'passed' : 'inconclusive';
}

/** Why the revision has failed. `step`: the index of the step that is under way. */
export function failureOf(
  rollout: Pick<RolloutRecord, 'analyses' | 'phase' | 'step'>,
  steps: readonly UpdateStep[],
  nowMs: number,
): string | undefined {
  for (const begun of begunAnalyses(rollout, steps, nowMs)) {
    const { record, spec } = begun;
    const isAwaited = rollout.phase === 'Analysing' && rollout.step === record.step;
    const verdict = verdictOf(begun, nowMs);
    const name = `the analysis in step ${record.step + 1}`;
    if (verdict === 'failed') return `${name} failed: ${countsText(record)}`;
    if (verdict === 'inconclusive' && isAwaited && spec.inconclusive === 'Fail')
      return `${name} has no result: ${countsText(record)}`;
  }
  return undefined;
}

/** `3 measurements passed, 2 failed, 1 was inconclusive; the last one: …`. */
export function countsText({ passed, failed, inconclusive, last }: AnalysisRecord): string {
  const counts = [
    `${passed} ${passed === 1 ? 'measurement' : 'measurements'} passed`,
    `${failed} failed`,
    `${inconclusive} ${inconclusive === 1 ? 'was' : 'were'} inconclusive`,
  ];
  return `${counts.join(', ')}${last === undefined ? '' : `; the last one: ${last}`}`;
}

/** When the next measurement is due (Unix milliseconds). */
export function dueAt({ record, spec }: BegunAnalysis, nowMs: number): number {
  // The clock may have been set back.
  if (record.isDue || record.at > nowMs) return nowMs;
  return record.at + spec.everySeconds * 1000;
}

/** At most five of the slots: those behind the one that was measured last, and then from the lowest one on. */
export function rotated(slots: readonly number[], last: number | undefined): number[] {
  const sorted = slots.toSorted((one, other) => one - other);
  const behind = last === undefined ? sorted : sorted.filter((slot) => slot > last);
  const rest = sorted.filter((slot) => !behind.includes(slot));
  return [...behind, ...rest].slice(0, measuredAtMost);
}

/** One that begins now, of these slots. None: all replicas are asleep, and nothing is asked. */
export function asked(
  begun: BegunAnalysis,
  slots: readonly number[],
  { by, trouble, nowMs }: Readonly<{ by: string; trouble: string | undefined; nowMs: number }>,
): AnalysisRecord {
  const { isDue: _isDue, ...record } = begun.record;
  const next = { ...record, at: nowMs, spentMs: spentMs(begun, nowMs) };
  const slot = slots.at(-1);
  if (slot === undefined) {
    const asleep = { ...next, last: 'all replicas are asleep' };
    return trouble === undefined ? asleep : counted(next, { outcome: 'failed', message: trouble });
  }
  const question = { by, slots: [...slots], ...(trouble === undefined ? {} : { trouble }) };
  return { ...next, slot, asked: question };
}

/** With what the checks of its measurement have found. */
export function answered(record: AnalysisRecord, results: readonly CheckResult[]): AnalysisRecord {
  const { asked: question, ...rest } = record;
  const { trouble } = question ?? {};
  if (trouble !== undefined) return counted(rest, { outcome: 'failed', message: trouble });
  return counted(rest, worst(results));
}

/** The process that asked ended before it had an answer. Commands may have run, and are never sent again. */
export function lost(record: AnalysisRecord, { checks }: Analysis): AnalysisRecord {
  const { asked: question, ...rest } = record;
  const { trouble } = question ?? {};
  if (trouble !== undefined) return counted(rest, { outcome: 'failed', message: trouble });
  if (!checks.some(({ exec }) => exec)) return { ...rest, isDue: true };
  const message = 'the process ended before it had the answers to the commands';
  return counted(rest, { outcome: 'inconclusive', message });
}

interface Found {
  readonly outcome: CheckOutcome;
  readonly message: string;
}

function worst(results: readonly CheckResult[]): Found {
  const order: readonly CheckOutcome[] = ['failed', 'inconclusive', 'passed'];
  const [first] = results.toSorted((one, other) => order.indexOf(one.outcome) - order.indexOf(other.outcome));
  if (!first) return { outcome: 'inconclusive', message: 'nothing was measured' };
  return { outcome: first.outcome, message: `${first.check}: ${first.message}` };
}

function counted(record: AnalysisRecord, { outcome, message }: Found): AnalysisRecord {
  const { last: _last, ...rest } = record;
  const next = { ...rest, [outcome]: record[outcome] + 1 };
  return outcome === 'passed' ? next : { ...next, last: message.slice(0, longestMessage) };
}
