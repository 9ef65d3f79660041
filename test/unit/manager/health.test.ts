import { expect, test } from 'vitest';
import { diskChecks } from '../../../src/manager/health.ts';

test('a disk that has not confirmed a write for more than a minute makes a manager not ready', () => {
  expect([diskChecks({}), diskChecks({ diskWaitMs: 0 }), diskChecks({ diskWaitMs: 60_000 })]).toEqual([
    [],
    [],
    [],
  ]);
  expect(diskChecks({ diskWaitMs: 61_200 })).toEqual([
    { name: 'state-file', problem: 'the disk has not confirmed a write for 61 s' },
  ]);
});

test('a disk that does not take a write makes a manager not ready', () => {
  expect(diskChecks({ diskFailure: 'database or disk is full' })).toEqual([
    { name: 'state-file', problem: 'database or disk is full' },
  ]);
});
