/**
 * The costs of the steps of a plan in their order. For example, a stopped service is resized at no cost, and
 * then started at the price of its new size.
 */
import { createService, resizeService, startService, stopService } from '../../actions/index.ts';
import {
  free,
  holdsCompute,
  type Charge,
  type Cost,
  type Plan,
  type Pricing,
  type Step,
} from '../plan/index.ts';
import { parseObjectKey, traitsOf } from '../../resources/index.ts';
import type { Pass } from '../pass.ts';

/** The plan with the cost of each step. `costOf`: by the prices of its account. */
export function withCosts(plan: Plan, pass: Pass, costOf: (pricing: Pricing) => Cost): Plan {
  if (plan.kind === 'in-sync') return plan;
  if (plan.kind === 'arrange') return pass.previewed(plan);
  if (plan.kind !== 'act') return { ...plan, steps: priced(plan.steps, pass, costOf) };
  const [step = plan.step, ...later] = priced([plan.step, ...plan.later], pass, costOf);
  return { ...plan, step, later };
}

/**
 * The stop that follows the creation of a service that is not to run, with what it saves. It is of a later pass, since a service that is
 * created runs. Its volume stays. `plan`: one that is carried out.
 */
export function stopAfterCreation(
  plan: Plan,
  pass: Pass,
  costOf: (pricing: Pricing) => Cost,
): Step | undefined {
  const { key, manifest } = pass.record();
  // What follows a creation is planned anew for each object, and most are to run.
  if (traitsOf(parseObjectKey(key).kind).isAtRest?.(manifest.spec) !== true) return undefined;
  const steps = plan.kind === 'act' ? [plan.step, ...plan.later] : plan.kind === 'wait' ? plan.steps : [];
  const [made] = steps.flatMap(
    (step) => (step.action.do === createService.name ? pass.pricing(step) : pass.roomFor(step)) ?? [],
  );
  const stop = made && pass.later(plan).find(({ action }) => action.do === stopService.name);
  if (!made || !stop || 'shown' in made.after) return undefined;
  const volumes = made.after.demands.filter((demand) => 'storageGb' in demand);
  const cost = costOf({
    ...made,
    before: made.after,
    after: volumes.length > 0 ? { demands: volumes } : free,
  });
  return { ...stop, disruptive: false, cost };
}

function priced(steps: readonly Step[], pass: Pass, costOf: (pricing: Pricing) => Cost): Step[] {
  const observation = pass.observation();
  let runs =
    observation.kind === 'present' &&
    holdsCompute(observation.value as { readonly state?: string | undefined });
  /** Of the size that the service got while it was stopped. */
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
    if (name === startService.name) runs = true;
    const room = pass.roomFor(step);
    const started = name === startService.name ? newCharge : undefined;
    const after = started ?? room?.after ?? pricing.after;
    if (pricing.before === free && after === free) return step;
    return { ...step, cost: costOf({ ...pricing, after }) };
  });
}
