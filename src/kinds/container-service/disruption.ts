/**
 * Whether a service may be interrupted. In this order:
 *
 * | obstacle                              | plan                                                             |
 * |---------------------------------------|------------------------------------------------------------------|
 * | `disruption: Never`                   | Hold                                                             |
 * | no `disruptionWindows` is open        | Wait, until one opens; a service in `error` is not interrupted    |
 * | an unreleased activity, fresh or stale | Wait, until it is released; `disruption: Always` overrides it   |
 * | a ProtectedTask, registered or not yet | the same                                                         |
 *
 * What is shown running or in error may be interrupted. A service that is shown paused or asleep has nothing to interrupt, unless a task is
 * registered in it, or heartbeats of its activity are accepted: reads may lag behind, and then it runs. A task that is only declared has not
 * begun: what is changed together with it is changed before the start.
 *
 * In error, what ran has ended, and its task does not know: `Ready` shows the error then, and not the wait.
 *
 * A stale record still protects, and does not prove that the task finished (§4 rule 6). The contract does not show
 * the fields of an activity record, so everything protects that does not show that it is released. A list may keep
 * what was released in a form that can't be read. So the activity of a task whose release was acknowledged does not protect
 * when it is shown as stale: it has finished, and nobody renews it.
 */
import type { wire } from '../../api/index.ts';
import { canonicalId, rfc3339 } from '../../base/index.ts';
import {
  holdFor,
  protectedReason,
  recheckMs,
  providerText,
  waitFor,
  type Difference,
  type Hold,
  type Step,
  type Wait,
} from '../../engine/plan/index.ts';
import { windowState } from '../../resources/index.ts';
import type { ServiceInputs } from './inputs.ts';

const hourMs = 3_600_000;
/** The last millisecond that a `Date` can be. */
const latestTimeMs = 8.64e15;

/** Whether a patch, a resize or a stop may interrupt work in a service that reads show in this state. */
export function mayInterrupt(
  { holdsActivity }: Pick<ServiceInputs, 'holdsActivity'>,
  state: string | undefined,
): boolean {
  return state === 'running' || state === 'error' || holdsActivity();
}

export function disruptionObstacle(
  inputs: ServiceInputs,
  steps: readonly [Step, ...Step[]],
  differences: readonly Difference[],
): Wait | Hold | undefined {
  const [step] = steps;
  const { disruption } = inputs.object.spec;
  if (!step.disruptive) return undefined;
  if (disruption === 'Never') {
    return holdFor(
      'DisruptionForbidden',
      `${step.action.do} would interrupt the service, and \`disruption: Never\` forbids it; allow it with \`disruption: WhenUnprotected\``,
      { path: ['spec', 'disruption'], steps, differences },
    );
  }
  const closed = closedWindow(inputs, steps, differences);
  if (closed || disruption === 'Always') return closed;
  const protector = protectorOf(inputs);
  if (protector === undefined) return undefined;
  const message = `${step.action.do} waits for ${protector}`;
  // A task that is declared may be registered at any time.
  const known =
    inputs.declaredTasks.length > 0 ? {} : { activities: unreleasedIn(inputs).map(({ id }) => id) };
  const rest = { recheckAfterMs: recheckMs.protection, steps, differences, ...known };
  const failure = failureOf(inputs);
  if (failure === undefined) return waitFor(protectedReason, message, rest);
  const isTask = (inputs.activities ?? []).every(({ released }) => released === true);
  const end = isTask ? 'set `released: true` in its document' : 'release it';
  const ended = `${failure}; what ran in it has ended. ${message}. If that is over, ${end}`;
  return waitFor(protectedReason, ended, { ...rest, failed: 'ServiceError' });
}

function failureOf(inputs: ServiceInputs): string | undefined {
  const { observation } = inputs;
  const isBroken = observation.kind === 'present' && observation.value.state === 'error';
  return isBroken ? errorText(inputs, observation.value) : undefined;
}

/** With the provider's message. */
export function errorText(
  { secretValues }: Pick<ServiceInputs, 'secretValues'>,
  { error }: wire.Service,
  more = '',
): string {
  return `the service is in error${more}${error ? `: ${providerText(error, secretValues())}` : ''}`;
}

/** What runs in the service and must not be interrupted; undefined when nothing is known to. */
export function protectorOf(inputs: Pick<ServiceInputs, 'activities' | 'declaredTasks'>): string | undefined {
  const unreleased = unreleasedIn(inputs);
  if (unreleased.length > 0) return describeActivities(unreleased);
  const { declaredTasks } = inputs;
  return declaredTasks.length > 0 ? `the ProtectedTask ${declaredTasks.join(', ')}` : undefined;
}

function unreleasedIn({ activities = [] }: Pick<ServiceInputs, 'activities'>): wire.Activity[] {
  return activities.filter((activity) => activity.released !== true);
}

/** `acknowledged`: ids of activities whose release was. */
export function withoutReleased(
  activities: readonly wire.Activity[],
  acknowledged: ReadonlySet<string>,
): readonly wire.Activity[] {
  return activities.filter(({ id, released, fresh }) => {
    const isOver = id !== undefined && acknowledged.has(canonicalId(id));
    return !isOver || released === false || fresh !== false;
  });
}

function closedWindow(
  { object, observation, nowMs, isShedding }: ServiceInputs,
  steps: readonly [Step, ...Step[]],
  differences: readonly Difference[],
): Wait | undefined {
  const isBroken = !isShedding && observation.kind === 'present' && observation.value.state === 'error';
  const window = windowState(object.spec.disruptionWindows, nowMs);
  if (isBroken || window.open) return undefined;
  const opens = Number.isFinite(window.opensAt)
    ? `which opens at ${rfc3339(window.opensAt)}`
    : 'of which none opens any more';
  return waitFor('OutsideWindow', `${steps[0].action.do} waits for a disruption window, ${opens}`, {
    recheckAfterMs: Math.min(window.opensAt - nowMs, hourMs),
    steps,
    differences,
  });
}

function describeActivities(activities: readonly wire.Activity[]): string {
  const [first] = activities;
  const name = first?.name === undefined ? 'an activity' : `the activity "${providerText(first.name)}"`;
  const details = [
    first?.id === undefined ? 'no id' : providerText(first.id),
    ...(first?.fresh === undefined ? [] : [first.fresh ? 'fresh' : 'stale']),
    ...since(first?.['registeredAt']),
  ];
  const more = activities.length > 1 ? ` and ${activities.length - 1} more` : '';
  return `${name} (${details.join(', ')})${more}`;
}

/** A stamp of the server is only shown: an age would be arithmetic with it. */
function since(registeredAt: unknown): string[] {
  const isTime = typeof registeredAt === 'number' && registeredAt > 0 && registeredAt <= latestTimeMs;
  return isTime ? [`since ${rfc3339(registeredAt)}`] : [];
}
