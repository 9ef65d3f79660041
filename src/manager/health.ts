/** Liveness and readiness of the manager. */
import { entryOf } from '../reasons/index.ts';
import type { DesiredSnapshot } from '../desired/index.ts';
import type { AccountHandle, Controller } from '../engine/index.ts';
import type { Impairment } from './impairments.ts';

export interface HealthCheck {
  readonly name: string;
  /** Undefined if healthy. */
  readonly problem: string | undefined;
  /** What is worth to know, although it is healthy. */
  readonly note?: string | undefined;
}

/** A manager that fails one of these should be restarted. */
export function livenessChecks(controller: Controller | undefined): HealthCheck[] {
  const lost = controller !== undefined && !controller.alive;
  return [
    { name: 'event-loop', problem: undefined },
    { name: 'workers', problem: lost ? 'a worker was lost because of a defect; see the log' : undefined },
  ];
}

/** Only what is wrong. It calls for no restart: heartbeats continue, and a new process could not use the file either. */
export function stateChecks(impairments: readonly Impairment[]): HealthCheck[] {
  const problems = impairments.filter(({ cause }) => cause !== 'SourceUnreadable');
  return problems.map(({ message }) => ({ name: 'state-file', problem: message }));
}

/** The source has been read, and can still be read. A restart without it would fail, and end the heartbeats. */
export function sourceChecks(
  controller: Controller | undefined,
  impairments: readonly Impairment[],
  { unread }: Pick<DesiredSnapshot, 'unread'> = {},
): HealthCheck[] {
  const unreadable = impairments.find(({ cause }) => cause === 'SourceUnreadable')?.message;
  const note = unread?.size ? `these namespaces can't be read: ${[...unread].sort().join(', ')}` : undefined;
  return [{ name: 'source', problem: controller ? unreadable : 'has not been read yet', note }];
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
