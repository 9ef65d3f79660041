import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countOf } from '../../../../src/kinds/service-fleet/counts.ts';
import { correctionOf } from '../../../../src/kinds/service-fleet/look.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import { newRecord } from '../../../../src/state/index.ts';
import {
  after,
  fleetSpec,
  place,
  planOf,
  replicaIn,
  rosterAfter,
  startMs,
  worldOf,
  type State,
  type World,
} from './worlds.ts';

const replicasIn = (...given: readonly State[]) => given.map((state, slot) => replicaIn(state, slot));

const drifted = (count: number, update: object = {}, template: object = {}) =>
  worldOf(
    Array.from({ length: count }, (_, slot) => replicaIn('drifted', slot)),
    {
      spec: fleetSpec({
        replicas: count,
        update: { maxSurge: 1, ...update },
        template: {
          spec: { region: 'standard', image: 'a:1', resources: { cpu: 1, memoryGb: 1 }, ...template },
        },
      }),
    },
  );

const allowed = (world: World) =>
  rosterAfter(planOf(world)).flatMap(({ slot, corrects }) => (corrects === undefined ? [] : [slot]));

const changed = (world: World, slot: number, change: Partial<Replica>): World => ({
  ...world,
  replicas: world.replicas.map((each) => (each.entry.slot === slot ? { ...each, ...change } : each)),
});

describe('a correction that interrupts', () => {
  test.each([
    [0, 1],
    [1, 1],
    [2, 2],
    ['50%', 3],
    ['100%', 6],
  ])('with maxUnavailable %s: %d of six may be interrupted at once', (maxUnavailable, count) => {
    expect(allowed(drifted(6, { maxUnavailable }))).toHaveLength(count);
  });

  test('is shown, and ends one replica after the other', () => {
    let world = drifted(3);
    expect(planOf(world)).toMatchObject({ reason: 'Drift', message: 'may be corrected: replica 2' });
    const most: number[] = [];
    for (let step = 0; step < 30; step += 1) {
      const plan = planOf(world);
      if (plan.kind === 'in-sync') break;
      world = after(world, plan);
      most.push(world.replicas.filter(({ correction }) => correction === 'running').length);
    }
    expect(Math.max(...most)).toBe(1);
    expect(world.replicas.map(({ correction, entry }) => [correction, entry.corrects])).toEqual(
      world.replicas.map(() => ['none', undefined]),
    );
  });

  test('is allowed at once for all that do not work', () => {
    const broken = (slot: number) =>
      replicaIn('drifted', slot, { isAvailable: false, isReady: false, mayServe: false });
    expect(allowed(worldOf([broken(0), broken(1), replicaIn('updated', 2)]))).toEqual([0, 1]);
  });

  test('waits while another replica is missing, if none may be unavailable', () => {
    const world = worldOf([...replicasIn('drifted', 'drifted'), replicaIn('updated!', 2)]);
    expect(planOf(world)).toMatchObject({
      kind: 'wait',
      message: 'not available yet: replica 2; changed by others, and to be corrected: replicas 0, 1',
    });
  });

  test('that is blocked ends, and others come first for a minute, and after it', () => {
    const first = drifted(2);
    const world = after(first, planOf(first));
    const blocked = changed(world, 1, { correction: 'blocked' });
    const plan = planOf(blocked);
    const [, entry] = rosterAfter(plan);
    expect(entry).toMatchObject({ slot: 1, blocked: blocked.nowMs });
    expect(entry).not.toHaveProperty('corrects');
    const next = changed(after(blocked, plan), 1, { correction: 'asked' });
    expect(allowed(next)).toEqual([0]);
    const alone = changed(next, 0, { correction: 'none' });
    expect(allowed(alone)).toEqual([1]);
    expect(planOf({ ...alone, nowMs: blocked.nowMs + 59_999 })).toMatchObject({
      kind: 'wait',
      recheckAfterMs: 1001,
    });
  });

  test('waits for a window, unless the replica is not available', () => {
    const disruptionWindows = [{ cron: '0 3 * * *', durationMinutes: 60 }];
    const world = drifted(2, {}, { disruptionWindows });
    expect(planOf(world)).toMatchObject({ kind: 'wait', reason: 'ReplicasNotReady' });
    expect(allowed(changed(world, 0, { isAvailable: false, mayServe: false }))).toEqual([0]);
    const opensAt = Date.parse('2023-11-15T03:00:00Z');
    expect(planOf({ ...world, nowMs: opensAt - 1_800_000 })).toMatchObject({ recheckAfterMs: 1_800_000 });
    expect(allowed({ ...world, nowMs: opensAt })).toEqual([1]);
  });
});

test('FI2: when all replicas drift at once, the floor holds, or one at a time is interrupted', () => {
  const any = fc.record({
    count: fc.integer({ min: 1, max: 8 }),
    maxUnavailable: fc.constantFrom(0, 1, 2, '30%', '100%'),
    maxSurge: fc.constantFrom(1, '50%'),
    late: fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 4 }),
  });
  fc.assert(
    fc.property(any, ({ count, maxUnavailable, maxSurge, late }) => {
      const floor = count - countOf(maxUnavailable, count, 'down');
      let world = drifted(count, { maxUnavailable, maxSurge });
      let steps = 0;
      for (; steps < 100; steps += 1) {
        const plan = planOf(world);
        if (plan.kind === 'in-sync') break;
        const waits = plan.kind !== 'arrange';
        const next = after(world, plan);
        // Some take longer: they run on in this round.
        const slow = waits && steps < 20 ? new Set(late.filter((slot) => (slot + steps) % 3 > 0)) : new Set();
        world = {
          ...next,
          replicas: next.replicas.map((each, at) => (slow.has(at) ? (world.replicas[at] ?? each) : each)),
        };
        const interrupted = world.replicas.filter(({ correction }) => correction === 'running').length;
        expect(interrupted).toBeLessThanOrEqual(Math.max(1, count - floor));
      }
      expect(steps).toBeLessThan(100);
    }),
  );
});

describe('what a replica reports', () => {
  const record = (pending: string | undefined) => ({
    ...newRecord('ContainerService/default/llm-0', 'uid'),
    report: {
      ready: { reason: 'Running', since: 0 },
      pending: pending === undefined ? undefined : { reason: pending, since: 0 },
      drift: [],
      linked: [],
      reconcileAt: undefined,
    },
  });
  const entry = { slot: 0, phase: 'wanted', since: startMs, place } as const;
  const allowedAt = (corrects: number) => ({ ...entry, corrects });

  test.each([
    ['AwaitsTurn', entry, {}, 'asked'],
    ['AwaitsTurn', entry, { isCurrent: false }, 'none'],
    [undefined, entry, {}, 'none'],
    ['AwaitsTurn', allowedAt(startMs), {}, 'running'],
    ['AwaitsTurn', allowedAt(startMs - 14_999), {}, 'running'],
    ['AwaitsTurn', allowedAt(startMs - 15_000), {}, 'blocked'],
    ['AwaitsTurn', allowedAt(startMs + 1), {}, 'blocked'],
    ['Drift', allowedAt(startMs - 60_000), {}, 'running'],
    [undefined, allowedAt(startMs - 60_000), { isAvailable: false }, 'running'],
    [undefined, allowedAt(startMs - 60_000), {}, 'done'],
    ['AwaitsTurn', allowedAt(startMs), { isCurrent: false }, 'done'],
  ])('%s with %j, %j: %s', (pending, given, state, expected) => {
    const now = { isCurrent: true, isAvailable: true, nowMs: startMs, ...state };
    expect(correctionOf(given, record(pending), now)).toBe(expected);
  });
});
