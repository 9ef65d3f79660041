/** How old a status is, and who keeps it. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { systemRandom } from '../../../src/base/index.ts';
import {
  clockTime,
  managerLine,
  managerOfCluster,
  managerOfFolder,
  isMissing,
  spanText,
} from '../../../src/shown/manager-state.ts';
import { giveSigns, lockState, openState, signEveryMs, stateFacts } from '../../../src/state/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { run } from '../cli/support.ts';

const here = { command: 'run', pid: 4711, host: 'here' };
const noon = Date.UTC(2026, 0, 1, 12);

function world(command = 'run', host = 'here') {
  const file = temporaryFile('fleet/.fleetkeeper/state.db');
  const clock = new ManualClock(noon);
  const lock = lockState(file, 'a test');
  openState(file, systemRandom, { default: 'fleet', explicit: undefined }).close();
  const problems: string[] = [];
  const none = () => undefined;
  const stop = giveSigns(file, { ...here, command, host }, clock, none, () => problems);
  const line = () => {
    const manager = managerOfFolder(stateFacts(file), 'here', clock.wallMs());
    return `${isMissing(manager) ? 3 : 0} ${managerLine(manager, clock.wallMs())}`;
  };
  return { file, clock, lock, stop, line, problems };
}

describe('in a folder', () => {
  test('a manager that runs is named, with the time of its last sign of life', async () => {
    const { clock, lock, line, stop } = world();
    await clock.advance(3 * signEveryMs + 5000);
    const time = clockTime(noon + 3 * signEveryMs, clock.wallMs());
    expect(line()).toBe(`0 as of ${time} by the manager on here, pid 4711`);
    stop();
    lock.release();
  });

  test('a manager that was stopped is missing, and since when is shown', async () => {
    const { clock, lock, line, stop } = world();
    stop();
    lock.release();
    await clock.advance(5 * 60_000);
    expect(line()).toBe(
      '3 no manager is running: last seen 5 min ago, when it was stopped (on here, pid 4711)',
    );
  });

  test('a manager that was killed is missing, although it could not record its end', async () => {
    const { clock, lock, line, stop, file } = world();
    const killed = stateFacts(file);
    stop();
    lock.release();
    await clock.advance(3_600_000);
    const manager = managerOfFolder({ ...killed, isHeld: false }, 'here', clock.wallMs());
    expect(isMissing(manager)).toBe(true);
    expect(managerLine(manager, clock.wallMs())).toBe(
      'no manager is running: last seen 1 h ago, and not stopped (on here, pid 4711)',
    );
    expect(line()).toContain('when it was stopped');
  });

  test('a manager that is paused holds the state, and is not taken as running', async () => {
    const { clock, lock, line, stop, file } = world();
    const long = (noon - 600_000) / 1000;
    utimesSync(`${file}.manager`, long, long);
    expect(line()).toMatch(/^3 no manager is at work: last seen 10 min ago; .*still holds the state/);
    // It continues.
    await clock.advance(signEveryMs);
    expect(line()).toMatch(/^0 as of .* by the manager/);
    stop();
    lock.release();
  });

  test('a manager that is impaired is not taken as one that keeps the state up to date', async () => {
    const { clock, lock, line, stop, problems } = world();
    problems.push("the folder can't be read");
    await clock.advance(signEveryMs);
    const time = clockTime(noon + signEveryMs, clock.wallMs());
    expect(line()).toBe(
      `3 as of ${time}, and may be out of date: the manager on here, pid 4711 reports: the folder can't be read`,
    );
    problems.pop();
    await clock.advance(signEveryMs);
    expect(line()).toMatch(/^0 as of .* by the manager/);
    stop();
    lock.release();
  });

  test('a manager that is impaired shows it on a disk without room for another file', async () => {
    const { clock, lock, line, stop, file, problems } = world();
    // As on a full disk, the file that is to replace the sign can't be written.
    mkdirSync(`${file}.manager.next`);
    problems.push("the state can't be written");
    await clock.advance(signEveryMs);
    expect(line()).toMatch(/^3 as of .* reports: the state can't be written$/);
    problems.pop();
    await clock.advance(signEveryMs);
    expect(line()).toMatch(/^0 as of .* by the manager/);
    rmdirSync(`${file}.manager.next`);
    stop();
    lock.release();
  });

  test('the sign of another process is left alone by one that is impaired', async () => {
    const { clock, lock, stop, file, problems } = world();
    const other = `${JSON.stringify({ ...here, pid: 9, startedAt: noon })}\n`;
    writeFileSync(`${file}.manager`, other);
    problems.push('the state file was replaced');
    await clock.advance(signEveryMs);
    expect(readFileSync(`${file}.manager`, 'utf8')).toBe(other);
    stop();
    lock.release();
  });

  test.each(['apply', 'destroy', 'dev'])(
    'after `%s` has ended nobody is missing: nobody was to stay',
    async (command) => {
      const { clock, lock, line, stop } = world(command);
      stop();
      lock.release();
      await clock.advance(60_000);
      expect(line()).toMatch(
        new RegExp(
          `^0 as of .*, when \`fleetkeeper ${command}\` on here, pid 4711, ended; no manager is running$`,
        ),
      );
    },
  );

  test('a manager on another machine is taken as running while its signs are fresh; its clock is named', async () => {
    const { clock, lock, line, stop, file } = world('run', 'elsewhere');
    lock.release();
    expect(line()).toMatch(/^0 as of .* by the manager on elsewhere, pid 4711; by the clock of elsewhere$/);
    const ahead = (noon + 20_000) / 1000;
    utimesSync(`${file}.manager`, ahead, ahead);
    expect(line()).toContain('the clock of elsewhere is 20 s ahead of this one');
    stop();
    await clock.advance(600_000);
    expect(line()).toMatch(/^3 no manager is running: last seen/);
  });

  test('a sign that somebody deletes comes back, and a folder in which it can not be written stops nothing', async () => {
    const { clock, lock, stop, file } = world();
    rmSync(`${file}.manager`);
    await clock.advance(signEveryMs);
    expect(existsSync(`${file}.manager`)).toBe(true);
    expect(statSync(`${file}.manager`).mode & 0o077).toBe(0);
    stop();
    lock.release();
    expect(() => giveSigns('/nowhere/state.db', here, clock)()).not.toThrow();
  });

  test('a quiet manager changes nothing of the state file', async () => {
    const { clock, lock, stop, file } = world();
    const before = [file, `${file}-wal`].map((one) => statSync(one, { throwIfNoEntry: false })?.mtimeMs);
    await clock.advance(600_000);
    const after = [file, `${file}-wal`].map((one) => statSync(one, { throwIfNoEntry: false })?.mtimeMs);
    expect(after).toEqual(before);
    stop();
    lock.release();
  });

  test('asking whether the state is held keeps no manager from starting', () => {
    const { lock, stop, file } = world();
    expect(stateFacts(file).isHeld).toBe(true);
    stop();
    lock.release();
    expect(stateFacts(file).isHeld).toBe(false);
    expect(() => lockState(file, 'another').release()).not.toThrow();
  });
});

describe('`status`', () => {
  test('exits with 3 for a manager that is missing, and says in JSON and YAML what the text says', async () => {
    const { clock, lock, stop, file } = world();
    stop();
    lock.release();
    const flags = ['status', '--source', file, '--state', file];
    const text = await run(flags, { clock });
    expect(text.code).toBe(3);
    expect(text.stdout).toMatch(/^no manager is running: last seen 0 s ago/m);
    const manager = { state: 'Stopped', command: 'run', host: 'here', pid: 4711 };
    const json = await run([...flags, '--output', 'json'], { clock });
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([3, { kind: 'List', manager, items: [] }]);
    const yaml = await run([...flags, '--output', 'yaml'], { clock });
    expect([yaml.code, parse(yaml.stdout)]).toMatchObject([3, { kind: 'List', manager, items: [] }]);
  });

  test('of a state of an earlier version shows when it was written, and exits with 0', async () => {
    const { lock, stop, file } = world();
    stop();
    lock.release();
    rmSync(`${file}.manager`);
    const { code, stdout } = await run(['status', '--source', file, '--state', file]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^as of \d\d:\d\d:\d\d; which manager/m)]);
  });
});

describe('in a cluster', () => {
  const lease = {
    identity: 'pod-1_7_uuid',
    acquiredAt: noon - 60_000,
    renewedAt: noon - 2000,
    durationMs: 15_000,
  };

  test.each([
    ['is renewed', lease, /^as of .* by the manager on pod-1, pid 7; by the clock of pod-1$/, false],
    ['ran out', { ...lease, renewedAt: noon - 300_000 }, /^no manager is running: last seen 5 min ago/, true],
    ['was given back', { ...lease, identity: undefined }, /when it was stopped/, true],
    [
      'is renewed by one that has listed nothing for a minute',
      { ...lease, acquiredAt: noon - 90_000, reads: [] },
      /, and may be out of date: the manager on pod-1, pid 7 reports: it holds the Lease, and can not list/,
      true,
    ],
    [
      'was just taken by one that has listed nothing',
      { ...lease, reads: [] },
      /^as of .* by the manager/,
      false,
    ],
    ['can not be read', 'the Lease is forbidden', /the Lease is forbidden$/, false],
    ['was never taken', undefined, /no Lease of a manager was found$/, false],
  ])('a Lease that %s', (_, found, line, missing) => {
    const manager = managerOfCluster(found, noon);
    expect(managerLine(manager, noon)).toMatch(line);
    expect(isMissing(manager)).toBe(missing);
  });
});

test.each([
  [0, '0 s'],
  [59_999, '59 s'],
  [60_000, '1 min'],
  [7_200_000, '2 h'],
  [172_800_000, '2 d'],
])('%i ms are %s', (ms, text) => {
  expect(spanText(ms)).toBe(text);
});
