/** Somebody changed the service (its revision moved) and nothing visible: what the API hides may be another value. */
import { describe, expect, test } from 'vitest';
import {
  aService,
  aSpec,
  differing,
  env,
  names,
  now,
  said,
  sentEnvironment,
  serviceId,
  servicePlan,
} from '../../../support/plan.ts';

const values = { MODE: 'serve', TOKEN: 'x' };
const shown = (more: object = {}) => aService({ environmentNames: names(values), ...more });
const baseline = { id: serviceId, revision: 5, state: 'running', at: 0 };
const spec = aSpec({ env: env(values) });
const world = { spec, service: shown({ revision: 6 }), record: { baseline } };

describe('an environment whose names are as they were sent', () => {
  // COVERAGE 40
  test('may have other values: it is sent again, as a whole', () => {
    const plan = servicePlan(world);
    expect([said(plan), differing(plan)]).toEqual(['patch-service (Drift)', ['env*']]);
    expect(plan.differences).toMatchObject([{ path: 'env', revisionMoved: true, hidden: true }]);
    expect(plan.kind === 'act' && sentEnvironment(plan.step.action)).toMatchObject(values);
  });

  test('is sent once, and then only told', () => {
    const plan = servicePlan({ ...world, record: { baseline, resentFor: 1 } });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', ['env*']]);
  });

  test.each([
    ['the revision has not moved', { service: shown({ revision: 5 }) }],
    ['a mutation of ours was sent since', { record: { baseline: undefined } }],
    ['the state is another one', { record: { baseline: { ...baseline, state: 'paused' } } }],
    [
      'it has no variables',
      { spec: aSpec({ env: [] }), service: aService({ revision: 6, environmentNames: names({}) }) },
    ],
    ['it is not managed', { spec: aSpec(), service: aService({ revision: 6 }) }],
    [
      'the difference is in the sleep policy',
      {
        spec: aSpec({ env: env(values), sleepAfterMinutes: 0 }),
        service: shown({ revision: 6, sleepAfterMinutes: 7 }),
      },
    ],
  ])('is not doubted when %s', (_name, more) => {
    expect(
      servicePlan({ ...world, ...more }).differences.filter(({ revisionMoved }) => revisionMoved),
    ).toEqual([]);
  });

  test('goes with the image that the same foreign patch may have changed', () => {
    const service = shown({ revision: 6, image: 'evil:1' });
    const plan = servicePlan({ ...world, service });
    expect([said(plan), differing(plan)]).toEqual(['patch-service (Drift)', ['image*', 'env*']]);
  });

  test('is told, and not sent, under Report', () => {
    const plan = servicePlan({ ...world, spec: aSpec({ env: env(values), driftPolicy: 'Report' }) });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', ['env*']]);
  });
});

describe('with a sleep policy', () => {
  const sleepy = aSpec({ env: env(values), sleepAfterMinutes: 30 });
  const service = shown({ revision: 6, sleepAfterMinutes: 30 });
  const seenFor = (minutes: number) => ({
    baseline,
    seen: { id: serviceId, revision: 5, state: 'running', since: now - minutes * 60_000 },
  });

  test('a service that runs for less than that has not slept: somebody changed it', () => {
    const plan = servicePlan({ spec: sleepy, service, record: seenFor(29) });
    expect(said(plan)).toBe('patch-service (Drift)');
  });

  test('one that may have slept and woken is told, and left alone', () => {
    for (const record of [seenFor(31), { baseline }]) {
      const plan = servicePlan({ spec: sleepy, service, record });
      expect([said(plan), differing(plan)]).toEqual(['in-sync', ['env*']]);
    }
  });

  test('a service of which nobody knows how long it runs, since the clock was set back, may have slept', () => {
    const older = { baseline, seen: { ...seenFor(1).seen, mayBeOlder: true as const } };
    for (const record of [seenFor(-60), older]) {
      const plan = servicePlan({ spec: sleepy, service, record });
      expect([said(plan), differing(plan)]).toEqual(['in-sync', ['env*']]);
    }
  });

  test('what is doubted is sent with the next change, whether or not an intent has been written for it', () => {
    const changed = { ...service, image: 'evil:1' };
    const doubted = { ...seenFor(31), doubted: ['env'] };
    const before = servicePlan({ spec: sleepy, service: changed, record: doubted });
    const after = servicePlan({
      spec: sleepy,
      service: changed,
      record: { ...doubted, baseline: undefined },
    });
    expect([said(before), differing(before)]).toEqual(['patch-service (Drift)', ['image*', 'env*']]);
    expect(before.kind === 'act' && before.step.action).toEqual(after.kind === 'act' && after.step.action);
  });

  test('a policy that only the service has counts as well', () => {
    const plan = servicePlan({ spec, service, record: seenFor(31) });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', ['env*']]);
  });
});
