import { describe, expect, test } from 'vitest';
import type { ConditionEntry } from '../../../../src/engine/status/index.ts';
import {
  observedReferences,
  observedService,
  serviceAllocation,
  serviceHealth,
  templateOutdated,
} from '../../../../src/kinds/container-service/status.ts';
import { aService, aSpec } from '../../../support/plan.ts';

const absent = { kind: 'absent', confirmed: true } as const;
const resolved = {
  kind: 'resolved',
  name: 'pytorch',
  requiredEnvironment: [],
  outdated: [],
  missing: undefined,
} as const;
const words = (reported: ConditionEntry[]) =>
  reported.map(([type, { status: is, reason }]) => `${type}=${is} ${reason}`);

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

  // COVERAGE 53
  test('the words of the provider are told without our secrets and on one line', () => {
    const value = aService({ state: 'error', error: 'bad\ntoken canary-9f8e7d6c' });
    const health = serviceHealth(aSpec(), { kind: 'present', value }, undefined, () => ['canary-9f8e7d6c']);
    expect(health.message).toBe('bad token [redacted]');
  });

  test('what was not seen is not ready', () => {
    const pending = { kind: 'pending', message: 'not looked at yet' } as const;
    expect(serviceHealth(aSpec(), pending, undefined)).toMatchObject({
      ready: 'False',
      reason: 'AwaitingObservation',
    });
    expect(serviceHealth(aSpec(), absent, undefined)).toMatchObject({ ready: 'False', reason: 'NotThere' });
  });
});

describe('what is shown', () => {
  test('is the price of now: nothing while it holds no compute', () => {
    const reported = ['running', 'paused', 'sleeping'].map((state) =>
      observedService({ kind: 'present', value: aService({ state, hourlyMicros: 972_000 }) }),
    );
    expect(reported.map(({ hourlyMicros }) => hourlyMicros)).toEqual([972_000, 0, 0]);
  });

  // COVERAGE 55, 62
  test('leaves out what the API does not tell', () => {
    const value = aService({ endpoint: 'https://x.example', hourlyMicros: 12 });
    expect(observedService({ kind: 'present', value })).toEqual({
      state: 'running',
      endpoint: 'https://x.example',
      region: 'standard',
      geography: 'eu-north',
      hourlyMicros: 12,
    });
    expect(observedService(absent)).toEqual({});
  });
});

// COVERAGE 120
describe('accepted and allocated are two things', () => {
  test.each([
    ['running', 'True ComputeHeld'],
    ['error', 'True ComputeHeld'],
    ['provisioning', 'False NotAllocated'],
    ['paused', 'False Paused'],
    ['sleeping', 'False Sleeping'],
    ['a new one', 'False NotAllocated'],
  ])('a service that is %s is accepted, and allocated: %s', (state, allocated) => {
    expect(words(serviceAllocation({ kind: 'present', value: aService({ state }) }))).toEqual([
      'Accepted=True Exists',
      `Allocated=${allocated}`,
    ]);
  });

  test('what is not there is neither', () => {
    expect(words(serviceAllocation(absent))).toEqual(['Accepted=False NotThere', 'Allocated=False NotThere']);
  });
});

describe('TemplateOutdated', () => {
  const condition = (more: object = {}) => templateOutdated({ ...resolved, ...more })[0];

  test('is there for services that took something of a template only', () => {
    expect(templateOutdated({ kind: 'none' })).toEqual([]);
    expect(condition()).toEqual(['TemplateOutdated', { status: 'False', reason: 'AsTaken', message: '' }]);
  });

  // COVERAGE 66
  test('is True with the fields that differ, and says how to take them over', () => {
    expect(condition({ outdated: ['image', 'httpPort'] })).toEqual([
      'TemplateOutdated',
      {
        status: 'True',
        reason: 'TemplateChanged',
        message:
          'the template pytorch gives another image, httpPort now; `templateUpdates: Apply` takes it over',
      },
    ]);
    expect(
      observedReferences({ ...resolved, outdated: ['image'] }, { kind: 'usable', name: 'ghcr' }),
    ).toEqual({
      template: 'pytorch',
      templateOutdated: ['image'],
      registry: 'ghcr',
    });
  });

  // COVERAGE 23
  test('is Unknown when the template is gone', () => {
    expect(condition({ missing: 'no such template' })?.[1]).toMatchObject({
      status: 'Unknown',
      reason: 'TemplateMissing',
    });
  });
});
