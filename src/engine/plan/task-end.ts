/** When a task ends: by its document, its deadline or its Job. */
import type { ProtectedTaskSpec } from '../../resources/index.ts';
import { deadlineState, type TaskTime } from './deadline.ts';
import type { PlannedObject } from './inputs.ts';

/** What a cluster reports of a Job. `gone`: a search found none. `unknown`: no search was possible yet. */
export type JobAnswer = 'running' | 'finished' | 'gone' | 'unknown';

/** What that means for a task. `missing`: the Job has not existed yet. `no-cluster`: a folder has no Jobs. */
export type JobState = 'running' | 'over' | 'missing' | 'unknown' | 'no-cluster';

/**
 * A Job that is missing is over only if it existed before. A task may be created before its Job. An activity
 * is registered only when the Job exists, so a registration proves that it did.
 */
export function jobState(answer: JobAnswer | undefined, wasRegistered: boolean): JobState {
  switch (answer) {
    case undefined:
      return 'no-cluster';
    case 'finished':
      return 'over';
    case 'gone':
      return wasRegistered ? 'over' : 'missing';
    case 'running':
    case 'unknown':
      return answer;
  }
}

/** Why the task has ended. Undefined while it runs. */
export type TaskEnd = 'Released' | 'DeadlinePassed' | 'JobFinished' | 'Deleted';

export function taskEnd(
  { spec, deleting }: Pick<PlannedObject<ProtectedTaskSpec>, 'spec' | 'deleting'>,
  job: JobState,
  time: TaskTime,
): TaskEnd | undefined {
  if (deleting) return 'Deleted';
  if (spec.released) return 'Released';
  const { deadline, jobRef } = spec.until ?? {};
  if (deadline !== undefined && deadlineState(deadline, time) === 'passed') return 'DeadlinePassed';
  return jobRef !== undefined && job === 'over' ? 'JobFinished' : undefined;
}
