/**
 * The planner of a ProtectedTask. It has nothing to send: the keeper of leases does (activities/), and is told by the
 * pass what is wanted. What is left to be said is how it stands.
 *
 * | wanted                                    | lease        | plan                                             |
 * |-------------------------------------------|--------------|--------------------------------------------------|
 * | held                                      | none         | Wait for the service, or Hold when nobody has written it |
 * | held                                      | registering  | Wait                                             |
 * | held                                      | held         | InSync, until the deadline                       |
 * | held, after it was released               | any          | Hold: a released activity does not protect again |
 * | released: by `released`, a deadline, a Job, or the end of the object | none | InSync: nothing was registered |
 * |                                           | registered   | Wait until the release is acknowledged           |
 * |                                           | acknowledged | InSync                                           |
 *
 * Nothing else releases: not a stop of ours, not a crash, not an expired record (§4 rule 6).
 */
import type { ProtectedTaskSpec } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { PlannedObject } from './inputs.ts';
import { holdFor, inSync, waitFor, type Plan } from './types.ts';

/** Of the service that the task protects. */
export type ProtectedService =
  | { readonly kind: 'there'; readonly id: string }
  /** `dangling`: nobody has written it. */
  | { readonly kind: 'missing' | 'dangling'; readonly message: string };

export interface LeaseView {
  readonly phase: 'registering' | 'held' | 'releasing' | 'released' | 'spent';
  readonly failure: string | undefined;
  /** Negative when the record has expired; undefined when it was never registered by this process. */
  readonly expiresInMs: number | undefined;
}

/** `unknown`: it can't be told whether it has ended. */
export type JobState = 'running' | 'over' | 'unknown' | 'no-cluster';

export interface TaskInputs {
  readonly object: PlannedObject<ProtectedTaskSpec>;
  readonly record: ObjectRecord;
  readonly service: ProtectedService;
  readonly lease: LeaseView | undefined;
  readonly job: JobState;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** Why the task is over; undefined while it goes on. */
export type TaskEnd = 'Released' | 'DeadlinePassed' | 'JobFinished' | 'Deleted';

const longestRecheckMs = 3_600_000;
const retryMs = 5000;

export function taskEnd(
  { spec, deleting }: Pick<PlannedObject<ProtectedTaskSpec>, 'spec' | 'deleting'>,
  job: JobState,
  nowMs: number,
): TaskEnd | undefined {
  if (deleting) return 'Deleted';
  if (spec.released) return 'Released';
  const { deadline, jobRef } = spec.until ?? {};
  if (deadline !== undefined && Date.parse(deadline) <= nowMs) return 'DeadlinePassed';
  return jobRef !== undefined && job === 'over' ? 'JobFinished' : undefined;
}

export function planTask(inputs: TaskInputs): Plan {
  const { object, record, job, nowMs } = inputs;
  const end = taskEnd(object, job, nowMs);
  if (end !== undefined) return planRelease(inputs, end);
  if (record.releasedAt !== undefined) {
    return holdFor(
      'TaskReleased',
      'the task was released, and a released activity does not protect again; for another run, write a ProtectedTask with another name',
      { path: ['spec'] },
    );
  }
  if (job === 'no-cluster') {
    return holdFor(
      'JobNeedsCluster',
      'a Job can be looked at in a cluster only; use `until.deadline`, or `released`',
      { path: ['spec', 'until', 'jobRef'] },
    );
  }
  return planHolding(inputs);
}

function planHolding({ object, service, lease, nowMs }: TaskInputs): Plan {
  if (service.kind === 'dangling' && !lease) {
    return holdFor('ReferenceNotFound', service.message, { path: ['spec', 'serviceRef', 'name'] });
  }
  if (service.kind === 'missing' && !lease) {
    return waitFor('ServiceNotThere', service.message, { recheckAfterMs: retryMs });
  }
  if (lease?.phase !== 'held') {
    const message = `the activity is being registered${lease?.failure === undefined ? '' : `: ${lease.failure}`}`;
    return waitFor('Registering', message, { recheckAfterMs: retryMs });
  }
  const deadline = object.spec.until?.deadline;
  const leftMs =
    deadline === undefined ? undefined : Math.min(Date.parse(deadline) - nowMs, longestRecheckMs);
  return inSync([], leftMs);
}

function planRelease({ record, lease }: TaskInputs, end: TaskEnd): Plan {
  if (record.releasedAt !== undefined || !record.lease) return inSync();
  const message = `the activity is being released (${end})${lease?.failure === undefined ? '' : `: ${lease.failure}`}`;
  return waitFor('Releasing', message, { recheckAfterMs: retryMs });
}
