import { describe, expect, test } from 'vitest';
import { linkedServices } from '../../../../src/kinds/image-registry/plan.ts';
import type { Gate } from '../../../../src/engine/plan/index.ts';
import { lastReport } from '../../../../src/state/index.ts';
import { aService, actionOf, differing, now, said, serviceId, stepsOf } from '../../../support/plan.ts';
import {
  aLink,
  aRegistry,
  aRegistrySpec,
  credentials,
  registryId,
  registryInputs,
  registryPlan,
} from '../../../support/shared-kinds.ts';

const brake: Gate = { kind: 'hold', reason: 'MassChangeBrake', message: 'too many at once' };
const changed = { credentials: credentials('two'), before: credentials('one') };
const baseline = { id: registryId, revision: 4, state: undefined, at: 0 };

describe('creation', () => {
  // COVERAGE 5, 68
  test('access is made for the exact repository, with the credentials of the Secret', () => {
    const spec = aRegistrySpec({ repository: 'GHCR.io/acme/trainer' });
    const action = actionOf(registryPlan({ spec, registry: 'new' }), 'create-registry');
    expect(action.repository).toBe('ghcr.io/acme/trainer');
    expect(action.credentials.reveal()).toEqual({ username: 'acme-bot', password: 'one' });
  });

  // COVERAGE 5, 69
  test('what is planned can be printed: no credential is in it', () => {
    const text = JSON.stringify([
      registryPlan({ registry: 'new' }),
      registryPlan(changed),
      registryInputs(changed),
    ]);
    expect(text).not.toMatch(/acme-bot|"one"|"two"/);
  });

  test('without its Secret it is held at the reference', () => {
    const path = ['spec', 'credentialsSecretRef', 'name'];
    const problem = {
      kind: 'problem',
      reason: 'InvalidReference',
      path,
      message: 'there is no usable Secret ghcr',
    } as const;
    const plan = registryPlan({ registry: 'new', credentials: problem });
    expect([said(plan), plan.kind === 'hold' && plan.path]).toEqual(['hold InvalidReference', path]);
    expect(said(registryPlan({ registry: 'new', credentials: { kind: 'unmanaged' } }))).toBe(
      'hold InvalidReference',
    );
  });

  // COVERAGE 5, 102
  test('the 21st repository is not asked for', () => {
    expect(said(registryPlan({ registry: 'new', registriesInAccount: 19 }))).toBe('create-registry (Create)');
    const plan = registryPlan({ registry: 'new', registriesInAccount: 20 });
    expect([said(plan), stepsOf(plan)]).toEqual(['hold LimitReached', ['create-registry']]);
  });

  test('the brake stops it', () => {
    expect(said(registryPlan({ registry: 'new', gates: { creation: brake } }))).toBe('hold MassChangeBrake');
  });
});

describe('rotation', () => {
  // COVERAGE 6
  test('a changed Secret is a rotation: the same repository, the new credentials, the revision just read', () => {
    const action = actionOf(registryPlan(changed), 'rotate-registry');
    expect(action).toMatchObject({ id: registryId, revision: 4, repository: 'ghcr.io/acme/trainer' });
    expect(action.credentials.reveal()).toEqual({ username: 'acme-bot', password: 'two' });
    expect(differing(registryPlan(changed))).toEqual(['credentials']);
  });

  test('an unchanged Secret is none', () => {
    expect(said(registryPlan())).toBe('in-sync');
    expect(said(registryPlan({ credentials: { kind: 'unmanaged' } }))).toBe('in-sync');
  });

  test('an adopted registry is rotated once, since nobody can say what it had', () => {
    const plan = registryPlan({ record: { applied: {} } });
    expect([said(plan), differing(plan)]).toEqual(['rotate-registry (Adopted)', ['credentials']]);
  });

  test('a revision that somebody else moved is a rotation of theirs, and put back once', () => {
    const world = { registry: aRegistry({ revision: 5 }), record: { baseline } };
    const plan = registryPlan(world);
    expect([said(plan), differing(plan)]).toEqual(['rotate-registry (Drift)', ['credentials*']]);
    const again = registryPlan({ ...world, record: { baseline, resentFor: 1 } });
    expect([said(again), differing(again)]).toEqual(['in-sync', ['credentials*']]);
    const spec = aRegistrySpec({ driftPolicy: 'Report' });
    const report = registryPlan({ ...world, spec });
    expect([said(report), differing(report)]).toEqual(['in-sync', ['credentials*']]);
  });

  // COVERAGE 71
  test('waits for a rollout under way, but not for ever', () => {
    const linked = [aLink('running'), aLink('provisioning', { name: 'web' })];
    const plan = registryPlan({ ...changed, linked });
    expect([said(plan), stepsOf(plan)]).toEqual(['wait RolloutUnderWay', ['rotate-registry']]);
    expect(plan.kind === 'wait' && plan.message).toContain('web (provisioning)');
    const waitingSince = (sinceMs: number) => ({
      observedGeneration: 1,
      conditions: [
        {
          type: 'Reconciling' as const,
          status: 'True' as const,
          reason: 'RolloutUnderWay',
          message: '',
          lastTransitionTime: new Date(sinceMs).toISOString(),
          observedGeneration: 1,
        },
      ],
    });
    const later = (ms: number) =>
      said(registryPlan({ ...changed, linked, record: { report: lastReport(waitingSince(now - ms)) } }));
    expect(later(599_000)).toBe('wait RolloutUnderWay');
    expect(later(600_000)).toBe('rotate-registry (CredentialsChanged)');
  });

  test('without a revision nothing can be rotated', () => {
    const registry = aRegistry({ revision: undefined });
    expect(said(registryPlan({ ...changed, registry }))).toBe('wait AwaitingObservation');
  });
});

test('another repository is another registry', () => {
  const plan = registryPlan({ spec: aRegistrySpec({ repository: 'ghcr.io/acme/web' }) });
  expect([said(plan), differing(plan)]).toEqual(['hold ImmutableFieldChanged', ['repository']]);
});

test('so it is where the API does not show which one it is', () => {
  const registry = aRegistry({ repository: undefined });
  const { record } = registryInputs({ registry });
  const plan = registryPlan({ registry, record, spec: aRegistrySpec({ repository: 'ghcr.io/acme/web' }) });
  expect(said(plan)).toBe('hold ImmutableFieldChanged');
});

test('the same repository in another form is the same', () => {
  const registry = aRegistry({ repository: 'GHCR.io/acme/trainer' });
  expect(said(registryPlan({ registry }))).toBe('in-sync');
  expect(said(registryPlan({ registry: aRegistry({ repository: undefined }) }))).toBe('in-sync');
});

describe('deletion', () => {
  // COVERAGE 7, 72
  test.each(['running', 'provisioning', 'error', 'paused', 'deleting', undefined])(
    'waits for a linked service that is %s, and names it',
    (state) => {
      const plan = registryPlan({
        deleting: true,
        linked: [aLink('sleeping'), aLink(state, { name: 'web' })],
      });
      expect([said(plan), stepsOf(plan)]).toEqual(['wait RegistryInUse', ['delete-registry']]);
      expect(plan.kind === 'wait' && plan.message).toContain(`web (${state ?? 'no state'})`);
    },
  );

  // COVERAGE 7
  test('goes on when all linked services sleep, or there are none', () => {
    const linked = [aLink('sleeping'), aLink('sleeping')];
    expect(actionOf(registryPlan({ deleting: true, linked }), 'delete-registry')).toEqual({
      do: 'delete-registry',
      id: registryId,
      revision: 4,
    });
    expect(said(registryPlan({ deleting: true }))).toBe('delete-registry (Deleted)');
    expect(said(registryPlan({ deleting: true, gates: { deletion: brake } }))).toBe('hold MassChangeBrake');
  });

  test('needs no Secret any more, and is not asked for under Retain', () => {
    const problem = { kind: 'problem', reason: 'InvalidReference', path: ['spec'], message: 'gone' } as const;
    expect(said(registryPlan({ deleting: true, credentials: problem }))).toBe('delete-registry (Deleted)');
    const spec = aRegistrySpec({ deletionPolicy: 'Retain' });
    expect(said(registryPlan({ deleting: true, spec }))).toBe('in-sync');
    expect(said(registryPlan({ deleting: true, registry: 'gone' }))).toBe('in-sync');
  });
});

describe('what uses it', () => {
  const services = new Map([
    [serviceId, aService({ state: 'running' })],
    ['other', { ...aService({ name: 'other', image: 'ghcr.io/acme/other:1' }), id: 'other' }],
  ]);
  const linked = (registry: ReturnType<typeof aRegistry>) =>
    linkedServices(registry, 'ghcr.io/acme/trainer', services);

  // COVERAGE 4, 70
  test('is what the API lists, with what it says of their credentials', () => {
    const entries = [
      { id: 'a', name: 'web', state: 'sleeping', usesCurrentCredentials: false },
      { id: 'b', usesCurrentCredentials: true },
      { id: serviceId },
    ];
    expect(linked(aRegistry({ linkedServices: entries }))).toEqual([
      { id: 'a', name: 'web', state: 'sleeping', credentials: 'Outdated' },
      { id: 'b', name: undefined, state: undefined, credentials: 'Current' },
      { id: serviceId, name: 'trainer', state: 'running', credentials: 'Unknown' },
    ]);
  });

  test('may be listed as ids only; the account tells the rest', () => {
    expect(linked(aRegistry({ linkedServices: [serviceId] }))).toEqual([
      { id: serviceId, name: 'trainer', state: 'running', credentials: 'Unknown' },
    ]);
  });

  test('is told by the images of the account when the API lists nothing', () => {
    expect(linked(aRegistry({ linkedServices: undefined })).map(({ id }) => id)).toEqual([serviceId]);
    const upperCase = new Map([[serviceId, aService({ image: 'GHCR.IO/ACME/TRAINER:1' })]]);
    const found = linkedServices(aRegistry({ linkedServices: undefined }), 'ghcr.io/acme/trainer', upperCase);
    expect(found.map(({ id }) => id)).toEqual([serviceId]);
  });
});
