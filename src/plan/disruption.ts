/**
 * May we interrupt what runs in a service? An unreleased activity, fresh or stale, protects it (§4 rule 6:
 * a stale record still protects and does not prove that the task finished). The fields of an activity record are
 * not shown by the contract, so everything that does not say "released" protects.
 */
import type { wire } from '../api/index.ts';
import { holdFor, recheckMs, waitFor, type Difference, type Hold, type Step, type Wait } from './types.ts';

export const protectedReason = 'Protected';

export function disruptionObstacle(
  disruption: 'WhenUnprotected' | 'Never' | 'Always',
  activities: readonly wire.Activity[] | undefined,
  steps: readonly [Step, ...Step[]],
  differences: readonly Difference[],
): Wait | Hold | undefined {
  const [step] = steps;
  if (!step.disruptive || disruption === 'Always') return undefined;
  if (disruption === 'Never') {
    return holdFor(
      'DisruptionForbidden',
      `${step.action.do} would interrupt the service, and \`disruption: Never\` forbids it; allow it with \`disruption: WhenUnprotected\``,
      { path: ['spec', 'disruption'], steps, differences },
    );
  }
  const unreleased = (activities ?? []).filter((activity) => activity.released !== true);
  if (unreleased.length === 0) return undefined;
  return waitFor(protectedReason, `${step.action.do} waits for ${describeActivities(unreleased)}`, {
    recheckAfterMs: recheckMs.protection,
    steps,
    differences,
  });
}

function describeActivities(activities: readonly wire.Activity[]): string {
  const [first] = activities;
  const name = first?.name ?? 'an activity';
  const freshness = first?.fresh === false ? ', stale' : first?.fresh === true ? ', fresh' : '';
  const more = activities.length > 1 ? ` and ${activities.length - 1} more` : '';
  return `the activity "${name}" (${first?.id ?? 'no id'}${freshness})${more}`;
}
