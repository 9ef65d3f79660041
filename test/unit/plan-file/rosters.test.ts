/** Each row of the table in src/plan-file/rosters.ts. */
import { describe, expect, test } from 'vitest';
import { refusedMove, rosterSteps, type RosterNow } from '../../../src/plan-file/rosters.ts';
import { llm, objectWith, step } from './support.ts';

const goal = 'three with r2';
const earlier = 'three with r1';
const fingerprintOf = (what: string) => step('any', what).fingerprint;

function planOf(steps: Readonly<Record<string, number>>, mayReturn = false) {
  const planned = Object.entries(steps).map(([action, count]) => step(action, goal, count));
  const later = mayReturn ? [step('return', earlier, 3)] : [];
  return rosterSteps(objectWith(llm, planned, { later }));
}

function move(change: Partial<Omit<RosterNow, 'moves'>> & Partial<RosterNow['moves']>): RosterNow {
  const { wanted = 3, leaving = [], ...rest } = change;
  const ends = { replicas: 3, goal: fingerprintOf(goal), command: undefined, added: [], updated: [] };
  return { ...ends, moves: { wanted, leaving }, ...rest };
}

const leaves = (cause: RosterNow['moves']['leaving'][number]['cause'], unmade = false) => [{ cause, unmade }];
const made = [fingerprintOf(goal)];
const returned = [fingerprintOf(earlier)];

describe('belongs to the file', () => {
  test.each([
    ['bookkeeping, also without an entry', undefined, move({})],
    ['an added replica', planOf({ add: 1 }), move({ added: made })],
    ['a replica that drains', planOf({ drain: 1 }), move({ leaving: leaves('scale') })],
    ['an update in place', planOf({ update: 3 }), move({ updated: made })],
    ['one more replica while it is updated', planOf({ update: 3 }), move({ added: made, wanted: 4 })],
    ['the one that leaves for it', planOf({ update: 3 }), move({ leaving: leaves('rollout') })],
    ['the surplus after it', planOf({ update: 3 }), move({ leaving: leaves('scale') })],
    ['the earlier content, if the update fails', planOf({ update: 3 }, true), move({ updated: returned })],
    [
      'replicas that stay at the provider',
      planOf({ leave: 3 }),
      move({ wanted: 0, leaving: leaves('left') }),
    ],
    [
      'one that has nothing at the provider and moves',
      planOf({ add: 1 }),
      move({ leaving: leaves('placement', true) }),
    ],
  ])('%s', (_name, planned, now) => {
    expect(refusedMove(planned, now)).toBeUndefined();
  });
});

describe('does not belong to the file', () => {
  test.each([
    ['a change of a fleet without an entry', undefined, move({ added: made })],
    ['an added replica, where only some drain', planOf({ drain: 1 }), move({ added: made })],
    ['more replicas than there are in the end', planOf({ add: 1 }), move({ added: made, wanted: 4 })],
    ['more than are updated', planOf({ update: 1 }), move({ added: made, wanted: 5 })],
    [
      'another end, as a schedule gives it',
      planOf({ add: 1 }),
      move({ goal: fingerprintOf('nine'), replicas: 9, added: made }),
    ],
    ['an update, where only some are added', planOf({ add: 1 }), move({ updated: made })],
    ['the earlier content, without a return', planOf({ update: 3 }), move({ updated: returned })],
    ['a replica that is broken and leaves', planOf({ add: 1 }), move({ leaving: leaves('repair') })],
    ['one that moves to another candidate', planOf({ update: 3 }), move({ leaving: leaves('placement') })],
    ['one that drains, where some are added', planOf({ add: 1 }), move({ leaving: leaves('scale') })],
    ['a command', planOf({ update: 3 }), move({ command: 'abort' })],
    ['one that a command retires', planOf({ update: 3 }), move({ leaving: leaves('retire') })],
  ])('%s', (_name, planned, now) => {
    expect(refusedMove(planned, now)).toEqual(expect.any(String));
  });
});

test('a command of the file may retire a replica and add another one', () => {
  const command = { ...step('command', goal, 1), fields: [{ path: 'command', desired: 'retire:1@abc' }] };
  const planned = rosterSteps(objectWith(llm, [command]));
  expect(refusedMove(planned, move({ command: 'retire:1@abc', leaving: leaves('retire') }))).toBeUndefined();
  expect(refusedMove(planned, move({ added: made }))).toBeUndefined();
  expect(refusedMove(planned, move({ command: 'retire:2@abc', leaving: leaves('retire') }))).toBeDefined();
});
