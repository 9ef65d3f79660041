/** How metrics name what came out of a pass. */
import type { Plan } from './plan/index.ts';
import type { Reason } from '../reasons/index.ts';

/** As controller-runtime calls what comes out of a pass. */
export const passResults = {
  'in-sync': 'success',
  hold: 'success',
  act: 'requeue',
  wait: 'requeue_after',
} as const satisfies Record<Plan['kind'], string>;

export function reasonOf(plan: Plan): Reason {
  if (plan.kind === 'in-sync') return 'InSync';
  return plan.kind === 'act' ? plan.step.reason : plan.reason;
}
