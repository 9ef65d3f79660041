/**
 * Waiting has a bound: what takes longer is told as stalled, while the waiting and the looking go on. It is only told, so
 * the wall clock is good enough, and a restart does not begin anew, but for waits for reads.
 *
 * | waiting for                                 | bound  | reason                     |
 * |---------------------------------------------|--------|----------------------------|
 * | provisioning, expansion, deletion           | 30 min | `ProgressDeadlineExceeded` |
 * | the end of a state that is not known (§3)   | 10 min | `UnknownState`             |
 * | evidence of an unknown outcome              | 10 min | `OutcomeUnknown`           |
 * | a read that shows the object                | 10 min | the reason of the wait     |
 */
import { rfc3339 } from '../base/index.ts';
import type { Plan } from '../plan/index.ts';
import type { ObjectRecord } from '../state/index.ts';

const minuteMs = 60_000;

const bounds: Readonly<Record<string, { readonly ms: number; readonly reason: string }>> = {
  Provisioning: { ms: 30 * minuteMs, reason: 'ProgressDeadlineExceeded' },
  Expanding: { ms: 30 * minuteMs, reason: 'ProgressDeadlineExceeded' },
  Deleting: { ms: 30 * minuteMs, reason: 'ProgressDeadlineExceeded' },
  UnknownState: { ms: 10 * minuteMs, reason: 'UnknownState' },
  OutcomeUnknown: { ms: 10 * minuteMs, reason: 'OutcomeUnknown' },
};

/** Reasons of waits for a read: nothing is sent for the object meanwhile. `ReadsDisagree`: the account shows it, and the read by its id does not. */
export const readWaits: ReadonlySet<string> = new Set([
  'ActivitiesUnreadable',
  'AwaitingObservation',
  'ReadsDisagree',
  'Unreadable',
]);
const longestReadWaitMs = 10 * minuteMs;

export interface Overdue {
  readonly reason: string;
  readonly message: string;
}

/** Unix milliseconds. */
export interface WaitTimes {
  /** A mutation was sent whose outcome is not known. */
  readonly unknownSince: number | undefined;
  /** It waits for a read without a break. */
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
  if (readSince !== undefined && readWaits.has(plan.reason)) {
    if (wallMs - readSince < longestReadWaitMs) return undefined;
    const message = `${plan.message}, since ${rfc3339(readSince)}; nothing is changed until a read shows it: ask the provider`;
    return { reason: plan.reason, message };
  }
  const bound = bounds[plan.reason];
  const since = plan.reason === 'OutcomeUnknown' ? unknownSince : seen?.since;
  if (!bound || since === undefined || wallMs - since < bound.ms) return undefined;
  return { reason: bound.reason, message: `${plan.message}, since ${rfc3339(since)}` };
}
