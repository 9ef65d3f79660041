import { expect, test } from 'vitest';
import { livenessChecks } from '../../../src/manager/health.ts';

const checksOf = (diskWaitMs?: number) =>
  livenessChecks(undefined, diskWaitMs === undefined ? {} : { diskWaitMs });
const problemsOf = (diskWaitMs?: number) =>
  checksOf(diskWaitMs)
    .filter(({ problem }) => problem !== undefined)
    .map(({ name, problem }) => `${name}: ${problem}`);

test('a disk that has not confirmed a write for more than a minute calls for a restart, and none is there in a cluster', () => {
  expect(problemsOf()).toEqual([]);
  expect(problemsOf(0)).toEqual([]);
  expect(problemsOf(60_000)).toEqual([]);
  expect(problemsOf(61_200)).toEqual(['state-file: the disk has not confirmed a write for 61 s']);
  const names = (diskWaitMs?: number) => checksOf(diskWaitMs).map(({ name }) => name);
  expect([names(), names(0)]).toEqual([
    ['event-loop', 'workers'],
    ['event-loop', 'workers', 'state-file'],
  ]);
});
