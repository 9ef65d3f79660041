import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';

const signals = path.resolve(import.meta.dirname, '../../../src/base/signals.ts');

/** What a program of its own prints, and how it ends. */
function runs(program: string) {
  const code = `
    import { ProcessSignals } from ${JSON.stringify(signals)};
    const signals = new ProcessSignals();
    const get = (signal = 'SIGTERM') => process.kill(process.pid, signal);
    ${program}
    const tell = () => console.log(signals.stopped.aborted ? 'stopped' : 'going on');
    // On a busy machine the timers are late: signals that have come are handled before what is immediate.
    setTimeout(() => setImmediate(() => setImmediate(tell)), 100);`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    encoding: 'utf8',
  });
  return [stdout.trim().split('\n'), status];
}

test('the first signal stops, the second one ends at once', () => {
  expect(runs('get();')).toEqual([['stopped'], 0]);
  expect(runs('get(); setTimeout(get, 10);')).toEqual([[''], 130]);
});

test('a terminal that closes stops, however many SIGHUP it sends', () => {
  expect(runs("get('SIGHUP');")).toEqual([['stopped'], 0]);
  expect(runs("get('SIGHUP'); setTimeout(() => get('SIGHUP'), 10);")).toEqual([['stopped'], 0]);
  expect(runs("signals.take((signal) => console.log(signal)); get('SIGHUP');")).toEqual([
    ['SIGHUP', 'going on'],
    0,
  ]);
});

test('a signal that comes just before somebody takes them is told to the taker', () => {
  expect(runs('get(); signals.take((signal) => console.log(signal));')).toEqual([['SIGTERM', 'going on'], 0]);
});

test('after their release signals stop again', () => {
  expect(runs('signals.take((signal) => console.log(signal))(); get();')).toEqual([['stopped'], 0]);
});

test('USR1 opens no debugger, and goes to who takes it', () => {
  expect(runs("get('SIGUSR1');")).toEqual([['going on'], 0]);
  expect(runs("signals.take((signal) => console.log(signal)); get('SIGUSR1');")).toEqual([
    ['SIGUSR1', 'going on'],
    0,
  ]);
});
