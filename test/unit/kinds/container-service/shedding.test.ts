/** What the planner of a service does with an order of a budget to stop it. */
import { describe, expect, test } from 'vitest';
import {
  aService,
  aSpec,
  actionOf,
  anActivity,
  now,
  servicePlan,
  stepsOf,
  type ServiceWorld,
} from '../../../support/plan.ts';

const shed = {
  object: 'ContainerService/default/trainer',
  uid: '',
  since: now,
  askedAt: now,
  phase: 'asked',
  micros: '10',
  budget: 'team',
  wasStopped: false,
} as const;
const isPaused = { record: { kind: { pausedFor: 'Budget' } } } as const;
const closed = [{ cron: '0 0 1 1 *', durationMinutes: 1, timeZone: 'UTC' }];

const planned = (world: ServiceWorld) => servicePlan({ shed, ...world });

describe('a service with an order', () => {
  test.each(['running', 'error'])('is stopped when it is %s, as a disruption', (state) => {
    const plan = planned({ service: aService({ state }), activities: [] });
    expect(stepsOf(plan)).toEqual(['stop-service']);
    expect(plan).toMatchObject({ step: { reason: 'Shed', disruptive: true } });
    expect(actionOf(plan, 'stop-service')).toBeDefined();
  });

  test.each([
    ['an activity runs in it', { activities: [anActivity()] }, 'Protected'],
    ['a ProtectedTask is declared', { declaredTasks: ['epoch'] }, 'Protected'],
    ['no window is open', { spec: aSpec({ disruptionWindows: closed }) }, 'OutsideWindow'],
    [
      'it is in error, and no window is open',
      { spec: aSpec({ disruptionWindows: closed }), service: aService({ state: 'error' }) },
      'OutsideWindow',
    ],
    ['it is never to be interrupted', { spec: aSpec({ disruption: 'Never' }) }, 'DisruptionForbidden'],
    [
      'it may always be interrupted, and an activity runs in it',
      { spec: aSpec({ disruption: 'Always' }), activities: [anActivity()] },
      'Protected',
    ],
  ] satisfies [string, ServiceWorld, string][])('is not stopped when %s', (_, world, reason) => {
    expect(planned({ activities: [], ...world })).toMatchObject({ reason });
    expect(planned({ activities: [], ...world }).kind).not.toBe('act');
  });

  test.each([
    ['paused', { service: aService({ state: 'paused' }), ...isPaused }],
    [
      'paused, whatever its document asks for meanwhile',
      {
        service: aService({ state: 'paused' }),
        spec: aSpec({ image: 'other:1' }),
        before: aSpec(),
        ...isPaused,
      },
    ],
    ['gone', { service: 'gone', ...isPaused }],
  ] satisfies [string, ServiceWorld][])('is held while it is %s', (_, world) => {
    const plan = planned(world);
    expect(plan).toMatchObject({ kind: 'hold', reason: 'ShedForBudget' });
    expect(plan.differences.filter(({ drift }) => drift)).toEqual([]);
  });

  test.each([
    [
      'was stopped for it before: somebody has started it',
      { shed: { ...shed, wasStopped: true }, ...isPaused },
    ],
    ['has been stopped and seen so', { shed: { ...shed, phase: 'done' } }],
    ['sleeps', { service: aService({ state: 'sleeping' }) }],
  ] satisfies [string, ServiceWorld][])('is planned as without it when it %s', (_, world) => {
    expect(planned({ activities: [], ...world }).kind).toBe('in-sync');
  });

  test('is stopped for good if its document asks for that', () => {
    const plan = planned({ spec: aSpec({ desiredState: 'Stopped' }), before: aSpec(), activities: [] });
    expect(plan).toMatchObject({ kind: 'act', step: { reason: 'SpecChanged' } });
  });
});

test('a service whose order has ended is started, and that is no drift', () => {
  const plan = servicePlan({ service: aService({ state: 'paused' }), ...isPaused });
  expect(stepsOf(plan)).toEqual(['start-service']);
  expect(plan).toMatchObject({ step: { reason: 'ShedEnded', differences: [{ drift: false }] } });
});

test('without a record of that it is started as any drift', () => {
  const plan = servicePlan({ service: aService({ state: 'paused' }) });
  expect(plan).toMatchObject({ step: { reason: 'Drift', differences: [{ drift: true }] } });
});
