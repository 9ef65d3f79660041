/** What a replica reports about its revision: that it can't run it, or what it waits for. Pure. */
import { entryOf, isBlocking, isReason, reasons, type Reason } from '../../reasons/index.ts';
import type { ServiceState } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { Replica } from './replica.ts';
import type { RosterEntry } from './state.ts';

/** What it reports since it got its revision. `sentAt`: Unix milliseconds of the last request for it. `volumeWaits`: what its volume waits for. */
export function troubleOf(
  entry: RosterEntry,
  record: ObjectRecord | undefined,
  isReady: boolean,
  { sentAt, volumeWaits }: Readonly<{ sentAt?: number | undefined; volumeWaits?: string | undefined }> = {},
): Pick<Replica, 'fault' | 'excuse' | 'unready'> {
  const { ready, pending } = record?.report ?? {};
  const after = entry.updated ?? entry.since;
  // Until something was sent for its revision, its errors are those of the one before.
  const isOwn = pending !== undefined && pending.since > after && (sentAt === undefined || sentAt >= after);
  const isFault = isOwn && faults.includes(pending.reason);
  const refusal = pending?.reason === 'Refused' ? record?.refusal : undefined;
  const isWrong = refusal !== undefined && [400, 422].includes(refusal.status) && refusal.at >= after;
  const excuse = [pending?.reason, volumeWaits].find((reason) => reason !== undefined && isExcuse(reason));
  const fault = isFault || isWrong ? pending?.reason : undefined;
  if (isReady || !record || !ready) return { fault, excuse, unready: undefined };
  const { reason, since, reasonSince = since } = ready;
  const isExcused =
    excuse !== undefined ||
    !isLasting(reason) ||
    entry.corrects !== undefined ||
    isStartedAnew(record, since);
  return { fault, excuse, unready: { reason, since: Math.max(since, reasonSince), isExcused } };
}

const minuteMs = 60_000;

/**
 * It has come into its state since it was Ready: another service was made in its place, it woke up, or it was started. What is not
 * ready yet then was not found to fail, unless it was restarted for an error.
 */
function isStartedAnew({ seen, kind }: ObjectRecord, sinceMs: number): boolean {
  const { remediation }: ServiceState = kind;
  const isForError = remediation !== undefined && remediation.at > sinceMs - minuteMs;
  return seen !== undefined && seen.since >= sinceMs && !seen.mayBeOlder && !isForError;
}

const faults: readonly string[] = ['ServiceError', 'RemediationExhausted'] satisfies Reason[];

function isExcuse(reason: string): boolean {
  if (!isReason(reason) || !isBlocking(reason)) return false;
  const { excuses, forMoney, accountUnread } = entryOf(reason);
  return [excuses, forMoney, accountUnread].includes(true);
}

/** Nothing is under way that may make it ready again. */
function isLasting(reason: string): boolean {
  const kind = isReason(reason) ? reasons[reason].kind : undefined;
  return (kind === 'unusable' || kind === 'held') && !isExcuse(reason);
}
