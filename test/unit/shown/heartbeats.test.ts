/** A task is shown as held only while somebody may send its heartbeats. */
import { describe, expect, test } from 'vitest';
import type { Condition, ObjectKey } from '../../../src/resources/index.ts';
import { newRecord } from '../../../src/state/index.ts';
import { statusEntries } from '../../../src/shown/entries.ts';
import { expiredTasks, withoutHeartbeats } from '../../../src/shown/heartbeats.ts';
import type { ManagerState } from '../../../src/shown/manager-state.ts';

const key: ObjectKey = 'ProtectedTask/default/epoch';
const noon = Date.UTC(2026, 0, 1, 12);
const seenAt = noon - 1000;

function held(kind: object = {}) {
  const ready: Condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Held',
    message: '',
    lastTransitionTime: '2026-01-01T11:00:00Z',
    observedGeneration: 1,
  };
  const registration = { serviceId: 'svc-1', activityId: 'uid', releaseKey: 'release' };
  const status = { observedGeneration: 1, conditions: [ready] };
  return statusEntries([{ ...newRecord(key, 'uid'), kind: { registration, ...kind }, status }]);
}

function shown(manager: ManagerState, nowMs: number, heartbeats?: Record<string, number>, entries = held()) {
  const found = withoutHeartbeats(entries, manager, heartbeats, nowMs);
  const [ready] = found[0]?.record.status?.conditions ?? [];
  return { ready, expired: expiredTasks(found) };
}

describe('a held task', () => {
  const stopped = { phase: 'Stopped', command: 'apply', seenAt } as const;
  const late = noon + 300_000;

  test('is as recorded while a manager is at work', () => {
    for (const phase of ['Running', 'Impaired', 'Unknown'] as const) {
      expect(shown({ phase, seenAt }, late).ready).toMatchObject({
        status: 'True',
        reason: 'Held',
        message: '',
      });
    }
  });

  test('is as recorded while its last heartbeat may still count', () => {
    expect(shown(stopped, noon)).toMatchObject({ ready: { status: 'True', reason: 'Held' }, expired: [] });
  });

  test.each(['Stopped', 'Lost', 'Silent'] as const)(
    'is stale when the last heartbeat of a manager that is %s is too old',
    (phase) => {
      expect(shown({ ...stopped, phase }, late)).toMatchObject({
        ready: {
          status: 'False',
          reason: 'Expired',
          message: expect.stringMatching(
            /the last heartbeat was 5 min ago.*still protects; start `fleetkeeper run`/,
          ),
        },
        expired: [key],
      });
    },
  );

  test('is as old as its own last heartbeat, where that is recorded', () => {
    expect(shown(stopped, noon, { [key]: noon - 300_000 }).ready?.reason).toBe('Expired');
  });

  test('that was released needs none', () => {
    const entries = held({ releasedAt: noon });
    expect(shown(stopped, late, undefined, entries)).toMatchObject({
      ready: { reason: 'Held' },
      expired: [],
    });
  });
});
