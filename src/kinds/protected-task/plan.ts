/**
 * The planner of a ProtectedTask. It has nothing to send: activities/ does that, and the pass requests the
 * registration that is wanted. The plan reports its state.
 *
 * | wanted                                    | registration | plan                                             |
 * |-------------------------------------------|--------------|--------------------------------------------------|
 * | held                                      | none         | Wait for the service, or Hold when nobody has written it |
 * | held                                      | registering  | Wait                                             |
 * | held                                      | held         | InSync, until the deadline (engine/plan/deadline.ts); Hold when its heartbeats fail, and nobody has written its service |
 * | held in a service, and serviceRef names another one | any    | Hold: heartbeats and release stay with the service where it was registered |
 * | held, until a Job is over that nobody knows | none       | Wait: nothing is registered for it, and nothing disturbs the service until then |
 * | held, after it was released               | any          | Hold: a released activity does not protect again |
 * | released: by `released`, a deadline, a Job, or the end of the object | none | InSync: nothing was registered |
 * |                                           | registered   | Wait until the release is acknowledged           |
 * |                                           | acknowledged | InSync                                           |
 * | released by a deadline, and it has never begun | none     | Hold: the document has a wrong time              |
 *
 * Nothing else releases: not a stop of the process, not a crash, not an expired record (§4 rule 6).
 */
import {
  holdFor,
  inSync,
  taskEnd,
  waitFor,
  type JobState,
  type Plan,
  type PlannedObject,
  type TaskEnd,
  type TaskTime,
} from '../../engine/plan/index.ts';
import type { ProtectedTaskSpec, TaskState } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { whyNotOver, leftUntilDeadline } from './time.ts';

/** Of the service that the task protects. */
export type ProtectedService =
  | { readonly kind: 'there'; readonly id: string }
  /** `dangling`: nobody has written it. `another`: the activity is registered in another one. */
  | { readonly kind: 'missing' | 'dangling' | 'another'; readonly message: string };

export interface RegistrationView {
  readonly phase: 'registering' | 'held' | 'releasing' | 'released' | 'spent';
  readonly failure: string | undefined;
  /** Negative when the record has expired; undefined when it was never registered by this process. */
  readonly expiresInMs: number | undefined;
}

export interface TaskInputs {
  readonly object: PlannedObject<ProtectedTaskSpec>;
  readonly record: ObjectRecord<TaskState>;
  readonly service: ProtectedService;
  readonly lease: RegistrationView | undefined;
  readonly job: JobState;
  readonly time: TaskTime;
  /** Its deadline has passed, and nothing was ever registered (begun.ts). */
  readonly hasNeverBegun?: boolean;
}

const longestRecheckMs = 3_600_000;
const retryMs = 5000;
/** Between two rechecks of a task whose heartbeats fail. */
const failingMs = 60_000;

export function planTask(inputs: TaskInputs): Plan {
  const { object, record, job, time } = inputs;
  const end = taskEnd(object, job, time);
  if (end === 'DeadlinePassed' && inputs.hasNeverBegun) return neverBegun(object.spec);
  if (end !== undefined) return planRelease(inputs, end);
  if (record.kind.releasedAt !== undefined) {
    return holdFor(
      'TaskReleased',
      'the task was released, and a released activity does not protect again; for another run, write a ProtectedTask with another name, or remove this one, and add it again when it is gone',
      { path: ['spec'] },
    );
  }
  if (job === 'no-cluster') {
    return holdFor(
      'JobNeedsCluster',
      'a Job can be observed in a cluster only; use `until.deadline`, or `released`',
      { path: ['spec', 'until', 'jobRef'] },
    );
  }
  if (!record.kind.registration && (job === 'missing' || job === 'unknown')) {
    return waitForJob(object.spec.until?.jobRef?.name ?? '', job);
  }
  return planHolding(inputs);
}

function neverBegun({ until }: ProtectedTaskSpec): Plan {
  const message = `the deadline ${until?.deadline} had passed before the task was registered: it protects nothing. Correct \`until.deadline\`, or remove the task`;
  return holdFor('InvalidSpec', message, { path: ['spec', 'until', 'deadline'] });
}

function waitForJob(name: string, job: 'missing' | 'unknown'): Plan {
  return job === 'missing'
    ? waitFor(
        'JobNotThere',
        `there is no Job ${name} in this namespace yet; the service is protected until it has come and gone. If it will not come, set \`released: true\`, or delete the task`,
        { recheckAfterMs: longestRecheckMs },
      )
    : waitFor('JobUnknown', `the Job ${name} has not been read yet`, { recheckAfterMs: retryMs });
}

function planHolding({ object, service, lease, time }: TaskInputs): Plan {
  if (service.kind === 'dangling' && (!lease || lease.failure !== undefined)) {
    return holdFor('ReferenceNotFound', service.message, { path: ['spec', 'serviceRef', 'name'] });
  }
  if (service.kind === 'another') {
    return holdFor('ImmutableFieldChanged', service.message, { path: ['spec', 'serviceRef', 'name'] });
  }
  if (service.kind === 'missing' && !lease) {
    return waitFor('ServiceNotThere', service.message, { recheckAfterMs: retryMs });
  }
  if (lease?.phase !== 'held') {
    const why = lease ? lease.failure : whyNotOver(object.spec, time);
    const message = `the activity is being registered${why === undefined ? '' : `: ${why}`}`;
    return waitFor('Registering', message, { recheckAfterMs: retryMs });
  }
  const left = leftUntilDeadline(object.spec, time);
  // Nothing else reports that its service was removed with its document.
  return inSync([], lease.failure === undefined ? left : Math.min(left ?? failingMs, failingMs));
}

function planRelease({ record, lease }: TaskInputs, end: TaskEnd): Plan {
  if (record.kind.releasedAt !== undefined || !record.kind.registration) return inSync();
  const message = `the activity is being released (${end})${lease?.failure === undefined ? '' : `: ${lease.failure}`}`;
  return waitFor('Releasing', message, { recheckAfterMs: retryMs });
}
