/** Liveness and readiness of the manager. */
import { entryOf } from '../reasons/index.ts';
import type { AccountHandle, Controller } from '../engine/index.ts';
import type { StateStore } from '../state/index.ts';

export interface HealthCheck {
  readonly name: string;
  /** Undefined if healthy. */
  readonly problem: string | undefined;
}

/** A manager that fails one of these should be restarted. */
export function livenessChecks(controller: Controller | undefined): HealthCheck[] {
  const lost = controller !== undefined && !controller.alive;
  return [
    { name: 'event-loop', problem: undefined },
    { name: 'workers', problem: lost ? 'a worker was lost because of a defect; see the log' : undefined },
  ];
}

/** A disk that takes longer is gone, as a network disk may be: nothing is recorded, and nothing but heartbeats is sent. */
const longestDiskWaitMs = 60_000;

/** Only what is wrong. It calls for no restart: heartbeats continue, and a new process could not read the file. */
export function diskChecks({
  diskWaitMs = 0,
  diskFailure,
}: Pick<StateStore, 'diskWaitMs' | 'diskFailure'>): HealthCheck[] {
  const wait = diskWaitMs <= longestDiskWaitMs ? undefined : Math.round(diskWaitMs / 1000);
  const problem = wait === undefined ? diskFailure : `the disk has not confirmed a write for ${wait} s`;
  return problem === undefined ? [] : [{ name: 'state-file', problem }];
}

/** The source has been read. */
export function sourceChecks(controller: Controller | undefined): HealthCheck[] {
  return [{ name: 'source', problem: controller ? undefined : 'has not been read yet' }];
}

/**
 * Each account has been read with an accepted key. If an API becomes unreachable later, the manager stays
 * ready: it keeps its last snapshot and waits.
 */
export function accountChecks(handles: Iterable<AccountHandle>): HealthCheck[] {
  return [...handles].map((handle) => ({ name: `account ${handle.name}`, problem: accountProblem(handle) }));
}

function accountProblem({ informer }: AccountHandle): string | undefined {
  const { current, failure } = informer;
  if (failure && (!current || !entryOf(failure.reason).staysReady)) {
    return `${failure.reason}: ${failure.message}`;
  }
  return current ? undefined : 'has not been read yet';
}
