import { expect, test } from 'vitest';
import { stopService } from '../../../src/actions/index.ts';
import { withReleases } from '../../../src/cli/change/releases.ts';
import type { PassResult } from '../../../src/engine/index.ts';
import { waitFor, type Step } from '../../../src/engine/plan/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { aRecord, serviceKey } from '../../support/plan.ts';

const epoch: ObjectKey = 'ProtectedTask/default/epoch';
const step: Step = {
  action: stopService({ id: 'id' }),
  reason: 'SpecChanged',
  disruptive: true,
  differences: [],
};

/** Of what a service waits for, while its task is being released. */
function afterOf(
  activities: readonly (string | undefined)[] | undefined,
  serviceId = 'id',
  activityId = 'own',
) {
  const registration = { serviceId, activityId, releaseKey: 'key' };
  const records = new Map([
    [serviceKey, aRecord(serviceKey, { externalId: 'id' })],
    [epoch, aRecord(epoch, { kind: { registration } })],
  ]);
  const waits = waitFor('Protected', 'stop waits', { steps: [step], ...(activities ? { activities } : {}) });
  const results = new Map<ObjectKey, PassResult>([
    [serviceKey, { plan: waits } as PassResult],
    [epoch, { plan: waitFor('Releasing', 'the activity is being released') } as PassResult],
  ]);
  const plan = withReleases(results, { record: (key) => records.get(key) }).get(serviceKey)?.plan;
  return plan?.kind === 'wait' ? plan.steps.map(({ after }) => after) : plan;
}

test('what waits for the activity of a task follows its release, also where no activity shows an id', () => {
  expect(afterOf(['own'])).toEqual([[epoch]]);
  expect(afterOf([undefined])).toEqual([[epoch]]);
});

test('an id is the same in capitals', () => {
  const id = '0b9c0f0e-7c2d-4a51-8f1e-5a2c5d0a7a11';
  expect(afterOf([id.toUpperCase()], 'id', id)).toEqual([[epoch]]);
});

test('what waits for one more activity, or for a task that is declared, is held', () => {
  for (const activities of [['other'], ['own', 'other'], ['own', undefined], [], undefined]) {
    expect(afterOf(activities)).toEqual([undefined]);
  }
  expect(afterOf(['own'], 'another service')).toEqual([undefined]);
});
