/**
 * What `destroy` removes: an empty source for a part of the fleet. Pure.
 *
 * | of the selected objects | in the source that is applied |
 * |---|---|
 * | Accounts, and all that is not selected | as in the folder |
 * | a document that can't be used | as in the folder: its object is held until that is corrected |
 * | a task that is running | as in the folder: it protects its service until it is over |
 * | all others | gone |
 */
import { UserError } from '../../base/index.ts';
import {
  desiredObjects,
  formatProblem,
  objectOf,
  placeText,
  type DesiredSnapshot,
} from '../../desired/index.ts';
import { localTime, taskEnd } from '../../engine/plan/index.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import { protectedTask } from '../../kinds/protected-task/declaration.ts';
import type { FleetPlan, Held } from '../../manager/index.ts';
import {
  accountNamed,
  objectKey,
  parseObjectKey,
  type ObjectKey,
  type TaskState,
} from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import type { PartOfFleet } from './part-of-fleet.ts';

export interface Removal {
  readonly snapshot: DesiredSnapshot;
  /** Running tasks, which stay. */
  readonly running: readonly ObjectKey[];
}

/** Throws a `UserError` if the folder could not be read as a whole: what it declares of an object would be unknown. */
export function removalOf(
  snapshot: DesiredSnapshot,
  part: PartOfFleet,
  store: StateStore,
  nowMs: number,
): Removal {
  if (!snapshot.complete) {
    throw new UserError(
      ['not everything in the source could be read:', ...snapshot.problems.map(formatProblem)].join('\n  '),
      'nothing was destroyed: correct that first',
    );
  }
  const running = [...snapshot.objects.keys()].filter(
    (key) => part.has(key) && isRunning(key, snapshot, store, nowMs),
  );
  const stays = (key: ObjectKey) =>
    !part.has(key) || accountNamed(key) !== undefined || running.includes(key);
  const { files: _, ...rest } = snapshot;
  const objects = desiredObjects([...snapshot.objects].filter(([key]) => stays(key)));
  return { snapshot: { ...rest, objects, empty: false }, running };
}

/** A service that may always be disrupted takes its tasks with it. */
function isRunning(key: ObjectKey, { objects }: DesiredSnapshot, store: StateStore, nowMs: number): boolean {
  const task = objectOf(objects, protectedTask.name, key);
  if (!task || taskEnd({ spec: task.spec, deleting: false }, 'no-cluster', localTime(nowMs)) !== undefined)
    return false;
  const { registration, releasedAt }: TaskState = store.record(key)?.kind ?? {};
  const service = objectKey(containerService.name, task.namespace, task.spec.serviceRef.name);
  if (releasedAt !== undefined) return false;
  if (objectOf(objects, containerService.name, service)?.spec.disruption === 'Always') return false;
  return registration !== undefined || store.record(service)?.externalId !== undefined;
}

/** The plan, with the tasks that keep their services. */
export function withRunning(plan: FleetPlan, { running, snapshot }: Removal): FleetPlan {
  const held = running.map((key): Held => {
    const place = snapshot.objects.get(key)?.location;
    return {
      ...parseObjectKey(key),
      reason: 'Protected',
      message: `the task is running, and destroy ends no task: set \`released: true\`${place ? ` in ${placeText(place)}` : ''}, and repeat it`,
      actions: ['release'],
      drift: false,
      differences: [],
    };
  });
  const summary = { ...plan.summary, held: plan.summary.held + held.length };
  return { ...plan, held: [...plan.held, ...held], summary };
}
