/**
 * Replicas that leave by a step which shows nothing by itself: a move, or another one is spared. A plan shows them. What drains since an earlier
 * step is shown as an object of its own. Pure.
 */
import type { Arrange, Difference, Plan } from '../../engine/plan/index.ts';
import { arrange, type FleetInputs } from './inputs.ts';
import type { Replica } from './replica.ts';
import { replaced } from './repair.ts';
import type { FleetState } from './state.ts';

const deleted = '(deleted)';

export function withLeaving(inputs: FleetInputs, plan: Plan): Plan {
  if (plan.kind !== 'arrange' || plan.change !== undefined) return plan;
  const { roster = [] }: FleetState = plan.state;
  const phases = new Map(roster.map(({ slot, phase }) => [slot, phase]));
  const leaving = inputs.replicas.filter(({ isMade, entry: { slot, phase } }) => {
    const after = phases.get(slot);
    return isMade && phase === 'wanted' && after !== undefined && after !== 'wanted';
  });
  if (leaving.length === 0) return plan;
  const rest = roster.filter(({ phase }) => phase === 'wanted').length;
  const isFinal = rest >= inputs.wanted.count;
  const differences = leaving.map(({ entry: { slot } }): Difference => {
    return {
      path: `replica ${slot}`,
      desired: isFinal ? deleted : replaced,
      observed: 'in use',
      drift: false,
    };
  });
  const { reason, message } = plan;
  const change = isFinal ? 'scale' : 'update';
  return { ...arrange(inputs, [], { reason, message, change, differences }), unjudged: true };
}

export function isShownLeaving(
  { differences }: Pick<Arrange, 'differences'>,
  { entry }: Pick<Replica, 'entry'>,
): boolean {
  return differences.some(({ path, desired }) => path === `replica ${entry.slot}` && desired === deleted);
}
