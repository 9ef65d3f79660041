import { pino } from 'pino';
import { expect, test } from 'vitest';
import { sourceChecks, stateChecks } from '../../../src/manager/health.ts';
import { Impairments, type ImpairmentOptions } from '../../../src/manager/impairments.ts';
import { ManualClock } from '../../support/manual-clock.ts';

type Facts = ImpairmentOptions['store'] & { readingSinceMs?: number };

function watched(facts: Facts) {
  const clock = new ManualClock();
  const logged: { readonly cause: string; readonly msg: string }[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line)) });
  const source = {
    description: 'the folder fleet',
    get readingSinceMs() {
      return facts.readingSinceMs;
    },
  };
  const impairments = new Impairments({ store: facts, source, snapshot: () => undefined, clock, logger });
  return { clock, logged, impairments, state: () => stateChecks(impairments.examine()) };
}

test('a disk that has not confirmed a write for more than a minute makes a manager not ready', () => {
  expect([{}, { diskWaitMs: 0 }, { diskWaitMs: 60_000 }].map((facts) => watched(facts).state())).toEqual([
    [],
    [],
    [],
  ]);
  expect(watched({ diskWaitMs: 61_200 }).state()).toEqual([
    {
      name: 'state-file',
      problem: expect.stringContaining('the disk has not confirmed a write for 61 s'),
    },
  ]);
});

test('a disk that does not take a write makes a manager not ready', () => {
  expect(watched({ diskFailure: 'database or disk is full' }).state()).toEqual([
    {
      name: 'state-file',
      problem:
        "the state can't be written: the disk did not take the newest write: database or disk is full; nothing but heartbeats is sent, and edits wait",
    },
  ]);
});

test('a folder that does not answer a reading for more than a minute makes a manager not ready', async () => {
  const facts: Facts = {};
  const { clock, impairments } = watched(facts);
  facts.readingSinceMs = clock.monotonicMs();
  await clock.advance(60_000);
  expect(impairments.examine()).toEqual([]);
  await clock.advance(10_000);
  expect(impairments.examine()).toMatchObject([
    { cause: 'SourceUnreadable', message: expect.stringContaining('has not answered a reading for 70 s') },
  ]);
  expect(sourceChecks({ alive: true } as never, impairments.examine())[0]?.problem).toContain('for 70 s');
});

test('a namespace that can not be read leaves an operator ready, and is named', () => {
  const unread = new Set(['lab', 'attic']);
  expect(sourceChecks({ alive: true } as never, [], { unread })).toEqual([
    { name: 'source', problem: undefined, note: "these namespaces can't be read: attic, lab" },
  ]);
});

test('what impairs a manager is logged once when it comes, and when it ends, with nobody who asks', async () => {
  const facts: { diskFailure?: string | undefined } = {};
  const { clock, logged, impairments } = watched(facts);
  impairments.start();
  facts.diskFailure = 'database or disk is full';
  await clock.advance(30_000);
  const [found] = impairments.examine();
  await clock.advance(30_000);
  expect(impairments.examine()[0]?.since).toBe(found?.since);
  facts.diskFailure = undefined;
  await clock.advance(30_000);
  impairments.stop();
  expect(logged.map(({ cause, msg }) => [cause, msg])).toEqual([
    ['StateNotWritable', 'the manager is impaired'],
    ['StateNotWritable', 'the manager is not impaired by this any more'],
  ]);
});
