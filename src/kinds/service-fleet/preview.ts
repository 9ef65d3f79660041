/**
 * What a preview shows of a fleet. It is one pass, and that may take a step that shows nothing, or wait. The number of replicas that
 * the document asks for is shown all the same: `apply` gets to it without another question.
 *
 * | the step of the pass                           | fewer are wanted            | more are wanted                |
 * |------------------------------------------------|-----------------------------|--------------------------------|
 * | shows a change                                 | scaling in: all that leave  | as it is                       |
 * | shows nothing: it ends or begins a rollout, … | all that leave              | those that are added after it  |
 * | a wait: for the floor, the pace, …             | all that leave              | as it is: it has a reason       |
 * | a hold                                         | as it is                    | as it is                       |
 *
 * What a rollout or a move back has added for a while leaves with it, and is not shown. Pure.
 */
import type { Arrange, Plan } from '../../engine/plan/index.ts';
import { inPhase, type FleetInputs } from './inputs.ts';
import { hasProbe } from './move-back.ts';
import { planFleet } from './plan.ts';
import { revised } from './revising.ts';
import { rolloutOf } from './rollout.ts';
import { drained, removable, scale } from './scaling.ts';

export function previewFleet(look: FleetInputs): Plan {
  const plan = planFleet(look);
  if (look.object.deleting || look.problem) return plan;
  const inputs = revised(look);
  if ('kind' in inputs) return plan;
  if (plan.kind === 'wait') return scaleIn(inputs) ?? plan;
  if (plan.kind !== 'arrange' || plan.recalls) return plan;
  if (plan.change === 'scale' && plan.reason === 'ScalingIn') return scaleIn(inputs) ?? plan;
  return plan.change === undefined ? (scaleIn(inputs) ?? scaleOut(inputs, plan) ?? plan) : plan;
}

/** All that leave, also those that wait for their pace, or for others to be available. */
function scaleIn(inputs: FleetInputs): Arrange | undefined {
  const { replicas, wanted, state, addedBefore } = inputs;
  const added = Math.max(addedBefore ?? state.rollout?.surge ?? 0, hasProbe(inputs) ? 1 : 0);
  const surplus = Math.max(0, inPhase(replicas, 'wanted').length - wanted.count - added);
  const leaving = removable(inputs).slice(0, surplus);
  if (leaving.length === 0) return undefined;
  return drained(inputs, leaving, { surplus, observed: wanted.count + surplus, change: 'scale' });
}

/** After the step, which may end what is left of a replica. */
function scaleOut(inputs: FleetInputs, { state }: Arrange): Arrange | undefined {
  const { roster } = state as FleetInputs['state'];
  const slots = new Set(roster.map(({ slot }) => slot));
  const replicas = inputs.replicas.filter(({ entry }) => slots.has(entry.slot));
  const after = {
    ...inputs,
    replicas,
    state: { ...inputs.state, roster: replicas.map(({ entry }) => entry) },
  };
  const step = scale(after, rolloutOf(after));
  return step?.change === undefined ? undefined : step;
}
