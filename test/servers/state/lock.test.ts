import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import { giveSigns, lockState, openState, stateFacts } from '../../../src/state/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryFile } from '../../support/temporary.ts';

const holdLock = fileURLToPath(import.meta.resolve('../../support/hold-lock.ts'));

describe('the lock of a state file', () => {
  test('is given once, and the refusal names who holds it and says what to do', () => {
    const file = temporaryFile('state.db');
    const lock = lockState(file, 'fleetkeeper run (pid 17)');
    expect(() => lockState(file, 'fleetkeeper apply')).toThrow(
      expect.objectContaining({
        name: 'UserError',
        message: `the state file ${file} is in use by fleetkeeper run (pid 17)`,
        remedy: expect.stringContaining('wait until that process has ended, or stop it'),
      }),
    );
    lock.release();
    lockState(file, 'fleetkeeper apply').release();
  });

  test('of another file is another lock', () => {
    const locks = ['one', 'other'].map((holder) => lockState(temporaryFile('state.db'), holder));
    for (const lock of locks) expect(() => lock.release()).not.toThrow();
  });

  test('keeps its files to their owner', () => {
    const file = temporaryFile('folder/state.db');
    const lock = lockState(file, 'one');
    for (const name of ['lock', 'holder']) expect(statSync(`${file}.${name}`).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    lock.release();
  });

  test('writes nothing through links that came with the folder', () => {
    const file = temporaryFile('state.db');
    const profile = temporaryFile('profile');
    writeFileSync(profile, 'precious', { mode: 0o755 });
    for (const name of ['holder', 'manager.next']) symlinkSync(profile, `${file}.${name}`);
    const lock = lockState(file, 'one');
    giveSigns(file, { command: 'run', pid: 1, host: 'here' }, new ManualClock())();
    lock.release();
    symlinkSync(profile, `${file}.link.lock`);
    expect(() => lockState(`${file}.link`, 'one')).toThrow(/can't open the lock .*: it is a link/);
    expect([readFileSync(profile, 'utf8'), statSync(profile).mode & 0o777]).toEqual(['precious', 0o755]);
    expect(stateFacts(file).sign?.command).toBe('run');
  });

  test('where nothing can be written is refused, with what to do', () => {
    const blocked = temporaryFile('a');
    lockState(blocked, 'one').release();
    expect(() => lockState(`${blocked}.lock/state.db`, 'one')).toThrow(
      expect.objectContaining({ name: 'UserError', remedy: expect.stringContaining('--state') }),
    );
  });

  test('of what is no plain file is refused, and nothing is put beside it', () => {
    const file = temporaryFile('state.db');
    execFileSync('sh', ['-c', 'mkfifo "$0"', file]);
    expect(() => lockState(file, 'one')).toThrow(/can't open the lock .*: the state file is no plain file/);
    expect(existsSync(`${file}.lock`)).toBe(false);
  });

  test.each(['delete', 'wal'])(
    'of a database of another program (journal: %s) is refused, which stays as it was, with nothing beside it',
    (journal) => {
      const file = temporaryFile('history.db');
      const other = new DatabaseSync(file);
      other.exec(`PRAGMA journal_mode = ${journal}; CREATE TABLE visits (url TEXT)`);
      other.close();
      const before = readFileSync(file);
      expect(() => lockState(file, 'one')).toThrow(/is of another program: it has no table/);
      expect(readdirSync(path.dirname(file))).toEqual(['history.db']);
      expect(readFileSync(file).equals(before)).toBe(true);
    },
  );

  test('of a text is refused, with nothing beside it', () => {
    const file = temporaryFile('notes.txt');
    writeFileSync(file, 'milk, bread\n'.repeat(100));
    expect(() => lockState(file, 'one')).toThrow(/can't open the database .*: file is not a database/);
    expect(readdirSync(path.dirname(file))).toEqual(['notes.txt']);
  });

  test('of a state is given, whether or not something was recorded in it yet', () => {
    const file = temporaryFile('state.db');
    for (let time = 0; time < 2; time += 1) {
      const lock = lockState(file, 'one');
      expect(stateFacts(file).isHeld).toBe(true);
      openState(file, systemRandom, { default: 'fleet', explicit: undefined }).close();
      lock.release();
    }
  });

  test('is free again at once when its holder is killed with -9, and the name left behind decides nothing', async () => {
    const file = temporaryFile('state.db');
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', holdLock, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    expect(() => lockState(file, 'second')).toThrow(`in use by the test's child (pid ${child.pid})`);
    child.kill('SIGKILL');
    await ended;
    const lock = lockState(file, 'second');
    expect(() => lockState(file, 'third')).toThrow('in use by second');
    lock.release();
  });
});
