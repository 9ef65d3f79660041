import pino from 'pino';
import { stringify } from 'yaml';
import { describe, expect, test } from 'vitest';
import { stopService } from '../../../../src/actions/index.ts';
import { localTime, type JobAnswer, type Plan, type Step } from '../../../../src/engine/plan/index.ts';
import { systemRandom } from '../../../../src/base/index.ts';
import { kinds } from '../../../../src/kinds/index.ts';
import { noMeasurements, noReadiness } from '../../../../src/observed/index.ts';
import { CapacityMemory, noNotices, type AccountHandle } from '../../../../src/engine/index.ts';
import { Fleet } from '../../../../src/engine/fleet/fleet.ts';
import { Money } from '../../../../src/engine/money/money.ts';
import { AbsenceProofs } from '../../../../src/engine/observation/observe.ts';
import { Pass } from '../../../../src/engine/pass.ts';
import { objectsOfJob } from '../../../../src/engine/fleet/jobs.ts';
import { declaredTasks } from '../../../../src/kinds/protected-task/tasks.ts';
import { apiVersion, type ObjectKey } from '../../../../src/resources/index.ts';
import { MemoryStore, type ObjectRecord } from '../../../../src/state/index.ts';
import { createMetrics } from '../../../../src/telemetry/index.ts';
import { desiredOf, serviceDocument } from '../../../support/desired.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { aRecord, owner } from '../../../support/plan.ts';
import { taskPart } from '../../../support/kind-state.ts';

const task: ObjectKey = 'ProtectedTask/default/epoch';
const registration = { serviceId: 'id', activityId: 'activity', releaseKey: 'key' };

function taskDocument(name: string, until?: object): string {
  const spec = { serviceRef: { name: 'trainer' }, ...(until ? { until } : {}) };
  return stringify({ apiVersion, kind: 'ProtectedTask', metadata: { name }, spec });
}

/** A service with a task that lasts as long as the Job `train`, which the cluster shows like this. */
function fleetWith(answer: JobAnswer | undefined, record: Partial<ObjectRecord> = {}): Fleet {
  const snapshot = desiredOf({
    'trainer.yaml': serviceDocument('trainer'),
    'epoch.yaml': taskDocument('epoch', { jobRef: { name: 'train' } }),
    'other.yaml': taskDocument('other', { jobRef: { name: 'elsewhere' } }),
  });
  const store = new MemoryStore(
    { digestKey: owner.digestKey, ownerName: 'lab' },
    [aRecord(task, record)],
    [],
  );
  const fleet = new Fleet(
    store,
    owner,
    snapshot,
    () => false,
    () => 0,
  );
  if (answer)
    fleet.jobs = (namespace, name) => (`${namespace}/${name}` === 'default/train' ? answer : 'unknown');
  return fleet;
}

describe('a task that lasts as long as a Job', () => {
  test.each([
    ['running', ['epoch']],
    ['unknown', ['epoch']],
    ['gone', ['epoch']],
    ['finished', []],
    [undefined, ['epoch']],
  ] as const)(
    'protects its service before it is registered, unless the Job is over: %s',
    (answer, declared) => {
      expect(declaredTasks(fleetWith(answer), 'ContainerService/default/trainer', localTime(0))).toEqual(
        declared,
      );
    },
  );

  test('protects until its release is acknowledged, whatever has become of the Job', () => {
    const service = 'ContainerService/default/trainer';
    expect(declaredTasks(fleetWith('gone', { kind: { registration } }), service, localTime(0))).toEqual([
      'epoch (activity)',
    ]);
    expect(
      declaredTasks(fleetWith('gone', { kind: { registration, releasedAt: 1 } }), service, localTime(0)),
    ).toEqual([]);
  });

  test('is found by the Job', () => {
    const { snapshot } = fleetWith('running');
    expect(objectsOfJob(snapshot, 'default', 'train')).toEqual([task]);
    expect(objectsOfJob(snapshot, 'other', 'train')).toEqual([]);
  });
});

function passOf(fleet: Fleet, kind = kinds.ProtectedTask): Pass {
  const clock = new ManualClock();
  const logger = pino({ level: 'silent' });
  return new Pass(task, kind, {
    store: fleet.store,
    fleet,
    money: new Money({ store: fleet.store, clock, logger, mode: 'manage' }),
    capacity: new CapacityMemory({
      store: fleet.store,
      clock,
      random: systemRandom,
      logger,
      metrics: createMetrics(),
    }),
    accounts: {
      handles: () => [],
      handle: () => undefined,
      resolve: () => ({ kind: 'problem', reason: 'AccountNotFound', message: '' }),
    },
    clock,
    random: systemRandom,
    readiness: noReadiness,
    measurements: noMeasurements,
    notices: noNotices,
    registrations: {
      keep: () => ({
        phase: 'held',
        expiresAtMs: undefined,
        failure: undefined,
        refusedWith: undefined,
        isShownAgain: false,
      }),
      drop: () => {},
      forget: () => {},
      evidenceOf: () => undefined,
    },
    stopping: () => false,
    mode: 'manage',
    driftWatch: { brake: () => undefined },
    absenceProofs: new AbsenceProofs({
      clock,
      settleMs: 0,
      creations: { absenceRule: () => ({ notBeforeMs: 0, message: '' }) },
      store: { leftUntil: () => undefined },
      registrations: { evidenceOf: () => undefined },
    }),
  });
}

test('an activity that moves to another service is released with another key: the one it had may be used up', async () => {
  const moved = { serviceId: 'before', activityId: 'activity', releaseKey: 'used' };
  const fleet = fleetWith('running', { kind: { registration: moved } });
  await fleet.store.save(aRecord('ContainerService/default/trainer', { externalId: 'now' }));
  const pass = passOf(fleet);
  await pass.observe({ name: 'default/default', spec: { visibilitySeconds: 600 } } as AccountHandle, 0);
  const kept = taskPart(fleet.store.record(task)).registration;
  expect(kept).toMatchObject({ serviceId: 'now', activityId: 'activity' });
  expect(kept?.releaseKey).not.toBe('used');
});

test('an activity is beaten for in the account that it was registered in, whatever account its service names by now', async () => {
  const fleet = fleetWith('running', { kind: { registration }, account: 'default/before' });
  const service: ObjectKey = 'ContainerService/default/trainer';
  await fleet.store.save(aRecord(service, { externalId: registration.serviceId, account: 'default/before' }));
  const record = fleet.store.record(task) as ObjectRecord;
  expect(fleet.accountOf(record)).toEqual({ namespace: 'default', name: 'before' });
  await fleet.store.save(aRecord(service, { externalId: 'replaced' }));
  expect(fleet.accountOf(record)).toEqual({ namespace: 'default', name: 'default' });
});

test('a kind without things at the provider may plan no step: nothing could show what became of its request', () => {
  const action = stopService({ id: registration.serviceId });
  const step: Step = { action, reason: 'Remediation', disruptive: true, differences: [] };
  const kind = {
    ...kinds.ProtectedTask,
    plan: (): Plan => ({ kind: 'act', step, later: [], differences: [] }),
  };
  const pass = passOf(fleetWith('running'), kind);
  expect(() => pass.plan()).toThrow('a ProtectedTask has no thing that it could change');
});
