/**
 * Every wait has a bound. After it, the wait is reported as stalled, while waiting and rechecks continue. The bound only
 * affects that report. So the wall clock is sufficient, and a restart does not reset it, except for waits for reads.
 *
 * | waiting for                               | since (`stalled` in the table of reasons)   | reported as                |
 * |-------------------------------------------|---------------------------------------------|----------------------------|
 * | provisioning, expansion, deletion         | `state`: the object entered its state       | `ProgressDeadlineExceeded` |
 * | the end of an unknown state (§3)          | the same                                    | the reason of the wait     |
 * | evidence of an unknown outcome            | `outcome`: the request was sent             | the same                   |
 * | a read that shows the object              | `read`: it began to wait for reads          | the same                   |
 */
import { rfc3339 } from '../../base/index.ts';
import type { Plan } from '../plan/index.ts';
import { entryOf, type Reason } from '../../reasons/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

export interface Overdue {
  readonly reason: Reason;
  readonly message: string;
}

/** Unix milliseconds. */
export interface WaitTimes {
  /** When a mutation with an unknown outcome was sent. */
  readonly unknownSince: number | undefined;
  /** When it began to wait for a read. */
  readonly readSince?: number | undefined;
}

export function overdue(
  plan: Plan,
  { seen }: ObjectRecord,
  { unknownSince, readSince }: WaitTimes,
  wallMs: number,
): Overdue | undefined {
  if (plan.kind !== 'wait') return undefined;
  if (plan.stalled) return { reason: plan.reason, message: plan.message };
  const bound = entryOf(plan.reason).stalled;
  if (!bound) return undefined;
  const since = { state: seen?.since, outcome: unknownSince, read: readSince }[bound.since];
  if (since === undefined || wallMs - since < bound.afterMs) return undefined;
  const message = `${plan.message}, since ${rfc3339(since)}${bound.since === 'read' ? nothingChanged : ''}`;
  return { reason: bound.as ?? plan.reason, message };
}

const nothingChanged = '; nothing is sent until a read shows it: ask the provider';
