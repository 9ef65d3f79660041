/** The number of replicas that a plan shows, whatever the fleet waits for, and whatever its next step is. */
import { describe, expect, test } from 'vitest';
import type { Arrange } from '../../../../src/engine/plan/index.ts';
import { losesData } from '../../../../src/kinds/service-fleet/planned-replicas.ts';
import { previewFleet } from '../../../../src/kinds/service-fleet/preview.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import type { FleetState, RosterEntry } from '../../../../src/kinds/service-fleet/state.ts';
import {
  fleetSpec,
  inputsOf,
  old,
  planOf,
  present,
  replicaIn,
  rosterAfter,
  startMs,
  volumeSpec,
  withVolumes,
  worldOf,
  type State,
  type World,
} from './worlds.ts';

const replicasIn = (...given: readonly State[]) => given.map((state, slot) => replicaIn(state, slot));
const shown = (world: World) => previewFleet(inputsOf(world));
const from = (observed: number, desired: number) => ({
  kind: 'arrange',
  change: 'scale',
  differences: [{ path: 'replicas', observed, desired, drift: false }],
});
const leaving = (world: World) =>
  rosterAfter(shown(world)).flatMap(({ slot, phase }) => (phase === 'wanted' ? [] : [slot]));
/** What was found is as the document requires, and nobody knows yet whether it stays available. */
const unproven = { revisions: [{ ...present, outcome: 'RollingOut' }] } as const;
const underWay: FleetState = { update: 2, rollout: rolloutTo(2, startMs, 0) };

test('removals that wait until others are available are shown', () => {
  const spec = fleetSpec({ replicas: 2, update: { minReadySeconds: 30 } });
  const world = worldOf(
    [0, 1, 2, 3].map((slot) => replicaIn('updated', slot, { isAvailable: false })),
    { spec },
  );
  expect(planOf(world)).toMatchObject({ kind: 'wait', reason: 'ReplicasNotReady' });
  expect(shown(world)).toMatchObject(from(4, 2));
  expect(leaving(world)).toEqual([2, 3]);
});

test('removals beyond the pace of a minute are shown', () => {
  const spec = fleetSpec({ replicas: 1, scaleIn: { maxPerMinute: 1 } });
  const replicas = replicasIn('updated', 'updated', 'updated', 'updated');
  expect(shown(worldOf(replicas, { spec }))).toMatchObject(from(4, 1));
  expect(leaving(worldOf(replicas, { spec }))).toEqual([1, 2, 3]);
  const pace = { at: startMs, of: 4, begun: 1 };
  const later = worldOf(replicas, { spec, state: { update: 2, pace } });
  expect(planOf(later)).toMatchObject({ kind: 'wait', reason: 'ScaleInPaced' });
  expect(shown(later)).toMatchObject(from(4, 1));
});

test('a rollout that begins without anything to update hides no other number', () => {
  const world = worldOf(replicasIn('updated', 'updated', 'updated', 'updated'), unproven);
  expect(planOf(world)).toMatchObject({ kind: 'arrange', reason: 'RollingOut', change: undefined });
  expect(shown(world)).toMatchObject(from(4, 3));
  const few = worldOf(replicasIn('updated', 'updated'), unproven);
  expect(planOf(few)).toMatchObject({ kind: 'arrange', reason: 'RollingOut', change: undefined });
  expect(shown(few)).toMatchObject(from(2, 3));
  expect(rosterAfter(shown(few)).map(({ slot }) => slot)).toEqual([0, 1, 2]);
});

test('a rollout that ends hides no other number', () => {
  const world = (count: number) =>
    worldOf(
      [0, 1, 2].map((slot) => replicaIn('updated', slot)),
      {
        ...unproven,
        state: underWay,
        spec: fleetSpec({ replicas: count }),
      },
    );
  expect(shown(world(2))).toMatchObject(from(3, 2));
  expect(shown(world(5))).toMatchObject(from(3, 5));
  expect(shown(world(3))).toMatchObject({ kind: 'arrange', change: undefined });
});

test('what is gone makes room for those that are added', () => {
  const gone = replicaIn('updated', 2, { isMade: false, isRecorded: false });
  const entry = { ...gone.entry, phase: 'retiring' } as const;
  const replicas = [...replicasIn('updated', 'updated'), { ...gone, entry }];
  const world = worldOf(replicas, { spec: fleetSpec({ update: { maxSurge: 0, maxUnavailable: 1 } }) });
  expect(planOf(world)).toMatchObject({ kind: 'arrange', change: undefined });
  expect(shown(world)).toMatchObject(from(2, 3));
});

test('what a rollout has added for a while is no other number', () => {
  const state: FleetState = { update: 2, rollout: rolloutTo(2, startMs, 1) };
  const world = (want: number) =>
    worldOf(replicasIn('updated', 'updated', 'updated', 'updated!'), {
      spec: fleetSpec({ replicas: want, update: { maxSurge: 1, maxUnavailable: 0 } }),
      state,
      revisions: [old, { ...present, outcome: 'RollingOut' }],
    });
  expect(shown(world(3))).toEqual(planOf(world(3)));
  expect(shown(world(2))).toMatchObject(from(3, 2));
});

describe('replicas that have not got their turn are shown', () => {
  const next = [old, { ...present, outcome: 'RollingOut' }] as const;
  const rest = (text: string) => ({
    kind: 'arrange',
    change: 'update',
    differences: [
      { path: 'template', observed: text },
      { path: 'revision', desired: 'r2', observed: 'r1' },
      { path: 'template.image', desired: 'a:1', observed: 'a:0' },
    ],
  });

  test('while the others are not available yet, and with another number', () => {
    const replicas = replicasIn('updated', 'updated!', 'outdated');
    const world = worldOf(replicas, { state: underWay, revisions: next });
    expect(shown(world)).toMatchObject(rest('1 of 3 replicas differ (1 in place)'));
    const fewer = { ...world, spec: fleetSpec({ replicas: 2 }) };
    expect((shown(fewer) as Arrange).differences).toContainEqual(from(3, 2).differences[0]);
  });

  test('behind what is left of a replica that is gone', () => {
    const gone = replicaIn('updated', 3, { isMade: false, isRecorded: false });
    const entry = { ...gone.entry, phase: 'retiring' } as const;
    const replicas = [...replicasIn('outdated', 'outdated', 'outdated'), { ...gone, entry }];
    const world = worldOf(replicas, { revisions: next });
    expect(planOf(world)).toMatchObject({ kind: 'arrange', change: undefined });
    expect(shown(world)).toMatchObject(rest('3 of 3 replicas differ (3 in place)'));
  });

  test('but none of a revision that has failed, unless they are to be at another place', () => {
    const failed = [old, { ...present, outcome: 'Failed' }] as const;
    const state: FleetState = { update: 2, rollout: { ...rolloutTo(2, startMs, 0), phase: 'RolledBack' } };
    const returned = (isMisplaced: boolean) =>
      [0, 1, 2].map((slot) => replicaIn('outdated', slot, { content: 'updated', isMisplaced }));
    const world = worldOf(returned(false), { state, revisions: failed });
    expect(shown(world)).toEqual(planOf(world));
    const { differences, change } = shown(worldOf(returned(true), { state, revisions: failed })) as Arrange;
    expect([change, differences.map(({ path }) => path)]).toEqual(['update', ['template']]);
    expect(differences[0]).toMatchObject({ observed: '3 of 3 replicas differ (3 replaced)' });
  });
});

describe('replicas that are added later are shown', () => {
  const spec = fleetSpec({ update: { maxSurge: 0, maxUnavailable: 1 } });
  const retiring = (slot: number, cause?: RosterEntry['cause']) => {
    const replica = replicaIn('updated', slot);
    return {
      ...replica,
      entry: { ...replica.entry, phase: 'retiring', ...(cause ? { cause } : {}) } as const,
    };
  };

  test('when others that leave have made room', () => {
    const world = worldOf([...replicasIn('updated'), retiring(1, 'scale'), retiring(2, 'scale')], { spec });
    expect(planOf(world)).toMatchObject({ kind: 'wait' });
    expect(shown(world)).toMatchObject(from(1, 3));
  });

  test('when there is capacity for them', () => {
    const markets = { template: { scarcity: { retryAt: startMs + 900_000, message: 'none left' } } };
    const placement = { candidates: [{ name: 'template', region: 'standard' }] };
    const world = worldOf(replicasIn('updated'), { spec: fleetSpec({ placement }), markets });
    expect(planOf(world)).toMatchObject({ kind: 'wait', reason: 'CapacityUnavailable' });
    expect(shown(world)).toMatchObject(from(1, 3));
  });

  test('but none that only take the place of others', () => {
    const world = worldOf([...replicasIn('updated', 'updated'), retiring(2)], { spec });
    expect(shown(world)).toMatchObject({ kind: 'wait' });
  });
});

describe('while a rollout that may add one for a while is under way', () => {
  const update = { maxSurge: 1, maxUnavailable: 0 };
  const next = [old, { ...present, outcome: 'RollingOut' }] as const;
  const state: FleetState = { update: 2, rollout: rolloutTo(2, startMs, 1) };
  const world = (states: readonly State[], replicas: number) =>
    worldOf(replicasIn(...states), { state, revisions: next, spec: fleetSpec({ replicas, update }) });

  test('the end of a fleet is shown, although the additional one is not there', () => {
    expect(planOf(world(['outdated'], 0))).toMatchObject({ kind: 'arrange', change: 'scale' });
    expect(shown(world(['outdated'], 0))).toMatchObject(from(1, 0));
  });

  test('so are fewer replicas', () => {
    const differences = (states: readonly State[], count: number) =>
      (shown(world(states, count)) as Arrange).differences;
    const outdated: readonly State[] = ['outdated', 'outdated', 'outdated', 'outdated'];
    expect(differences(outdated, 3)).toContainEqual(from(4, 3).differences[0]);
    expect(differences([...outdated, 'updated!'], 3)).toContainEqual(from(4, 3).differences[0]);
    expect(differences([...outdated, 'updated!'], 4).map(({ path }) => path)).not.toContain('replicas');
  });
});

test('what takes the place of replaced replicas is no growth', () => {
  const update = { mode: 'Replace', maxSurge: 0, maxUnavailable: 1 };
  const drained = replicaIn('outdated', 2);
  const entry = { ...drained.entry, phase: 'draining' } as const;
  const world = worldOf([...replicasIn('outdated', 'outdated'), { ...drained, entry }], {
    spec: fleetSpec({ update }),
    state: underWay,
    revisions: [old, { ...present, outcome: 'RollingOut' }],
  });
  const { change, differences } = shown(world) as Arrange;
  expect([change, differences.map(({ path }) => path)]).toEqual([
    'update',
    ['template', 'revision', 'template.image'],
  ]);
});

describe('a document with the content of an earlier revision', () => {
  const healthy = { ...present, outcome: 'Healthy' } as const;
  const tried = { ...old, number: 3, outcome: 'Superseded' } as const;

  test('the rest of the return is shown', () => {
    const rollout = { ...rolloutTo(2, startMs, 0), phase: 'RollingBack' } as const;
    const replicas = [0, 1, 2].map((slot) =>
      replicaIn('outdated', slot, { revision: tried, content: 'outdated', mayServe: true }),
    );
    const world = worldOf(replicas, { state: { update: 2, rollout }, revisions: [healthy, tried] });
    expect(shown(world)).toMatchObject({ change: 'update', reason: 'RollingOut' });
  });

  test('that has failed, and was away, changes nothing', () => {
    const failed = [old, { ...present, outcome: 'Failed' }] as const;
    const world = worldOf(replicasIn('outdated', 'outdated', 'outdated'), { revisions: failed });
    expect(shown(world)).toEqual(planOf(world));
  });
});

test('a hold is shown as it is', () => {
  const replicas = replicasIn('updated', 'updated', 'updated', 'updated');
  const paused = worldOf(replicas, { annotations: { 'fleetkeeper.dev/paused': 'true' } });
  expect(shown(paused)).toEqual(planOf(paused));
});

describe('of a fleet that is removed, all that leaves is shown', () => {
  const removed = (change: string, replicas: number) => ({
    kind: 'arrange',
    change,
    differences: [{ path: 'replicas', desired: 0, observed: replicas }],
  });
  const four = replicasIn('updated', 'updated', 'updated', 'updated');

  test('beyond the pace of a minute', () => {
    const spec = fleetSpec({ scaleIn: { maxPerMinute: 1 } });
    const pace = { at: startMs, of: 4, begun: 1 };
    const world = worldOf(four, { spec, deleting: true, state: { update: 2, pace } });
    expect(planOf(world)).toMatchObject({ kind: 'wait', reason: 'ScaleInPaced' });
    expect(shown(world)).toMatchObject(removed('delete', 4));
    expect(leaving(world)).toEqual([0, 1, 2, 3]);
  });

  test('behind one that has drained already', () => {
    const drained = replicaIn('updated', 4, { protection: 'no' });
    const entry = { ...drained.entry, phase: 'draining' } as const;
    const world = worldOf([...four, { ...drained, entry }], { deleting: true });
    expect(planOf(world)).toMatchObject({ kind: 'arrange', change: undefined });
    expect(shown(world)).toMatchObject(removed('delete', 4));
    const spec = fleetSpec({ deletionPolicy: 'Retain' });
    expect(shown({ ...world, spec })).toMatchObject(removed('leave', 4));
  });

  test('also volumes that no replica has', () => {
    const spec = volumeSpec({ retire: 'Delete' });
    const world = withVolumes([], { spec, deleting: true }, [0, 1]);
    expect(planOf(world)).toMatchObject({ kind: 'arrange', change: undefined });
    const plan = shown(world) as Arrange;
    expect(plan).toMatchObject({ change: 'delete', differences: [{ path: 'volumes', observed: 2 }] });
    expect(losesData(inputsOf(world), [], plan)).toBe(true);
    const kept = { ...world, spec: volumeSpec() };
    expect(shown(kept)).toEqual(planOf(kept));
  });
});

test('replicas whose owner is not confirmed are not shown as leaving', () => {
  const replicas = [0, 1, 2, 3].map((slot) => replicaIn('updated', slot, { isUnproven: true }));
  expect(shown(worldOf(replicas))).toMatchObject({ kind: 'hold' });
});
