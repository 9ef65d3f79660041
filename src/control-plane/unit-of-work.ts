/**
 * One transaction over the database and the memory that mirrors it. Work is synchronous, so two requests never
 * interleave. A throw (a refusal, a full disk) takes everything back in both; what must happen outside, such as
 * asking the runtime for something, waits until the commit is durable.
 */
import { invariant } from '../base/invariant.ts';
import type { Sqlite } from '../base/sqlite.ts';

export class UnitOfWork {
  readonly #database: Sqlite;
  #running: { undo: (() => void)[]; after: (() => void)[] } | undefined;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  /** A nested call joins the outer one. */
  run<Result>(work: () => Result): Result {
    if (this.#running) return work();
    const running = { undo: [] as (() => void)[], after: [] as (() => void)[] };
    this.#running = running;
    let result: Result;
    try {
      result = this.#database.transaction(work);
    } catch (error) {
      for (const step of running.undo.toReversed()) step();
      throw error;
    } finally {
      this.#running = undefined;
    }
    for (const step of running.after) step();
    return result;
  }

  onRollback(step: () => void): void {
    invariant(this.#running, 'a record was changed outside a transaction');
    this.#running.undo.push(step);
  }

  afterCommit(step: () => void): void {
    invariant(this.#running, 'work was announced outside a transaction');
    this.#running.after.push(step);
  }
}
