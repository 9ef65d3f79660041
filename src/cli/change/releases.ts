/**
 * What waits for the activities of tasks that the same plan releases: it is done then, so a person has to see it as done. Pure.
 *
 * | unreleased activities of the service             | its change                                     |
 * |--------------------------------------------------|------------------------------------------------|
 * | of tasks that this plan releases, and no others  | follows their release                          |
 * | not all show an id, but no more than these tasks | the same: who agrees to it must not be surprised |
 * | one more, of somebody else or of another task    | held                                           |
 */
import { canonicalId } from '../../base/index.ts';
import type { PassResult } from '../../engine/index.ts';
import { entryOf } from '../../reasons/index.ts';
import type { ObjectKey, Registration, TaskState } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';

interface Released extends Pick<Registration, 'activityId' | 'serviceId'> {
  readonly key: ObjectKey;
}

export function withReleases(
  results: ReadonlyMap<ObjectKey, PassResult>,
  store: Pick<StateStore, 'record'>,
): ReadonlyMap<ObjectKey, PassResult> {
  const released = Map.groupBy(releasedIn(results, store), ({ serviceId }) => serviceId);
  if (released.size === 0) return results;
  const followed = Array.from(results, ([key, result]): readonly [ObjectKey, PassResult] => {
    const tasks = released.get(store.record(key)?.externalId ?? '') ?? [];
    return [key, followedBy(result, tasks)];
  });
  return new Map(followed);
}

function releasedIn(
  results: ReadonlyMap<ObjectKey, PassResult>,
  store: Pick<StateStore, 'record'>,
): Released[] {
  return [...results].flatMap(([key, { plan }]) => {
    if (plan.kind !== 'wait' || entryOf(plan.reason).inPlan !== 'release') return [];
    const { registration }: TaskState = store.record(key)?.kind ?? {};
    return registration ? [{ ...registration, key }] : [];
  });
}

function followedBy(result: PassResult, tasks: readonly Released[]): PassResult {
  const { plan } = result;
  if (plan.kind !== 'wait' || !plan.activities || !areOf(tasks, plan.activities)) return result;
  const after = tasks.map(({ key }) => key).sort();
  return { ...result, plan: { ...plan, steps: Array.from(plan.steps, (step) => ({ ...step, after })) } };
}

function areOf(tasks: readonly Released[], activities: readonly (string | undefined)[]): boolean {
  const ids = new Set(tasks.map(({ activityId }) => canonicalId(activityId)));
  const isNoOther = activities.every((id) => id === undefined || ids.has(canonicalId(id)));
  return activities.length > 0 && activities.length <= ids.size && isNoOther;
}
