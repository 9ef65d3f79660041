/** Why something could not be done in the cluster, and who can correct it. */
import { KubernetesError } from '../../../kubernetes/index.ts';
import { LaunchError } from '../containers/launch-error.ts';
import type { LaunchReason } from '../containers/reasons.ts';

/**
 * | the API server answered | that is |
 * |---|---|
 * | nothing, 409, 410, 429, 503, 504 | `away`: it is tried again for as long as it takes |
 * | 403, 500 and others | `failed`: a right, a quota, a webhook. After some attempts it counts as a fault of the request |
 * | 400, 422 | `refused`: the object is not accepted as it is |
 */
export function failureOf(error: unknown): 'away' | 'failed' | 'refused' {
  const status = error instanceof KubernetesError ? error.status : undefined;
  if (status === undefined || [409, 410, 429, 503, 504].includes(status)) return 'away';
  return status === 400 || status === 422 ? 'refused' : 'failed';
}

/** Makes a `LaunchError` of what the cluster does not accept. */
export async function requested<Result>(
  reason: LaunchReason,
  isLast: boolean,
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    const failure = failureOf(error);
    if (error instanceof KubernetesError && (failure === 'refused' || (isLast && failure === 'failed'))) {
      throw new LaunchError(reason, error.message);
    }
    throw error;
  }
}

export function isConflict(error: unknown): boolean {
  return error instanceof KubernetesError && error.status === 409;
}
