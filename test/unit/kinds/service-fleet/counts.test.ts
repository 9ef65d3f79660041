import { describe, expect, test } from 'vitest';
import { countOf, unavailableAtMost, wantedReplicas } from '../../../../src/kinds/service-fleet/counts.ts';
import { fleetSpec } from './worlds.ts';

const atUtc = (time: string) => Date.parse(`2026-11-20T${time}:00Z`);
const night = { name: 'night', cron: '0 22 * * *', durationMinutes: 480 };

describe('the wanted number', () => {
  test.each([
    [{ replicas: 5 }, 5],
    [{ replicas: 5, maxReplicas: 3 }, 3],
    [{ replicas: 0, minReplicas: 2 }, 2],
    [{ replicas: 5, schedules: [{ ...night, replicas: 1 }] }, 1],
    [{ replicas: 5, minReplicas: 2, schedules: [{ ...night, maxReplicas: 0 }] }, 0],
    [{ replicas: 1, maxReplicas: 3, schedules: [{ ...night, minReplicas: 6 }] }, 6],
    [{ replicas: 5, minReplicas: 2, schedules: [{ ...night, replicas: 1 }] }, 2],
    [
      {
        replicas: 5,
        schedules: [
          { ...night, name: 'first', replicas: 7 },
          { ...night, replicas: 1 },
        ],
      },
      7,
    ],
  ])('of %j is %d at night', (spec, count) => {
    expect(wantedReplicas(fleetSpec(spec), atUtc('23:00')).count).toBe(count);
  });

  test('a schedule is open for its time, and says when that changes', () => {
    const spec = fleetSpec({ replicas: 5, schedules: [{ ...night, maxReplicas: 0 }] });
    expect(wantedReplicas(spec, atUtc('21:59'))).toEqual({
      count: 5,
      schedule: undefined,
      changesAt: atUtc('22:00'),
    });
    const open = wantedReplicas(spec, atUtc('22:00'));
    expect(open).toMatchObject({ count: 0, schedule: 'night' });
    expect(wantedReplicas(spec, open.changesAt - 1)).toMatchObject({ count: 0 });
    expect(wantedReplicas(spec, open.changesAt)).toMatchObject({ count: 5, schedule: undefined });
  });
});

test('shares are rounded as they are meant', () => {
  expect([countOf('25%', 6, 'up'), countOf('25%', 6, 'down'), countOf(3, 1, 'up')]).toEqual([2, 1, 3]);
});

test('shares that are rounded to 0 both let one be unavailable: nothing could ever be updated else', () => {
  const of = (update: object) => unavailableAtMost(fleetSpec({ update }).update, 1);
  expect(of({ maxSurge: 0, maxUnavailable: '50%' })).toBe(1);
  expect(of({ maxSurge: '50%', maxUnavailable: '50%' })).toBe(0);
  expect(unavailableAtMost(fleetSpec({ update: { maxSurge: 0, maxUnavailable: '50%' } }).update, 4)).toBe(2);
});

test.each([
  [{ replicas: 5 }, 3, 3],
  [{ replicas: 5, minReplicas: 4 }, 3, 4],
  [{ replicas: 2 }, 3, 2],
  [{ replicas: 5, schedules: [{ ...night, minReplicas: 4 }] }, 1, 4],
  [{ replicas: 5, minReplicas: 4, schedules: [{ ...night, maxReplicas: 2 }] }, 1, 2],
])('of %j, a budget that allows %d leaves %d at night', (spec, most, count) => {
  expect(wantedReplicas(fleetSpec(spec), atUtc('23:00'), [], most).count).toBe(count);
});
