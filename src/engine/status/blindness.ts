import type { Plan } from '../plan/index.ts';
import { entryOf } from '../../reasons/index.ts';

/**
 * Whether the plan was made without an observation of the object: for a moment (`soon`), or until something
 * changes (`no`). Such a plan can neither find drift nor see it disappear, so the reported drift stays.
 * Undefined: the plan has an observation. A plan with differences always has one.
 */
export function blindness(plan: Plan): 'soon' | 'no' | undefined {
  if (plan.kind !== 'wait' && plan.kind !== 'hold') return undefined;
  const { observed } = entryOf(plan.reason);
  return observed === 'yes' || plan.differences.length > 0 ? undefined : observed;
}
