import { describe, expect, test } from 'vitest';
import {
  mostAtOnce,
  nextRemediation,
  probation,
} from '../../../../src/kinds/container-service/remediation.ts';
import {
  aService,
  aSpec,
  anActivity,
  env,
  names,
  now,
  serviceInputs,
  servicePlan,
  stepsOf,
} from '../../../support/plan.ts';

const spec = aSpec({ onError: { restarts: 3 } });
const broken = aService({ state: 'error', error: 'out of memory' });
const afterRestarts = (restarts: number, agoMs: number, generation = 1) => ({
  kind: { remediation: { restarts, at: now - agoMs, generation } },
});

describe('a service in error', () => {
  test.each([
    ['without onError', aSpec()],
    ['with onError: {restarts: 0}', aSpec({ onError: { restarts: 0 } })],
  ])('%s it is only reported', (_, of) => {
    expect(servicePlan({ spec: of, service: broken })).toMatchObject({
      kind: 'hold',
      reason: 'ServiceError',
      message: expect.stringMatching(/.*out of memory/),
    });
  });

  // COVERAGE 53
  test('is told in the words of the provider, without a value of its environment and on one line', () => {
    const of = aSpec({ env: env({ TOKEN: 'canary-9f8e7d6c' }) });
    const service = aService({
      state: 'error',
      error: 'no\u001b[2J\nlogin with canary-9f8e7d6c',
      environmentNames: names({ TOKEN: 'canary-9f8e7d6c' }),
    });
    expect(servicePlan({ spec: of, service })).toMatchObject({
      reason: 'ServiceError',
      message: expect.stringContaining('no [2J login with [redacted];'),
    });
  });

  test('is restarted at once the first time', () => {
    const plan = servicePlan({ spec, service: broken });
    expect(plan).toMatchObject({
      kind: 'act',
      step: { reason: 'Remediation', action: { do: 'restart-service' } },
    });
  });

  test.each([
    [1, 10_000],
    [2, 20_000],
    [5, 160_000],
    [9, 300_000],
  ])('after %i restarts the next one follows %i ms after the last', (restarts, pauseMs) => {
    const often = aSpec({ onError: { restarts: 20 } });
    const early = servicePlan({ spec: often, service: broken, record: afterRestarts(restarts, pauseMs - 1) });
    const due = servicePlan({ spec: often, service: broken, record: afterRestarts(restarts, pauseMs) });
    expect(early).toMatchObject({ kind: 'wait', reason: 'RemediationBackoff', recheckAfterMs: 1 });
    expect(due.kind).toBe('act');
  });

  // COVERAGE 53
  test('is left to a person when the restarts are used up', () => {
    const plan = servicePlan({ spec, service: broken, record: afterRestarts(3, 3_600_000) });
    expect(plan).toMatchObject({
      kind: 'hold',
      reason: 'RemediationExhausted',
      message: expect.stringMatching(/.*after 3 of 3 restarts: out of memory/),
    });
  });

  test('with a new spec is restarted as if for the first time', () => {
    const record = { ...afterRestarts(3, 1000, 1), generation: 2 };
    expect(servicePlan({ spec, service: broken, record }).kind).toBe('act');
  });

  test('is restarted although the wall clock was put back', () => {
    expect(servicePlan({ spec, service: broken, record: afterRestarts(1, -86_400_000) }).kind).toBe('act');
  });

  // COVERAGE 53
  test('waits while a fifth of the fleet is being restarted', () => {
    const plan = servicePlan({ spec, service: broken, remediations: { services: 20, underWay: 4 } });
    expect(plan).toMatchObject({
      kind: 'wait',
      reason: 'RemediationBrake',
      message: expect.stringMatching(/.*4 of 20 services/),
    });
    expect(stepsOf(plan)).toEqual(['restart-service']);
  });

  test('of a small fleet, one may be restarted at a time', () => {
    expect([1, 4, 5, 9, 10, 100].map(mostAtOnce)).toEqual([1, 1, 1, 1, 2, 20]);
  });

  test('is not restarted under an unreleased activity', () => {
    const plan = servicePlan({ spec, service: broken, activities: [anActivity()] });
    expect(plan).toMatchObject({ kind: 'wait', reason: 'Protected' });
  });

  test('under a task has its error first, and how the task is ended', () => {
    const plan = servicePlan({ spec, service: broken, declaredTasks: ['epoch'] });
    expect(plan).toMatchObject({
      reason: 'Protected',
      failed: 'ServiceError',
      message:
        'the service is in error: out of memory; what ran in it has ended. restart-service waits for the ProtectedTask epoch. ' +
        'If that is over, set `released: true` in its document; restart 1 of 3 follows then: to have none, set `onError: {restarts: 0}` before',
    });
    const foreign = servicePlan({ spec, service: broken, activities: [anActivity()] });
    expect(foreign).toMatchObject({ message: expect.stringMatching(/If that is over, release it;/) });
  });

  test('under a task shows its error when another change waits, too', () => {
    const of = aSpec({ image: 'ghcr.io/acme/trainer:2' });
    const world = { spec: of, before: aSpec(), declaredTasks: ['epoch'] };
    expect(servicePlan({ ...world, service: broken })).toMatchObject({
      failed: 'ServiceError',
      message: expect.stringMatching(/^the service is in error: out of memory;.* patch-service waits for/),
    });
    expect(servicePlan({ ...world, service: aService() })).not.toHaveProperty('failed');
  });

  test('is not restarted when it should be stopped', () => {
    const stopped = aSpec({ onError: { restarts: 3 }, desiredState: 'Stopped' });
    expect(stepsOf(servicePlan({ spec: stopped, service: broken }))).toEqual(['stop-service']);
  });
});

describe('what is remembered of restarts', () => {
  test('each one counts on', () => {
    const first = nextRemediation({}, 1, now);
    expect(first).toEqual({ restarts: 1, at: now, generation: 1 });
    expect(nextRemediation({ remediation: first }, 1, now + 1).restarts).toBe(2);
  });

  test('a service that is as desired is looked at again when its probation ends', () => {
    const record = afterRestarts(2, 599_000);
    expect(servicePlan({ spec, record })).toMatchObject({ kind: 'in-sync', recheckAfterMs: 1000 });
    expect(probation(serviceInputs({ spec, record }).record.kind, now).remediation).toBeDefined();
    expect(probation(serviceInputs({ spec, record }).record.kind, now + 1000).remediation).toBeUndefined();
  });
});

describe('disruption windows', () => {
  // `now` is a Saturday, 12:00 in UTC.
  const windowed = (cron: string) => ({ disruptionWindows: [{ cron, durationMinutes: 60 }] });
  const newImage = 'ghcr.io/acme/trainer:2';

  test('a patch of a running service waits for one', () => {
    const of = aSpec({ image: newImage, ...windowed('0 14 * * sat') });
    const plan = servicePlan({ spec: of, before: aSpec(), service: aService() });
    expect(plan).toMatchObject({
      kind: 'wait',
      reason: 'OutsideWindow',
      message: expect.stringMatching(/patch-service waits .* opens at 2026-11-21T14:00:00Z/),
    });
    expect(plan).toMatchObject({ recheckAfterMs: 3_600_000 });
  });

  test('and is sent while one is open', () => {
    const of = aSpec({ image: newImage, ...windowed('30 11 * * sat') });
    expect(servicePlan({ spec: of, before: aSpec(), service: aService() }).kind).toBe('act');
  });

  test('disruption: Always goes past activities, not past the window', () => {
    const of = aSpec({ image: newImage, disruption: 'Always', ...windowed('0 14 * * sat') });
    const world = { spec: of, before: aSpec(), service: aService(), activities: [anActivity()] };
    expect(servicePlan(world)).toMatchObject({ kind: 'wait', reason: 'OutsideWindow' });
    expect(servicePlan({ ...world, nowMs: now + 2 * 3_600_000 }).kind).toBe('act');
  });

  test('what is in error, or is not disrupted, needs none', () => {
    const closed = windowed('0 14 * * sat');
    const of = aSpec({ onError: { restarts: 1 }, ...closed });
    expect(servicePlan({ spec: of, service: broken }).kind).toBe('act');
    expect(servicePlan({ spec: aSpec(closed), service: aService({ state: 'paused' }) }).kind).toBe('act');
  });

  test('the deletion of a running service waits for one, too', () => {
    const plan = servicePlan({ spec: aSpec(windowed('0 14 * * sat')), deleting: true });
    expect(plan).toMatchObject({ kind: 'wait', reason: 'OutsideWindow' });
  });
});
