/**
 * What the provider's events report about a drift. It is for people only: the set of messages is not documented (§6), so
 * nothing is ever decided from it.
 *
 * They are the events since the object last matched its spec. Events have the provider's time. If none is that new, the two
 * clocks may disagree. Then the newest events are used, as many as the revision has moved by.
 */
import type { wire } from '../../api/index.ts';
import type { Baseline, ReportedDrift } from '../../state/index.ts';
import { providerText } from './provider-text.ts';
import type { Difference, Plan, Step } from './types.ts';

export const nothingVisible = 'somebody changed it, nothing visible';

const limits = { events: 3, messageLength: 120 } as const;

export interface Window {
  readonly baseline: Baseline | undefined;
  readonly revision: number | undefined;
  /** Unix milliseconds. Used if there is no baseline. */
  readonly sinceMs: number | undefined;
}

/** `secrets`: values that must not be repeated. Undefined if the events report nothing. */
export function describeCause(
  events: readonly wire.ServiceEvent[],
  { baseline, revision, sinceMs }: Window,
  secrets: readonly string[],
): string | undefined {
  const fromMs = baseline?.at ?? sinceMs ?? Number.POSITIVE_INFINITY;
  const recent = events.filter((event) => event.created_at >= fromMs);
  const steps = baseline && revision !== undefined ? revision - baseline.revision : 1;
  const window = recent.length > 0 ? recent : events.slice(0, Math.max(1, steps));
  const texts = window
    .toReversed()
    .slice(0, limits.events)
    .map(({ message }) => providerText(message, secrets, limits.messageLength))
    .filter((text) => text !== '');
  if (texts.length === 0) return undefined;
  const more = window.length - limits.events;
  return `${texts.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

/** The part of a plan's drift that was not reported before. */
export function newDrift(plan: Plan, reported: readonly ReportedDrift[]): Difference[] {
  return plan.differences.filter(
    ({ drift, path }) => drift && !reported.some((entry) => entry.path === path),
  );
}

/** The plan with the cause of each drift: its own, the one recorded before, or `cause` for new drift. */
export function withCauses(plan: Plan, reported: readonly ReportedDrift[], cause: string | undefined): Plan {
  if (!plan.differences.some(({ drift }) => drift)) return plan;
  const add = (difference: Difference): Difference => {
    if (!difference.drift) return difference;
    if (difference.cause !== undefined) return difference;
    const before = reported.find((entry) => entry.path === difference.path);
    const known = before ? before.cause : (cause ?? (difference.revisionMoved ? nothingVisible : undefined));
    return known === undefined ? difference : { ...difference, cause: known };
  };
  const addTo = (step: Step): Step => ({ ...step, differences: step.differences.map(add) });
  const differences = plan.differences.map(add);
  switch (plan.kind) {
    case 'in-sync':
      return { ...plan, differences };
    case 'act':
      return { ...plan, differences, step: addTo(plan.step), later: plan.later.map(addTo) };
    case 'arrange':
      return { ...plan, differences };
    case 'wait':
    case 'hold':
      return { ...plan, differences, steps: plan.steps.map(addTo) };
  }
}
