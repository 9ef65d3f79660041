/**
 * Whether the deadline of a task has passed. A release can't be undone, and the clock of this machine may be wrong for a while: at a start without
 * a time server, or after a jump. So what it shows has to be agreed with.
 *
 * | the clock of this machine shows it as passed, and        | the deadline                                          |
 * |----------------------------------------------------------|-------------------------------------------------------|
 * | so does the `Date` of the API's answers                  | has passed                                            |
 * | the `Date` does not                                      | is disputed; after `disputeMs` without a jump it has passed |
 * | no answer of this process had a `Date`                   | has passed when the clock had no jump for `steadyMs`; for a command, at once |
 * | nothing was answered yet                                 | is open: nothing could be released either             |
 */

/** What this process knows of the time of one account. Its spans are monotonic. */
export interface AccountTime {
  readonly isAnswered: boolean;
  /** Unix milliseconds by the newest answer with a `Date`, moved on since. Undefined: none had one. */
  readonly providerMs: number | undefined;
  /** For how long the clock of this machine has not jumped, as far as this process has seen. */
  readonly steadyForMs: number;
  /** For how long each `Date` was behind the clock of this machine by more than a minute. */
  readonly behindForMs: number;
}

export interface TaskTime {
  /** Unix milliseconds by the clock of this machine. */
  readonly nowMs: number;
  /** Undefined without an account: then nothing can be released, and the clock of this machine counts. */
  readonly account: AccountTime | undefined;
  /** A command, or a preview: it can't wait for the clock to prove itself. */
  readonly isOneShot: boolean;
}

/** Where no account has a say. */
export function localTime(nowMs: number): TaskTime {
  return { nowMs, account: undefined, isOneShot: true };
}

type DeadlineState = 'ahead' | 'open' | 'disputed' | 'passed';

const steadyMs = 120_000;
const disputeMs = 3_600_000;

export function deadlineState(deadline: string, { nowMs, account, isOneShot }: TaskTime): DeadlineState {
  const atMs = Date.parse(deadline);
  if (atMs > nowMs) return 'ahead';
  if (!account) return 'passed';
  const { isAnswered, providerMs, steadyForMs, behindForMs } = account;
  if (!isAnswered) return 'open';
  if (providerMs === undefined) return isOneShot || steadyForMs >= steadyMs ? 'passed' : 'open';
  return providerMs >= atMs || Math.min(steadyForMs, behindForMs) >= disputeMs ? 'passed' : 'disputed';
}
