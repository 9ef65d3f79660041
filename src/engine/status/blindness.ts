import type { Plan } from '../plan/index.ts';
import { entryOf } from '../../reasons/index.ts';

/**
 * Whether the plan was made without an observation of the object, for a moment (`soon`) or until something changes (`no`). Such
 * a plan neither finds drift nor sees it gone, so what was reported of that stays. Undefined: it rests on an
 * observation. A plan that shows differences does, whatever its reason.
 */
export function blindness(plan: Plan): 'soon' | 'no' | undefined {
  if (plan.kind !== 'wait' && plan.kind !== 'hold') return undefined;
  const { observed } = entryOf(plan.reason);
  return observed === 'yes' || plan.differences.length > 0 ? undefined : observed;
}
