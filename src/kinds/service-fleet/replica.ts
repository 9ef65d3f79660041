/** What the planner of a fleet knows of one replica. */
import type { RosterEntry } from './state.ts';

/** So long a replica has to begin with a correction that it may do. */
export const beginMs = 15_000;

/**
 * | content  | the replica                                                            |
 * |----------|------------------------------------------------------------------------|
 * | updated  | was observed to be as the present template requires                    |
 * | updating | may be updated, and was not observed so yet; a new one, too            |
 * | outdated | is as an earlier template required, and waits for its turn             |
 * | unknown  | has not reported whether it differs from the present template          |
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
  /** Something of it is, or may be, at the provider. */
  readonly isMade: boolean;
  readonly content: 'updated' | 'updating' | 'outdated' | 'unknown';
  /** The fleet has another account, region, geography or storage now. */
  readonly isMisplaced: boolean;
  readonly isReady: boolean;
  /** It has been Ready for `minReadySeconds`, at the content that it is to have. */
  readonly isAvailable: boolean;
  /** It is not known to be of no use: it may serve, although it is not available. */
  readonly mayServe: boolean;
  /** Unix milliseconds at which it becomes available if nothing happens. Undefined: it is, or is not Ready. */
  readonly availableAt: number | undefined;
  readonly isAsleep: boolean;
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
