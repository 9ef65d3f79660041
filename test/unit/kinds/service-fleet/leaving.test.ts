/** What a replica that is to leave keeps until it may be interrupted: it can be taken back until then, with what it has. */
import { describe, expect, test } from 'vitest';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import type { FleetState } from '../../../../src/kinds/service-fleet/state.ts';
import {
  fleetSpec,
  old,
  planOf,
  present,
  replicaIn,
  rosterAfter,
  startMs,
  worldOf,
  type State,
  type World,
} from './worlds.ts';

const hourMs = 3_600_000;

const replicasIn = (...given: readonly State[]) => given.map((state, slot) => replicaIn(state, slot));

const draining = (replica: Replica, since = startMs - hourMs): Replica => ({
  ...replica,
  protection: 'no',
  entry: { ...replica.entry, phase: 'draining', since },
});

/** `given`: of the template. */
function specWith(given: object, spec: object = {}) {
  const { template, ...rest } = fleetSpec({ replicas: 1, ...spec });
  return { ...rest, template: { ...template, spec: { ...template.spec, ...given } } };
}

const phases = (world: World) => rosterAfter(planOf(world)).map(({ phase }) => phase);

describe('outside of a disruption window', () => {
  const windows = { disruptionWindows: [{ cron: '0 3 * * *', durationMinutes: 60, timeZone: 'UTC' }] };
  const spec = specWith(windows);
  const closed = (replicas: readonly Replica[], more: Partial<World> = {}) =>
    worldOf(replicas, { spec, isWindowClosed: true, nowMs: startMs, ...more });
  const leaving = draining(replicaIn('updated', 1));

  test('a replica that serves drains on, and the fleet looks again when the window opens', () => {
    const plan = planOf(closed([replicaIn('updated', 0), leaving]));
    expect(plan).toMatchObject({ kind: 'wait', reason: 'ReplicasLeaving' });
    expect(plan).toHaveProperty('message', expect.stringMatching(/replica 1, until 20\S+T03:00:00Z/));
    const near = closed([replicaIn('updated', 0), leaving], { nowMs: nextMs(3) - 60_000 });
    expect(planOf(near)).toHaveProperty('recheckAfterMs', 60_000);
    const open = closed([replicaIn('updated', 0), leaving], { isWindowClosed: false });
    expect(phases(open)).toEqual(['wanted', 'retiring']);
  });

  test('it is taken back when more are wanted', () => {
    const two = specWith(windows, { replicas: 2 });
    expect(phases(closed([replicaIn('updated', 0), leaving], { spec: two }))).toEqual(['wanted', 'wanted']);
  });

  test('one that does not serve retires', () => {
    const broken = draining(replicaIn('broken', 1));
    expect(phases(closed([replicaIn('updated', 0), broken]))).toEqual(['wanted', 'retiring']);
  });

  test('so do those of a revision that is taken back', () => {
    const rollout = { ...rolloutTo(2, startMs, 0), phase: 'RollingBack' as const };
    const world = closed([replicaIn('updated', 0), leaving], { state: { update: 2, rollout } });
    expect(phases(world)).toEqual(['wanted', 'retiring']);
  });
});

/** The next full hour of this name after the start (Unix milliseconds). */
function nextMs(hour: number): number {
  const start = new Date(startMs);
  const same = Date.UTC(start.getUTCFullYear(), start.getUTCMonth(), start.getUTCDate(), hour);
  return same > startMs ? same : same + 24 * hourMs;
}

test('with `disruption: Never`, it drains until the template allows more', () => {
  const replicas = [replicaIn('updated', 0), draining(replicaIn('updated', 1))];
  const plan = planOf(worldOf(replicas, { spec: specWith({ disruption: 'Never' }) }));
  expect(plan).toMatchObject({ kind: 'hold', reason: 'DisruptionForbidden' });
  expect(plan).toHaveProperty('message', expect.stringMatching(/replica 1.*`disruption: Never`/));
});

test('one whose update a task keeps waiting leaves, and comes back, with the revision that it has', () => {
  const blocked = replicaIn('updating', 1, { isBlocked: true, excuse: 'Protected', mayServe: true });
  const entry = { ...blocked.entry, earlier: 1, updated: startMs };
  const world = worldOf([replicaIn('updated', 0), { ...blocked, entry }], {
    spec: fleetSpec({ replicas: 1 }),
    revisions: [old, present],
    state: { update: 2, rollout: rolloutTo(2, startMs, 0) },
  });
  const [, left] = rosterAfter(planOf(world));
  expect(left).toMatchObject({ slot: 1, phase: 'draining', revision: 1 });
  expect(left).not.toHaveProperty('updated');
});

test('one that was restarted for a retry keeps its token, so it is not restarted again when it is taken back', () => {
  const restarted = { token: 'r1#2', of: 'a' };
  const tried = replicaIn('updated', 1);
  const world = worldOf(
    [replicaIn('updated', 0), { ...tried, entry: { ...tried.entry, retried: 2, restarted } }],
    {
      spec: fleetSpec({ replicas: 1 }),
    },
  );
  expect(rosterAfter(planOf(world))[1]).toMatchObject({ slot: 1, phase: 'draining', retried: 2, restarted });
});

test('while tasks keep all updates waiting, that is the reason', () => {
  const blocked = (slot: number) =>
    replicaIn('updating', slot, { isBlocked: true, excuse: 'Protected', mayServe: true });
  const stopped = { reason: 'Protected', since: startMs };
  const world = worldOf([blocked(0), blocked(1)], {
    spec: fleetSpec({ replicas: 2, update: { maxSurge: 0, maxUnavailable: 2 } }),
    revisions: [old, present],
    state: { update: 2, rollout: { ...rolloutTo(2, startMs, 0), stopped } },
  });
  expect(planOf(world)).toMatchObject({ kind: 'wait', reason: 'ReplicasProtected' });
});

describe('a document that was removed after its revision failed, and is back', () => {
  const failed = { ...present, outcome: 'Failed' as const, reason: 'ServiceError' };
  const back = (replicas: readonly Replica[], revisions = [old, failed]) =>
    worldOf(replicas, { spec: fleetSpec({ replicas: 2 }), revisions, state: { update: 2 } });
  const rolloutIn = (world: World) => {
    const plan = planOf(world);
    return plan.kind === 'arrange' ? (plan.state as FleetState).rollout : undefined;
  };

  test('does not try the failed revision again', () => {
    expect(rolloutIn(back(replicasIn('outdated', 'outdated')))).toMatchObject({
      revision: 2,
      phase: 'RolledBack',
      cause: 'ServiceError',
    });
  });

  test('brings those back that still have it', () => {
    expect(rolloutIn(back(replicasIn('outdated', 'broken')))).toMatchObject({ phase: 'RollingBack' });
  });

  test('is frozen without a revision to return to', () => {
    const world = back(replicasIn('broken', 'broken'), [failed]);
    expect(rolloutIn(world)).toMatchObject({ phase: 'Frozen' });
  });
});
