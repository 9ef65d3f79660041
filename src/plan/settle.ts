/**
 * What the evidence says of a mutation whose outcome is unknown. The observation must have begun after the settle
 * window; then what it shows is what came of the request:
 *
 * | mutation           | happened                              | did not happen                             |
 * |--------------------|---------------------------------------|--------------------------------------------|
 * | create             | something carries our mark            | nothing does                               |
 * | patch, update      | the fields are as sent                | they differ (a late arrival fails: old revision) |
 * | resize, sleep      | the field is as sent                  | it differs                                 |
 * | start              | it is not paused or sleeping any more | it still is                                |
 * | stop               | it is paused                          | it is not                                  |
 * | restart            | the revision or the state has moved   | neither has                                |
 * | delete             | gone, or deleting                     | there, and not deleting                    |
 *
 * "Did not happen" is never taken as a licence for a second effect: the same request goes out again with the
 * same idempotency key.
 */
import type { Intent } from '../state/index.ts';
import type { Difference, Observation } from './types.ts';

interface Observed {
  readonly state?: string | undefined;
  readonly status?: string | undefined;
  readonly revision?: number | undefined;
}

/** The paths of differences that an action would have removed. */
const pathsOf: Readonly<Record<string, RegExp>> = {
  'patch-service': /^(image|command|httpPort|env(\..*)?)$/,
  'resize-service': /^resources$/,
  'set-sleep-policy': /^sleepAfterMinutes$/,
  'update-volume': /^(volumeName|sizeGb)$/,
};

const verdict = (happened: boolean) => (happened ? 'applied' : 'not-applied');

/** Undefined: this observation can't tell. */
export function settle(
  intent: Intent,
  observation: Observation<Observed>,
  differences: readonly Difference[],
): 'applied' | 'not-applied' | undefined {
  if (observation.kind === 'pending' || observation.kind === 'conflict') return undefined;
  if (intent.action.startsWith('create-')) return verdict(observation.kind === 'present');
  if (observation.kind !== 'present') return verdict(intent.action.startsWith('delete-'));
  const { state, status, revision } = observation.value;
  const paths = pathsOf[intent.action];
  if (paths) return verdict(!differences.some((difference) => paths.test(difference.path)));
  switch (intent.action) {
    case 'start-service':
      return verdict(state !== 'paused' && state !== 'sleeping');
    case 'stop-service':
      return verdict(state === 'paused');
    case 'restart-service':
      return verdict(revision !== intent.baseRevision || state !== intent.baseState);
    default:
      return verdict((state ?? status) === 'deleting');
  }
}
