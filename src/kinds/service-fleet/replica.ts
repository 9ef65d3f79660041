/** What the planner of a fleet knows of one replica. */
import type { OwnerRevision } from '../../state/index.ts';
import type { RosterEntry } from './state.ts';

/** So long a replica has to begin with a correction that it may do. */
export const beginMs = 15_000;

/**
 * Beside the revision that all replicas are to have:
 *
 * | content  | the replica                                                            |
 * |----------|------------------------------------------------------------------------|
 * | updated  | was observed to have it                                                |
 * | updating | is to have it, and was not observed so yet; a new one, too             |
 * | outdated | has another one, and waits for its turn                                |
 * | unknown  | was found again, and has not reported yet whether it differs           |
 */
/**
 * | correction | the replica                                                        |
 * |------------|--------------------------------------------------------------------|
 * | none       | has nothing to be corrected                                        |
 * | asked      | waits for the permission of its fleet                              |
 * | running    | may be interrupted at any moment, so nothing relies on it          |
 * | blocked    | may be corrected, but somebody's work or a closed window forbids it |
 * | done       | is corrected and available, and still has the permission           |
 */
export type Correction = 'none' | 'asked' | 'running' | 'blocked' | 'done';

export interface Replica {
  readonly entry: RosterEntry;
  /** Its object is recorded. If not, its absence is confirmed, or it was never made. */
  readonly isRecorded: boolean;
  /** In a cluster: somebody has deleted its object, and the mass-change brake allows that. */
  readonly isDeleted: boolean;
  /** Something of it is, or may be, at the provider. */
  readonly isMade: boolean;
  /** A person has asked for its removal before that of others. */
  readonly isChosen: boolean;
  /** It was not made with this state file, and nobody has confirmed the owner. */
  readonly isUnproven: boolean;
  readonly content: 'updated' | 'updating' | 'outdated' | 'unknown';
  /** The one that it is to have. Undefined: nobody knows which one it has. */
  readonly revision: OwnerRevision | undefined;
  /** It was observed to have its revision. */
  readonly isSettled: boolean;
  /** Why it can't run its revision, as it reports since it got it. */
  readonly fault: string | undefined;
  /** What the provider writes about that. */
  readonly faultText: string | undefined;
  /** What it waits for, while its revision is not to blame. */
  readonly excuse: string | undefined;
  /** It is not Ready: since when (Unix milliseconds), and why. `isExcused`: its revision is not to blame. */
  readonly unready:
    | { readonly reason: string; readonly since: number; readonly isExcused: boolean }
    | undefined;
  /** Somebody's work keeps its update waiting, and nothing is under way. */
  readonly isBlocked: boolean;
  /** It was observed to be as the document requires now. */
  readonly isAsDocument: boolean;
  /** Without a revision: it reports that it differs from the document. */
  readonly reportsDifference: boolean;
  /** Undefined: its place is no candidate's any more. */
  readonly candidate: string | undefined;
  /** Of its candidate; a greater one is worse. */
  readonly rank: number;
  /** As the API shows it, in micro-USD per hour. */
  readonly hourlyMicros: number | undefined;
  /** Replicas that are wanted in the same part of what is to be spread, with this one; 0 without a spread. */
  readonly crowd: number;
  /** It was refused for capacity, and waits. */
  readonly waitsForCapacity: boolean;
  /** Unix milliseconds since when the service is provisioning. */
  readonly provisioningSince: number | undefined;
  /** What the API shows of it that its candidate does not allow. */
  readonly rejection:
    | { readonly state: 'PriceTooHigh' | 'ModelNotAccepted'; readonly message: string }
    | undefined;
  /** The fleet has another account, region, geography or storage now, and may replace it for that. */
  readonly isMisplaced: boolean;
  readonly isReady: boolean;
  /** It has been Ready for `minReadySeconds`, at the content that it is to have. */
  readonly isAvailable: boolean;
  /** It is not known to be of no use: it may serve, although it is not available. */
  readonly mayServe: boolean;
  /** Unix milliseconds at which it becomes available if nothing happens. Undefined: it is, or is not Ready. */
  readonly availableAt: number | undefined;
  readonly isAsleep: boolean;
  /** The API shows that it has failed. */
  readonly isInError: boolean;
  /** Unix milliseconds of the last restart after an error. */
  readonly restartedAt: number | undefined;
  /** Of what others changed in it, if it has to be interrupted for that (corrections.ts). */
  readonly correction: Correction;
  /** It is not Ready, and its own planner does nothing more about that: the reason, and since when (Unix milliseconds). */
  readonly givenUp: { readonly reason: string; readonly since: number } | undefined;
  /** Of a draining replica, read since it began to drain. `unknown` for all others, unless it was found protected lately. */
  readonly protection: 'yes' | 'no' | 'unknown';
  /** What protects it. */
  readonly protector: string | undefined;
}

/** Others may be interrupted because of it. */
export function isReliable({ isAvailable, correction }: Replica): boolean {
  return isAvailable && correction !== 'running' && correction !== 'blocked';
}

export function contentAt(
  { revision, isSettled, reportsDifference }: Omit<Replica, 'content'>,
  target: OwnerRevision | undefined,
): Replica['content'] {
  if (!revision) return reportsDifference ? 'outdated' : 'unknown';
  if (revision.number !== target?.number) return 'outdated';
  return isSettled ? 'updated' : 'updating';
}

/**
 * When one that is Ready counts as available; undefined: it does now. Where the clock was set back, nobody knows since when
 * it is Ready. If that counted as too short, all replicas would protect nothing.
 */
export function availableAt(readySince: number, minReadyMs: number, nowMs: number): number | undefined {
  const isLongEnough = readySince > nowMs || readySince + minReadyMs <= nowMs;
  return isLongEnough ? undefined : readySince + minReadyMs;
}
