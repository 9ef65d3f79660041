/** `status --watch`, on a clock that the test moves. */
import { expect, test } from 'vitest';
import { systemRandom } from '../../../../src/base/index.ts';
import { openState, type ObjectRecord } from '../../../../src/state/index.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import { CommandLine } from '../support.ts';
import { aStatus, anObject, condition, noon, stateWith } from './support.ts';

const ready = condition('Ready', 'True', 'Running');

function service(name: string, state: string): ObjectRecord {
  return anObject(`ContainerService/default/${name}`, { status: aStatus([ready], { state }) });
}

async function watching(records: readonly ObjectRecord[], ...more: string[]) {
  const flags = await stateWith(records);
  const clock = new ManualClock(noon);
  const terminal = more.includes('terminal');
  const environment: Record<string, string> = more.includes('dumb') ? { TERM: 'dumb' } : {};
  const args = more.filter((word) => word !== 'terminal' && word !== 'dumb');
  const options = { clock, terminal, columns: 80, environment };
  const line = new CommandLine(['status', ...flags, '--watch', ...args], options);
  const untilShown = async (text: string) => {
    // The modules of the command are loaded when it first runs.
    while (!(line.stdout + line.stderr).includes(text)) await settle();
  };
  const change = async (work: (store: ReturnType<typeof openState>['store']) => Promise<void>) => {
    const state = openState(flags.at(-1) ?? '', systemRandom, { default: 'fleet', explicit: undefined });
    await work(state.store);
    state.close();
    await clock.advance(1000);
  };
  return { line, clock, change, untilShown };
}

test('off a terminal it prints the rows that changed, and ends with 0 when it is stopped', async () => {
  const { line, change, untilShown } = await watching([service('web', 'running'), service('api', 'running')]);
  await untilShown('web');
  const first = line.stdout;
  expect(first.split('\n')).toHaveLength(4);
  await change((store) => store.save(service('web', 'paused')));
  await untilShown('paused');
  const rows = line.stdout.slice(first.length).trimEnd().split('\n');
  expect(rows).toEqual([expect.stringMatching(/^ContainerService +default +web +paused +True/)]);
  await change((store) => store.remove('ContainerService/default/api'));
  await untilShown('Deleted');
  expect(line.stdout.trimEnd().split('\n').at(-1)).toMatch(/^ContainerService +default +api +Deleted/);
  line.stop();
  expect(await line.ended).toBe(0);
});

test('it ends when nobody reads it any more', async () => {
  const { line, clock, untilShown } = await watching([service('web', 'running')]);
  await untilShown('web');
  line.hangUp();
  await clock.advance(1000);
  expect(await line.ended).toBe(0);
});

test('it follows only what is selected', async () => {
  const { line, change, untilShown } = await watching(
    [service('web', 'running'), service('api', 'running')],
    'web',
  );
  await untilShown('web');
  await change((store) => store.saveAll([service('api', 'paused'), service('web', 'sleeping')]));
  await untilShown('sleeping');
  expect(line.stdout).not.toContain('api');
  line.stop();
  expect(await line.ended).toBe(0);
});

test('an object that is followed by its name may go', async () => {
  const { line, change, untilShown } = await watching([service('web', 'running')], 'web');
  await untilShown('web');
  await change((store) => store.remove('ContainerService/default/web'));
  await untilShown('Deleted');
  line.stop();
  expect(await line.ended).toBe(0);
});

test('on a terminal the table is drawn again', async () => {
  const { line, change, untilShown } = await watching([service('web', 'running')], 'terminal');
  await untilShown('web');
  await change((store) => store.save(service('web', 'paused')));
  await untilShown('paused');
  const [before = '', after = ''] = line.stdout.split('running');
  expect(before).toContain('web');
  // The table is erased before it is drawn anew.
  expect(after.slice(0, after.indexOf('paused'))).toContain('\u001B[');
  line.stop();
  expect(await line.ended).toBe(0);
});

test('a terminal shows what it has room for, first what is not Ready, and keeps its cursor', async () => {
  const many = Array.from({ length: 3000 }, (_, index) => service(`app-${index}`, 'running'));
  const waiting = anObject('ContainerService/default/zoo', {
    status: aStatus([condition('Ready', 'False', 'Provisioning')], { state: 'provisioning' }),
  });
  const { line, untilShown } = await watching([...many, waiting], 'terminal');
  await untilShown('more');
  const rows = line.stdout.split('\n');
  expect(rows.length).toBeLessThanOrEqual(24);
  expect(rows[1]).toMatch(/^KIND +NAMESPACE +NAME/);
  expect(line.stdout).toMatch(/ zoo .*\n.*… and 2981 more; 3000 of 3001 are Ready/);
  line.stop();
  expect(await line.ended).toBe(0);
  expect(line.stdout).not.toContain('\u001B[?25l');
});

test('a terminal that can not be drawn on gets the rows that changed', async () => {
  const { line, untilShown } = await watching([service('web', 'running')], 'terminal', 'dumb');
  await untilShown('web');
  line.stop();
  expect(await line.ended).toBe(0);
  expect(line.stdout).not.toContain('\u001B');
});

test('a format that does not change row by row is refused', async () => {
  const { line } = await watching([service('web', 'running')], '-o', 'json');
  expect(await line.ended).toBe(1);
  expect(line.stderr).toContain('--watch does not work with -o json');
});
