/**
 * A service in `error` is restarted by itself, as often as `onError` allows.
 *
 *     error ── at once ──> 1st restart ── error, 10 s ──> 2nd ── error, 20 s ──> … N-th ── error ──> Hold
 *                               └── as desired for ten minutes, or a new spec: the count starts anew
 *
 * When much of a fleet fails at the same time, what fails is not the single service, and restarting all of it makes
 * it worse: at most a fifth of the services of an account is under restart at once. Like every restart, this one
 * waits for activities (§4 rule 6). The contract does not state how a run shows that it finished, so the message names what a
 * person may set before the task ends. Without `onError`, or with 0 restarts, the error is only reported.
 */
import { restartService } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { elapsedMs } from '../../base/index.ts';
import {
  holdFor,
  remediationReason,
  waitFor,
  type Difference,
  type Plan,
  type Step,
} from '../../engine/plan/index.ts';
import type { ServiceState } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { errorText } from './disruption.ts';
import type { ServiceInputs } from './inputs.ts';
import { act } from './removal.ts';

/** As long as it has to be as desired until its earlier errors are forgotten. */
const probationMs = 600_000;
/** Between the first restart and the second one; then twice as long each time. */
const firstPauseMs = 10_000;
const longestPauseMs = 300_000;

export function planError(
  inputs: ServiceInputs,
  service: wire.Service,
  differences: readonly Difference[],
): Plan {
  const { object, record, nowMs } = inputs;
  const allowed = object.spec.onError?.restarts ?? 0;
  const restarts = restartsSoFar(record.kind, record.generation);
  const error = errorText(inputs, service);
  const remedy = 'fix what it runs, or set a new restartToken';
  if (allowed === 0) {
    const message = `${error}; ${remedy}`;
    return holdFor('ServiceError', message, { path: ['spec'], differences });
  }
  if (restarts >= allowed) {
    const exhausted = errorText(inputs, service, ` after ${restarts} of ${allowed} restarts`);
    const message = `${exhausted}; ${remedy}`;
    return holdFor('RemediationExhausted', message, { path: ['spec', 'onError'], differences });
  }
  const step: Step = {
    action: restartService({ id: service.id }),
    reason: remediationReason,
    disruptive: true,
    differences: [],
  };
  const leftMs = pauseLeftMs(record, nowMs);
  if (leftMs > 0) {
    const message = `${error}; restart ${restarts + 1} of ${allowed} follows in ${Math.ceil(leftMs / 1000)} s`;
    return waitFor('RemediationBackoff', message, { recheckAfterMs: leftMs, steps: [step], differences });
  }
  const { underWay, services } = inputs.remediations;
  if (underWay >= mostAtOnce(services)) {
    const message = `${error}; ${underWay} of ${services} services of the account are being restarted, and no more than that at once`;
    return waitFor('RemediationBrake', message, { recheckAfterMs: firstPauseMs, steps: [step], differences });
  }
  const plan = act(inputs, [step], differences);
  if (plan.kind !== 'wait' || plan.failed === undefined) return plan;
  // A run that has finished may be in error, too, and not every provider shows how it ended.
  const message = `${plan.message}; restart ${restarts + 1} of ${allowed} follows then: to have none, set \`onError: {restarts: 0}\` before`;
  return { ...plan, message };
}

/** Of the restarts that remediation may have under way in one account at the same time. */
export function mostAtOnce(services: number): number {
  return Math.max(1, Math.floor(services / 5));
}

/** Of an object that is as desired: what is left to be remembered of its errors, and for how long. */
export function probation(
  { remediation }: ServiceState,
  nowMs: number,
): { remediation: ServiceState['remediation']; leftMs: number | undefined } {
  const leftMs = remediation ? probationMs - elapsedMs(remediation.at, nowMs) : 0;
  return leftMs > 0 ? { remediation, leftMs } : { remediation: undefined, leftMs: undefined };
}

function pauseLeftMs(
  { kind: { remediation }, generation }: ObjectRecord<ServiceState>,
  nowMs: number,
): number {
  const restarts = restartsSoFar({ remediation }, generation);
  if (!remediation || restarts === 0) return 0;
  const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(restarts - 1, 30), longestPauseMs);
  return pauseMs - elapsedMs(remediation.at, nowMs);
}

/** To be written down with the intent of a restart by remediation. `nowMs`: Unix milliseconds. */
export function nextRemediation(
  state: ServiceState,
  generation: number,
  nowMs: number,
): NonNullable<ServiceState['remediation']> {
  return { restarts: restartsSoFar(state, generation) + 1, at: nowMs, generation };
}

/** Whether its restart has just been requested, and can't be seen in the account yet. */
export function justRemediated({ remediation }: ServiceState, nowMs: number): boolean {
  return remediation !== undefined && elapsedMs(remediation.at, nowMs) < firstPauseMs;
}

export function restartsSoFar({ remediation }: ServiceState, generation: number): number {
  return remediation?.generation === generation ? remediation.restarts : 0;
}
