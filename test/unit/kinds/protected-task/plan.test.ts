import { describe, expect, test } from 'vitest';
import { jobState, localTime, taskEnd } from '../../../../src/engine/plan/index.ts';
import { type TaskInputs, planTask } from '../../../../src/kinds/protected-task/plan.ts';
import { taskHealth } from '../../../../src/kinds/protected-task/status.ts';
import { apiVersion, documents, objectKey, type ProtectedTaskSpec } from '../../../../src/resources/index.ts';
import {
  aRecord,
  anActivity,
  aService,
  aSpec,
  now,
  said,
  serviceId,
  servicePlan,
  stepsOf,
} from '../../../support/plan.ts';

const key = objectKey('ProtectedTask', 'default', 'epoch');
const registration = { serviceId, activityId: 'activity', releaseKey: 'key' };

function aTask(more: object = {}): ProtectedTaskSpec {
  const spec = { serviceRef: { name: 'trainer' }, ...more };
  return documents.ProtectedTask.parse({
    apiVersion,
    kind: 'ProtectedTask',
    metadata: { name: 'epoch' },
    spec,
  }).spec;
}

interface World extends Partial<Omit<TaskInputs, 'object' | 'record'>> {
  readonly spec?: object;
  readonly deleting?: boolean;
  readonly record?: Parameters<typeof aRecord>[1];
}

function inputs({ spec, deleting = false, record, ...rest }: World = {}): TaskInputs {
  return {
    object: { name: 'epoch', annotations: {}, spec: aTask(spec), deleting },
    record: aRecord(key, record),
    service: { kind: 'there', id: serviceId },
    lease: undefined,
    job: 'running',
    time: localTime(now),
    ...rest,
  };
}

const plan = (world?: World) => planTask(inputs(world));
const held = { phase: 'held', failure: undefined, expiresInMs: 200_000 } as const;
const past = new Date(now - 1000).toISOString();
const soon = new Date(now + 60_000).toISOString();

// COVERAGE 75
describe('a protected task', () => {
  test('waits for a service that is not there yet', () => {
    const service = { kind: 'missing', message: 'not there yet' } as const;
    expect(said(plan({ service }))).toBe('wait ServiceNotThere');
  });

  test('of a service that nobody has written is held', () => {
    const service = { kind: 'dangling', message: 'no such service' } as const;
    expect(said(plan({ service }))).toBe('hold ReferenceNotFound');
  });

  test('is held, too, when its service is gone with its document, and its heartbeats fail', () => {
    const service = { kind: 'dangling', message: 'no such service' } as const;
    const failing = { ...held, failure: 'refused with 404' };
    expect(said(plan({ record: { kind: { registration } }, lease: failing, service }))).toBe(
      'hold ReferenceNotFound',
    );
    expect(said(plan({ record: { kind: { registration } }, lease: held, service }))).toBe('in-sync');
  });

  test('whose heartbeats fail is looked at again, since nothing tells that its service has gone', () => {
    const failing = { ...held, failure: 'refused with 404' };
    expect(plan({ record: { kind: { registration } }, lease: failing })).toMatchObject({
      recheckAfterMs: 60_000,
    });
    const spec = { until: { deadline: new Date(now + 5000).toISOString() } };
    expect(plan({ spec, record: { kind: { registration } }, lease: failing })).toMatchObject({
      recheckAfterMs: 5000,
    });
  });

  test('waits until its activity is registered, and says why it is not', () => {
    const lost = { phase: 'registering', failure: 'refused with 503', expiresInMs: undefined } as const;
    expect(plan({ record: { kind: { registration } }, lease: lost })).toMatchObject({
      kind: 'wait',
      reason: 'Registering',
      message: expect.stringContaining('refused with 503'),
    });
  });

  test('is in sync while it is held, also when its service has gone meanwhile', () => {
    expect(said(plan({ record: { kind: { registration } }, lease: held }))).toBe('in-sync');
    const service = { kind: 'missing', message: 'gone' } as const;
    expect(said(plan({ record: { kind: { registration } }, lease: held, service }))).toBe('in-sync');
  });

  test('with a deadline is looked at again when that passes', () => {
    const spec = { until: { deadline: soon } };
    expect(plan({ spec, record: { kind: { registration } }, lease: held })).toMatchObject({
      recheckAfterMs: 60_000,
    });
  });

  test('whose deadline is disputed goes on, and shows why', () => {
    const account = { isAnswered: true, providerMs: now - 90_000, steadyForMs: 0, behindForMs: 1 };
    const world = { spec: { until: { deadline: past } }, time: { nowMs: now, account, isOneShot: false } };
    const registered = { ...world, record: { kind: { registration } }, lease: held };
    expect(plan(registered)).toMatchObject({ kind: 'in-sync', recheckAfterMs: 60_000 });
    expect(taskHealth(inputs(registered))).toMatchObject({
      reason: 'Held',
      message: expect.stringContaining('`Date`'),
    });
    expect(said(plan(world))).toBe('wait Registering');
  });

  test('whose deadline is open goes on, and is not registered yet', () => {
    const account = { isAnswered: false, providerMs: undefined, steadyForMs: 0, behindForMs: 0 };
    const world = { spec: { until: { deadline: past } }, time: { nowMs: now, account, isOneShot: false } };
    const registered = { ...world, record: { kind: { registration } }, lease: held };
    expect(plan(registered)).toMatchObject({ kind: 'in-sync', recheckAfterMs: 5000 });
    expect(plan(world)).toMatchObject({
      reason: 'Registering',
      message: expect.stringContaining('when that clock is certain'),
    });
  });

  test.each([
    ['`released: true`', { spec: { released: true } }],
    ['a deadline that has passed', { spec: { until: { deadline: past } } }],
    ['the end of its object', { deleting: true }],
  ])('is released by %s, and not done before that is acknowledged', (_, world) => {
    expect(said(plan({ ...world, record: { kind: { registration } }, lease: held }))).toBe('wait Releasing');
    expect(said(plan({ ...world, record: { kind: { registration, releasedAt: now } }, lease: held }))).toBe(
      'in-sync',
    );
  });

  test('that was never registered has nothing to release', () => {
    expect(said(plan({ spec: { released: true } }))).toBe('in-sync');
  });

  test('whose deadline had passed before it was registered is held, if that is certain', () => {
    const spec = { until: { deadline: past } };
    expect(said(plan({ spec }))).toBe('in-sync');
    expect(plan({ spec, hasNeverBegun: true })).toMatchObject({
      kind: 'hold',
      reason: 'InvalidSpec',
      message: expect.stringContaining(`the deadline ${past} had passed before the task was registered`),
    });
    expect(taskHealth(inputs({ spec, hasNeverBegun: true })).ready).toBe('False');
  });

  test('that was released is not held again under that name', () => {
    expect(said(plan({ record: { kind: { registration, releasedAt: now } } }))).toBe('hold TaskReleased');
  });

  test('that is to end with a Job is held where there is no cluster', () => {
    const spec = { until: { jobRef: { name: 'train' } } };
    expect(said(plan({ spec, job: 'no-cluster' }))).toBe('hold JobNeedsCluster');
    expect(taskEnd(inputs({ spec }).object, 'running', localTime(now))).toBeUndefined();
    expect(taskEnd(inputs({ spec }).object, 'unknown', localTime(now))).toBeUndefined();
    expect(taskEnd(inputs({ spec }).object, 'over', localTime(now))).toBe('JobFinished');
  });

  test('waits for a Job that nobody has seen yet, and goes on while it cannot be read', () => {
    const spec = { until: { jobRef: { name: 'train' } } };
    expect(plan({ spec, job: 'missing' })).toMatchObject({
      kind: 'wait',
      reason: 'JobNotThere',
      message: expect.stringContaining('there is no Job train in this namespace yet'),
    });
    expect(said(plan({ spec, job: 'unknown' }))).toBe('wait JobUnknown');
    expect(said(plan({ spec, job: 'unknown', record: { kind: { registration } }, lease: held }))).toBe(
      'in-sync',
    );
    expect(said(plan({ spec, job: 'over', record: { kind: { registration } }, lease: held }))).toBe(
      'wait Releasing',
    );
  });

  test.each([
    ['running', 'running', 'running'],
    ['finished', 'over', 'over'],
    ['gone', 'missing', 'over'],
    ['unknown', 'unknown', 'unknown'],
    [undefined, 'no-cluster', 'no-cluster'],
  ] as const)('whose Job is %s: %s without an activity, %s with one', (answer, without, withOne) => {
    expect(jobState(answer, false)).toBe(without);
    expect(jobState(answer, true)).toBe(withOne);
  });

  // COVERAGE 76
  test.each([
    [{}, 'False NotRegistered'],
    [{ record: { kind: { registration } }, lease: held }, 'True Held'],
    [{ record: { kind: { registration } }, lease: { ...held, failure: 'lost' } }, 'False HeartbeatsFail'],
    [
      { record: { kind: { registration } }, lease: { ...held, failure: 'lost', expiresInMs: -1 } },
      'False Expired',
    ],
    [{ spec: { released: true }, record: { kind: { registration, releasedAt: now } } }, 'True Released'],
  ] as [World, string][])('%j is %s', (world, expected) => {
    const { ready, reason } = taskHealth(inputs(world));
    expect(`${ready} ${reason}`).toBe(expected);
  });
});

// COVERAGE 17, 76
describe('what a task protects', () => {
  test.each([
    ['stop', { desiredState: 'Stopped' }],
    ['restart', { restartToken: '2' }],
    ['resize', { resources: { gpuCount: 2, cpu: 8, memoryGb: 32 } }],
    ['patch', { image: 'ghcr.io/acme/trainer:2' }],
  ])('a %s waits for a declared task, registered or not', (word, change) => {
    const world = { spec: aSpec(change), before: aSpec(), declaredTasks: ['epoch 7'] };
    const waiting = servicePlan(world);
    expect(waiting).toMatchObject({
      kind: 'wait',
      reason: 'Protected',
      message: expect.stringContaining('the ProtectedTask epoch 7'),
    });
    expect(stepsOf(waiting)).toEqual([`${word}-service`]);
    expect(servicePlan({ ...world, declaredTasks: [] }).kind).toBe('act');
  });

  const asleep = ['paused', 'sleeping'].map((state) => aService({ state }));
  const image = 'ghcr.io/acme/trainer:2';

  test('so does one of a service that reads show paused or asleep: reads may be wrong', () => {
    const change = { before: aSpec(), spec: aSpec({ image, desiredState: 'Stopped' }) };
    for (const service of asleep) {
      const world = { ...change, service, declaredTasks: ['epoch 7'], holdsActivity: true };
      expect(said(servicePlan(world))).toBe('wait Protected');
      const first = service.state === 'paused' ? 'patch-service' : 'stop-service';
      expect(stepsOf(servicePlan(world))[0]).toBe(first);
      expect(servicePlan({ ...world, declaredTasks: [], holdsActivity: false }).kind).toBe('act');
      const always = { ...change.spec, disruption: 'Always' } as const;
      expect(servicePlan({ ...world, spec: always })).toMatchObject({
        kind: 'act',
        step: { overrides: 'the ProtectedTask epoch 7' },
      });
      const never = { ...change.spec, disruption: 'Never' } as const;
      expect(said(servicePlan({ ...world, spec: never }))).toBe('hold DisruptionForbidden');
    }
  });

  test('a paused service is started under a task, and what would change it waits behind the start', () => {
    const service = aService({ state: 'paused' });
    const world = { before: aSpec(), service, declaredTasks: ['epoch'], holdsActivity: true };
    const planned = servicePlan({ ...world, spec: aSpec({ image }) });
    expect([said(planned), stepsOf(planned)]).toEqual([
      'start-service (Drift)',
      ['start-service', 'patch-service'],
    ]);
    const edited = { ...world, spec: aSpec({ image, disruption: 'Always' }) };
    expect(stepsOf(servicePlan(edited))[0]).toBe('patch-service');
  });

  test('what is declared together with a task is changed before the start: the task has not begun', () => {
    const service = aService({ state: 'paused' });
    const world = { before: aSpec(), service, declaredTasks: ['epoch'], spec: aSpec({ image }) };
    expect(stepsOf(servicePlan(world))).toEqual(['patch-service', 'start-service']);
    expect(servicePlan(world).kind).toBe('act');
  });

  test('without a task, heartbeats that are accepted call for a look at the activities', () => {
    for (const service of asleep) {
      const spec = aSpec({ image, desiredState: 'Stopped' });
      const world = { before: aSpec(), spec, service, holdsActivity: true };
      expect(servicePlan(world)).toMatchObject({ kind: 'act', step: { disruptive: true } });
      expect(said(servicePlan({ ...world, activities: [anActivity()] }))).toBe('wait Protected');
      expect(servicePlan({ ...world, activities: [] }).kind).toBe('act');
      const nothing = { ...world, holdsActivity: false };
      expect(servicePlan(nothing)).toMatchObject({ kind: 'act', step: { disruptive: false } });
    }
  });

  test('so does a deletion, and `disruption: Always` goes past it', () => {
    expect(said(servicePlan({ deleting: true, declaredTasks: ['epoch'] }))).toBe('wait Protected');
    const spec = aSpec({ disruption: 'Always' });
    expect(servicePlan({ spec, deleting: true, declaredTasks: ['epoch'] })).toMatchObject({
      kind: 'act',
      step: { overrides: 'the ProtectedTask epoch' },
    });
  });

  test('an activity that is seen is named before a task that is only declared', () => {
    const waiting = servicePlan({ deleting: true, declaredTasks: ['epoch'], activities: [anActivity()] });
    expect(waiting).toMatchObject({ message: expect.stringContaining('the activity "epoch 7"') });
  });
});
