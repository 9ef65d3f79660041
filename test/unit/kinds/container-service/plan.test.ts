import { describe, expect, test } from 'vitest';
import { planService } from '../../../../src/kinds/container-service/plan.ts';
import { viewVolume } from '../../../../src/kinds/storage-volume/plan.ts';
import type { Gate } from '../../../../src/engine/plan/index.ts';
import type { ServiceInputs } from '../../../../src/kinds/container-service/inputs.ts';
import { annotations } from '../../../../src/resources/index.ts';
import {
  aService,
  aSpec,
  aVolume,
  aVolumeSpec,
  actionOf,
  anActivity,
  anOwner,
  beacon,
  differing,
  env,
  names,
  said,
  sentEnvironment,
  serviceId,
  serviceInputs,
  servicePlan,
  stepsOf,
  volumeId,
  volumeInputs,
} from '../../../support/plan.ts';

const paused = { [annotations.paused]: 'true' };
const confirmed = { [annotations.confirmDataLoss]: 'trainer' };
const brake: Gate = { kind: 'hold', reason: 'MassChangeBrake', message: 'too many at once' };
const poor: Gate = { kind: 'wait', reason: 'BalanceTooLow', message: 'top up' };
const larger = { gpuCount: 2, cpu: 16, memoryGb: 64 };
const smaller = { gpuCount: 1, cpu: 4, memoryGb: 16 };

describe('creation', () => {
  // COVERAGE 8, 29
  test('a service is created with what the spec gives and nothing else, and carries the beacon', () => {
    const action = actionOf(servicePlan({ service: 'new' }), 'create-service');
    expect(action.body).toEqual({
      name: 'trainer',
      region: 'standard',
      image: 'ghcr.io/acme/trainer:1.4',
      resources: { gpuCount: 1, cpu: 8, memoryGb: 32 },
    });
    expect(Object.keys(sentEnvironment(action) ?? {})).toEqual([beacon()]);
  });

  test('everything that the spec gives is sent', () => {
    const spec = aSpec({
      serviceName: 'the-trainer',
      geography: 'europe',
      command: ['python', 'train.py'],
      httpPort: 8080,
      env: env({ MODE: 'train' }),
      storage: { volumeGb: 50, volumeMode: 'independent' },
      sleepAfterMinutes: 30,
    });
    const action = actionOf(servicePlan({ spec, service: 'new' }), 'create-service');
    expect(action.body).toMatchObject({
      name: 'the-trainer',
      geography: 'europe',
      command: ['python', 'train.py'],
      httpPort: 8080,
      volumeGb: 50,
      volumeMode: 'independent',
      sleepAfterMinutes: 30,
    });
    expect(Object.keys(sentEnvironment(action) ?? {})).toEqual(names({ MODE: 'train' }));
  });

  test.each([
    [undefined, {}],
    [0, { sleepAfterMinutes: null }],
    [null, { sleepAfterMinutes: null }],
    [45, { sleepAfterMinutes: 45 }],
  ])('a sleep policy of %j is created as %j', (sleepAfterMinutes, expected) => {
    const spec = aSpec(sleepAfterMinutes === undefined ? {} : { sleepAfterMinutes });
    const { body } = actionOf(servicePlan({ spec, service: 'new' }), 'create-service');
    expect('sleepAfterMinutes' in body ? { sleepAfterMinutes: body.sleepAfterMinutes } : {}).toEqual(
      expected,
    );
  });

  test('a service is created with the volume that it refers to, once that can be used', () => {
    const spec = aSpec({ storage: { volumeRef: { name: 'dataset' } } });
    const usable = { kind: 'usable', id: volumeId } as const;
    const action = actionOf(servicePlan({ spec, service: 'new', volume: usable }), 'create-service');
    expect(action.body.volumeId).toBe(volumeId);
    const notReady = { kind: 'not-ready', id: undefined, message: 'not there yet' } as const;
    const waiting = servicePlan({ spec, service: 'new', volume: notReady });
    expect([said(waiting), stepsOf(waiting)]).toEqual(['wait VolumeNotReady', ['create-service']]);
    const growing = {
      kind: 'growing',
      id: volumeId,
      message: 'expanding',
      needsPause: true,
      failed: false,
    } as const;
    expect(said(servicePlan({ spec, service: 'new', volume: growing }))).toBe('wait VolumeNotReady');
  });

  test('nothing is created from an environment or a volume that can not be found', () => {
    const path = ['spec', 'env', 0, 'valueFrom', 'secretKeyRef'];
    const environment = {
      kind: 'problem',
      reason: 'InvalidReference',
      path,
      message: 'there is no Secret trainer',
    } as const;
    expect(servicePlan({ service: 'new', environment })).toMatchObject({
      kind: 'hold',
      reason: 'InvalidReference',
      path,
    });
    const volume = { kind: 'problem', reason: 'ReferenceNotFound', message: 'no volume', path } as const;
    expect(said(servicePlan({ service: 'new', volume }))).toBe('hold ReferenceNotFound');
  });

  test.each([
    ['the brake', { creation: brake }, 'hold MassChangeBrake'],
    ['a low balance', { spending: poor }, 'wait BalanceTooLow'],
  ])('%s stops a creation, and the plan still shows it', (_name, gates, expected) => {
    const plan = servicePlan({ service: 'new', gates });
    expect([said(plan), stepsOf(plan)]).toEqual([expected, ['create-service']]);
  });
});

describe('absence', () => {
  test('a service that is missing from one account read is looked for, not created again', () => {
    const plan = servicePlan({ observation: { kind: 'absent', confirmed: false } });
    expect([said(plan), stepsOf(plan)]).toEqual(['wait ConfirmingAbsence', []]);
  });

  test('a service that somebody deleted is created again, and its loss is told as drift', () => {
    const plan = servicePlan({ service: 'gone' });
    expect(said(plan)).toBe('create-service (Vanished)');
    expect(plan.differences[0]).toEqual({
      path: 'service',
      desired: serviceId,
      observed: null,
      drift: true,
    });
  });

  test('under Report, a vanished service is told and not created again', () => {
    const plan = servicePlan({ spec: aSpec({ driftPolicy: 'Report' }), service: 'gone' });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', ['service*']]);
  });

  test('a vanished service with storage of its own is created again only with the word for its data', () => {
    const world = { service: 'gone', ownsStorage: true } as const;
    expect(said(servicePlan(world))).toBe('hold DataLost');
    const wrong = { [annotations.confirmDataLoss]: 'another' };
    expect(said(servicePlan({ ...world, annotations: wrong }))).toBe('hold DataLost');
    expect(said(servicePlan({ ...world, annotations: confirmed }))).toBe('create-service (Vanished)');
  });

  test('a service that we deleted to replace it is created, and that is no drift', () => {
    const plan = servicePlan({ service: 'gone', record: { deletedByUs: true }, ownsStorage: true });
    expect(said(plan)).toBe('create-service (Replace)');
    expect(differing(plan).filter((path) => path.endsWith('*'))).toEqual([]);
  });

  test('before anything was observed, nothing is done', () => {
    const plan = servicePlan({ observation: { kind: 'pending', message: 'not looked at yet' } });
    expect([said(plan), stepsOf(plan)]).toEqual(['wait AwaitingObservation', []]);
  });

  test('what must not be touched is not touched', () => {
    const conflict = { kind: 'conflict', reason: 'OwnedByAnother', message: 'the mark of another' } as const;
    expect(said(servicePlan({ observation: conflict }))).toBe('hold OwnedByAnother');
    expect(said(servicePlan({ observation: conflict, deleting: true }))).toBe('in-sync');
  });

  test.each(['MarkedElsewhere', 'MarkedTwice', 'OwnershipUnproven', 'AdoptionChanged'] as const)(
    'what may be ours is not forgotten with its document, and billed on: %s',
    (reason) => {
      const conflict = { kind: 'conflict', reason, message: 'it may be ours' } as const;
      expect(said(servicePlan({ observation: conflict, deleting: true }))).toBe(`hold ${reason}`);
    },
  );
});

describe('fields', () => {
  test('a service that is as the spec says is in sync', () => {
    expect(servicePlan()).toEqual({ kind: 'in-sync', differences: [] });
  });

  // COVERAGE 33, 34, 38, 41
  test('fields that the spec does not give are never compared', () => {
    const service = aService({
      command: ['somebody', 'else'],
      httpPort: 9999,
      environmentNames: ['THEIRS'],
      sleepAfterMinutes: 7,
      geography: 'moon',
      volumeId,
      gpuModel: 'unknown to us',
    });
    expect(servicePlan({ service })).toEqual({ kind: 'in-sync', differences: [] });
  });

  test.each([
    ['image', { image: 'ghcr.io/acme/trainer:2' }],
    ['command', { command: ['python', 'other.py'] }],
    ['httpPort', { httpPort: 8080 }],
  ])('a changed %s is patched alone, with the revision that was read', (field, change) => {
    const plan = servicePlan({ spec: aSpec(change), before: aSpec() });
    expect(said(plan)).toBe('patch-service (SpecChanged)');
    expect(plan.kind === 'act' && plan.step.action).toEqual({
      do: 'patch-service',
      id: serviceId,
      revision: 5,
      patch: change,
      environment: undefined,
    });
    expect(differing(plan)).toEqual([field]);
  });

  // COVERAGE 10
  test('several changed fields are one patch', () => {
    const change = { image: 'ghcr.io/acme/trainer:2', httpPort: 8080, env: env({ A: '1' }) };
    const plan = servicePlan({ spec: aSpec(change), before: aSpec() });
    expect(stepsOf(plan)).toEqual(['patch-service']);
    expect(Object.keys(actionOf(plan, 'patch-service').patch)).toEqual(['image', 'httpPort']);
    expect(Object.keys(sentEnvironment(actionOf(plan, 'patch-service')) ?? {})).toEqual(names({ A: '1' }));
  });

  // COVERAGE 33
  test('no command and an empty command are the same', () => {
    expect(said(servicePlan({ spec: aSpec({ command: [] }) }))).toBe('in-sync');
  });

  // COVERAGE 31
  test('resources are sent whole, by their own action', () => {
    const plan = servicePlan({ spec: aSpec({ resources: { ...larger, gpuCount: 1 } }), before: aSpec() });
    expect(actionOf(plan, 'resize-service').resources).toEqual({ gpuCount: 1, cpu: 16, memoryGb: 64 });
  });

  // COVERAGE 43
  test('a patch waits for a revision that the API does not show', () => {
    const service = aService({ image: 'other:1', revision: undefined });
    const plan = servicePlan({ service, spec: aSpec({ restartToken: '2' }), before: aSpec() });
    expect([said(plan), differing(plan)]).toEqual(['wait AwaitingObservation', ['image*']]);
  });

  test('what has to be done is done in one order: patch, resize, sleep policy, then the power state', () => {
    const spec = aSpec({ image: 'other:2', resources: smaller, sleepAfterMinutes: 10 });
    expect(stepsOf(servicePlan({ spec, service: aService({ state: 'paused' }) }))).toEqual([
      'patch-service',
      'resize-service',
      'set-sleep-policy',
      'start-service',
    ]);
    const stopped = aSpec({ ...spec, desiredState: 'Stopped' });
    expect(stepsOf(servicePlan({ spec: stopped }))[0]).toBe('stop-service');
  });
});

describe('the sleep policy', () => {
  test.each([
    ['absent', undefined, null, 'in-sync'],
    ['absent', undefined, 30, 'in-sync'],
    ['0', 0, null, 'in-sync'],
    ['null', null, null, 'in-sync'],
    ['0', 0, 30, 'set-sleep-policy (SpecChanged)'],
    ['null', null, 30, 'set-sleep-policy (SpecChanged)'],
    ['30', 30, null, 'set-sleep-policy (SpecChanged)'],
    ['30', 30, 30, 'in-sync'],
  ])('%s in the spec beside %j, %j observed', (_name, wanted, observed, expected) => {
    const spec = aSpec(wanted === undefined ? {} : { sleepAfterMinutes: wanted });
    const service = aService({ sleepAfterMinutes: observed });
    const before = aSpec(wanted === undefined ? {} : { sleepAfterMinutes: 99 });
    expect(said(servicePlan({ spec, service, before }))).toBe(expected);
  });

  // COVERAGE 12, 38
  test('"never" is sent as null, whether it was written as 0 or as null', () => {
    for (const sleepAfterMinutes of [0, null]) {
      const plan = servicePlan({
        spec: aSpec({ sleepAfterMinutes }),
        service: aService({ sleepAfterMinutes: 30 }),
      });
      expect(actionOf(plan, 'set-sleep-policy').sleepAfterMinutes).toBeNull();
    }
  });

  // COVERAGE 52
  test('sleeping under a sleep policy is converged: it is not woken', () => {
    const service = aService({ state: 'sleeping', sleepAfterMinutes: 30 });
    expect(said(servicePlan({ spec: aSpec({ sleepAfterMinutes: 30 }), service }))).toBe('in-sync');
    expect(said(servicePlan({ service }))).toBe('in-sync');
  });

  // COVERAGE 52
  test('a sleeping service whose spec says that it never sleeps is woken', () => {
    const service = aService({ state: 'sleeping' });
    expect(said(servicePlan({ spec: aSpec({ sleepAfterMinutes: 0 }), service }))).toBe(
      'start-service (NeverSleeps)',
    );
  });

  test('under Report, a service that sleeps because somebody else set a policy is not woken', () => {
    const spec = aSpec({ sleepAfterMinutes: 0, driftPolicy: 'Report' });
    const plan = servicePlan({ spec, service: aService({ state: 'sleeping', sleepAfterMinutes: 5 }) });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', ['sleepAfterMinutes*']]);
  });
});

describe('the environment', () => {
  const spec = aSpec({ env: env({ MODE: 'train', TOKEN: 'one' }) });
  const values = { MODE: 'train', TOKEN: 'one' };

  test('it is in sync when the names and the beacon are ours', () => {
    const service = aService({ environmentNames: names(values) });
    expect(servicePlan({ spec, service })).toEqual({ kind: 'in-sync', differences: [] });
  });

  // COVERAGE 10, 39
  test('it is sent whole or not at all', () => {
    const before = aSpec({ env: env({ MODE: 'train', TOKEN: 'zero' }) });
    const service = aService({ environmentNames: names({ MODE: 'train', TOKEN: 'zero' }) });
    const action = actionOf(servicePlan({ spec, before, service }), 'patch-service');
    expect(sentEnvironment(action)).toEqual({ ...values, [beacon(values)]: expect.any(String) });
    expect(action.patch).toEqual({});
    const other = aSpec({ ...spec, image: 'other:2' });
    const inPlace = aService({ environmentNames: names(values) });
    const patch = actionOf(servicePlan({ spec: other, before: spec, service: inPlace }), 'patch-service');
    expect(sentEnvironment(patch)).toBeUndefined();
  });

  test('a variable that somebody added or took away is drift, told by name', () => {
    const service = aService({ environmentNames: ['MODE', 'EXTRA', beacon(values)] });
    const plan = servicePlan({ spec, service });
    expect(differing(plan)).toEqual(['env.EXTRA*', 'env.TOKEN*']);
    expect(said(plan)).toBe('patch-service (Drift)');
  });

  // COVERAGE 40
  test('values that somebody replaced are seen by the beacon that they dropped', () => {
    const plan = servicePlan({ spec, service: aService({ environmentNames: ['MODE', 'TOKEN'] }) });
    expect([said(plan), differing(plan)]).toEqual(['patch-service (Drift)', ['env*']]);
  });

  test('changed values of a Secret are a change of the spec, not drift', () => {
    const before = aSpec({ env: env({ MODE: 'train', TOKEN: 'zero' }) });
    const service = aService({ environmentNames: names({ MODE: 'train', TOKEN: 'zero' }) });
    const plan = servicePlan({ spec, before, service });
    expect([said(plan), differing(plan)]).toEqual(['patch-service (SpecChanged)', ['env']]);
  });

  // COVERAGE 40
  test('a digest made with an unknown key is never drift', () => {
    const older = names({ MODE: 'train', TOKEN: 'whatever' }, anOwner('lab', 8));
    for (const before of [spec, 'nothing'] as const) {
      const plan = servicePlan({ spec, before, service: aService({ environmentNames: older }) });
      expect(plan).toEqual({ kind: 'in-sync', differences: [] });
    }
  });

  test('an environment that is not given is not managed, whatever is in it', () => {
    const service = aService({ environmentNames: ['A', 'B', beacon({ A: '1' })] });
    expect(said(servicePlan({ service }))).toBe('in-sync');
  });

  test('an adopted service without env keeps its environment and gets no beacon', () => {
    const adopted = aSpec({ adopt: { id: serviceId }, image: 'other:2' });
    const service = aService({ environmentNames: ['THEIRS'] });
    const action = actionOf(servicePlan({ spec: adopted, before: 'nothing', service }), 'patch-service');
    expect([action.patch, action.environment]).toEqual([{ image: 'other:2' }, undefined]);
    const converged = aSpec({ adopt: { id: serviceId } });
    expect(said(servicePlan({ spec: converged, before: 'nothing', service }))).toBe('in-sync');
  });

  test('an adopted service with env gets the whole map and our beacon, and loses the mark it had', () => {
    const foreign = beacon(values, anOwner('another'));
    const adopted = aSpec({ adopt: { id: serviceId }, env: spec.env });
    const service = aService({ environmentNames: ['MODE', 'TOKEN', foreign] });
    const plan = servicePlan({ spec: adopted, before: 'nothing', service });
    expect(Object.keys(sentEnvironment(actionOf(plan, 'patch-service')) ?? {})).toEqual(names(values));
  });

  test('while a reference can not be resolved nothing is sent, but what differs is told', () => {
    const environment = {
      kind: 'problem',
      reason: 'InvalidReference',
      path: ['spec', 'env', 0],
      message: 'no Secret',
    } as const;
    const service = aService({ image: 'other:1', environmentNames: names(values) });
    const plan = servicePlan({ spec, service, environment });
    expect([said(plan), differing(plan)]).toEqual(['hold InvalidReference', ['image*']]);
  });
});

describe('power', () => {
  // COVERAGE 47, 48
  test('a paused service is started, never restarted', () => {
    const world = {
      service: aService({ state: 'paused' }),
      spec: aSpec({ restartToken: '2' }),
      before: aSpec(),
    };
    expect(stepsOf(servicePlan(world))).toEqual(['start-service']);
  });

  test('a service that should be stopped is stopped, also while it sleeps or is in error', () => {
    const spec = aSpec({ desiredState: 'Stopped' });
    for (const state of ['running', 'sleeping', 'error']) {
      const plan = servicePlan({ spec, before: aSpec(), service: aService({ state }) });
      expect(said(plan)).toBe('stop-service (SpecChanged)');
    }
    expect(said(servicePlan({ spec, service: aService({ state: 'paused' }) }))).toBe('in-sync');
  });

  // COVERAGE 47
  test('a new restart token restarts a running service once', () => {
    const world = { spec: aSpec({ restartToken: '2' }), before: aSpec({ restartToken: '1' }) };
    expect(said(servicePlan(world))).toBe('restart-service (RestartRequested)');
    expect(said(servicePlan({ ...world, record: { restartToken: '2' } }))).toBe('in-sync');
  });

  test('a restart for another token may count as one for that of the spec', () => {
    const world = { spec: aSpec({ restartToken: '2' }), restartedFor: 'r1#2' };
    expect(said(servicePlan({ ...world, record: { restartToken: 'r1#2' } }))).toBe('in-sync');
    for (const restartToken of [undefined, '1', 'r1#3'])
      expect(said(servicePlan({ ...world, record: { restartToken } }))).toBe(
        'restart-service (RestartRequested)',
      );
  });

  test('a restart token found when a service was taken over restarts nothing', () => {
    const spec = aSpec({ restartToken: '7', adopt: { id: serviceId } });
    // What binding an object to what was found remembers.
    expect(said(servicePlan({ spec, before: 'nothing', record: { restartToken: '7' } }))).toBe('in-sync');
  });

  test('a service in error is told, and restarted only for a new token', () => {
    const service = aService({ state: 'error', error: 'the image can not be pulled' });
    const plan = servicePlan({ service });
    expect(said(plan)).toBe('hold ServiceError');
    expect(plan).toMatchObject({ message: expect.stringContaining('the image can not be pulled') });
    const again = servicePlan({ service, spec: aSpec({ restartToken: '2' }), before: aSpec() });
    expect(said(again)).toBe('restart-service (RestartRequested)');
  });

  test.each(['running', 'sleeping', 'error', 'paused'])('a change in %s is made', (state) => {
    const plan = servicePlan({
      service: aService({ state }),
      spec: aSpec({ image: 'b:2' }),
      before: aSpec(),
    });
    expect(stepsOf(plan)[0]).toBe('patch-service');
  });

  // COVERAGE 46
  test.each([
    ['provisioning', 'wait Provisioning'],
    ['deleting', 'wait Deleting'],
    ['migrating', 'wait UnknownState'],
    [undefined, 'wait UnknownState'],
  ])('in the state %s there is nothing but a report', (state, expected) => {
    const spec = aSpec({ image: 'b:2', resources: larger, region: 'economy', desiredState: 'Stopped' });
    const plan = servicePlan({ service: aService({ state }), spec, before: aSpec() });
    expect([said(plan), stepsOf(plan)]).toEqual([expected, []]);
    expect(differing(plan)).toEqual(expect.arrayContaining(['image', 'resources', 'region']));
  });
});

describe('drift', () => {
  const moved = aService({ image: 'somebody/else:1' });

  test('what somebody else changed is put back, and told as drift', () => {
    const plan = servicePlan({ service: moved });
    expect([said(plan), differing(plan)]).toEqual(['patch-service (Drift)', ['image*']]);
  });

  test('drift under Report is told and not corrected', () => {
    const spec = aSpec({ driftPolicy: 'Report', sleepAfterMinutes: 5 });
    const service = aService({ image: 'b:1', resources: larger, sleepAfterMinutes: 6, state: 'paused' });
    const plan = servicePlan({ spec, service });
    expect(said(plan)).toBe('in-sync');
    expect(differing(plan)).toEqual(['image*', 'resources*', 'sleepAfterMinutes*', 'desiredState*']);
  });

  test('under Report, a service that somebody started, and that failed then, is not stopped', () => {
    const spec = aSpec({ driftPolicy: 'Report', desiredState: 'Stopped' });
    const plan = servicePlan({ spec, service: aService({ state: 'error' }) });
    expect([said(plan), differing(plan)]).toEqual(['hold ServiceError', ['desiredState*']]);
  });

  test('under Report, what the spec changes is still done, and what drifted is left out of it', () => {
    const spec = aSpec({ driftPolicy: 'Report', httpPort: 8080 });
    const plan = servicePlan({ spec, before: aSpec(), service: moved });
    expect(actionOf(plan, 'patch-service').patch).toEqual({ httpPort: 8080 });
    expect(differing(plan)).toEqual(['image*', 'httpPort']);
  });

  // COVERAGE 49
  test('paused for its volume is not drift, and the start afterwards is made under Report, too', () => {
    const spec = aSpec({ driftPolicy: 'Report' });
    const plan = servicePlan({
      spec,
      service: aService({ state: 'paused' }),
      record: { kind: { pausedFor: 'VolumeExpansion' } },
    });
    expect(said(plan)).toBe('start-service (SpecChanged)');
  });
});

describe('an API that shows only id, state and revision', () => {
  const bare = { id: serviceId, state: 'running', revision: 5 };
  const spec = aSpec({ command: ['a'], httpPort: 1, env: env({ A: '1' }), sleepAfterMinutes: 5 });

  test('nothing differs as long as the spec is the one that was applied', () => {
    expect(servicePlan({ spec, service: bare })).toEqual({ kind: 'in-sync', differences: [] });
  });

  test('what can be set again is sent when nothing is known to have been applied', () => {
    const plan = servicePlan({ spec, before: 'nothing', service: bare });
    expect([stepsOf(plan), differing(plan)]).toEqual([
      ['patch-service', 'resize-service', 'set-sleep-policy'],
      ['image', 'command', 'httpPort', 'resources', 'sleepAfterMinutes'],
    ]);
  });

  test.each([
    [{ image: 'b:2' }, 'patch-service', 'image'],
    [{ command: ['b'] }, 'patch-service', 'command'],
    [{ httpPort: 2 }, 'patch-service', 'httpPort'],
    [{ env: env({ A: '2' }) }, 'patch-service', 'env'],
    [{ resources: larger }, 'resize-service', 'resources'],
    [{ sleepAfterMinutes: 6 }, 'set-sleep-policy', 'sleepAfterMinutes'],
  ])('%j is a change against what was last applied', (change, action, path) => {
    const plan = servicePlan({ spec: aSpec({ ...spec, ...change }), before: spec, service: bare });
    expect([stepsOf(plan), differing(plan)]).toEqual([[action], [path]]);
  });

  test.each([
    [{ command: ['b'] }, 'command'],
    [{ httpPort: 2 }, 'httpPort'],
    [{ env: env({}) }, 'env'],
    [{ sleepAfterMinutes: 0 }, 'sleepAfterMinutes'],
  ])('%j is a change where nothing was given before', (change, path) => {
    expect(differing(servicePlan({ spec: aSpec(change), before: aSpec(), service: bare }))).toEqual([path]);
  });
});

test.each([0, null])('a sleep policy that the API shows as %j is none', (sleepAfterMinutes) => {
  const service = aService({ sleepAfterMinutes });
  expect(said(servicePlan({ spec: aSpec({ sleepAfterMinutes: 0 }), service }))).toBe('in-sync');
});

// COVERAGE 42
describe('immutable fields', () => {
  test.each([
    ['region', { region: 'economy' }, ['spec', 'region']],
    ['serviceName', { serviceName: 'renamed' }, ['spec', 'serviceName']],
    ['geography', { geography: 'europe' }, ['spec', 'geography']],
    ['storage', { storage: { volumeGb: 60 } }, ['spec', 'storage']],
  ])('a changed %s is held, and the hold names the field', (field, change, path) => {
    const before = aSpec({ storage: { volumeGb: 50 } });
    const plan = servicePlan({ spec: aSpec({ ...before, ...change }), before });
    expect(plan).toMatchObject({ kind: 'hold', reason: 'ImmutableFieldChanged', path });
    expect(plan.kind === 'hold' && plan.message.startsWith(`${field} can't be changed`)).toBe(true);
  });

  test.each(['TRAINER', 'trainer-x7f2', 'trainer.acme'])(
    'a service that was found by its mark may show its name in a form of the API: %s',
    (name) => {
      expect(said(servicePlan({ before: 'nothing', service: aService({ name }) }))).toBe('in-sync');
      expect(said(servicePlan({ service: aService({ name }) }))).toBe('in-sync');
    },
  );

  test('the name of a tier is known in any case of letters', () => {
    expect(said(servicePlan({ before: 'nothing', service: aService({ region: 'STANDARD' }) }))).toBe(
      'in-sync',
    );
    expect(said(servicePlan({ service: aService({ region: 'STANDARD' }) }))).toBe('in-sync');
  });

  test.each(['trainer2', 'other'])('a name that is no form of ours is another name: %s', (name) => {
    const plan = servicePlan({ before: 'nothing', service: aService({ name }) });
    expect(plan).toMatchObject({ reason: 'ImmutableFieldChanged', path: ['spec', 'serviceName'] });
  });

  test('storage that is asked for later is held, too', () => {
    const plan = servicePlan({ spec: aSpec({ storage: { volumeGb: 50 } }), before: aSpec() });
    expect(plan).toMatchObject({ reason: 'ImmutableFieldChanged', path: ['spec', 'storage'] });
  });

  test('another volume is another service', () => {
    const spec = aSpec({ storage: { volumeId } });
    const plan = servicePlan({ spec, before: 'nothing', volume: { kind: 'usable', id: volumeId } });
    expect(plan).toMatchObject({ reason: 'ImmutableFieldChanged', path: ['spec', 'storage'] });
  });

  // COVERAGE 30
  test('the geography that was asked for is compared, never the one that it resolved to', () => {
    const spec = aSpec({ geography: 'europe' });
    expect(said(servicePlan({ spec, service: aService({ geography: 'eu-north-1' }) }))).toBe('in-sync');
    expect(said(servicePlan({ spec: aSpec({ geography: 'auto' }), before: aSpec() }))).toBe('in-sync');
  });

  test('an adopted service is not held to a name or geography that its spec does not give', () => {
    const spec = aSpec({ adopt: { id: serviceId } });
    expect(said(servicePlan({ spec, before: 'nothing', service: aService({ name: 'theirs' }) }))).toBe(
      'in-sync',
    );
  });

  test('Recreate shows itself as replace', () => {
    const spec = aSpec({ region: 'economy', replacement: 'Recreate' });
    const plan = servicePlan({ spec, before: aSpec() });
    expect([said(plan), differing(plan)]).toEqual(['delete-service (Replace)', ['region']]);
    expect(plan.kind === 'act' && plan.step.action).toEqual({ do: 'delete-service', id: serviceId });
  });

  test('Recreate asks for the word before destroying storage that the service owns', () => {
    const spec = aSpec({ region: 'economy', replacement: 'Recreate' });
    const world = { spec, before: aSpec(), ownsStorage: true };
    expect(said(servicePlan(world))).toBe('hold DataLossUnconfirmed');
    expect(said(servicePlan({ ...world, annotations: { [annotations.confirmDataLoss]: 'true' } }))).toBe(
      'hold DataLossUnconfirmed',
    );
    expect(said(servicePlan({ ...world, annotations: confirmed }))).toBe('delete-service (Replace)');
  });

  test('of a replica, nobody can annotate the object: the message says what to delete', () => {
    const derived = { owner: 'ServiceFleet/default/llm' } as const;
    const world = { spec: aSpec(), before: aSpec(), ownsStorage: true, deleting: true };
    const messageOf = (plan: ReturnType<typeof servicePlan>) =>
      'message' in plan ? plan.message : plan.kind;
    expect(messageOf(servicePlan({ ...world, record: { derived } }))).toContain(
      `check the data, and delete service ${serviceId} at the provider`,
    );
    expect(messageOf(servicePlan(world))).toContain('annotate the object with');
  });

  test('Recreate deletes nothing for the sake of what could not be created', () => {
    const spec = aSpec({ region: 'economy', replacement: 'Recreate' });
    const planned = (replacementVolume: ServiceInputs['volume']) =>
      said(servicePlan({ spec, before: aSpec(), replacementVolume }));
    const path = ['spec', 'region'];
    expect(planned({ kind: 'problem', reason: 'InvalidReference', message: 'elsewhere', path })).toBe(
      'hold InvalidReference',
    );
    expect(planned({ kind: 'not-ready', id: undefined, message: 'attached' })).toBe('wait VolumeNotReady');
    const growing = { kind: 'growing', id: volumeId, message: 'it grows', failed: false } as const;
    expect(planned({ ...growing, needsPause: false })).toBe('wait VolumeNotReady');
    expect(planned({ ...growing, needsPause: true })).toBe('delete-service (Replace)');
  });

  // COVERAGE 36, 104
  test('Recreate looks at everything that a creation needs before it deletes', () => {
    const spec = aSpec({ region: 'economy', replacement: 'Recreate' });
    const world = { spec, before: aSpec() };
    const planned = (more: object) => {
      const plan = servicePlan({ ...world, ...more });
      return [said(plan), stepsOf(plan)];
    };
    const registry = { kind: 'not-ready', name: 'ghcr' } as const;
    expect(planned({ registry })).toEqual(['wait RegistryNotReady', ['delete-service']]);
    const requires = { name: 't', requiredEnvironment: ['TOKEN'], outdated: [], missing: undefined };
    const template = { kind: 'resolved', ...requires } as const;
    // The service has it, in an environment that nobody knows the values of.
    const service = aService({ environmentNames: [beacon(), 'TOKEN'] });
    expect(planned({ template, service })).toEqual(['hold MissingEnvironment', ['delete-service']]);
    const storage = { storage: { volumeGb: 50 } };
    const moved = { spec: aSpec({ ...storage, replacement: 'Recreate' }), volumesInAccount: 50 };
    expect(planned(moved)).toEqual(['hold LimitReached', ['delete-service']]);
    const owned = { ownsStorage: true, annotations: confirmed };
    expect(planned({ ...moved, ...owned })).toEqual(['delete-service (Replace)', ['delete-service']]);
  });

  test('Recreate never deletes for a value that the API shows in another way than it was sent', () => {
    const spec = aSpec({ replacement: 'Recreate' });
    const plan = servicePlan({ spec, service: aService({ region: 'standard-v2' }) });
    expect([said(plan), stepsOf(plan), differing(plan)]).toEqual([
      'hold ImmutableFieldChanged',
      [],
      ['region*'],
    ]);
  });

  test.each([
    ['deletion', brake, 'hold MassChangeBrake'],
    ['creation', brake, 'hold MassChangeBrake'],
    ['spending', poor, 'wait BalanceTooLow'],
  ])('nothing is deleted to be replaced while the gate of %s is shut', (name, gate, expected) => {
    const spec = aSpec({ region: 'economy', replacement: 'Recreate' });
    const plan = servicePlan({ spec, before: aSpec(), gates: { [name]: gate } });
    expect([said(plan), stepsOf(plan)]).toEqual([expected, ['delete-service']]);
  });
});

describe('disruption', () => {
  const disruptive = [
    ['patch', { spec: aSpec({ image: 'b:2' }), before: aSpec() }, 'patch-service'],
    ['resize', { spec: aSpec({ resources: larger }), before: aSpec() }, 'resize-service'],
    ['restart', { spec: aSpec({ restartToken: '2' }), before: aSpec() }, 'restart-service'],
    ['stop', { spec: aSpec({ desiredState: 'Stopped' }), before: aSpec() }, 'stop-service'],
    ['delete', { deleting: true }, 'delete-service'],
    [
      'replace',
      { spec: aSpec({ region: 'economy', replacement: 'Recreate' }), before: aSpec() },
      'delete-service',
    ],
  ] as const;
  const activities = [
    ['fresh', anActivity()],
    ['stale', anActivity({ fresh: false })],
    ['of unknown freshness', { id: 'x' }],
  ] as const;
  const withPolicy = (
    world: (typeof disruptive)[number][1],
    disruption: 'Never' | 'Always' | 'WhenUnprotected',
  ) => ({
    ...world,
    spec: { ...('spec' in world ? world.spec : aSpec()), disruption },
  });

  // COVERAGE 17, 49, 50, 76
  test.each(disruptive)('an unreleased activity, fresh or stale, blocks: %s', (_name, world, action) => {
    for (const [, activity] of activities) {
      const plan = servicePlan({ ...world, activities: [anActivity({ released: true }), activity] });
      expect([said(plan), stepsOf(plan)[0]]).toEqual(['wait Protected', action]);
    }
  });

  test.each(disruptive)('a released activity, or none, does not block: %s', (_name, world, action) => {
    for (const released of [[], [anActivity({ released: true })]]) {
      expect(stepsOf(servicePlan({ ...world, activities: released }))[0]).toBe(action);
      expect(servicePlan({ ...world, activities: released }).kind).toBe('act');
    }
  });

  test.each(disruptive)('disruption: Always passes: %s', (_name, world) => {
    const plan = servicePlan({ ...withPolicy(world, 'Always'), activities: [anActivity()] });
    expect(plan.kind).toBe('act');
  });

  test.each(disruptive)('disruption: Never holds, and names the field: %s', (_name, world) => {
    const plan = servicePlan({ ...withPolicy(world, 'Never'), activities: [] });
    expect(plan).toMatchObject({
      kind: 'hold',
      reason: 'DisruptionForbidden',
      path: ['spec', 'disruption'],
    });
  });

  test('what interrupts nothing is done although an activity is unreleased', () => {
    const protectedBy = { activities: [anActivity()], before: aSpec() };
    expect(servicePlan({ ...protectedBy, spec: aSpec({ sleepAfterMinutes: 5 }) }).kind).toBe('act');
    const asleep = aService({ state: 'sleeping' });
    expect(servicePlan({ ...protectedBy, spec: aSpec({ image: 'b:2' }), service: asleep }).kind).toBe('act');
    const down = aService({ state: 'paused' });
    expect(stepsOf(servicePlan({ ...protectedBy, service: down }))).toEqual(['start-service']);
  });

  test('the message names the activity', () => {
    const plan = servicePlan({
      spec: aSpec({ image: 'b:2' }),
      before: aSpec(),
      activities: [anActivity({ id: 'abc', fresh: false }), anActivity()],
    });
    expect(plan).toMatchObject({ message: expect.stringContaining('"epoch 7" (abc, stale) and 1 more') });
  });

  test.each([
    [{ registeredAt: Date.UTC(2026, 4, 1) }, '"epoch 7" (abc, fresh, since 2026-05-01T00:00:00Z)'],
    [{ registeredAt: 1e300 }, '"epoch 7" (abc, fresh)'],
    [{ registeredAt: 'yesterday' }, '"epoch 7" (abc, fresh)'],
    [{ name: 'a\u001b[31m\nb' }, '"a [31m b" (abc, fresh)'],
  ])('and since when it is there, where the API shows that: %j', (shown, expected) => {
    const unreleased = [anActivity({ id: 'abc', ...shown })];
    const change = { spec: aSpec({ image: 'b:2' }), before: aSpec() };
    const plan = servicePlan({ ...change, activities: unreleased });
    expect(plan).toMatchObject({ message: `patch-service waits for the activity ${expected}` });
  });
});

describe('a volume that grows', () => {
  const spec = aSpec({ storage: { volumeRef: { name: 'dataset' } } });
  const attached = { volumeId };
  const growing = {
    kind: 'growing',
    id: volumeId,
    message: '100 of 200 GB',
    needsPause: true,
    failed: false,
  } as const;
  const failed = { ...growing, failed: true };

  test.each(['running', 'sleeping', 'error'])('pauses its service, which is %s', (state) => {
    const plan = servicePlan({ spec, volume: growing, service: aService({ ...attached, state }) });
    expect(said(plan)).toBe('stop-service (VolumeExpansion)');
  });

  test('by itself, without needing a pause, disturbs nobody', () => {
    const volume = { ...growing, needsPause: false };
    expect(said(servicePlan({ spec, volume, service: aService({ ...attached, state: 'running' }) }))).toBe(
      'in-sync',
    );
  });

  test('keeps a service paused that is paused for it while its budget does not allow it, and no other one', () => {
    const free = { kind: 'usable', id: volumeId } as const;
    const gated = { ...free, growthWaits: 'Budget team: no room' };
    const planned = (
      service: object,
      pausedFor: 'VolumeExpansion' | undefined,
      volume: ServiceInputs['volume'] = gated,
    ) =>
      servicePlan({
        spec,
        volume,
        service: aService({ ...attached, ...service }),
        record: { kind: { pausedFor } },
      });
    const waiting = planned({ state: 'paused' }, 'VolumeExpansion');
    expect(waiting).toMatchObject({
      kind: 'wait',
      reason: 'PausedForVolumeExpansion',
      message: 'paused until its volume has grown, which waits: Budget team: no room',
    });
    expect(stepsOf(planned({ state: 'paused' }, undefined))).toEqual(['start-service']);
    expect(said(planned({ state: 'running' }, 'VolumeExpansion'))).toBe('in-sync');
    expect(stepsOf(planned({ state: 'paused' }, 'VolumeExpansion', free))).toEqual(['start-service']);
  });

  test('keeps it paused until it has grown, and then the service is started', () => {
    const world = {
      spec,
      service: aService({ ...attached, state: 'paused' }),
      record: { kind: { pausedFor: 'VolumeExpansion' } },
    } as const;
    const waiting = servicePlan({ ...world, volume: growing });
    expect([said(waiting), stepsOf(waiting)]).toEqual(['wait PausedForVolumeExpansion', []]);
    expect(said(servicePlan({ ...world, volume: { kind: 'usable', id: volumeId } }))).toBe(
      'start-service (SpecChanged)',
    );
    const notReady = { kind: 'not-ready', id: volumeId, message: 'expanding' } as const;
    expect(said(servicePlan({ ...world, volume: notReady }))).toBe('wait VolumeNotReady');
  });

  // COVERAGE 58
  test('that failed leaves the service paused, and says so', () => {
    const plan = servicePlan({
      spec,
      volume: failed,
      service: aService({ ...attached, state: 'paused' }),
    });
    expect([said(plan), stepsOf(plan)]).toEqual(['hold VolumeExpansionFailed', []]);
  });

  test('that failed does not stop a service that runs', () => {
    expect(said(servicePlan({ spec, volume: failed, service: aService(attached) }))).toBe('in-sync');
  });

  test('the service waits for its tasks before it is paused', () => {
    const plan = servicePlan({
      spec,
      volume: growing,
      service: aService(attached),
      activities: [anActivity()],
    });
    expect(said(plan)).toBe('wait Protected');
  });

  test('a service that should be stopped is not started for it', () => {
    const stopped = aSpec({ ...spec, desiredState: 'Stopped' });
    const plan = servicePlan({
      spec: stopped,
      volume: growing,
      service: aService({ ...attached, state: 'paused' }),
    });
    expect(said(plan)).toBe('in-sync');
  });

  test('what the volume says of itself is what its service hears', () => {
    const running = { kind: 'ours', id: serviceId, name: 'trainer', state: 'running' } as const;
    const wants = { spec: aVolumeSpec({ sizeGb: 200, expansion: 'PauseService' }), before: aVolumeSpec() };
    const view = (world: Parameters<typeof volumeInputs>[0]) => viewVolume(volumeInputs(world));
    expect(view({ ...wants, attachedTo: running })).toMatchObject({ kind: 'growing', failed: false });
    expect(view({ ...wants, attachedTo: { ...running, state: 'paused' } })).toMatchObject({
      kind: 'growing',
    });
    const never = { ...wants, spec: aVolumeSpec({ sizeGb: 200 }) };
    expect(view({ ...never, attachedTo: running })).toEqual({ kind: 'usable', id: volumeId });
    expect(view({ ...wants, attachedTo: running, annotations: paused })).toEqual({
      kind: 'usable',
      id: volumeId,
    });
    for (const state of ['running', 'paused']) {
      const gated = { ...wants, attachedTo: { ...running, state }, gates: { spending: poor } };
      expect(view(gated)).toEqual({ kind: 'usable', id: volumeId, growthWaits: poor.message });
    }
    expect(view({ ...wants, volume: aVolume({ status: 'error' }) })).toMatchObject({ failed: true });
    expect(view({ volume: aVolume({ status: 'provisioning' }) })).toMatchObject({ kind: 'not-ready' });
    expect(view({ volume: aVolume({ provisioned: false }) })).toMatchObject({ kind: 'not-ready' });
    expect(view({ volume: 'gone' })).toMatchObject({ kind: 'not-ready', id: volumeId });
    expect(view({ deleting: true })).toMatchObject({ kind: 'not-ready' });
    expect(view({})).toEqual({ kind: 'usable', id: volumeId });
  });

  test('a volume that nothing is attached to grows before a service is created with it, unless that was refused', () => {
    const wants = {
      spec: aVolumeSpec({ sizeGb: 200 }),
      before: aVolumeSpec(),
      attachedTo: { kind: 'none' } as const,
    };
    expect(viewVolume(volumeInputs(wants))).toMatchObject({
      kind: 'not-ready',
      message: 'StorageVolume dataset grows first',
    });
    const code = { fingerprint: 'x', generation: 1, action: 'update-volume', code: 'unavailable' };
    const refusal = { ...code, status: 503, message: 'no', at: 0 };
    expect(viewVolume(volumeInputs({ ...wants, record: { refusal } }))).toEqual({
      kind: 'usable',
      id: volumeId,
    });
  });

  test('an expansion that was refused for good has failed; one that met a passing conflict has not', () => {
    const refusal = (status: number, code: string) => ({
      fingerprint: 'x',
      generation: 1,
      action: 'update-volume',
      status,
      code,
      message: 'no',
      at: 0,
    });
    const view = (status: number, code: string) =>
      viewVolume(
        volumeInputs({
          spec: aVolumeSpec({ sizeGb: 200, expansion: 'PauseService' }),
          before: aVolumeSpec(),
          attachedTo: { kind: 'ours', id: serviceId, name: 'trainer', state: 'running' },
          record: { refusal: refusal(status, code) },
        }),
      );
    expect(view(400, 'invalid_request')).toMatchObject({ kind: 'growing', failed: true });
    expect(view(409, 'service_not_paused')).toMatchObject({ kind: 'growing', failed: false });
    expect(view(503, 'unavailable')).toMatchObject({ kind: 'growing', failed: false });
  });
});

describe('deletion', () => {
  test('Retain leaves the service as it is', () => {
    const spec = aSpec({ deletionPolicy: 'Retain' });
    expect(servicePlan({ spec, deleting: true })).toEqual({ kind: 'in-sync', differences: [] });
  });

  // COVERAGE 51
  test('Delete deletes it, and waits until it is gone: deleting proves nothing', () => {
    expect(said(servicePlan({ deleting: true }))).toBe('delete-service (Deleted)');
    const deleting = aService({ state: 'deleting' });
    expect(said(servicePlan({ deleting: true, service: deleting }))).toBe('wait Deleting');
    const once = { kind: 'absent', confirmed: false } as const;
    expect(said(servicePlan({ deleting: true, observation: once }))).toBe('wait ConfirmingAbsence');
    expect(said(servicePlan({ deleting: true, service: 'gone' }))).toBe('in-sync');
    expect(said(servicePlan({ deleting: true, service: 'new' }))).toBe('in-sync');
  });

  test('before anything was observed, nothing is deleted and nothing is forgotten', () => {
    const pending = { kind: 'pending', message: 'not looked at yet' } as const;
    expect(said(servicePlan({ deleting: true, observation: pending }))).toBe('wait AwaitingObservation');
  });

  // COVERAGE 36
  test('storage that the service owns is destroyed only with the word', () => {
    const world = { deleting: true, ownsStorage: true };
    expect(said(servicePlan(world))).toBe('hold DataLossUnconfirmed');
    expect(said(servicePlan({ ...world, annotations: confirmed }))).toBe('delete-service (Deleted)');
  });

  test('the brake stops it', () => {
    const plan = servicePlan({ deleting: true, gates: { deletion: brake } });
    expect([said(plan), stepsOf(plan)]).toEqual(['hold MassChangeBrake', ['delete-service']]);
  });

  test.each(['provisioning', 'running', 'sleeping', 'paused', 'error'])(
    'a service may be deleted in %s',
    (state) => {
      expect(said(servicePlan({ deleting: true, service: aService({ state }) }))).toBe(
        'delete-service (Deleted)',
      );
    },
  );

  test('in an unknown state nothing is deleted either', () => {
    const plan = servicePlan({ deleting: true, service: aService({ state: 'migrating' }) });
    expect([said(plan), stepsOf(plan)]).toEqual(['wait UnknownState', []]);
  });
});

describe('brakes', () => {
  const worlds = [
    ['create', { service: 'new' }, 'create-service'],
    ['patch', { service: aService({ image: 'b:1' }) }, 'patch-service'],
    ['start', { service: aService({ state: 'paused' }) }, 'start-service'],
    ['stop', { spec: aSpec({ desiredState: 'Stopped' }) }, 'stop-service'],
    ['delete', { deleting: true }, 'delete-service'],
    [
      'replace',
      { spec: aSpec({ region: 'economy', replacement: 'Recreate' }), before: aSpec() },
      'delete-service',
    ],
  ] as const;

  test.each(worlds)(
    'the annotation paused stops every mutation and still reports: %s',
    (_name, world, action) => {
      const plan = servicePlan({ ...world, annotations: paused });
      expect([said(plan), stepsOf(plan)[0]]).toEqual(['hold Paused', action]);
      expect(plan.differences.length).toBeGreaterThan(0);
      expect(servicePlan({ ...world, annotations: { [annotations.paused]: 'false' } }).kind).toBe('act');
    },
  );

  // COVERAGE 48, 50
  test('with a low balance nothing is started and nothing made larger; what costs less goes on', () => {
    const gates = { spending: poor };
    const change = (more: object) => ({ spec: aSpec({ ...more }), before: aSpec(), gates });
    expect(said(servicePlan({ gates, service: aService({ state: 'paused' }) }))).toBe('wait BalanceTooLow');
    expect(said(servicePlan(change({ resources: larger })))).toBe('wait BalanceTooLow');
    expect(said(servicePlan(change({ resources: { ...smaller, cpu: 9 } })))).toBe('wait BalanceTooLow');
    expect(said(servicePlan(change({ resources: smaller })))).toBe('resize-service (SpecChanged)');
    expect(said(servicePlan(change({ desiredState: 'Stopped' })))).toBe('stop-service (SpecChanged)');
    expect(said(servicePlan({ gates, deleting: true }))).toBe('delete-service (Deleted)');
  });

  test('the mass-change brake stops neither a patch nor a start', () => {
    const gates = { creation: brake, deletion: brake };
    expect(servicePlan({ gates, service: aService({ state: 'paused', image: 'b:1' }) }).kind).toBe('act');
  });
});

test('values of the environment never appear in a plan', () => {
  const canary = 'canary-9f8e7d6c5b4a';
  const spec = aSpec({ env: env({ TOKEN: canary }) });
  const before = aSpec({ env: env({ TOKEN: `${canary}-old` }) });
  const service = aService({ environmentNames: names({ TOKEN: `${canary}-old` }) });
  const patch = servicePlan({ spec, before, service });
  const plans = [
    servicePlan({ spec, service: 'new' }),
    patch,
    servicePlan({ spec, service: aService({ environmentNames: ['OTHER'] }) }),
    servicePlan({ spec, service: 'new', annotations: paused }),
  ];
  expect(plans.map((plan) => stepsOf(plan)[0])).toEqual([
    'create-service',
    'patch-service',
    'patch-service',
    'create-service',
  ]);
  for (const plan of plans) expect(JSON.stringify(plan)).not.toContain(canary);
  // It is there, though, for the wire.
  expect(Object.values(sentEnvironment(actionOf(patch, 'patch-service')) ?? {})).toContain(canary);
  expect(planService(serviceInputs({ spec })).kind).toBe('act');
});
