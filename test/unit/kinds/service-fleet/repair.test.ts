import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { givenUp } from '../../../../src/kinds/service-fleet/look.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import { newRecord } from '../../../../src/state/index.ts';
import {
  after,
  fleetSpec,
  old,
  planOf,
  present,
  replicaIn,
  rosterAfter,
  startMs,
  worldOf,
  type World,
} from './worlds.ts';

const nowMs = startMs + 1000;

/** So many that are well, and after them so many that are broken. */
function fleetWith(well: number, broken: number, repair: object = {}): World {
  const replicas = Array.from({ length: well + broken }, (_, slot) =>
    replicaIn(slot < well ? 'updated' : 'broken', slot),
  );
  return worldOf(replicas, { spec: fleetSpec({ replicas: well + broken, repair }), nowMs });
}

const slotsIn = (world: World, phase: string) =>
  rosterAfter(planOf(world)).flatMap(({ slot, phase: own }) => (own === phase ? [slot] : []));

const changed = (world: World, slot: number, change: Partial<Replica>): World => ({
  ...world,
  replicas: world.replicas.map((replica) =>
    replica.entry.slot === slot ? { ...replica, ...change } : replica,
  ),
});

/** If it is broken, it drains since now. */
function draining(replica: Replica): Replica {
  const { entry, givenUp: isBroken } = replica;
  return isBroken
    ? { ...replica, entry: { ...entry, phase: 'draining', since: nowMs, cause: 'repair' } }
    : replica;
}

describe('repair', () => {
  test('drains a replica that stays broken, whose own planner has given up', () => {
    const world = fleetWith(5, 1);
    expect(slotsIn(world, 'draining')).toEqual([5]);
    expect(planOf(world)).toMatchObject({
      kind: 'arrange',
      reason: 'Repairing',
      message: 'to be replaced: replica 5 (ServiceError)',
    });
  });

  test('waits for afterSeconds, and looks again when they are over', () => {
    const world = fleetWith(5, 1, { afterSeconds: 700 });
    expect(planOf(world)).toMatchObject({
      kind: 'wait',
      reason: 'ReplicasNotReady',
      message: 'not available yet: replica 5; given up: replica 5 (ServiceError)',
      recheckAfterMs: 99_000,
    });
    expect(slotsIn({ ...world, nowMs: startMs + 99_999 }, 'draining')).toEqual([]);
    expect(slotsIn({ ...world, nowMs: startMs + 100_000 }, 'draining')).toEqual([5]);
  });

  test('looks again when the grace period of the broken one is over, also where its replacement waits until it is gone', () => {
    const spec = fleetSpec({
      replicas: 3,
      update: { maxSurge: 0, maxUnavailable: 1 },
      drain: { graceSeconds: 30 },
    });
    const broken = changed(worldOf(fleetWith(2, 1).replicas, { spec, nowMs }), 2, {
      protection: 'no',
    });
    const drains = { ...broken, replicas: broken.replicas.map((replica) => draining(replica)) };
    expect(planOf(drains)).toMatchObject({
      kind: 'wait',
      reason: 'ReplicasNotReady',
      message: '1 of 3 replicas wait until others are gone; leaving: replica 2',
      recheckAfterMs: 30_000,
    });
    expect(slotsIn({ ...drains, nowMs: nowMs + 30_000 }, 'retiring')).toEqual([2]);
  });

  test('does nothing for a replica that only waits, however long', () => {
    const world = changed(fleetWith(5, 1), 5, { givenUp: undefined });
    expect(planOf(world)).toMatchObject({ kind: 'wait', reason: 'ReplicasNotReady' });
  });

  test('with Report it is only shown', () => {
    const plan = planOf(fleetWith(5, 1, { mode: 'Report' }));
    expect(plan).toMatchObject({
      kind: 'wait',
      message: 'not available yet: replica 5; given up: replica 5 (ServiceError)',
    });
  });

  test.each([
    [10, 1, 20, 1],
    [8, 2, 20, 2],
    [7, 3, 20, 2],
    [5, 1, 1, 1],
    [4, 2, 1, 1],
    [0, 1, 100, 1],
  ])(
    'of %d well and %d broken ones with %d per cent, %d leave at once',
    (well, broken, maxPercent, leave) => {
      expect(slotsIn(fleetWith(well, broken, { maxPercent }), 'draining')).toHaveLength(leave);
    },
  );

  test('when more than twice as many fail, nothing is repaired', () => {
    expect(slotsIn(fleetWith(6, 4), 'draining')).toHaveLength(2);
    expect(planOf(fleetWith(5, 5))).toMatchObject({
      kind: 'hold',
      reason: 'MassFailure',
      message:
        '5 of 10 replicas fail, and no more than 4 may for a repair: replicas 5, 6, 7, 8, 9 (ServiceError)',
    });
  });

  test('those that fail without having given up count, and those that are being made do not', () => {
    const failing = { isAvailable: false, isReady: false };
    const one = changed(changed(fleetWith(9, 3), 0, failing), 1, failing);
    expect(planOf(one)).toMatchObject({ reason: 'MassFailure' });
    const made = { ...failing, content: 'updating' } as const;
    const other = changed(changed(fleetWith(9, 3), 0, made), 1, made);
    expect(planOf(other)).toMatchObject({ reason: 'Repairing' });
  });

  test('a mass failure does not keep the fleet from a new template', () => {
    const world = fleetWith(1, 3);
    const outdated = {
      ...world,
      revisions: [old, present],
      replicas: world.replicas.map(({ entry: { slot }, givenUp: reported }) =>
        replicaIn('outdated!', slot, { givenUp: reported }),
      ),
    };
    expect(planOf(outdated)).toMatchObject({ reason: 'RollingOut' });
  });

  test('one whose volume is gone is replaced although its content has never run: that did not delete the volume', () => {
    const givenUpSince = nowMs - 3_600_000;
    const lost = { reason: 'DataLost', since: givenUpSince };
    expect(slotsIn(changed(fleetWith(0, 1), 0, { content: 'updating', givenUp: lost }), 'draining')).toEqual([
      0,
    ]);
  });

  test('a template that has never run is at fault: another replica would fail as well', () => {
    const never = changed(fleetWith(0, 1), 0, { content: 'updating' });
    expect(planOf(never)).toMatchObject({ kind: 'wait', reason: 'ReplicasNotReady' });
    const elsewhere = changed(fleetWith(5, 1), 5, { content: 'updating' });
    expect(slotsIn(elsewhere, 'draining')).toEqual([5]);
  });

  test('one that is protected drains until it is released, and no other one leaves instead', () => {
    const first = fleetWith(5, 1);
    const drained = after(first, planOf(first));
    const held = changed(drained, 5, { protection: 'yes', protector: 'a task' });
    const grown = after(held, planOf(held));
    expect(grown.replicas.map(({ entry }) => entry.phase)).toEqual([
      ...Array.from({ length: 5 }, () => 'wanted'),
      'draining',
      'wanted',
    ]);
    const settled = after(grown, planOf(grown));
    const still = changed(settled, 5, { protection: 'yes', protector: 'a task' });
    expect(planOf(still)).toMatchObject({
      reason: 'ReplicasProtected',
      message: 'protected: replica 5 by a task',
    });
  });

  test('one that is well again while it drains is taken back', () => {
    const first = fleetWith(5, 1);
    const drained = after(first, planOf(first));
    const well = changed(drained, 5, { isReady: true, isAvailable: true, givenUp: undefined });
    const plan = planOf(well);
    expect(rosterAfter(plan).find(({ slot }) => slot === 5)).toMatchObject({ phase: 'wanted' });
    expect(rosterAfter(plan).find(({ slot }) => slot === 5)).not.toHaveProperty('cause');
  });

  test('the next repair waits until the replacement is available', () => {
    const { replicas, ...rest } = fleetWith(4, 2, { maxPercent: 1 });
    const coming = replicaIn('updating', 5, { isMade: false });
    const world = { ...rest, state: { repairedAt: startMs }, replicas: [...replicas.slice(0, 5), coming] };
    expect(planOf(world)).toMatchObject({ kind: 'wait', reason: 'ReplicasNotReady' });
    const come = changed(world, 5, { content: 'updated', isReady: true, isAvailable: true });
    expect(slotsIn(come, 'draining')).toEqual([4]);
    const failed = changed(world, 5, { givenUp: { reason: 'ServiceError', since: nowMs } });
    expect(slotsIn(failed, 'draining')).toEqual([4]);
    const older = { ...world, state: { repairedAt: startMs + 1 } };
    expect(slotsIn(older, 'draining')).toEqual([4]);
  });
});

test('no more are under repair at once than allowed, none that is well is, and it ends', () => {
  const anyFleet = fc.record({
    well: fc.integer({ min: 1, max: 12 }),
    broken: fc.integer({ min: 0, max: 6 }),
    maxPercent: fc.constantFrom(1, 20, 50, 100),
  });
  fc.assert(
    fc.property(anyFleet, ({ well, broken, maxPercent }) => {
      const most = Math.max(1, Math.floor((maxPercent * (well + broken)) / 100));
      let world = fleetWith(well, broken, { maxPercent });
      let plan = planOf(world);
      for (let step = 0; step < 60 && plan.kind !== 'in-sync' && plan.kind !== 'hold'; step += 1) {
        world = after(world, plan);
        const leaving = world.replicas.filter(({ entry }) => entry.phase !== 'wanted');
        expect(leaving.length).toBeLessThanOrEqual(most);
        expect(leaving.filter(({ entry: { slot } }) => slot < well)).toEqual([]);
        plan = planOf(world);
      }
      const isMass = broken > 2 * most;
      expect(plan.kind === 'hold' ? plan.reason : plan.kind).toBe(isMass ? 'MassFailure' : 'in-sync');
    }),
  );
});

test.each([
  ['ServiceError', 'ServiceError', true],
  ['RemediationExhausted', 'RemediationExhausted', true],
  ['DataLost', 'DataLost', true],
  [undefined, 'NotThere', true],
  ['Create', 'NotThere', false],
  ['CapacityUnavailable', 'CapacityUnavailable', false],
  ['InsufficientFunds', 'InsufficientFunds', false],
  ['Protected', 'Protected', false],
  ['RemediationBackoff', 'RemediationBackoff', false],
  ['AwaitsTurn', 'ServiceError', false],
  [undefined, 'ProbeFailed', false],
])(
  'a replica that reports %s, and %s as the reason of Ready, has given up: %s',
  (pending, ready, expected) => {
    const reported = (reason: string | undefined) =>
      reason === undefined ? undefined : { reason, since: 7 };
    const report = {
      ready: reported(ready),
      pending: reported(pending),
      drift: [],
      linked: [],
      reconcileAt: undefined,
    };
    const record = { ...newRecord('ContainerService/default/llm-0', 'uid'), report };
    expect(givenUp(record)).toEqual(expected ? { reason: pending ?? ready, since: 7 } : undefined);
  },
);
