/** What the fleet knows about protected tasks: the services that they protect, and which of them are running. */
import { canonicalId, rfc3339 } from '../../base/index.ts';
import { referringOf } from '../../desired/index.ts';
import { jobState, taskEnd, type JobState, type TaskTime } from '../../engine/plan/index.ts';
import { isReason, reasons } from '../../reasons/index.ts';
import {
  objectKey,
  parseObjectKey,
  remoteName,
  type ObjectKey,
  type ProtectedTaskSpec,
  type Registration,
  type TaskState,
} from '../../resources/index.ts';
import type { Fleet, View } from '../../engine/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** The ContainerService that a task protects. */
export function serviceKeyOf(record: ObjectRecord, { serviceRef }: ProtectedTaskSpec): ObjectKey {
  return objectKey('ContainerService', parseObjectKey(record.key).namespace, serviceRef.name);
}

/**
 * Descriptions of the declared tasks that protect a service and are not over. Tasks without a registered
 * activity are included: a change that is declared together with a task must not overtake it. So are those that are being
 * released, but not in a preview: it reads which activities are left beside theirs.
 */
export function declaredTasks(
  fleet: Fleet,
  service: ObjectKey,
  time: TaskTime,
  mode: View<unknown, unknown, unknown>['mode'] = 'manage',
): string[] {
  return referringOf(fleet.snapshot.objects, 'ProtectedTask', service).flatMap(({ key }) => {
    const record = fleet.store.record(key);
    if (!record) return [];
    const { registration, releasedAt }: TaskState = record.kind;
    if (releasedAt !== undefined) return [];
    const object = fleet.planned(record, 'ProtectedTask');
    const isOver = taskEnd(object, jobOf(fleet, record), time) !== undefined;
    if (isOver && (!registration || mode === 'preview')) return [];
    return [describeTask(remoteName('ProtectedTask', object.name, object.spec), registration, record)];
  });
}

/** Ids of activities in a service whose release was acknowledged: those of declared tasks. */
export function acknowledgedIn(fleet: Fleet, service: ObjectKey, serviceId: string): ReadonlySet<string> {
  const ids = referringOf(fleet.snapshot.objects, 'ProtectedTask', service).flatMap(({ key }) => {
    const { registration, releasedAt }: TaskState = fleet.store.record(key)?.kind ?? {};
    const isOver = releasedAt !== undefined && registration?.serviceId === serviceId;
    return isOver ? [canonicalId(registration.activityId)] : [];
  });
  return new Set(ids);
}

/** A declared task has an activity in it that was not released. */
export function hasRegisteredTask(fleet: Fleet, service: ObjectKey): boolean {
  return referringOf(fleet.snapshot.objects, 'ProtectedTask', service).some(({ key }) => {
    const { registration, releasedAt }: TaskState = fleet.store.record(key)?.kind ?? {};
    return registration !== undefined && releasedAt === undefined;
  });
}

/** The state of the Job that a task lasts as long as. `running` for a task without one. */
export function jobOf(fleet: Fleet, record: ObjectRecord): JobState {
  const name = fleet.planned(record, 'ProtectedTask').spec.until?.jobRef?.name;
  if (name === undefined) return 'running';
  return jobState(
    fleet.jobs?.(parseObjectKey(record.key).namespace, name),
    (record.kind as TaskState).registration !== undefined,
  );
}

function describeTask(
  name: string,
  registration: Registration | undefined,
  { report }: ObjectRecord,
): string {
  if (!registration) return name;
  const { ready } = report ?? {};
  const freshness = ready && isReason(ready.reason) ? reasons[ready.reason].freshness : undefined;
  const details = ready && freshness !== undefined ? `, ${freshness} ${rfc3339(ready.since)}` : '';
  return `${name} (${registration.activityId}${details})`;
}
