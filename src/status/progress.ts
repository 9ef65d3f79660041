/**
 * Waiting has a bound: what takes longer is told as stalled, while the waiting and the looking go on. It is only told, so
 * the wall clock is good enough, and a restart does not begin anew.
 *
 * | waiting for                                 | bound  | reason                     |
 * |---------------------------------------------|--------|----------------------------|
 * | provisioning, expansion, deletion           | 30 min | `ProgressDeadlineExceeded` |
 * | the end of a state that is not known (§3)   | 10 min | `UnknownState`             |
 * | evidence of an unknown outcome              | 10 min | `OutcomeUnknown`           |
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

export interface Overdue {
  readonly reason: string;
  readonly message: string;
}

/** `unknownSince`: Unix milliseconds at which a mutation was sent whose outcome is not known. */
export function overdue(
  plan: Plan,
  { seen }: ObjectRecord,
  unknownSince: number | undefined,
  wallMs: number,
): Overdue | undefined {
  if (plan.kind !== 'wait') return undefined;
  if (plan.stalled) return { reason: plan.reason, message: plan.message };
  const bound = bounds[plan.reason];
  const since = plan.reason === 'OutcomeUnknown' ? unknownSince : seen?.since;
  if (!bound || since === undefined || wallMs - since < bound.ms) return undefined;
  return { reason: bound.reason, message: `${plan.message}, since ${rfc3339(since)}` };
}
