import { expect, test } from 'vitest';
import { isDown } from '../../../../src/kinds/service-fleet/look.ts';
import { availableAt } from '../../../../src/kinds/service-fleet/replica.ts';
import type { ObjectRecord } from '../../../../src/state/index.ts';
import { startMs } from './worlds.ts';

const minReadyMs = 30_000;

test('a replica is available when it has been Ready for long enough', () => {
  expect(availableAt(startMs, minReadyMs, startMs + 29_999)).toBe(startMs + 30_000);
  expect(availableAt(startMs, minReadyMs, startMs + 30_000)).toBeUndefined();
});

test('a clock that was set back makes no replica unavailable: all of them would be interrupted at once', () => {
  expect(availableAt(startMs, minReadyMs, startMs - 3_600_000)).toBeUndefined();
});

test('a replica that an account read shows running may serve, before its own pass has ended', () => {
  const record = (state: string, reason: string) =>
    ({
      seen: { id: 'a', state, since: startMs },
      report: { ready: { reason, since: startMs }, pending: undefined, drift: [], linked: [] },
    }) as unknown as ObjectRecord;
  const starting = record('provisioning', 'Provisioning');
  expect(isDown(starting, 'provisioning')).toBe(true);
  expect(isDown(starting, undefined)).toBe(true);
  expect(isDown(starting, 'running')).toBe(false);
  expect(isDown(record('stopped', 'NotRunning'), 'sleeping')).toBe(false);
  expect(isDown(record('running', 'ProbeFailed'), 'running')).toBe(true);
});
