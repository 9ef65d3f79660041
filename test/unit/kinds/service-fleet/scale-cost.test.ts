import { expect, test } from 'vitest';
import type { Arrange } from '../../../../src/engine/plan/index.ts';
import type { Market } from '../../../../src/kinds/service-fleet/placement.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import { scaleCost } from '../../../../src/kinds/service-fleet/scale-cost.ts';
import {
  inputsOf,
  planOf,
  fleetSpec,
  replicaIn,
  volumeSpec,
  withVolumes,
  worldOf,
  type World,
} from './worlds.ts';

const priced = (world: World, price: Market['price'], volumePrice: Market['price']) => {
  const inputs = inputsOf(world);
  const [market] = inputs.markets;
  return { ...inputs, markets: market ? [{ ...market, price, volumePrice }] : [] };
};

function costOf(world: World, price: Market['price'], volumePrice?: Market['price']) {
  const plan = planOf(world);
  expect(plan.kind).toBe('arrange');
  return scaleCost(priced(world, price, volumePrice), plan as Arrange);
}

const running = [0, 1, 2].map((slot) => replicaIn('updated', slot));
const known = { micros: 1_500_000, basis: 'observed' };
const growing = worldOf(running, { spec: fleetSpec({ replicas: 5 }) });
const shrinking = worldOf(running, { spec: fleetSpec({ replicas: 1 }) });

test('more replicas cost what one costs, for each; fewer save as much', () => {
  expect(costOf(growing, known)).toEqual({
    beforeMicros: 0n,
    afterMicros: 3_000_000n,
    basis: 'observed',
    unknown: [],
  });
  expect(costOf(shrinking, known)).toMatchObject({ beforeMicros: 3_000_000n, afterMicros: 0n });
});

test('without a price nobody knows what more cost, and nothing is promised for fewer', () => {
  expect(costOf(growing, undefined)).toMatchObject({ afterMicros: 0n, basis: 'unknown' });
  expect(costOf(shrinking, undefined)).toBeUndefined();
});

test('replicas that wait for the pace, or for a place, are counted all the same', () => {
  const paced = { ...shrinking, spec: fleetSpec({ replicas: 1, scaleIn: { maxPerMinute: 1 } }) };
  expect(costOf(paced, known)).toMatchObject({ beforeMicros: 3_000_000n });
});

test('another size costs what one of that size costs, for each replica, less what they cost now', () => {
  const replicas = [0, 1, 2].map((slot) => replicaIn('outdated', slot, { hourlyMicros: 1_000_000 }));
  const inputs = priced(worldOf(replicas), known, undefined);
  const differences = [{ path: 'template.resources', desired: {}, observed: {}, drift: false }];
  const plan = { kind: 'arrange', change: 'update', differences, state: {} } as unknown as Arrange;
  expect(scaleCost(inputs, plan)).toEqual({
    beforeMicros: 3_000_000n,
    afterMicros: 4_500_000n,
    basis: 'observed',
    unknown: [],
  });
  const unseen = [0, 1, 2].map((slot) => replicaIn('outdated', slot));
  expect(scaleCost({ ...inputs, replicas: unseen }, plan)).toMatchObject({ basis: 'unknown' });
});

test('other changes have no cost of their own', () => {
  const rollout = worldOf([0, 1, 2].map((slot) => replicaIn('outdated', slot)));
  expect(costOf(rollout, known)).toBeUndefined();
});

test('a rollout that comes with more replicas costs what these cost, in the same plan', () => {
  const outdated = [0, 1, 2].map((slot) => replicaIn('outdated', slot, { hourlyMicros: 1_000_000 }));
  const both = worldOf(outdated, { spec: fleetSpec({ replicas: 5 }) });
  expect(planOf(both)).toMatchObject({ change: 'update' });
  const cost = { beforeMicros: 0n, afterMicros: 3_000_000n, basis: 'observed', unknown: [] };
  expect(costOf(both, known)).toEqual(cost);
  expect(costOf(both, undefined)).toMatchObject({ basis: 'unknown' });
  const differences = [
    { path: 'template.resources', desired: {}, observed: {}, drift: false },
    { path: 'replicas', desired: 5, observed: 3, drift: false },
  ];
  const plan = { kind: 'arrange', change: 'update', differences, state: {} } as unknown as Arrange;
  expect(scaleCost(priced(both, known, undefined), plan)).toEqual({
    ...cost,
    beforeMicros: 3_000_000n,
    afterMicros: 7_500_000n,
  });
});

test('a rollout that comes with fewer replicas saves what those cost that leave, and prices the size of the others alone', () => {
  const outdated = [0, 1, 2, 3, 4].map((slot) => replicaIn('outdated', slot, { hourlyMicros: 2_000_000 }));
  const both = worldOf(outdated, { spec: fleetSpec({ replicas: 3 }) });
  expect(costOf(both, known)).toMatchObject({ beforeMicros: 4_000_000n, afterMicros: 0n, basis: 'observed' });
  const plan = planOf(both) as Arrange;
  const size = { path: 'template.resources', desired: {}, observed: {}, drift: false };
  const resized = { ...plan, differences: [...plan.differences, size] };
  const costAt = (replicas: readonly Replica[]) =>
    scaleCost({ ...priced(both, { ...known, micros: 4_000_000 }, undefined), replicas }, resized);
  expect(costAt(outdated)).toMatchObject({ beforeMicros: 10_000_000n, afterMicros: 12_000_000n });
  // One that sleeps costs nothing now, and of one without a price nobody knows what it costs.
  const withLast = (more: Partial<Replica>) => [
    ...outdated.slice(0, 4),
    replicaIn('outdated', 4, { hourlyMicros: 2_000_000, isChosen: true, ...more }),
  ];
  expect(costAt(withLast({ isAsleep: true }))).toMatchObject({
    beforeMicros: 8_000_000n,
    afterMicros: 12_000_000n,
  });
  expect(costAt(withLast({ hourlyMicros: undefined }))).toMatchObject({
    beforeMicros: 6_000_000n,
    afterMicros: 12_000_000n,
  });
});

test('new volumes cost something, kept ones nothing more; those that stay save nothing', () => {
  const world = (replicas: number, retire: string) =>
    withVolumes(running, { spec: volumeSpec({ retire }, { replicas }) }, [3]);
  const own = { micros: 100, basis: 'catalog' };
  expect(costOf(world(5, 'Keep'), known, own)).toMatchObject({ afterMicros: 3_000_100n, basis: 'catalog' });
  expect(costOf(world(5, 'Keep'), known)).toMatchObject({ afterMicros: 0n, basis: 'unknown' });
  expect(costOf(world(2, 'Keep'), known, own)).toMatchObject({ beforeMicros: 1_500_000n });
  expect(costOf(world(2, 'Delete'), known, own)).toMatchObject({ beforeMicros: 1_500_100n });
});
