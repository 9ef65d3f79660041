/** A protected task: whether its service is protected, and how fresh the record is. */
import { rfc3339 } from '../../base/index.ts';
import { taskEnd } from '../../engine/plan/index.ts';
import type { Health } from '../../engine/status/index.ts';
import type { TaskInputs } from './plan.ts';
import { whyNotOver } from './time.ts';

/** Ready means that the task is as it should be: held, or over. */
export function taskHealth(inputs: TaskInputs): Health {
  const { object, record, lease, job, time } = inputs;
  const end = taskEnd(object, job, time);
  if (end !== undefined && inputs.hasNeverBegun) {
    return { ready: 'False', reason: 'NotRegistered', message: 'the deadline had passed before' };
  }
  if (end !== undefined) return { ready: 'True', reason: 'Released', message: end };
  if (record.kind.registration === undefined) {
    return { ready: 'False', reason: 'NotRegistered', message: 'the activity is not registered yet' };
  }
  if (lease?.failure === undefined)
    return { ready: 'True', reason: 'Held', message: whyNotOver(object.spec, time) ?? '' };
  const { expiresInMs } = lease;
  if (expiresInMs !== undefined && expiresInMs <= 0) {
    const message = `the record has expired, and still protects: ${lease.failure}`;
    return { ready: 'False', reason: 'Expired', message };
  }
  return { ready: 'False', reason: 'HeartbeatsFail', message: lease.failure };
}

export function observedTask({ record, lease }: TaskInputs): Record<string, unknown> {
  const { registration, releasedAt } = record.kind;
  return {
    ...(registration ? { activityId: registration.activityId, serviceId: registration.serviceId } : {}),
    ...(lease && releasedAt === undefined ? { state: lease.phase } : {}),
    ...(releasedAt === undefined ? {} : { state: 'released', releasedAt: rfc3339(releasedAt) }),
  };
}
