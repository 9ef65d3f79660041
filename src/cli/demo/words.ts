/** A short description of a plan for the table of the demo. */
import { actions } from '../../actions/index.ts';
import type { Plan } from '../../engine/plan/index.ts';
import { entryOf } from '../../reasons/index.ts';

/** Undefined when the plan only waits for the next read, which is nothing new. */
export function wordsOf(plan: Plan, deleting: boolean): string | undefined {
  const drift = [...new Set(plan.differences.filter((item) => item.drift).map(({ path }) => rootOf(path)))];
  switch (plan.kind) {
    case 'in-sync':
      return drift.length > 0 ? `drifted: ${drift.join(', ')}` : '';
    case 'act': {
      const verb = actions[plan.step.action.do].progressive;
      return plan.step.reason === 'Drift' ? `healing (${verb}): ${drift.join(', ')}` : verb;
    }
    case 'arrange':
      return plan.message;
    case 'wait':
      if (plan.reason === 'AwaitingObservation' || plan.reason === 'AwaitingEffect') return undefined;
      if (drift.length > 0) return `drifted: ${drift.join(', ')}`;
      return deleting ? 'deleting' : (entryOf(plan.reason).brief ?? `waits: ${plan.reason}`);
    case 'hold':
      return `held: ${plan.reason}: ${plan.message}`;
  }
}

/** `env.NAME` as `env`: the names are shown with the drift. */
function rootOf(path: string): string {
  return path.split('.')[0] ?? path;
}
