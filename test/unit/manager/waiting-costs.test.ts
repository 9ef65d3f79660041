/** What waits, and costs more when it continues. */
import { expect, test } from 'vitest';
import type { PassResult } from '../../../src/engine/index.ts';
import { waitingCosts } from '../../../src/manager/waiting-costs.ts';
import { objectKey, type ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import { taskDocument, web } from '../../support/scripted-fleet.ts';

const task = objectKey('ProtectedTask', 'default', 'epoch');
const { objects } = desiredOf({ 'web.yaml': serviceDocument('web'), 'task.yaml': taskDocument() });

const step = (before: bigint, after: bigint, basis = 'observed') => ({
  action: { do: 'resize-service' },
  cost: { beforeMicros: before, afterMicros: after, basis, unknown: [] },
});
const costly = step(10n, 80n);
const cheaper = step(80n, 10n);
const unpriced = step(0n, 0n, 'unknown');
const free = { action: { do: 'restart-service' } };
const differences = [{ path: 'resources' }];

function costsOf(plan: object, key: ObjectKey = web, isStuck = false) {
  const { reason = 'Protected', ...rest } = plan as { reason?: string };
  const wait = { kind: 'wait', reason, steps: [], differences: [], ...rest };
  const result = { plan: wait, removed: false } as unknown as PassResult;
  const found = waitingCosts(new Map([[key, result]]), objects, new Set(isStuck ? [key] : []));
  return found.waitingCosts?.map(({ name, reason: why, cost }) => [name, why, cost.deltaMicros, cost.basis]);
}

test.each(['Protected', 'OutsideWindow', 'CapacityUnavailable', 'BudgetExceeded', 'InsufficientFunds'])(
  'steps that wait (%s) count with what they add together',
  (reason) => {
    expect(costsOf({ reason, steps: [costly, free] })).toEqual([['web', reason, 70, 'observed']]);
  },
);

test('what is saved later does not count, since it is not known when that is', () => {
  expect(costsOf({ steps: [cheaper] })).toBeUndefined();
  expect(costsOf({ steps: [costly, cheaper] })).toBeUndefined();
  expect(costsOf({ steps: [free] })).toBeUndefined();
});

test('a step without a known price counts as unknown', () => {
  expect(costsOf({ steps: [unpriced] })).toEqual([['web', 'Protected', 0, 'unknown']]);
});

test.each([
  ['its outcome is unknown', { reason: 'OutcomeUnknown' }],
  ['it differs, and is being made', { reason: 'Provisioning', differences }],
  ['there is no capacity for it', { reason: 'CapacityUnavailable' }],
  ['its template is not there yet', { reason: 'TemplateNotReady' }],
])('where nobody knows what follows, the price is unknown: %s', (_why, plan) => {
  expect(costsOf(plan)).toEqual([['web', plan.reason, 0, 'unknown']]);
});

test.each([
  ['what is only on its way', { reason: 'Provisioning' }, web],
  ['what a person has to end first', { reason: 'KeepsChanging', differences, stalled: true }, web],
  ['a replica, of which its fleet has the change', { reason: 'AwaitsTurn', steps: [costly] }, web],
  ['what other changes of the plan end', { reason: 'VolumeNotReady', steps: [costly] }, web],
  ['what has no price', { reason: 'OutcomeUnknown' }, task],
  [
    'an object without a document',
    { reason: 'OutcomeUnknown' },
    objectKey('ContainerService', 'default', 'old'),
  ],
  ['what is held until a person changes something', { kind: 'hold', reason: 'Paused', steps: [costly] }, web],
])('not counted: %s', (_what, plan, key) => {
  expect(costsOf(plan, key)).toBeUndefined();
});

test('what waits for an object that the plan leaves as it is may continue all the same', () => {
  const stuck = costsOf({ reason: 'VolumeNotReady', steps: [costly] }, web, true);
  expect(stuck).toEqual([['web', 'VolumeNotReady', 70, 'observed']]);
});

test('what a wait brings about beside its steps has no known price, whatever they cost', () => {
  const made = { ...costly, differences };
  const both = [{ path: 'resources' }, { path: 'image' }];
  expect(costsOf({ reason: 'TemplateNotReady', steps: [made], differences })).toBeUndefined();
  const more = costsOf({ reason: 'TemplateNotReady', steps: [made], differences: both });
  expect(more).toEqual([['web', 'TemplateNotReady', 0, 'unknown']]);
});

test('a replica that was never made, and leaves in the same plan, costs nothing', () => {
  const replica = objectKey('ContainerService', 'default', 'web');
  const wait = { kind: 'wait', reason: 'CapacityUnavailable', steps: [costly], differences: [] };
  const costs = (owned: object[]) => {
    const scale = { kind: 'arrange', reason: 'ScalingIn', change: 'scale', differences: [], owned };
    const results = new Map([
      [objectKey('ServiceFleet', 'default', 'llm'), { plan: scale, removed: false }],
      [replica, { plan: wait, removed: false }],
    ]) as unknown as Map<ObjectKey, PassResult>;
    return waitingCosts(results, objects, new Set()).waitingCosts ?? [];
  };
  expect(costs([{ name: 'web', action: 'delete' }])).toEqual([]);
  expect(costs([{ name: 'web', action: 'update' }])).toHaveLength(1);
  expect(costs([{ name: 'other', action: 'delete' }])).toHaveLength(1);
});

test('a step that waits for another reason counts as unknown if more follows of which nobody knows the price', () => {
  const wait = {
    reason: 'Protected',
    steps: [free],
    differences: [{ path: 'image' }, { path: 'resources' }],
  };
  const patch = { ...free, differences: [{ path: 'image' }] };
  expect(costsOf({ ...wait, steps: [patch] })).toBeUndefined();
  expect(costsOf({ ...wait, steps: [patch], unforeseen: true })).toEqual([
    ['web', 'Protected', 0, 'unknown'],
  ]);
});
