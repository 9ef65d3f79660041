/**
 * The plan of an object whose owner holds it back:
 *
 * | the planner's answer                       | `AwaitsTurn`                  | of a correction          | `Draining`       |
 * |--------------------------------------------|-------------------------------|--------------------------|------------------|
 * | it is not observed, or in conflict         | as it is                      | as it is                 | as it is         |
 * | it differs from what is wanted, and exists | Wait: its turn has not come   | Wait, if an interruption is next | Wait     |
 * | a restart that was asked for               | the same                      | the same                 | Wait             |
 * | a restart by remediation; it does not exist | as it is                     | as it is                 | Wait             |
 * | anything else                              | as it is                      | as it is                 | Wait             |
 *
 * A correction that is allowed is as it is, unless work in the object keeps it waiting. That is the same Wait, so the object
 * stays in use, and its owner can let another one go first.
 *
 * A wait settles nothing: what was applied last stays recorded, so the difference is found again when the gate opens.
 */
import type { OwnerGate } from '../../resources/index.ts';
import { protectedReason } from './protected.ts';
import { remediationReason } from './restarts.ts';
import { recheckMs, waitFor, type Observation, type Plan, type Step } from './types.ts';

const hourMs = 3_600_000;

export function heldByOwner(
  plan: Plan,
  observation: Observation<unknown>,
  gate: OwnerGate | undefined,
): Plan {
  if (!gate || observation.kind === 'pending' || observation.kind === 'conflict') return plan;
  const { reason, message } = gate;
  if (reason === 'Draining') {
    const wait = waitFor(reason, message, { recheckAfterMs: recheckMs.protection });
    return gate.removes ? { ...wait, removes: true } : wait;
  }
  if (gate.correction) return correctionHeld(plan, gate);
  const isRestart = plan.kind === 'act' && plan.step.reason === remediationReason;
  const isLeft = observation.kind === 'absent' || plan.kind === 'in-sync' || isRestart;
  if (isLeft) return plan;
  const steps = plan.kind === 'act' ? [plan.step, ...plan.later] : plan.kind === 'arrange' ? [] : plan.steps;
  // A restart that was asked for differs from nothing at the provider.
  const differences =
    plan.differences.length > 0 ? plan.differences : steps.flatMap((step) => step.differences);
  if (differences.length === 0) return plan;
  return waitFor(reason, message, { recheckAfterMs: hourMs, steps, differences });
}

function correctionHeld(plan: Plan, { reason, message, correction }: OwnerGate): Plan {
  const steps = interruptions(plan);
  const [next] = steps;
  const isAllowed = correction === 'allowed';
  if (!next?.disruptive || next.reason === remediationReason) return plan;
  if (plan.kind === 'act' && isAllowed) return plan;
  return waitFor(reason, plan.kind === 'wait' ? plan.message : message, {
    recheckAfterMs: isAllowed ? recheckMs.protection : hourMs,
    steps,
    differences: plan.differences,
  });
}

/** The steps that are next, or that only somebody's work or a window keeps waiting. */
function interruptions(plan: Plan): readonly Step[] {
  if (plan.kind === 'act') return [plan.step, ...plan.later];
  const isKept = plan.kind === 'wait' && (plan.reason === protectedReason || plan.reason === 'OutsideWindow');
  return isKept ? plan.steps : [];
}
