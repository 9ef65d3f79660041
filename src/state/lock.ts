/**
 * One writer per state file. The lock is an open exclusive transaction on a database of its own beside the
 * state file. The operating system releases it when the process ends, even after kill -9. So no stale lock
 * can remain, and a restart need not wait. A small text file names the holder. It is only used in the message
 * to a second process.
 */
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Sqlite, UserError, messageOf, writeAnew } from '../base/index.ts';
import { stateTable } from './state-table.ts';

export interface StateLock {
  release(): void;
}

/**
 * Takes the lock of `stateFile`. Throws a `UserError` that names the holder, or one for a file of another program, beside which nothing is
 * put then.
 */
export function lockState(stateFile: string, holder: string): StateLock {
  return lockBeside(stateFile, holder, refuseOther);
}

/** The same for the database of a control plane, which nobody else can read while it is in use. */
export function lockDatabase(file: string, holder: string): StateLock {
  return lockBeside(file, holder, () => undefined);
}

/** With nothing in it, it becomes a state. One that may be written is opened so: a reader would leave files beside it. */
function refuseOther(stateFile: string): void {
  if (statSync(stateFile).size > 0) new Sqlite(stateFile, { table: stateTable }).close();
}

function lockBeside(stateFile: string, holder: string, refuse: (file: string) => void): StateLock {
  // A state file that is opened by another name is the same state.
  let target = stateFile;
  let lockFile = `${target}.lock`;
  let database: DatabaseSync;
  try {
    mkdirSync(path.dirname(path.resolve(stateFile)), { recursive: true, mode: 0o700 });
    // A pipe would wait for somebody to read it.
    if (statSync(stateFile, { throwIfNoEntry: false })?.isFile() === false) {
      throw new Error('the state file is no plain file');
    }
    // Created now, so that a symbolic link to it can be resolved.
    closeSync(openSync(stateFile, 'a', 0o600));
    target = realpathSync(stateFile);
    lockFile = `${target}.lock`;
    // One that came with the folder of somebody else leads to a file of this user.
    if (lstatSync(lockFile, { throwIfNoEntry: false })?.isSymbolicLink()) throw new Error('it is a link');
    refuse(stateFile);
    // `status` reads the lock for an instant, to find out whether it is held.
    database = new DatabaseSync(lockFile, { timeout: 100 });
    chmodSync(lockFile, 0o600);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `can't open the lock ${lockFile}: ${messageOf(error)}`,
      (error as NodeJS.ErrnoException).code === 'ENOSPC'
        ? 'the disk is full: make room, and start again'
        : 'check that this user may write beside the state file, or name another one with --state',
      error,
    );
  }
  const holderFile = `${target}.holder`;
  try {
    database.exec('BEGIN EXCLUSIVE');
    writeAnew(holderFile, `${holder}\n`, 0o600);
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw notTaken(lockFile, error);
    throw new UserError(
      `the state file ${stateFile} is in use by ${readHolder(holderFile)}`,
      'A manager that runs (`run`, `dev`) notices edits by itself. Otherwise wait until that process has ended, or stop it. Use another state file (--state) only for another fleet: two managers of one fleet would create everything twice',
      error,
    );
  }
  return {
    release: () => {
      rmSync(holderFile, { force: true });
      database.close();
    },
  };
}

const sqliteBusy = 5;

function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === sqliteBusy;
}

/** A full disk, most often. */
function notTaken(lockFile: string, error: unknown): UserError {
  return new UserError(
    `can't take the lock ${lockFile}: ${messageOf(error)}`,
    'check that the disk has room, and that this user may write beside the state file',
    error,
  );
}

function readHolder(holderFile: string): string {
  try {
    return readFileSync(holderFile, 'utf8').trim();
  } catch {
    return 'another process';
  }
}
