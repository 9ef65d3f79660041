/**
 * How changes of a database become durable: the control plane's, and the state file's. Those of one turn of the event
 * loop form a group: one transaction over the database and the memory that mirrors it, and one wait for the disk.
 *
 *     idle ──(first member)──> open ──(end of the turn)──> COMMIT ──(on the disk)──> durable
 *                               │                            │
 *                               └──(SQLite rolled back)──────┴──────> lost
 *
 * `open`: a member's work runs at once, in a savepoint. If it throws (a refusal), its own changes are undone, and no
 * others. Members see the changes of earlier ones: a second delivery of a request finds the answer to the first.
 * Nothing is answered yet.
 *
 * `durable`: each member gets its result or its refusal. Then the announced effects of members follow (requests to
 * the runtime).
 *
 * `lost` (the disk is full): every change of the group is undone, the latest first, and every member fails with the
 * cause. Refused ones fail, too, because a refusal may be based on an undone change.
 *
 * Reads wait in `whenDurable` while a group is open. So no answer can be undone by a kill -9. A timer can't wait:
 * `run` ends the open group, and commits its own work before it returns.
 *
 * COMMIT returns when the group is on the disk, unless it is given a `Log`: then the next groups open, and are committed, while the disk is
 * waited for (log-waits.ts).
 *
 * After a failed sync nobody knows whether the group is on the disk. Nothing is answered; the process ends.
 */
import { systemClock, type Clock } from './clock.ts';
import { invariant } from './invariant.ts';
import { LogWaits, type Log } from './log-waits.ts';
import type { EventLoop } from './process.ts';
import { isOfDisk, isUnsynced, type Sqlite } from './sqlite.ts';

interface Group {
  readonly undo: (() => void)[];
  readonly after: (() => void)[];
  /** Rejects with the cause when the group is lost. */
  readonly end: PromiseWithResolvers<void>;
  lost?: { readonly cause: unknown };
  members: number;
}

type Outcome<Result> = { readonly result: Result } | { readonly refusal: unknown };

/** More than a turn brings; a bound for what one transaction holds. */
const largestGroup = 1000;

export class UnitOfWork {
  readonly #database: Sqlite;
  readonly #loop: EventLoop;
  readonly #waits: LogWaits<Group> | undefined;
  #open: Group | undefined;
  /** The group one of whose members is at work, in this very call. */
  #working: Group | undefined;
  #failed: { readonly group: Group; readonly cause: unknown } | undefined;
  #around = (commit: () => void) => commit();

  /** `log`: of the database, if its commits don't wait for the disk. */
  constructor(database: Sqlite, loop: EventLoop, log?: Log, clock: Clock = systemClock) {
    this.#database = database;
    this.#loop = loop;
    const crash: EventLoop['crash'] = (error) => loop.crash(error);
    this.#waits =
      log && new LogWaits(log, clock, crash, (groups) => groups.forEach((group) => this.#conclude(group)));
  }

  /** Runs `work` at once. Resolves with its result, or rejects with what it threw, when that is durable. */
  async join<Result>(work: () => Result): Promise<Result> {
    const group = this.#open ?? this.#beginForTurn();
    const outcome = this.#attempt(group, work);
    if (group.members >= largestGroup) this.#end(group);
    await group.end.promise;
    return resultOf(outcome);
  }

  /** Runs `work`, and returns when it is durable. Inside of a member it is a part of that. */
  run<Result>(work: () => Result): Result {
    if (this.#working) return work();
    this.flush();
    const group = this.#begin();
    const outcome = this.#attempt(group, work);
    this.#end(group);
    if (group.lost) throw group.lost.cause;
    this.#waits?.end();
    return resultOf(outcome);
  }

  /** Ends the open group now. Returns when all are durable, and throws if they will never be. */
  flush(): void {
    if (this.#open) this.#end(this.#open);
    this.#waits?.end();
  }

  /** The same, and lets go of the log. */
  close(): void {
    try {
      this.flush();
    } finally {
      this.#waits?.close();
    }
  }

  /** For how long the disk has been waited for, in milliseconds. */
  get diskWaitMs(): number {
    return this.#waits?.waitMs ?? 0;
  }

  /** Why the disk did not take the newest write. Undefined: it did. */
  get diskFailure(): unknown {
    return this.#failed?.cause;
  }

  /** Whether everything in memory and database is durable. */
  get isDurable(): boolean {
    return !this.#open && !this.#waits?.last;
  }

  /** Calls `read` when everything in memory and database is durable: at once, or after the open group. */
  whenDurable(read: () => void): void {
    const last = this.#open ?? this.#waits?.last;
    if (!last) return read();
    const again = () => this.whenDurable(read);
    last.end.promise.then(again, again);
  }

  onRollback(step: () => void): void {
    invariant(this.#working, 'a record was changed outside a transaction');
    this.#working.undo.push(step);
  }

  afterCommit(step: () => void): void {
    invariant(this.#working, 'work was announced outside a transaction');
    this.#working.after.push(step);
  }

  /** From now on each commit is carried out by `around`, which calls what it is given once. */
  aroundCommit(around: (commit: () => void) => void): void {
    this.#around = around;
  }

  #begin(): Group {
    this.#database.begin();
    const group = { undo: [], after: [], end: Promise.withResolvers<void>(), members: 0 };
    // A loss rejects the promises of waiting callers; there may be none.
    group.end.promise.catch(() => undefined);
    this.#open = group;
    return group;
  }

  #beginForTurn(): Group {
    const group = this.#begin();
    this.#loop.endOfTurn(() => this.#end(group));
    return group;
  }

  #attempt<Result>(group: Group, work: () => Result): Outcome<Result> {
    const { undo, after } = group;
    const [undoFrom, afterFrom] = [undo.length, after.length];
    group.members += 1;
    this.#working = group;
    try {
      return { result: this.#database.part(work) };
    } catch (refusal) {
      if (isOfDisk(refusal)) this.#failed = { group, cause: refusal };
      takeBack(undo, undoFrom);
      after.length = afterFrom;
      if (!this.#database.isInTransaction) this.#lose(group, refusal);
      return { refusal };
    } finally {
      this.#working = undefined;
    }
  }

  #end(group: Group): void {
    // Its turn may end after it: it was lost or full, or `run` came first.
    if (this.#open !== group) return;
    try {
      this.#around(() => this.#database.commit());
    } catch (error) {
      if (isOfDisk(error)) this.#failed = { group, cause: error };
      return this.#lose(group, error);
    }
    if (this.#failed?.group !== group) this.#failed = undefined;
    this.#open = undefined;
    if (this.#waits) this.#waits.add(group);
    else this.#conclude(group);
  }

  #conclude(group: Group): void {
    group.end.resolve();
    for (const step of group.after) this.#carryOut(step);
  }

  #lose(group: Group, cause: unknown): void {
    this.#open = undefined;
    takeBack(group.undo, 0);
    group.lost = { cause };
    if (isUnsynced(cause)) this.#loop.crash(cause);
    else group.end.reject(cause);
  }

  /** What was announced and can't be begun is begun again by the next start, from the records. */
  #carryOut(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#loop.crash(error);
    }
  }
}

function takeBack(undo: (() => void)[], downTo: number): void {
  while (undo.length > downTo) undo.pop()?.();
}

function resultOf<Result>(outcome: Outcome<Result>): Result {
  if ('refusal' in outcome) throw outcome.refusal;
  return outcome.result;
}
