/**
 * What the steps of a plan cost, one after the other, for whoever reads the plan: a service that was stopped before is resized for nothing,
 * and is started at the price of its new size.
 */
import { resizeService, startService, stopService } from '../../actions/index.ts';
import {
  free,
  holdsCompute,
  type Charge,
  type Cost,
  type Plan,
  type Pricing,
  type Step,
} from '../plan/index.ts';
import type { Pass } from '../pass.ts';

/** The plan, with the cost of each step that has one. `costOf`: by the book of its account. */
export function withCosts(plan: Plan, pass: Pass, costOf: (pricing: Pricing) => Cost): Plan {
  if (plan.kind === 'in-sync') return plan;
  if (plan.kind !== 'act') return { ...plan, steps: priced(plan.steps, pass, costOf) };
  const [step = plan.step, ...later] = priced([plan.step, ...plan.later], pass, costOf);
  return { ...plan, step, later };
}

function priced(steps: readonly Step[], pass: Pass, costOf: (pricing: Pricing) => Cost): Step[] {
  const observation = pass.observation();
  let runs =
    observation.kind === 'present' &&
    holdsCompute(observation.value as { readonly state?: string | undefined });
  /** Of the size that it was given while it did not run. */
  let newCharge: Charge | undefined;
  return steps.map((step) => {
    const pricing = pass.pricing(step);
    if (!pricing) return step;
    const { do: name } = step.action;
    if (name === resizeService.name && !runs) {
      newCharge = pricing.after;
      return step;
    }
    if (name === stopService.name) runs = false;
    const room = pass.roomFor(step);
    const started = name === startService.name ? newCharge : undefined;
    const after = started ?? room?.after ?? pricing.after;
    if (pricing.before === free && after === free) return step;
    return { ...step, cost: costOf({ ...pricing, after }) };
  });
}
