import { expect, test } from 'vitest';
import { type Plan, holdFor, inSync, waitFor } from '../../../../src/engine/plan/index.ts';
import { buildStatus } from '../../../../src/engine/status/index.ts';
import { observedService, serviceHealth } from '../../../../src/kinds/container-service/status.ts';
import type { ConditionType } from '../../../../src/resources/index.ts';
import type { Intent, ObjectRecord, ObjectStatus } from '../../../../src/state/index.ts';
import { intentOf } from '../../state/support.ts';
import { aRecord, aService, aSpec, now, serviceId, serviceKey, servicePlan } from '../../../support/plan.ts';

const minuteMs = 60_000;
const drifted = servicePlan({ spec: aSpec({ driftPolicy: 'Report' }), service: aService({ image: 'b:1' }) });

function statusAt(
  wallMs: number,
  plan: Plan,
  previous?: ObjectStatus,
  more: Partial<ObjectRecord> = {},
  lastIntent?: Intent,
): ObjectStatus {
  return buildStatus({
    record: aRecord(serviceKey, { externalId: serviceId, status: previous, ...more }),
    plan,
    health: { ready: 'True', reason: 'Running', message: '' },
    lastIntent,
    observed: {},
    revision: 5,
    reconcileAt: undefined,
    wallMs,
  });
}

const condition = (status: ObjectStatus, type: ConditionType) =>
  status.conditions.find((one) => one.type === type);

test('drift keeps the time and the cause of its first sight', () => {
  const caused = { ...drifted, differences: drifted.differences.map((one) => ({ ...one, cause: 'bob' })) };
  const first = statusAt(now, caused);
  expect(first.drift).toEqual([
    {
      path: 'image',
      kind: 'Changed',
      desired: 'ghcr.io/acme/trainer:1.4',
      observed: 'b:1',
      since: '2026-11-21T12:00:00Z',
      cause: 'bob',
    },
  ]);
  expect(statusAt(now + minuteMs, drifted, first).drift).toEqual(first.drift);
});

test('drift is not forgotten while nobody can look, and is gone when a look shows none', () => {
  const first = statusAt(now, drifted);
  for (const reason of ['StaleRead', 'OutcomeUnknown', 'AwaitingObservation'] as const) {
    const blind = statusAt(now + minuteMs, waitFor(reason, ''), first);
    expect(blind.drift).toEqual(first.drift);
    expect(condition(blind, 'Drifted')?.status).toBe('True');
  }
  const healed = statusAt(now + minuteMs, waitFor('Provisioning', ''), first);
  expect(healed.drift).toBeUndefined();
  expect(condition(healed, 'Drifted')?.status).toBe('False');
});

test.each([
  holdFor('AccountNotFound', 'nobody can look'),
  holdFor('AccountInvalid', 'nobody can look'),
  holdFor('SourceIncomplete', 'nobody can look'),
  waitFor('Leaving', 'nobody can look'),
  waitFor('ApiUnreachable', 'nobody can look'),
  waitFor('CredentialMissing', 'nobody can look'),
  holdFor('InvalidSpec', 'nobody can look'),
  // What carries the mark is not what was compared before, and nothing is compared with it.
  holdFor('MarkedElsewhere', 'nobody can look'),
  holdFor('OwnershipUnproven', 'nobody can look'),
  holdFor('AlreadyExists', 'nobody can look'),
  // The recorded id is in another account than the one that the document names.
  holdFor('ImmutableFieldChanged', 'nobody can look'),
])('what was not observed is Unknown, and its drift stays with time and cause: $reason', (plan) => {
  const { reason } = plan;
  const caused = { ...drifted, differences: drifted.differences.map((one) => ({ ...one, cause: 'bob' })) };
  const first = statusAt(now, caused);
  const blind = statusAt(now + minuteMs, plan, first);
  expect(blind.drift).toEqual(first.drift);
  expect(condition(blind, 'Drifted')).toMatchObject({
    status: 'Unknown',
    reason,
    message: expect.stringContaining('image'),
  });
  const again = statusAt(now + 2 * minuteMs, drifted, blind);
  expect([again.drift, condition(again, 'Drifted')?.status]).toEqual([first.drift, 'True']);
  expect(condition(statusAt(now, plan), 'Drifted')?.status).toBe('Unknown');
});

test('accepted drift is still drift, and says until when it is accepted', () => {
  const status = statusAt(now, { ...drifted, driftAcceptedUntil: now + minuteMs });
  expect(condition(status, 'Drifted')).toMatchObject({
    status: 'True',
    reason: 'Accepted',
    message: 'accepted until 2026-11-21T12:01:00Z: image',
  });
  expect(condition(status, 'Synced')).toMatchObject({ status: 'False', reason: 'DriftAccepted' });
  expect(condition(status, 'Ready')?.status).toBe('True');
});

test('what only a moved revision tells is a kind of its own', () => {
  const doubt = {
    path: 'image',
    desired: 'a',
    observed: '?',
    drift: true,
    hidden: true,
    revisionMoved: true,
  } as const;
  const status = statusAt(now, inSync([doubt]));
  expect(status.drift?.[0]?.kind).toBe('RevisionMoved');
  expect(condition(status, 'Drifted')).toMatchObject({
    reason: 'RevisionMoved',
    message: 'somebody changed it, nothing visible; it may be: image',
  });
});

const seen = { id: serviceId, revision: 5, state: 'provisioning', since: now };

// COVERAGE 46, 56
test.each([
  ['Provisioning', 30, 'ProgressDeadlineExceeded'],
  ['Expanding', 30, 'ProgressDeadlineExceeded'],
  ['Deleting', 30, 'ProgressDeadlineExceeded'],
  ['UnknownState', 10, 'UnknownState'],
] as const)('%s for %d minutes is stalled as %s, and not before', (waiting, minutes, reason) => {
  const plan = waitFor(waiting, 'the service is somewhere');
  const before = statusAt(now + minutes * minuteMs - 1, plan, undefined, { seen });
  expect(condition(before, 'Stalled')?.status).toBe('False');
  expect(condition(before, 'Reconciling')).toMatchObject({ status: 'True', reason: waiting });
  const after = statusAt(now + minutes * minuteMs, plan, before, { seen });
  expect(condition(after, 'Stalled')).toMatchObject({
    status: 'True',
    reason,
    message: 'the service is somewhere, since 2026-11-21T12:00:00Z',
  });
  expect(condition(after, 'Reconciling')?.status).toBe('False');
});

test('an outcome that no evidence tells is stalled at once, and one that takes long after ten minutes', () => {
  const needsPerson = waitFor('OutcomeUnknown', 'say: …', { stalled: true });
  expect(condition(statusAt(now, needsPerson), 'Stalled')).toMatchObject({
    status: 'True',
    message: 'say: …',
  });
  const plan = waitFor('OutcomeUnknown', 'looking');
  const intent = intentOf(serviceKey, 'key', { outcome: 'unknown', createdAt: now });
  expect(condition(statusAt(now + 1, plan, undefined, { seen }, intent), 'Stalled')?.status).toBe('False');
  const late = statusAt(now + 10 * minuteMs, plan, undefined, {}, intent);
  expect(condition(late, 'Stalled')).toMatchObject({ status: 'True', reason: 'OutcomeUnknown' });
});

test('what the API shows is told bounded, and without what a terminal obeys', () => {
  const hostile = `b\u001b[2J\u202e${'x'.repeat(3000)}`;
  const changed = servicePlan({
    spec: aSpec({ driftPolicy: 'Report', command: ['run'] }),
    service: aService({ image: hostile, command: Array.from({ length: 5000 }, () => hostile) }),
  });
  const [command, image] = [...(statusAt(now, changed).drift ?? [])].sort((left, right) =>
    left.path < right.path ? -1 : 1,
  );
  expect([command?.path, image?.path]).toEqual(['command', 'image']);
  expect(image?.observed).toMatch(/^b \[2J x{1000,}…$/u);
  expect(command?.observed).toHaveLength(100);
  const unknown = serviceHealth(aSpec(), { kind: 'present', value: aService({ state: hostile }) }, undefined);
  expect(unknown.message).toMatch(/^the service is b \[2J x+…$/);
  const shown = observedService({ kind: 'present', value: aService({ state: hostile, geography: hostile }) });
  expect(JSON.stringify(shown).length).toBeLessThan(2000);
});
