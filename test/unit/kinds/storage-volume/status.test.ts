import { describe, expect, test } from 'vitest';
import type { ConditionEntry } from '../../../../src/engine/status/index.ts';
import {
  observedVolume,
  volumeAllocation,
  volumeHealth,
} from '../../../../src/kinds/storage-volume/status.ts';
import { aVolume } from '../../../support/plan.ts';

const pending = { kind: 'pending', message: 'not looked at yet' } as const;
const words = (reported: ConditionEntry[]) =>
  reported.map(([type, { status: is, reason }]) => `${type}=${is} ${reason}`);

describe('health', () => {
  test.each([
    [{ status: 'ready' }, 'True Provisioned'],
    [{ status: 'error', error: 'the disk is full' }, 'False VolumeError'],
    [{ status: 'expanding' }, 'False NotReady'],
    [{ status: undefined }, 'False NotReady'],
  ])('a volume that shows %j: %s', (shown, expected) => {
    const { ready, reason } = volumeHealth({ kind: 'present', value: aVolume(shown) });
    expect(`${ready} ${reason}`).toBe(expected);
  });

  // COVERAGE 63
  test('the words of the provider are told bounded and on one line', () => {
    const volume = aVolume({ status: 'error', error: `disk\u0007${'x'.repeat(1000)}` });
    const reported = volumeHealth({ kind: 'present', value: volume }).message;
    expect([reported.slice(0, 6), reported.length]).toEqual(['disk x', 500]);
  });

  test('what was not seen is not ready', () => {
    expect(volumeHealth(pending)).toMatchObject({ ready: 'False', reason: 'AwaitingObservation' });
    const absent = { kind: 'absent', confirmed: true } as const;
    expect(volumeHealth(absent)).toMatchObject({ ready: 'False', reason: 'NotThere' });
  });
});

describe('what is shown', () => {
  test('is the price of now: nothing while it is deleted', () => {
    const volume = aVolume({ status: 'deleting', hourlyMicros: 1400 });
    expect(observedVolume({ kind: 'present', value: volume })).toMatchObject({ hourlyMicros: 0 });
  });

  test('leaves out what the API does not tell', () => {
    expect(observedVolume({ kind: 'present', value: aVolume() })).toEqual({
      state: 'ready',
      region: 'standard',
      geography: 'eu-north',
      sizeGb: 100,
      requestedSizeGb: 100,
      provisioned: true,
    });
    expect(observedVolume(pending)).toEqual({});
  });
});

// COVERAGE 120
describe('accepted and allocated are two things', () => {
  test.each([
    [{ status: 'ready', provisioned: true }, 'True StorageHeld'],
    [{ status: 'ready', provisioned: null }, 'True StorageHeld'],
    [{ status: 'expanding', provisioned: true }, 'True StorageHeld'],
    [{ status: 'ready', provisioned: false }, 'False NotAllocated'],
    [{ status: 'provisioning', provisioned: null }, 'False NotAllocated'],
  ])('a volume that shows %j is allocated: %s', (shown, allocated) => {
    expect(words(volumeAllocation({ kind: 'present', value: aVolume(shown) }))[1]).toBe(
      `Allocated=${allocated}`,
    );
  });

  test('of what was not read nothing is said', () => {
    expect(words(volumeAllocation(pending))).toEqual([
      'Accepted=Unknown AwaitingObservation',
      'Allocated=Unknown AwaitingObservation',
    ]);
  });
});
