/**
 * The plan of an object whose owner holds it back:
 *
 * | the planner's answer                       | `AwaitsTurn`                  | `Draining`                     |
 * |--------------------------------------------|-------------------------------|--------------------------------|
 * | it is not observed, or in conflict         | as it is                      | as it is                       |
 * | it differs from what is wanted, and exists | Wait: its turn has not come   | Wait                           |
 * | a restart by remediation; it does not exist | as it is                     | Wait: nothing is made any more |
 * | anything else                              | as it is                      | Wait                           |
 *
 * A wait settles nothing: what was applied last stays recorded, so the difference is found again when the gate opens.
 */
import type { OwnerGate } from '../../resources/index.ts';
import { remediationReason } from './restarts.ts';
import { recheckMs, waitFor, type Observation, type Plan } from './types.ts';

const hourMs = 3_600_000;

export function heldByOwner(
  plan: Plan,
  observation: Observation<unknown>,
  gate: OwnerGate | undefined,
): Plan {
  if (!gate || observation.kind === 'pending' || observation.kind === 'conflict') return plan;
  const { reason, message } = gate;
  if (reason === 'Draining') return waitFor(reason, message, { recheckAfterMs: recheckMs.protection });
  const isRestart = plan.kind === 'act' && plan.step.reason === remediationReason;
  const isLeft = observation.kind === 'absent' || plan.kind === 'in-sync' || isRestart;
  if (isLeft || plan.differences.length === 0) return plan;
  const steps = plan.kind === 'act' ? [plan.step, ...plan.later] : plan.kind === 'arrange' ? [] : plan.steps;
  return waitFor(reason, message, { recheckAfterMs: hourMs, steps, differences: plan.differences });
}
