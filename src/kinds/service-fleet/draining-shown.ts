/**
 * Replicas that leave by a step which shows nothing by itself, and those that drain since an earlier one: a plan shows that they are deleted,
 * where it shows nothing else of the fleet. Pure.
 */
import type { Arrange, Difference, Plan } from '../../engine/plan/index.ts';
import { arrange, slotsText, type FleetInputs } from './inputs.ts';
import type { Replica } from './replica.ts';
import type { FleetState } from './state.ts';

const deleted = '(deleted)';

export function withDraining(inputs: FleetInputs, plan: Plan): Plan {
  const isSilent = plan.kind === 'wait' || (plan.kind === 'arrange' && plan.change === undefined);
  const leaving = isSilent ? leavingAfter(inputs, plan) : [];
  if (leaving.length === 0) return plan;
  const differences = leaving.map(({ entry: { slot, phase } }): Difference => {
    const observed = phase === 'draining' ? 'draining' : 'in use';
    return { path: `replica ${slot}`, desired: deleted, observed, drift: false };
  });
  const change = inputs.object.deleting ? 'delete' : 'scale';
  const message = `still to be deleted: ${slotsText(leaving)}`;
  return arrange(inputs, [], { reason: 'ScalingIn', message, change, differences });
}

/** What retires has its own deletion in the plan. */
function leavingAfter({ replicas }: FleetInputs, plan: Plan): Replica[] {
  const { roster = [] }: FleetState = plan.kind === 'arrange' ? plan.state : {};
  const after = new Map(roster.map(({ slot, phase }) => [slot, phase]));
  return replicas.filter(({ isMade, entry: { slot, phase } }) => {
    return isMade && phase !== 'retiring' && (after.get(slot) ?? phase) !== 'wanted';
  });
}

export function isShownDraining(
  { differences }: Pick<Arrange, 'differences'>,
  { entry }: Pick<Replica, 'entry'>,
): boolean {
  return differences.some(({ path, desired }) => path === `replica ${entry.slot}` && desired === deleted);
}
