import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  openSync,
  realpathSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { Log } from './log-waits.ts';
import { UserError, messageOf } from './user-error.ts';

/** SQL, or what it can't express. */
export type Migration = string | ((database: Pick<Sqlite, 'all' | 'run'>) => void);

export type Row = Record<string, SQLOutputValue>;
export type Parameters = Readonly<Record<string, SQLInputValue>>;

/**
 * A SQLite database in WAL mode whose commits are durable when they return (`synchronous = FULL`), unless `leaveWaits` was called: after a
 * kill -9 or a power cut, what was acknowledged is there. The file is readable by its owner only.
 */
export class Sqlite {
  readonly file: string;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /**
   * Opens `file` (or `:memory:`), creating it unless `readOnly`. Throws a `UserError` when it can't be opened, or has tables but not
   * `table`: it is of another program then, and nothing is written to it.
   */
  constructor(file: string, options: { readOnly?: boolean; busyTimeoutMs?: number; table?: string } = {}) {
    this.file = file;
    const isNew = file !== ':memory:' && !existsSync(file);
    try {
      // SQLite would wait for somebody to write into a pipe.
      if (!isNew && file !== ':memory:' && !statSync(file).isFile()) throw new Error('it is no plain file');
      const settings = { readOnly: options.readOnly ?? false, timeout: options.busyTimeoutMs ?? 5000 };
      this.#database = settings.readOnly ? openedToRead(file, settings) : new DatabaseSync(file, settings);
      if (isNew) chmodSync(file, 0o600);
      if (options.table !== undefined) this.#refuseOther(options.table);
      if (!options.readOnly) {
        this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
      }
      this.#database.exec('PRAGMA foreign_keys = ON;');
      this.get('SELECT count(*) FROM sqlite_master');
    } catch (error) {
      if (error instanceof UserError) throw error;
      throw new UserError(
        `can't open the database ${file}: ${messageOf(error)}`,
        sqliteRemedy(error) ?? notOpened,
        error,
      );
    }
  }

  /**
   * Brings the schema to `migrations.length`, one numbered step (from 1) after the other, each in its own
   * transaction. Throws a `UserError` when the file was written by a newer version.
   */
  migrate(migrations: readonly Migration[]): void {
    const current = this.version();
    if (current > migrations.length) {
      throw new UserError(
        `the database ${this.file} has schema ${current}, but this version of fleetkeeper knows only ${migrations.length}`,
        'run the version of fleetkeeper that wrote it, or a newer one',
      );
    }
    for (const [index, migration] of migrations.entries()) {
      if (index < current) continue;
      this.transaction(() => {
        if (typeof migration === 'string') this.#database.exec(migration);
        else migration(this);
        this.#database.exec(`PRAGMA user_version = ${index + 1}`);
      });
    }
  }

  /**
   * From now on, a commit returns before it is on the disk, and the caller waits for the log. All that SQLite leaves out with `NORMAL` is
   * this wait: it still has those before and after it moves the log into the file, about every 1,000 pages. Undefined: the database has no
   * log, and nothing changes.
   */
  leaveWaits(toDisk: (fileDescriptor: number) => Promise<void>): Log | undefined {
    if (this.get('PRAGMA journal_mode')?.['journal_mode'] !== 'wal') return undefined;
    // Linux reports a failed write once for each descriptor, so a thread and a call have one each.
    const forThreads = this.#openLog();
    const forCalls = this.#openLog();
    this.#database.exec('PRAGMA synchronous = NORMAL;');
    return {
      onDisk: () =>
        toDisk(forThreads).catch((error: unknown) => {
          throw this.#unconfirmed(error);
        }),
      sync: () => {
        try {
          fdatasyncSync(forCalls);
        } catch (error) {
          throw this.#unconfirmed(error);
        }
      },
      close: () => {
        closeSync(forThreads);
        closeSync(forCalls);
      },
    };
  }

  #openLog(): number {
    // It stands beside the file that a link leads to.
    const log = `${realpathSync(this.file)}-wal`;
    try {
      return openSync(log, 'r+');
    } catch (error) {
      const remedy =
        'check that this user may write there, and how many files a process may open (ulimit -n)';
      throw new UserError(`can't open the log of the database, ${log}: ${messageOf(error)}`, remedy, error);
    }
  }

  #unconfirmed(error: unknown): UserError {
    return new UserError(
      `the disk did not confirm what was written to ${this.file}: ${messageOf(error)}`,
      'check the disk, and start again: nothing was sent that is not recorded, and the next start continues with what the file has',
      error,
    );
  }

  version(): number {
    return Number(this.get('PRAGMA user_version')?.['user_version'] ?? 0);
  }

  /** Reads every page that is in use. Throws with what SQLite finds if one of them is damaged. */
  check(): void {
    const found = this.get('PRAGMA quick_check(1)')?.['quick_check'];
    if (found !== 'ok') throw new Error(String(found));
  }

  run(sql: string, parameters: Parameters = {}): number {
    return Number(this.#statement(sql).run(parameters).changes);
  }

  get(sql: string, parameters: Parameters = {}): Row | undefined {
    return this.#statement(sql).get(parameters);
  }

  all(sql: string, parameters: Parameters = {}): Row[] {
    return this.#statement(sql).all(parameters);
  }

  /** One row after the other: not all of them are in memory at once. */
  *each(sql: string, parameters: Parameters = {}): IterableIterator<Row> {
    yield* this.#statement(sql).iterate(parameters);
  }

  /** Whether one is open: SQLite ends it by itself on some failures, such as a full disk. */
  get isInTransaction(): boolean {
    return this.#database.isTransaction;
  }

  begin(): void {
    this.run('BEGIN IMMEDIATE');
  }

  /** A throw means that the transaction is rolled back; see `isUnsynced` for the exception. */
  commit(): void {
    try {
      this.run('COMMIT');
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  rollback(): void {
    if (this.isInTransaction) this.run('ROLLBACK');
  }

  /** Runs `work` in one transaction (a nested call joins the outer one); a throw rolls all of it back. */
  transaction<T>(work: () => T): T {
    if (this.isInTransaction) return work();
    this.begin();
    let result: T;
    try {
      result = work();
    } catch (error) {
      this.rollback();
      throw error;
    }
    this.commit();
    return result;
  }

  /**
   * Runs `work` as a part of the open transaction: a throw rolls back this part only. If that is not possible, the
   * whole transaction is rolled back; `isInTransaction` shows that.
   */
  part<T>(work: () => T): T {
    this.run('SAVEPOINT part');
    try {
      const result = work();
      this.run('RELEASE part');
      return result;
    } catch (error) {
      this.#rollbackPart();
      throw error;
    }
  }

  /** A copy in memory, as it is at this moment. What changes it does not change the file. */
  copied(): Sqlite {
    const copy = new Sqlite(':memory:');
    copy.run('PRAGMA foreign_keys = OFF');
    this.run('BEGIN');
    try {
      const parts = this.all(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type = 'table' DESC, rowid",
      );
      for (const { type, name, sql } of parts) {
        copy.run(String(sql));
        if (type === 'table') copy.#take(String(name), this.each(`SELECT * FROM "${String(name)}"`));
      }
      copy.run(`PRAGMA user_version = ${this.version()}`);
    } finally {
      this.rollback();
    }
    copy.run('PRAGMA foreign_keys = ON');
    return copy;
  }

  #take(table: string, rows: Iterable<Row>): void {
    this.transaction(() => {
      for (const row of rows) {
        const columns = Object.keys(row);
        const names = columns.map((column) => `"${column}"`).join(', ');
        const values = columns.map((column) => `$${column}`).join(', ');
        this.run(`INSERT INTO "${table}" (${names}) VALUES (${values})`, row);
      }
    });
  }

  close(): void {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #refuseOther(table: string): void {
    const tables = this.all("SELECT name FROM sqlite_master WHERE type = 'table'");
    if (tables.length === 0 || tables.some(({ name }) => name === table)) return;
    this.close();
    throw new UserError(
      `the database ${this.file} is of another program: it has no table ${table}`,
      'name another file; nothing was written to this one',
    );
  }

  #rollbackPart(): void {
    if (!this.isInTransaction) return;
    try {
      this.run('ROLLBACK TO part');
      this.run('RELEASE part');
    } catch {
      this.rollback();
    }
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      statement.setAllowBareNamedParameters(true);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/**
 * To read a database in WAL mode, SQLite writes beside it. On a file system that takes no write, a file without a log is read as it stands:
 * it is all there is.
 */
function openedToRead(file: string, settings: { readonly readOnly: boolean; timeout: number }): DatabaseSync {
  const database = new DatabaseSync(file, settings);
  try {
    database.prepare('SELECT count(*) FROM sqlite_master').get();
    return database;
  } catch (error) {
    database.close();
    if (!takesNoWrite(file)) throw error;
    const url = pathToFileURL(realpathSync(file));
    const log = statSync(`${realpathSync(file)}-wal`, { throwIfNoEntry: false });
    if (log && log.size > 0)
      throw new UserError(`can't open the database ${file}: ${noLogRead}`, copyIt, error);
    url.searchParams.set('immutable', '1');
    return new DatabaseSync(url, settings);
  }
}

function takesNoWrite(file: string): boolean {
  try {
    accessSync(path.dirname(realpathSync(file)), constants.W_OK);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EROFS';
  }
}

const noLogRead =
  'it has a log (-wal), which SQLite can read only where it may write, and this file system is read-only';
const copyIt =
  'copy the file, and those beside it that have its name and -wal, to another folder, and name the copy';
const notOpened =
  'check that the path is right, that this user may write there, and that the file is a SQLite database';
const failsOnDisk =
  'make room if the disk is full; otherwise check it, the system log has more. The file itself may be well: leave it as it is, and start again';

/** By primary result code of SQLite. */
const remedies: ReadonlyMap<number, string> = new Map([
  [5, 'another process uses it: wait until that has ended, or stop it'], // SQLITE_BUSY
  [10, failsOnDisk], // SQLITE_IOERR
  [
    11, // SQLITE_CORRUPT
    'it is damaged: restore it, with the files beside it that have its name and -wal, from a backup. Or move all of them away, and let a new one be made',
  ],
  [13, 'the disk is full: make room, and start again. Leave the file as it is'], // SQLITE_FULL
  [
    26, // SQLITE_NOTADB
    'check that the path is right. If it was one before, it is damaged: restore it from a backup, or move it away and let a new one be made',
  ],
]);

/** What to do where the database can't be opened or read, by what SQLite reports. Undefined: SQLite does not report it. */
export function sqliteRemedy(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return remedies.get(Number(error.errcode) % 256);
}

// SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN
const failuresOfDisk = new Set([8, 10, 13, 14]);

/** Whether a write failed for the disk, or for the file on it, and not for what was written. */
export function isOfDisk(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && failuresOfDisk.has(Number(error.errcode) % 256);
}

const failedSyncs = new Set([1034, 1290]); // SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC

/**
 * Whether a commit failed in the one way after which nobody knows what is on the disk: it was written, and the
 * disk did not confirm it. A second sync would prove nothing, so the process must end without an answer.
 */
export function isUnsynced(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && failedSyncs.has(Number(error.errcode));
}
