import { describe, expect, test } from 'vitest';
import { type Gate, readVolumeMark } from '../../../../src/engine/plan/index.ts';
import { annotations } from '../../../../src/resources/index.ts';
import {
  aVolume,
  aVolumeSpec,
  actionOf,
  differing,
  said,
  serviceId,
  stepsOf,
  volumeId,
  volumePlan,
} from '../../../support/plan.ts';

const brake: Gate = { kind: 'hold', reason: 'MassChangeBrake', message: 'too many at once' };
const poor: Gate = { kind: 'wait', reason: 'BalanceTooLow', message: 'top up' };
const ours = (state: string) => ({ kind: 'ours', id: serviceId, name: 'trainer', state }) as const;
const growing = { spec: aVolumeSpec({ sizeGb: 200, expansion: 'PauseService' }), before: aVolumeSpec() };

describe('creation', () => {
  // COVERAGE 24, 105
  test('a volume is created with what the spec gives, and our mark behind its name', () => {
    const { body } = actionOf(volumePlan({ volume: 'new' }), 'create-volume');
    expect(body).toEqual({
      name: expect.stringMatching(/^dataset-fk[0-9a-f]{13}$/),
      region: 'standard',
      sizeGb: 100,
    });
    const spec = aVolumeSpec({ volumeName: 'corpus', geography: 'europe' });
    expect(actionOf(volumePlan({ spec, volume: 'new' }), 'create-volume').body).toMatchObject({
      name: expect.stringMatching(/^corpus-fk/),
      geography: 'europe',
    });
  });

  // COVERAGE 24, 104
  test('the 51st volume is not asked for', () => {
    expect(said(volumePlan({ volume: 'new', volumesInAccount: 49 }))).toBe('create-volume (Create)');
    const plan = volumePlan({ volume: 'new', volumesInAccount: 50 });
    expect([said(plan), stepsOf(plan)]).toEqual(['hold LimitReached', ['create-volume']]);
  });

  test.each([
    ['the brake', { creation: brake }, 'hold MassChangeBrake'],
    ['a low balance', { spending: poor }, 'wait BalanceTooLow'],
  ])('%s stops a creation, and the plan still shows it', (_name, gates, expected) => {
    const plan = volumePlan({ volume: 'new', gates });
    expect([said(plan), stepsOf(plan)]).toEqual([expected, ['create-volume']]);
  });
});

describe('absence', () => {
  const confirmed = { [annotations.confirmDataLoss]: 'dataset' };

  test('a volume that is missing from one account read is looked for, not created again', () => {
    const plan = volumePlan({ observation: { kind: 'absent', confirmed: false } });
    expect([said(plan), stepsOf(plan)]).toEqual(['wait ConfirmingAbsence', []]);
  });

  test('a vanished volume is not replaced by an empty one without the word', () => {
    const plan = volumePlan({ volume: 'gone' });
    expect([said(plan), stepsOf(plan)]).toEqual(['hold DataLost', []]);
    expect(plan.differences[0]).toEqual({ path: 'volume', desired: volumeId, observed: null, drift: true });
    expect(said(volumePlan({ volume: 'gone', annotations: confirmed }))).toBe('create-volume (Vanished)');
  });

  test('under Report, a vanished volume is told and not created again', () => {
    const spec = aVolumeSpec({ driftPolicy: 'Report' });
    const plan = volumePlan({ spec, volume: 'gone', annotations: confirmed });
    expect(said(plan)).toBe('in-sync');
    expect(differing(plan)).toContain('volume*');
  });

  test('what must not be touched is not touched', () => {
    const conflict = { kind: 'conflict', reason: 'OwnedByAnother', message: 'the mark of another' } as const;
    expect(said(volumePlan({ observation: conflict }))).toBe('hold OwnedByAnother');
    expect(said(volumePlan({ observation: conflict, deleting: true }))).toBe('in-sync');
    const pending = { kind: 'pending', message: 'not looked at yet' } as const;
    expect(said(volumePlan({ observation: pending }))).toBe('wait AwaitingObservation');
  });
});

describe('a volume that exists', () => {
  test('as the spec says, it is in sync', () => {
    expect(volumePlan()).toEqual({ kind: 'in-sync', differences: [] });
  });

  // COVERAGE 30
  test('the geography that was asked for is compared, never the one that it resolved to', () => {
    const spec = aVolumeSpec({ geography: 'europe' });
    expect(said(volumePlan({ spec }))).toBe('in-sync');
    expect(volumePlan({ spec, before: aVolumeSpec() })).toMatchObject({
      kind: 'hold',
      reason: 'ImmutableFieldChanged',
      path: ['spec', 'geography'],
    });
  });

  test('a changed region is held, and the hold names the field', () => {
    const plan = volumePlan({ spec: aVolumeSpec({ region: 'economy' }), before: aVolumeSpec() });
    expect(plan).toMatchObject({
      kind: 'hold',
      reason: 'ImmutableFieldChanged',
      path: ['spec', 'region'],
    });
  });

  test('it is renamed with its mark, also while its service runs', () => {
    const plan = volumePlan({
      spec: aVolumeSpec({ volumeName: 'corpus' }),
      before: aVolumeSpec(),
      attachedTo: ours('running'),
    });
    const action = actionOf(plan, 'update-volume');
    expect(action).toMatchObject({ id: volumeId, revision: 3, sizeGb: undefined });
    expect(readVolumeMark(action.name)).toBe(readVolumeMark(aVolume().name));
  });

  test('a name that somebody changed is put back, or told under Report', () => {
    const volume = aVolume({ name: 'mine-now' });
    expect(said(volumePlan({ volume }))).toBe('update-volume (Drift)');
    const plan = volumePlan({ volume, spec: aVolumeSpec({ driftPolicy: 'Report' }) });
    expect([said(plan), differing(plan)]).toEqual(['in-sync', ['volumeName*']]);
  });

  test('an adopted volume may go without our mark and keep its name', () => {
    const spec = aVolumeSpec({ adopt: { id: volumeId } });
    expect(said(volumePlan({ spec, before: 'nothing', volume: aVolume({ name: 'theirs' }) }))).toBe(
      'in-sync',
    );
  });

  // COVERAGE 56
  test.each([
    ['provisioning', 'wait Provisioning'],
    ['expanding', 'wait Expanding'],
    ['deleting', 'wait Deleting'],
    ['error', 'hold VolumeError'],
    ['migrating', 'wait UnknownState'],
    [undefined, 'wait UnknownState'],
  ])('in the status %s nothing is done but a report', (status, expected) => {
    const plan = volumePlan({ ...growing, volume: aVolume({ status }) });
    expect([said(plan), stepsOf(plan), differing(plan)]).toEqual([expected, [], ['sizeGb']]);
  });

  // COVERAGE 63
  test('an error is told as the API tells it', () => {
    const plan = volumePlan({ volume: aVolume({ status: 'error', error: 'the disk is full' }) });
    expect(plan).toMatchObject({ message: expect.stringContaining('the disk is full') });
  });
});

describe('growth', () => {
  test('a volume that is attached to nothing grows at once', () => {
    const plan = volumePlan({ spec: aVolumeSpec({ sizeGb: 200 }), before: aVolumeSpec() });
    expect(actionOf(plan, 'update-volume')).toMatchObject({ name: undefined, sizeGb: 200, revision: 3 });
  });

  // COVERAGE 27, 58
  test('a volume attached to a running service grows only after the service is paused', () => {
    for (const state of ['running', 'sleeping', 'error', 'provisioning', 'migrating']) {
      const plan = volumePlan({ ...growing, attachedTo: ours(state) });
      expect([said(plan), stepsOf(plan)]).toEqual(['wait PausingService', ['update-volume']]);
    }
    expect(said(volumePlan({ ...growing, attachedTo: ours('paused') }))).toBe('update-volume (SpecChanged)');
  });

  // COVERAGE 58
  test('without PauseService it is held, and the hold names the field', () => {
    const spec = aVolumeSpec({ sizeGb: 200 });
    const plan = volumePlan({ spec, before: aVolumeSpec(), attachedTo: ours('running') });
    expect(plan).toMatchObject({
      kind: 'hold',
      reason: 'ExpansionNeedsPause',
      path: ['spec', 'expansion'],
    });
    expect(said(volumePlan({ spec, before: aVolumeSpec(), attachedTo: ours('paused') }))).toBe(
      'update-volume (SpecChanged)',
    );
  });

  test('a service that is not ours is not paused for it', () => {
    const foreign = { kind: 'foreign', id: serviceId, state: 'running' } as const;
    expect(said(volumePlan({ ...growing, attachedTo: foreign }))).toBe('hold AttachedElsewhere');
    expect(said(volumePlan({ ...growing, attachedTo: { ...foreign, state: 'paused' } }))).toBe(
      'update-volume (SpecChanged)',
    );
  });

  // COVERAGE 57
  test.each([
    { sizeGb: 100, requestedSizeGb: 200 },
    { sizeGb: 200, requestedSizeGb: 200, provisioned: false },
  ])('it has grown only when everything agrees, not at %j', (shown) => {
    const plan = volumePlan({ spec: growing.spec, volume: aVolume(shown) });
    expect([said(plan), stepsOf(plan)]).toEqual(['wait Expanding', []]);
    const done = aVolume({ sizeGb: 200, requestedSizeGb: 200 });
    expect(said(volumePlan({ spec: growing.spec, volume: done }))).toBe('in-sync');
  });

  // COVERAGE 27
  test('a volume never shrinks', () => {
    for (const attachedTo of [{ kind: 'none' } as const, ours('paused')]) {
      const spec = aVolumeSpec({ sizeGb: 50, volumeName: 'corpus' });
      const plan = volumePlan({ spec, before: aVolumeSpec(), attachedTo });
      expect([said(plan), stepsOf(plan)]).toEqual(['hold ShrinkRefused', []]);
      expect(plan).toMatchObject({ path: ['spec', 'sizeGb'] });
    }
  });

  test('what somebody else made larger is not made smaller, and told as drift', () => {
    const plan = volumePlan({ volume: aVolume({ sizeGb: 300, requestedSizeGb: 300 }) });
    expect([said(plan), differing(plan)]).toEqual(['hold ShrinkRefused', ['sizeGb*']]);
  });

  test('where no size is shown nothing is resized: it might shrink', () => {
    const volume = aVolume({ sizeGb: null, requestedSizeGb: null });
    expect(said(volumePlan({ volume }))).toBe('in-sync');
    const plan = volumePlan({ spec: aVolumeSpec({ sizeGb: 50 }), before: aVolumeSpec(), volume });
    expect([said(plan), stepsOf(plan)]).toEqual(['wait AwaitingObservation', []]);
    const bare = { id: volumeId, status: 'ready', requestedSizeGb: null };
    expect(said(volumePlan({ volume: bare }))).toBe('in-sync');
  });

  test('an update waits for a revision that the API does not show', () => {
    const plan = volumePlan({ ...growing, volume: aVolume({ revision: undefined }) });
    expect([said(plan), stepsOf(plan)]).toEqual(['wait AwaitingObservation', []]);
  });

  test('with a low balance it does not grow, and no service is paused for it; a new name costs nothing', () => {
    const gates = { spending: poor };
    for (const state of ['running', 'paused']) {
      expect(said(volumePlan({ ...growing, gates, attachedTo: ours(state) }))).toBe('wait BalanceTooLow');
    }
    const renamed = { spec: aVolumeSpec({ volumeName: 'corpus' }), before: aVolumeSpec() };
    expect(said(volumePlan({ ...renamed, gates }))).toBe('update-volume (SpecChanged)');
  });
});

describe('deletion', () => {
  const spec = aVolumeSpec({ deletionPolicy: 'Delete' });

  test('a volume stays unless its spec says Delete', () => {
    expect(volumePlan({ deleting: true })).toEqual({ kind: 'in-sync', differences: [] });
    expect(said(volumePlan({ spec, deleting: true }))).toBe('delete-volume (Deleted)');
  });

  // COVERAGE 28, 59
  test('it is deleted only when nothing is attached', () => {
    const attached = [
      { attachedTo: ours('paused') },
      { attachedTo: { kind: 'foreign', id: serviceId, state: undefined } as const },
      { volume: aVolume({ serviceId }) },
    ];
    for (const world of attached) {
      const plan = volumePlan({ spec, deleting: true, ...world });
      expect([said(plan), stepsOf(plan)]).toEqual(['wait Attached', ['delete-volume']]);
    }
  });

  // COVERAGE 28, 59
  test('it is deleted only when it is independent', () => {
    for (const mode of ['service', 'somehow']) {
      const plan = volumePlan({ spec, deleting: true, volume: aVolume({ mode }) });
      expect(said(plan)).toBe('hold NotIndependent');
    }
  });

  // COVERAGE 28, 61
  test('deleting proves nothing: it is gone when the account shows it no more', () => {
    const deleting = aVolume({ status: 'deleting' });
    expect(said(volumePlan({ spec, deleting: true, volume: deleting }))).toBe('wait Deleting');
    const once = { kind: 'absent', confirmed: false } as const;
    expect(said(volumePlan({ spec, deleting: true, observation: once }))).toBe('wait ConfirmingAbsence');
    expect(said(volumePlan({ spec, deleting: true, volume: 'gone' }))).toBe('in-sync');
    expect(said(volumePlan({ spec, deleting: true, volume: 'new' }))).toBe('in-sync');
    const pending = { kind: 'pending', message: 'not looked at yet' } as const;
    expect(said(volumePlan({ spec, deleting: true, observation: pending }))).toBe('wait AwaitingObservation');
  });

  test('the brake stops it, and so does an unknown status', () => {
    const plan = volumePlan({ spec, deleting: true, gates: { deletion: brake } });
    expect([said(plan), stepsOf(plan)]).toEqual(['hold MassChangeBrake', ['delete-volume']]);
    const unknown = volumePlan({ spec, deleting: true, volume: aVolume({ status: 'migrating' }) });
    expect([said(unknown), stepsOf(unknown)]).toEqual(['wait UnknownState', []]);
    expect(said(volumePlan({ spec, deleting: true, volume: aVolume({ status: 'error' }) }))).toBe(
      'delete-volume (Deleted)',
    );
  });
});

test.each([
  ['create', { volume: 'new' }, 'create-volume'],
  ['grow', growing, 'update-volume'],
  ['rename', { spec: aVolumeSpec({ volumeName: 'b' }), before: aVolumeSpec() }, 'update-volume'],
  ['delete', { spec: aVolumeSpec({ deletionPolicy: 'Delete' }), deleting: true }, 'delete-volume'],
] as const)('the annotation paused stops every mutation and still reports: %s', (_name, world, action) => {
  const plan = volumePlan({ ...world, annotations: { [annotations.paused]: 'true' } });
  expect([said(plan), stepsOf(plan)]).toEqual(['hold Paused', [action]]);
  expect(plan.differences.length).toBeGreaterThan(0);
});
