import { expect, test } from 'vitest';
import { settle, type ActionName, type Difference, type Observation } from '../../src/plan/index.ts';
import type { Intent } from '../../src/state/index.ts';
import { serviceKey } from '../support/plan.ts';

type Seen = Observation<{ state?: string; status?: string; revision?: number }>;

const present = (value: { state?: string; status?: string; revision?: number }): Seen => ({
  kind: 'present',
  value,
});
const running = present({ state: 'running', revision: 5 });
const absent: Seen = { kind: 'absent', confirmed: true };
const pending: Seen = { kind: 'pending', message: 'not looked at yet' };
const conflict: Seen = { kind: 'conflict', reason: 'MarkedTwice', message: 'two of them' };
const differs = (path: string): Difference[] => [{ path, desired: 1, observed: 2, drift: false }];

function anIntent(action: ActionName): Intent {
  return {
    idempotencyKey: 'key',
    object: serviceKey,
    action,
    targetId: undefined,
    bodyDigest: '',
    baseRevision: 5,
    baseState: 'running',
    generation: 1,
    restartToken: undefined,
    createdAt: 0,
    finishedAt: undefined,
    outcome: 'unknown',
    note: undefined,
  };
}

const table: readonly (readonly [ActionName, string, Seen, Difference[], 'applied' | 'not-applied'])[] = [
  ['create-service', 'something carries our mark', running, [], 'applied'],
  ['create-service', 'nothing does', absent, [], 'not-applied'],
  ['create-volume', 'something carries our mark', present({ status: 'provisioning' }), [], 'applied'],
  ['create-volume', 'nothing does', absent, [], 'not-applied'],
  ['patch-service', 'the fields are as sent', running, [], 'applied'],
  ['patch-service', 'only another field differs', running, differs('resources'), 'applied'],
  ['patch-service', 'the image differs', running, differs('image'), 'not-applied'],
  ['patch-service', 'the command differs', running, differs('command'), 'not-applied'],
  ['patch-service', 'the port differs', running, differs('httpPort'), 'not-applied'],
  ['patch-service', 'values differ', running, differs('env'), 'not-applied'],
  ['patch-service', 'a name differs', running, differs('env.TOKEN'), 'not-applied'],
  ['patch-service', 'it is gone', absent, [], 'not-applied'],
  ['resize-service', 'they are as sent', running, differs('image'), 'applied'],
  ['resize-service', 'they differ', running, differs('resources'), 'not-applied'],
  ['set-sleep-policy', 'it is as sent', running, differs('image'), 'applied'],
  ['set-sleep-policy', 'it differs', running, differs('sleepAfterMinutes'), 'not-applied'],
  ['update-volume', 'it is as sent', present({ status: 'expanding' }), [], 'applied'],
  ['update-volume', 'the size differs', present({ status: 'ready' }), differs('sizeGb'), 'not-applied'],
  ['update-volume', 'the name differs', present({ status: 'ready' }), differs('volumeName'), 'not-applied'],
  ['start-service', 'it is on its way', present({ state: 'provisioning' }), [], 'applied'],
  ['start-service', 'it is still paused', present({ state: 'paused' }), [], 'not-applied'],
  ['start-service', 'it is still asleep', present({ state: 'sleeping' }), [], 'not-applied'],
  ['stop-service', 'it is paused', present({ state: 'paused' }), [], 'applied'],
  ['stop-service', 'it runs', running, [], 'not-applied'],
  ['restart-service', 'its revision has moved', present({ state: 'running', revision: 6 }), [], 'applied'],
  ['restart-service', 'its state has moved', present({ state: 'provisioning', revision: 5 }), [], 'applied'],
  ['restart-service', 'neither has', running, [], 'not-applied'],
  ['delete-service', 'it is gone', absent, [], 'applied'],
  ['delete-service', 'it is deleting', present({ state: 'deleting' }), [], 'applied'],
  ['delete-service', 'it is there', running, [], 'not-applied'],
  ['delete-volume', 'it is gone', absent, [], 'applied'],
  ['delete-volume', 'it is deleting', present({ status: 'deleting' }), [], 'applied'],
  ['delete-volume', 'it is there', present({ status: 'ready' }), [], 'not-applied'],
];

test.each(table)('%s, and %s: %4$s', (action, _seen, observation, differences, verdict) => {
  expect(settle(anIntent(action), observation, differences)).toBe(verdict);
});

test('what was not looked at, or must not be touched, settles nothing', () => {
  for (const action of new Set(table.map(([name]) => name))) {
    expect(settle(anIntent(action), pending, [])).toBeUndefined();
    expect(settle(anIntent(action), conflict, [])).toBeUndefined();
  }
});
