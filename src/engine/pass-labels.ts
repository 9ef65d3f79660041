/** The results of passes, as labels of metrics. */
import type { Plan } from './plan/index.ts';
import type { Reason } from '../reasons/index.ts';

/** The names of controller-runtime. */
export const passResults = {
  'in-sync': 'success',
  hold: 'success',
  act: 'requeue',
  arrange: 'requeue',
  wait: 'requeue_after',
} as const satisfies Record<Plan['kind'], string>;

export function reasonOf(plan: Plan): Reason {
  if (plan.kind === 'in-sync') return 'InSync';
  return plan.kind === 'act' ? plan.step.reason : plan.reason;
}
