/** What a record remembers of restarts by remediation (kinds/container-service/remediation.ts). */
import { elapsedMs } from '../../base/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

export const remediationReason = 'Remediation';
/** Between the first restart and the second one; then twice as long each time. */
export const firstPauseMs = 10_000;

/** To be written down with the intent of a restart by remediation. `nowMs`: Unix milliseconds. */
export function nextRemediation(record: ObjectRecord, nowMs: number): ObjectRecord['remediation'] {
  return { restarts: restartsSoFar(record) + 1, at: nowMs, generation: record.generation };
}

/** Whether its restart has just been asked for, and can't be seen in the account yet. */
export function justRemediated({ remediation }: ObjectRecord, nowMs: number): boolean {
  return remediation !== undefined && elapsedMs(remediation.at, nowMs) < firstPauseMs;
}

export function restartsSoFar({ remediation, generation }: ObjectRecord): number {
  return remediation?.generation === generation ? remediation.restarts : 0;
}
