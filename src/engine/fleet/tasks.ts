/** What the fleet knows of protected tasks: which services they protect, and which of them go on. */
import { byNamespace, referringTo, type DesiredSnapshot } from '../../desired/index.ts';
import { jobState, taskEnd, type JobAnswer, type JobState } from '../plan/index.ts';
import { isReason, reasons } from '../../reasons/index.ts';
import {
  objectKey,
  parseObjectKey,
  remoteName,
  type ObjectKey,
  type ProtectedTaskSpec,
} from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { Fleet } from './fleet.ts';

/** What is asked about Jobs of a cluster. */
export interface Jobs {
  answer(namespace: string, name: string): JobAnswer;
  /** From now on, who asked for an answer is told when it is another one. */
  listen(listener: (namespace: string, name: string) => void): void;
}

/** The ContainerService that a task protects. */
export function serviceKeyOf(record: ObjectRecord, { serviceRef }: ProtectedTaskSpec): ObjectKey {
  return objectKey('ContainerService', parseObjectKey(record.key).namespace, serviceRef.name);
}

/**
 * The declared tasks that protect a service and are not over, for people, whether their activities are registered yet or
 * not: what is declared together with a change must not be overtaken by it.
 */
export function declaredTasks(fleet: Fleet, service: ObjectKey, nowMs: number): string[] {
  return referringTo(fleet.snapshot.objects, service).flatMap(({ key, kind }) => {
    const record = fleet.store.record(key);
    if (!record || kind !== 'ProtectedTask' || record.releasedAt !== undefined) return [];
    const object = fleet.planned<'ProtectedTask'>(record);
    const isOver = taskEnd(object, jobOf(fleet, record), nowMs) !== undefined;
    if (isOver && !record.lease) return [];
    return [describeTask(remoteName('ProtectedTask', object.name, object.spec), record)];
  });
}

/** How the Job stands that the task lasts as long as; `running` for a task without one. */
export function jobOf(fleet: Fleet, record: ObjectRecord): JobState {
  const name = fleet.planned<'ProtectedTask'>(record).spec.until?.jobRef?.name;
  if (name === undefined) return 'running';
  return jobState(fleet.jobs?.(parseObjectKey(record.key).namespace, name), record);
}

/** The tasks that last as long as a Job. */
export function tasksOfJob({ objects }: DesiredSnapshot, namespace: string, job: string): ObjectKey[] {
  return byNamespace(objects, 'ProtectedTask', namespace)
    .filter(({ spec }) => spec.until?.jobRef?.name === job)
    .map(({ key }) => key);
}

function describeTask(name: string, { lease, status }: ObjectRecord): string {
  if (!lease) return name;
  const ready = status?.conditions.find(({ type }) => type === 'Ready');
  const freshness = ready && isReason(ready.reason) ? reasons[ready.reason].freshness : undefined;
  const details = ready && freshness !== undefined ? `, ${freshness} ${ready.lastTransitionTime}` : '';
  return `${name} (${lease.activityId}${details})`;
}
