import { describe, expect, test } from 'vitest';
import { observedRegistry, registryHealth } from '../../../../src/kinds/image-registry/status.ts';
import { aLink, aRegistry } from '../../../support/shared-kinds.ts';

const present = <Value>(value: Value) => ({ kind: 'present' as const, value });
const absent = { kind: 'absent', confirmed: true } as const;

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
  ])('tells when it was rotated, if the API does: %j', (rotatedAt, reported) => {
    const { rotatedAt: shown } = observedRegistry(present(aRegistry({ rotatedAt })), 'ghcr.io/a/b', []);
    expect(typeof shown === 'string' ? Date.parse(shown) : shown).toBe(reported && Date.parse(reported));
  });
});
