import { expect, test } from 'vitest';
import { actions as declared } from '../../../../src/actions/index.ts';
import {
  type ActionName,
  type Difference,
  type Observation,
  settle,
} from '../../../../src/engine/plan/index.ts';
import type { Intent } from '../../../../src/state/index.ts';
import { serviceKey } from '../../../support/plan.ts';

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
const hidden = (path: string): Difference => ({ ...differs(path)[0], hidden: true }) as Difference;

function anIntent(action: ActionName): Intent {
  return {
    idempotencyKey: 'key',
    object: serviceKey,
    action,
    targetId: undefined,
    bodyDigest: '',
    baseRevision: 5,
    baseState: /service/.test(action) ? 'running' : undefined,
    generation: 1,
    restartToken: undefined,
    digests: undefined,
    createdAt: 0,
    finishedAt: undefined,
    outcome: 'unknown',
    note: undefined,
  };
}

const template = present({ revision: 6 });

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
  ['create-template', 'something carries our mark', template, [], 'applied'],
  ['create-template', 'nothing does', absent, [], 'not-applied'],
  ['replace-template', 'the fields are as sent', template, [], 'applied'],
  ['replace-template', 'the image differs', template, differs('image'), 'not-applied'],
  ['delete-template', 'it is gone', absent, [], 'applied'],
  ['delete-template', 'it is there', template, [], 'not-applied'],
  ['create-registry', 'there is one for the repository', template, [], 'applied'],
  ['create-registry', 'there is none', absent, [], 'not-applied'],
  ['rotate-registry', 'what was remembered is wanted again', template, [], 'applied'],
  ['rotate-registry', 'it has not', present({ revision: 5 }), [hidden('credentials')], 'not-applied'],
  ['delete-registry', 'it is gone', absent, [], 'applied'],
  ['delete-registry', 'it is there', template, [], 'not-applied'],
];
const actions = new Set(table.map(([name]) => name));

// COVERAGE 98
test.each(table)('%s, and %s: %4$s', (action, _seen, observation, differences, verdict) => {
  expect(settle(anIntent(action), observation, differences, false)).toBe(verdict);
});

test('what was not looked at settles nothing', () => {
  for (const action of actions) expect(settle(anIntent(action), pending, [], false)).toBeUndefined();
});

test('an absence that is not confirmed settles nothing, but for what carries a mark', () => {
  const unconfirmed: Seen = { kind: 'absent', confirmed: false };
  for (const action of actions) {
    const byMark = declared[action].evidence.by === 'mark';
    expect(settle(anIntent(action), unconfirmed, [], false)).toBe(byMark ? 'not-applied' : undefined);
  }
});

const moved = present({ state: 'running', revision: 6 });
const bare = present({ state: 'running' });

const unreported: readonly (readonly [ActionName, string, Seen, Difference[], boolean])[] = [
  ['create-service', 'two things carry our mark', conflict, [], false],
  ['create-service', 'there is something that hides its marks', absent, [], true],
  ['create-volume', 'there is something that hides its marks', absent, [], true],
  ['patch-service', 'the image and the revision are hidden', bare, [hidden('image')], false],
  [
    'resize-service',
    'resources are hidden and the revision is below the one before',
    present({ state: 'running', revision: 4 }),
    [hidden('resources')],
    false,
  ],
  ['start-service', 'no state is shown', present({ revision: 6 }), [], false],
  ['stop-service', 'no state is shown', present({ revision: 6 }), [], false],
  ['restart-service', 'no revision is shown, and the state is the same', bare, [], false],
  ['delete-service', 'no state is shown', present({ revision: 6 }), [], false],
];

test.each(unreported)(
  '%s, and %s: a person has to say',
  (action, _seen, observation, differences, marksHidden) => {
    expect(settle(anIntent(action), observation, differences, marksHidden)).toBe('undecided');
  },
);

const outdated: readonly (readonly [ActionName, string, Seen])[] = [
  ['patch-service', 'env', moved],
  ['patch-service', 'image', moved],
  ['update-volume', 'sizeGb', present({ status: 'ready', revision: 6 })],
  ['replace-template', 'image', template],
  ['rotate-registry', 'credentials', template],
];

// COVERAGE 43
test.each(outdated)(
  '%s, and %s is hidden and the revision moved: it was made or never will be',
  (action, path, observation) => {
    expect(settle(anIntent(action), observation, [hidden(path)], false)).toBe('outdated');
  },
);

const repeatable: readonly (readonly [ActionName, string, Seen, Difference[], boolean])[] = [
  ['resize-service', 'resources are hidden and the revision moved', moved, [hidden('resources')], false],
  ['resize-service', 'resources and the revision are hidden', bare, [hidden('resources')], false],
  ['set-sleep-policy', 'it is hidden and the revision moved', moved, [hidden('sleepAfterMinutes')], false],
  ['create-registry', 'there is something that hides its repository', absent, [], true],
];

test.each(repeatable)(
  '%s, and %s: the same request has the same end once more',
  (action, _seen, observation, differences, marksHidden) => {
    expect(settle(anIntent(action), observation, differences, marksHidden)).toBe('repeatable');
  },
);

test('a mutation that this version does not know is left to the operator', () => {
  const later = { ...anIntent('patch-service'), action: 'move-service' };
  expect(settle(later, running, differs('image'), false)).toBe('undecided');
});

test('a revision below the one that was sent says nothing', () => {
  const before = present({ state: 'running', revision: 4 });
  expect(settle(anIntent('patch-service'), before, [hidden('image')], false)).toBe('undecided');
});

test('a hidden field was not changed when the revision is the one before', () => {
  expect(settle(anIntent('patch-service'), running, [hidden('image')], false)).toBe('not-applied');
});

test('a visible field that differs tells more than a hidden one', () => {
  const left = [hidden('image'), ...differs('command')];
  expect(settle(anIntent('patch-service'), moved, left, false)).toBe('not-applied');
});

test('a service on its way to somewhere tells nothing of a stop yet', () => {
  for (const state of ['provisioning', 'stopping']) {
    expect(settle(anIntent('stop-service'), present({ state }), [], false)).toBeUndefined();
  }
});

test('every mutation has its evidence tried here', () => {
  expect([...actions].sort()).toEqual(Object.keys(declared).sort());
});
