/** What the fleet knows of protected tasks: which services they protect, and which of them go on. */
import type { DesiredSnapshot } from '../desired/index.ts';
import { taskEnd } from '../plan/index.ts';
import {
  objectKey,
  parseObjectKey,
  remoteName,
  type ObjectKey,
  type ProtectedTaskSpec,
} from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { Fleet } from './fleet.ts';

/** The ContainerService that a task protects. */
export function serviceKeyOf(record: ObjectRecord, { serviceRef }: ProtectedTaskSpec): ObjectKey {
  return objectKey('ContainerService', parseObjectKey(record.key).namespace, serviceRef.name);
}

/**
 * The declared tasks that protect a service and are not over, for people, whether their activities are registered yet or
 * not: what is declared together with a change must not be overtaken by it.
 */
export function declaredTasks(fleet: Fleet, service: ObjectKey, nowMs: number): string[] {
  return (tasksIn(fleet.snapshot).get(service) ?? []).flatMap((key) => {
    const record = fleet.store.record(key);
    if (!record || record.releasedAt !== undefined) return [];
    const object = fleet.planned<'ProtectedTask'>(record);
    const isOver = taskEnd(object, 'running', nowMs) !== undefined;
    if (isOver && !record.lease) return [];
    return [describeTask(remoteName('ProtectedTask', object.name, object.spec), record)];
  });
}

/** As far as the task's own condition tells. */
const freshness: Readonly<Record<string, string>> = {
  Held: 'fresh, held since',
  HeartbeatsFail: 'heartbeats fail since',
  Expired: 'stale, heartbeats fail since',
};

function describeTask(name: string, { lease, status }: ObjectRecord): string {
  if (!lease) return name;
  const ready = status?.conditions.find(({ type }) => type === 'Ready');
  const told = ready && freshness[ready.reason];
  const details = ready && told ? `, ${told} ${ready.lastTransitionTime}` : '';
  return `${name} (${lease.activityId}${details})`;
}

const indexes = new WeakMap<DesiredSnapshot, ReadonlyMap<ObjectKey, readonly ObjectKey[]>>();

/** Asked for every service: the tasks among the many objects are looked for once. */
function tasksIn(snapshot: DesiredSnapshot): ReadonlyMap<ObjectKey, readonly ObjectKey[]> {
  const known = indexes.get(snapshot);
  if (known) return known;
  const index = new Map<ObjectKey, ObjectKey[]>();
  for (const { kind, key, namespace, spec } of snapshot.objects.values()) {
    if (kind !== 'ProtectedTask') continue;
    const service = objectKey('ContainerService', namespace, (spec as ProtectedTaskSpec).serviceRef.name);
    index.set(service, [...(index.get(service) ?? []), key]);
  }
  indexes.set(snapshot, index);
  return index;
}
