/** Whether the manager works, and whether it is of use. */
import { entryOf } from '../reasons/index.ts';
import type { AccountHandle, Controller } from '../engine/index.ts';

export interface HealthCheck {
  readonly name: string;
  /** Undefined when all is well. */
  readonly problem: string | undefined;
}

/** A manager that fails these should be started anew. */
export function livenessChecks(controller: Controller | undefined): HealthCheck[] {
  const lost = controller !== undefined && !controller.alive;
  return [
    { name: 'event-loop', problem: undefined },
    { name: 'workers', problem: lost ? 'a worker was lost by a defect; the log says how' : undefined },
  ];
}

/** The source has been read. */
export function sourceChecks(controller: Controller | undefined): HealthCheck[] {
  return [{ name: 'source', problem: controller ? undefined : 'has not been read yet' }];
}

/**
 * Each account has been read, with a key that is accepted. An API that can't be reached later leaves the manager ready: it
 * knows what it last saw, and waits.
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
