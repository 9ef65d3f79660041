import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { lockState } from '../../../src/state/index.ts';
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

  test('where nothing can be written is refused, with what to do', () => {
    const blocked = temporaryFile('a');
    lockState(blocked, 'one').release();
    expect(() => lockState(`${blocked}.lock/state.db`, 'one')).toThrow(
      expect.objectContaining({ name: 'UserError', remedy: expect.stringContaining('--state') }),
    );
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
