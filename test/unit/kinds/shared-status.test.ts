import { describe, expect, test } from 'vitest';
import { observedReferences, templateOutdated } from '../../../src/kinds/container-service/status.ts';
import { observedRegistry, registryHealth } from '../../../src/kinds/image-registry/status.ts';
import { observedTemplate, templateHealth } from '../../../src/kinds/service-template/status.ts';
import { aLink, aRegistry, aTemplate } from '../../support/shared-kinds.ts';

const present = <Value>(value: Value) => ({ kind: 'present' as const, value });
const absent = { kind: 'absent', confirmed: true } as const;
const resolved = {
  kind: 'resolved',
  name: 'pytorch',
  requiredEnvironment: [],
  outdated: [],
  missing: undefined,
} as const;

test('a template is available when it is there, and tells who uses it and what they lack', () => {
  expect(templateHealth(present(aTemplate()))).toMatchObject({ ready: 'True', reason: 'Available' });
  expect(templateHealth(absent)).toMatchObject({ ready: 'False', reason: 'NotThere' });
  const users = [
    { name: 'web', missing: ['TOKEN'] },
    { name: 'api', missing: [] },
  ];
  expect(observedTemplate(present(aTemplate()), users)).toEqual({
    services: ['web', 'api'],
    missingEnvironment: [{ service: 'web', variables: ['TOKEN'] }],
  });
  expect(observedTemplate(absent, users)).toEqual({});
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

describe('a registry', () => {
  // COVERAGE 70
  test('is available, and names who still runs on the credentials before', () => {
    const linked = [aLink('running'), aLink('running', { name: 'web', credentials: 'Outdated' })];
    expect(registryHealth(present(aRegistry()), [aLink('running')])).toEqual({
      ready: 'True',
      reason: 'Available',
      message: '',
    });
    expect(registryHealth(present(aRegistry()), linked).message).toMatch(/before the last rotation: web;/);
    expect(registryHealth(absent, linked)).toMatchObject({ ready: 'False', reason: 'NotThere' });
  });

  // COVERAGE 69
  test.each([
    [Date.UTC(2026, 0, 1), '2026-01-01T00:00:00Z'],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
    [null, undefined],
    ['some day', undefined],
    [{ odd: 1 }, undefined],
  ])('tells when it was rotated, if the API does: %j', (rotatedAt, told) => {
    const { rotatedAt: shown } = observedRegistry(present(aRegistry({ rotatedAt })), 'ghcr.io/a/b', []);
    expect(typeof shown === 'string' ? Date.parse(shown) : shown).toBe(told && Date.parse(told));
  });
});
