/** What a record keeps about restarts by remediation (kinds/container-service/remediation.ts). */
import { elapsedMs } from '../../base/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

export const remediationReason = 'Remediation';
/** The pause between the first restart and the second one. Each later pause is twice as long. */
export const firstPauseMs = 10_000;

/** To be recorded with the intent of a restart by remediation. `nowMs`: Unix milliseconds. */
export function nextRemediation(record: ObjectRecord, nowMs: number): ObjectRecord['remediation'] {
  return { restarts: restartsSoFar(record) + 1, at: nowMs, generation: record.generation };
}

/** Whether it was restarted just now, and the account can't show that yet. */
export function justRemediated({ remediation }: ObjectRecord, nowMs: number): boolean {
  return remediation !== undefined && elapsedMs(remediation.at, nowMs) < firstPauseMs;
}

export function restartsSoFar({ remediation, generation }: ObjectRecord): number {
  return remediation?.generation === generation ? remediation.restarts : 0;
}
