/** The service that a task protects. */
import { nearestOr } from '../../base/index.ts';
import { byNamespace } from '../../desired/index.ts';
import type { View } from '../../engine/index.ts';
import { parseObjectKey, type ProtectedTaskSpec, type TaskState } from '../../resources/index.ts';
import type { ProtectedService } from './plan.ts';
import { serviceKeyOf } from './tasks.ts';

export function protectedService({
  fleet,
  store,
  object,
  record: task,
}: View<ProtectedTaskSpec, unknown, unknown, TaskState>): ProtectedService {
  const key = serviceKeyOf(task, object.spec);
  const { name, namespace } = parseObjectKey(key);
  const record = store.record(key);
  const { registration } = task.kind;
  const home = store.recordOf(registration?.serviceId ?? '');
  if (home !== undefined && home.distrusted === undefined && home.key !== key) {
    const { name: before } = parseObjectKey(home.key);
    const message = `the activity is registered in ContainerService ${before}, and stays there until the task is over; for ${name} write a ProtectedTask with another name`;
    return { kind: 'another', message };
  }
  if (!record && !fleet.snapshot.unusable.has(key)) {
    const known = byNamespace(fleet.snapshot.objects, 'ContainerService', namespace).map((one) => one.name);
    const advice = nearestOr(name, known, 'add its document, correct serviceRef, or end the task');
    const message = `there is no ContainerService ${name} in the namespace ${namespace}; ${advice}`;
    return { kind: 'dangling', message };
  }
  if (record?.distrusted !== undefined) {
    // What nobody has signed moves no activity, and its release would be forgotten where it is.
    if (registration) return { kind: 'there', id: registration.serviceId };
    const message = `what ContainerService ${name} stands for is not proven yet; the activity is registered when it is`;
    return { kind: 'missing', message };
  }
  return record?.externalId === undefined
    ? { kind: 'missing', message: `ContainerService ${name} is not there yet` }
    : { kind: 'there', id: record.externalId };
}
