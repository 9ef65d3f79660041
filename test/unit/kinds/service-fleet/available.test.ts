import { expect, test } from 'vitest';
import { availableAt } from '../../../../src/kinds/service-fleet/replica.ts';
import { startMs } from './worlds.ts';

const minReadyMs = 30_000;

test('a replica is available when it has been Ready for long enough', () => {
  expect(availableAt(startMs, minReadyMs, startMs + 29_999)).toBe(startMs + 30_000);
  expect(availableAt(startMs, minReadyMs, startMs + 30_000)).toBeUndefined();
});

test('a clock that was set back makes no replica unavailable: all of them would be interrupted at once', () => {
  expect(availableAt(startMs, minReadyMs, startMs - 3_600_000)).toBeUndefined();
});
