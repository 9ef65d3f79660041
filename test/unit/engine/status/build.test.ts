import * as fc from 'fast-check';
import { causeOf } from '../../../../src/engine/index.ts';
import { describe, expect, test } from 'vitest';
import { type Plan, holdFor, inSync, waitFor } from '../../../../src/engine/plan/index.ts';
import { type StatusInputs, buildStatus } from '../../../../src/engine/status/index.ts';
import { observedService } from '../../../../src/kinds/container-service/status.ts';
import type { Condition, ConditionType } from '../../../../src/resources/index.ts';
import type { Intent, ObjectStatus } from '../../../../src/state/index.ts';
import {
  aRecord,
  aService,
  aSpec,
  anActivity,
  deepFreeze,
  env,
  serviceId,
  serviceKey,
  servicePlan,
} from '../../../support/plan.ts';

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

describe('what is not as declared', () => {
  test('is named with both values', () => {
    expect(condition(statusOf(guarded), 'Synced')?.message).toMatch(/^differs: image \(\S+ → b:2\)$/);
  });

  test('is named alone if its value is hidden, or if nothing is there yet', () => {
    const changed = servicePlan({ spec: aSpec({ env: env({ TOKEN: 'new-secret' }) }), before: aSpec() });
    const message = condition(statusOf(changed), 'Synced')?.message;
    expect(message).toContain('differs: env');
    expect(message).not.toContain('new-secret');
    expect(condition(statusOf(servicePlan({ service: 'new' })), 'Synced')?.message).not.toContain('→');
  });
});

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

  test('an error that a task keeps from its remedy is shown as the error', () => {
    const message = 'the service is in error: exit 1. restart-service waits for the ProtectedTask epoch';
    const status = statusOf(waitFor('Protected', message, { failed: 'ServiceError' }));
    expect(words(status)).toEqual(
      expect.arrayContaining(['Ready=False ServiceError', 'Reconciling=True Protected']),
    );
    expect(condition(status, 'Ready')?.message).toBe(message);
    expect(causeOf({ status, report: undefined })).toMatchObject({ reason: 'ServiceError', message });
    expect(causeOf({ status: statusOf(guarded), report: undefined })).toMatchObject({ reason: 'Protected' });
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
