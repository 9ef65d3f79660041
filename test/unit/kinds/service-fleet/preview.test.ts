/** The number of replicas that a plan shows, whatever the fleet waits for, and whatever its next step is. */
import { expect, test } from 'vitest';
import { previewFleet } from '../../../../src/kinds/service-fleet/preview.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import type { FleetState } from '../../../../src/kinds/service-fleet/state.ts';
import {
  fleetSpec,
  inputsOf,
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
  const spec = fleetSpec({ update: { maxSurge: 1, maxUnavailable: 0 } });
  const state: FleetState = { update: 2, rollout: rolloutTo(2, startMs, 1) };
  const world = (want: number) =>
    worldOf(replicasIn('outdated', 'outdated', 'outdated', 'updated!'), {
      spec: { ...spec, replicas: want },
      state,
      revisions: [old, { ...present, outcome: 'RollingOut' }],
    });
  expect(shown(world(3))).toMatchObject({ kind: 'wait' });
  expect(shown(world(2))).toMatchObject(from(3, 2));
});

test('a hold, and a removal of the fleet, are shown as they are', () => {
  const replicas = replicasIn('updated', 'updated', 'updated', 'updated');
  const paused = worldOf(replicas, { annotations: { 'fleetkeeper.dev/paused': 'true' } });
  expect(shown(paused)).toEqual(planOf(paused));
  const deleting = worldOf(replicas, { deleting: true });
  expect(shown(deleting)).toEqual(planOf(deleting));
});

test('replicas whose owner is not confirmed are not shown as leaving', () => {
  const replicas = [0, 1, 2, 3].map((slot) => replicaIn('updated', slot, { isUnproven: true }));
  expect(shown(worldOf(replicas))).toMatchObject({ kind: 'hold' });
});
