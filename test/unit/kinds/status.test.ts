import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Plan, holdFor, inSync, waitFor } from '../../../src/engine/plan/index.ts';
import { type StatusInputs, buildStatus } from '../../../src/engine/status/index.ts';
import { observedService, serviceHealth } from '../../../src/kinds/container-service/status.ts';
import { observedVolume, volumeHealth } from '../../../src/kinds/storage-volume/status.ts';
import type { Condition, ConditionType } from '../../../src/resources/index.ts';
import type { Intent, ObjectStatus } from '../../../src/state/index.ts';
import {
  aRecord,
  aService,
  aSpec,
  aVolume,
  anActivity,
  deepFreeze,
  env,
  serviceId,
  serviceKey,
  servicePlan,
} from '../../support/plan.ts';

const noon = Date.UTC(2026, 0, 1, 12);
const drifted = servicePlan({ spec: aSpec({ driftPolicy: 'Report' }), service: aService({ image: 'b:1' }) });
const acting = servicePlan({ spec: aSpec({ image: 'b:2' }), before: aSpec() });
const guarded = servicePlan({
  spec: aSpec({ image: 'b:2' }),
  before: aSpec(),
  activities: [anActivity()],
});

function statusOf(plan: Plan, more: Partial<StatusInputs> & { previous?: ObjectStatus } = {}): ObjectStatus {
  const { previous, ...rest } = more;
  return buildStatus({
    record: aRecord(serviceKey, { externalId: serviceId, generation: 3, status: previous }),
    plan,
    health: { ready: 'True', reason: 'Running', message: '' },
    lastIntent: undefined,
    observed: {},
    revision: 5,
    reconcileAt: undefined,
    wallMs: noon,
    ...rest,
  });
}

const later = (previous: ObjectStatus) => ({ previous, wallMs: noon + 60_000 });
const condition = (status: ObjectStatus, type: ConditionType): Condition | undefined =>
  status.conditions.find((one) => one.type === type);

/** `Ready=True Running`, in the order of the table. */
const words = (status: ObjectStatus) =>
  status.conditions.map((one) => `${one.type}=${one.status} ${one.reason}`);

function anIntent(outcome: Intent['outcome']): Intent {
  return {
    idempotencyKey: 'key-1',
    object: serviceKey,
    action: 'patch-service',
    targetId: serviceId,
    bodyDigest: 'digest',
    baseRevision: 5,
    baseState: 'running',
    generation: 1,
    restartToken: undefined,
    digests: undefined,
    createdAt: noon,
    finishedAt: undefined,
    outcome,
    note: 'the connection was reset',
  };
}

describe('conditions', () => {
  test('in sync: ready, and nothing else to say', () => {
    expect(words(statusOf(inSync()))).toEqual([
      'Ready=True Running',
      'Reconciling=False Done',
      'Stalled=False NotStalled',
      'Synced=True AsDesired',
      'Drifted=False NoDrift',
    ]);
  });

  test('acting: not ready, and it says what comes next', () => {
    const status = statusOf(acting);
    expect(words(status)).toEqual([
      'Ready=False SpecChanged',
      'Reconciling=True SpecChanged',
      'Stalled=False NotStalled',
      'Synced=False Differs',
      'Drifted=False NoDrift',
    ]);
    expect(condition(status, 'Reconciling')?.message).toBe('next: patch-service');
  });

  test('held: stalled, not reconciling', () => {
    expect(words(statusOf(holdFor('InvalidReference', 'no Secret'))).slice(0, 4)).toEqual([
      'Ready=False InvalidReference',
      'Reconciling=False Stalled',
      'Stalled=True InvalidReference',
      'Synced=Unknown NotCompared',
    ]);
  });

  test('drift under Report is told', () => {
    expect(words(statusOf(drifted)).slice(3)).toEqual([
      'Synced=False DriftReported',
      'Drifted=True ChangedElsewhere',
    ]);
  });

  test('a task that keeps a change waiting is told, and stays told as over', () => {
    const first = statusOf(guarded);
    expect(words(first)).toContain('Protected=True ActivityUnreleased');
    expect(words(statusOf(acting, later(first)))).toContain('Protected=False NotApplicable');
    expect(condition(statusOf(acting), 'Protected')).toBeUndefined();
  });

  test('an unknown outcome is told, and stays told as over', () => {
    const waiting = waitFor('OutcomeUnknown', 'looking for evidence');
    for (const outcome of ['unknown', 'pending'] as const) {
      const status = statusOf(waiting, { lastIntent: anIntent(outcome) });
      expect(words(status)).toContain('OutcomeUnknown=True AwaitingEvidence');
      const settled = statusOf(inSync(), { ...later(status), lastIntent: anIntent('applied') });
      expect(words(settled)).toContain('OutcomeUnknown=False NotApplicable');
    }
    expect(
      condition(statusOf(inSync(), { lastIntent: anIntent('refused') }), 'OutcomeUnknown'),
    ).toBeUndefined();
  });

  const plans: readonly Plan[] = [
    inSync(),
    drifted,
    acting,
    guarded,
    waitFor('Provisioning', 'on its way'),
    holdFor('ServiceError', 'broken'),
  ];

  // COVERAGE 45
  test('Ready is True only when in sync and healthy', () => {
    for (const plan of plans) {
      for (const ready of ['True', 'False'] as const) {
        const status = statusOf(plan, { health: { ready, reason: 'Running', message: '' } });
        const expected = plan.kind === 'in-sync' && ready === 'True' ? 'True' : 'False';
        expect(condition(status, 'Ready')?.status).toBe(expected);
      }
    }
  });

  test('lastTransitionTime moves when the status of a condition changes, and only then', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...plans), { minLength: 2, maxLength: 6 }), (sequence) => {
        let before: ObjectStatus | undefined;
        for (const [index, plan] of sequence.entries()) {
          const wallMs = noon + index * 60_000;
          const now = new Date(wallMs).toISOString().replace('.000', '');
          const after = statusOf(plan, { wallMs, ...(before && { previous: before }) });
          for (const one of after.conditions) {
            const old = before && condition(before, one.type);
            expect(one.lastTransitionTime).toBe(old?.status === one.status ? old.lastTransitionTime : now);
            expect(one.observedGeneration).toBe(3);
          }
          before = after;
        }
      }),
    );
  });

  test('the same inputs give byte-identical status, also over what was written before', () => {
    for (const plan of plans) {
      const inputs = {
        lastIntent: anIntent('applied'),
        observed: observedService({ kind: 'present', value: aService() }),
      };
      const first = deepFreeze(statusOf(plan, inputs));
      const second = statusOf(plan, { ...inputs, ...later(first) });
      expect(JSON.stringify(second)).toBe(JSON.stringify(first));
    }
  });
});

describe('what else is told', () => {
  test('the object, its generation, its last mutation, and the token that asked for a look', () => {
    const status = statusOf(inSync(), { lastIntent: anIntent('applied'), reconcileAt: 'now-1' });
    expect(status).toMatchObject({
      observedGeneration: 3,
      id: serviceId,
      revision: 5,
      lastHandledReconcileAt: 'now-1',
      lastMutation: {
        action: 'patch-service',
        idempotencyKey: 'key-1',
        at: '2026-01-01T12:00:00Z',
        outcome: 'applied',
      },
    });
    expect(Object.keys(statusOf(inSync(), { revision: undefined }))).toEqual([
      'observedGeneration',
      'id',
      'conditions',
    ]);
  });

  test('drift is told with both values, and since when it is there', () => {
    const first = statusOf(drifted);
    const entry = { path: 'image', kind: 'Changed', desired: 'ghcr.io/acme/trainer:1.4', observed: 'b:1' };
    expect(first.drift).toEqual([{ ...entry, since: '2026-01-01T12:00:00Z' }]);
    expect(statusOf(drifted, later(first)).drift).toEqual(first.drift);
    expect(statusOf(inSync(), later(first)).drift).toBeUndefined();
    expect(statusOf(drifted, later(statusOf(inSync(), later(first)))).drift).toEqual([
      { ...entry, since: '2026-01-01T12:01:00Z' },
    ]);
  });

  test('a service that somebody deleted is missing', () => {
    const plan = servicePlan({ spec: aSpec({ driftPolicy: 'Report' }), service: 'gone' });
    expect(statusOf(plan).drift).toMatchObject([{ path: 'service', kind: 'Missing', desired: serviceId }]);
  });

  test('a change of the spec is no drift', () => {
    expect(statusOf(acting).drift).toBeUndefined();
  });

  test('a price is what it costs now: nothing while it holds no compute', () => {
    const told = ['running', 'paused', 'sleeping'].map((state) =>
      observedService({ kind: 'present', value: aService({ state, hourlyMicros: 972_000 }) }),
    );
    expect(told.map(({ hourlyMicros }) => hourlyMicros)).toEqual([972_000, 0, 0]);
    const volume = aVolume({ status: 'deleting', hourlyMicros: 1400 });
    expect(observedVolume({ kind: 'present', value: volume })).toMatchObject({ hourlyMicros: 0 });
  });

  // COVERAGE 55, 62
  test('what the API does not tell is left out', () => {
    const value = aService({ endpoint: 'https://x.example', hourlyMicros: 12 });
    expect(observedService({ kind: 'present', value })).toEqual({
      state: 'running',
      endpoint: 'https://x.example',
      region: 'standard',
      geography: 'eu-north',
      hourlyMicros: 12,
    });
    expect(observedVolume({ kind: 'present', value: aVolume() })).toEqual({
      state: 'ready',
      region: 'standard',
      geography: 'eu-north',
      sizeGb: 100,
      requestedSizeGb: 100,
      provisioned: true,
    });
    expect(observedService({ kind: 'absent', confirmed: true })).toEqual({});
    expect(observedVolume({ kind: 'pending', message: '' })).toEqual({});
  });

  // COVERAGE 39
  test('no value of the environment is in a status', () => {
    const canary = 'canary-9f8e7d6c5b4a';
    const spec = aSpec({ env: env({ TOKEN: canary }) });
    const before = aSpec({ env: env({ TOKEN: `${canary}-old` }) });
    for (const service of [aService(), aService({ environmentNames: ['TOKEN'] }), 'new'] as const) {
      for (const plan of [servicePlan({ spec, service }), servicePlan({ spec, before, service })]) {
        expect(plan.differences.length).toBeGreaterThan(0);
        expect(JSON.stringify(statusOf(plan))).not.toContain(canary);
      }
    }
  });
});

describe('health', () => {
  // COVERAGE 45
  test.each([
    [{}, { state: 'running' }, 'True Running'],
    [{ httpPort: 80 }, { state: 'running' }, 'False NoEndpoint'],
    [{ httpPort: 80 }, { state: 'running', endpoint: 'https://x.example' }, 'True Running'],
    [{}, { state: 'sleeping' }, 'True Sleeping'],
    [{}, { state: 'paused' }, 'False Paused'],
    [{ desiredState: 'Stopped' }, { state: 'paused' }, 'True Stopped'],
    [{}, { state: 'error', error: 'no image' }, 'False ServiceError'],
    [{}, { state: 'provisioning' }, 'False NotRunning'],
    [{}, { state: 'migrating' }, 'False NotRunning'],
    [{}, { state: undefined }, 'False NotRunning'],
  ])('a service with the spec %j that shows %j: %s', (spec, shown, expected) => {
    const observation = { kind: 'present', value: aService(shown) } as const;
    const { ready, reason } = serviceHealth(aSpec(spec), observation, undefined);
    expect(`${ready} ${reason}`).toBe(expected);
  });

  // COVERAGE 55
  test.each([
    ['not looked at yet', undefined, 'False ProbePending'],
    ['that answers', { ready: true } as const, 'True Running'],
    ['that fails', { ready: false, message: 'answers 503' } as const, 'False ProbeFailed'],
  ])('a running service with a readiness probe, and an endpoint %s', (_, probe, expected) => {
    const spec = aSpec({ readiness: { path: '/healthz' } });
    const shown = aService({ state: 'running', endpoint: 'https://x.example' });
    const { ready, reason } = serviceHealth(spec, { kind: 'present', value: shown }, probe);
    expect(`${ready} ${reason}`).toBe(expected);
  });

  test.each([
    [{ status: 'ready' }, 'True Provisioned'],
    [{ status: 'error', error: 'the disk is full' }, 'False VolumeError'],
    [{ status: 'expanding' }, 'False NotReady'],
    [{ status: undefined }, 'False NotReady'],
  ])('a volume that shows %j: %s', (shown, expected) => {
    const { ready, reason } = volumeHealth({ kind: 'present', value: aVolume(shown) });
    expect(`${ready} ${reason}`).toBe(expected);
  });

  // COVERAGE 53, 63
  test('the words of the provider are told without our secrets and on one line', () => {
    const value = aService({ state: 'error', error: 'bad\ntoken canary-9f8e7d6c' });
    const health = serviceHealth(aSpec(), { kind: 'present', value }, undefined, ['canary-9f8e7d6c']);
    expect(health.message).toBe('bad token [redacted]');
    const volume = aVolume({ status: 'error', error: `disk\u0007${'x'.repeat(1000)}` });
    const told = volumeHealth({ kind: 'present', value: volume }).message;
    expect([told.slice(0, 6), told.length]).toEqual(['disk x', 500]);
  });

  test('what was not seen is not ready', () => {
    const pending = { kind: 'pending', message: 'not looked at yet' } as const;
    const absent = { kind: 'absent', confirmed: true } as const;
    expect(serviceHealth(aSpec(), pending, undefined)).toMatchObject({
      ready: 'False',
      reason: 'AwaitingObservation',
    });
    expect(serviceHealth(aSpec(), absent, undefined)).toMatchObject({ ready: 'False', reason: 'NotThere' });
    expect(volumeHealth(pending)).toMatchObject({ ready: 'False', reason: 'AwaitingObservation' });
    expect(volumeHealth(absent)).toMatchObject({ ready: 'False', reason: 'NotThere' });
  });
});
