/**
 * One writer per state file. The lock is an open exclusive transaction on a database of its own beside the
 * state: the operating system gives it back when the process ends, however it ends, so that nothing stale
 * can be left behind and a restart after kill -9 does not wait. Who holds it is told in a small text file, for the
 * refusal of the second one only; nothing is decided from it.
 */
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { UserError, messageOf } from '../base/index.ts';

export interface StateLock {
  release(): void;
}

/** Takes the lock of `stateFile`, or throws a `UserError` that names the holder. */
export function lockState(stateFile: string, holder: string): StateLock {
  // The same file by another name is the same state.
  let target = stateFile;
  let lockFile = `${target}.lock`;
  let database: DatabaseSync;
  try {
    mkdirSync(path.dirname(path.resolve(stateFile)), { recursive: true, mode: 0o700 });
    // Made now, so that a link to a file that is yet to be made leads somewhere.
    closeSync(openSync(stateFile, 'a', 0o600));
    target = realpathSync(stateFile);
    lockFile = `${target}.lock`;
    database = new DatabaseSync(lockFile, { timeout: 0 });
    chmodSync(lockFile, 0o600);
  } catch (error) {
    throw new UserError(
      `can't open the lock ${lockFile}: ${messageOf(error)}`,
      'check that this user may write beside the state file, or name another one with --state',
      error,
    );
  }
  const holderFile = `${target}.holder`;
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    throw new UserError(
      `the state file ${stateFile} is in use by ${readHolder(holderFile)}`,
      '`fleetkeeper run` takes up what is edited by itself; else wait until that process has ended, or stop it. A state file of its own (--state) is only for another fleet: two managers of one would make everything twice',
      error,
    );
  }
  writeFileSync(holderFile, `${holder}\n`, { mode: 0o600 });
  return {
    release: () => {
      rmSync(holderFile, { force: true });
      database.close();
    },
  };
}

function readHolder(holderFile: string): string {
  try {
    return readFileSync(holderFile, 'utf8').trim();
  } catch {
    return 'another process';
  }
}
