/** A replica that somebody works in gives way in a rollout: another one is updated first, if enough are available without it. */
import { expect, test } from 'vitest';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import {
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

/** It was to be updated a minute ago, and is not available since: a task keeps it from being restarted. */
function blockedAt(slot: number): Replica {
  const replica = replicaIn('updating', slot, { isBlocked: true, excuse: 'Protected', mayServe: true });
  return { ...replica, entry: { ...replica.entry, earlier: 1, updated: startMs } };
}

function rolling(replicas: readonly Replica[], maxUnavailable: number, more: object = {}): World {
  const spec = fleetSpec({ replicas: replicas.length, update: { maxSurge: 0, maxUnavailable, ...more } });
  const rollout = rolloutTo(present.number, startMs, 0);
  const state = { update: present.number, rollout };
  return worldOf(replicas, { spec, nowMs: startMs + 60_000, revisions: [old, present], state });
}

const revisionsAfter = (world: World) => rosterAfter(planOf(world)).map(({ revision }) => revision);

test('another one is the canary in its place, if the floor is kept without both', () => {
  const canary = { steps: [{ replicas: 1 }, { pause: {} }] };
  const replicas = [replicaIn('outdated', 0), replicaIn('outdated', 1), blockedAt(2)];
  const world = rolling(replicas, 2, canary);
  expect(revisionsAfter(world)).toEqual([1, 2, 1]);
});

test('the last available one is not updated in its place', () => {
  const world = rolling([replicaIn('outdated', 0), blockedAt(1)], 1);
  expect(revisionsAfter(world)).toEqual([1, 1]);
});

test('it has its earlier revision as it was, and is not restarted for an attempt at the other one', () => {
  const blocked = blockedAt(1);
  const tried = { ...blocked, entry: { ...blocked.entry, retried: 2 } };
  const [, back] = rosterAfter(planOf(rolling([replicaIn('outdated', 0), tried], 1)));
  expect(back).toMatchObject({ revision: 1, spared: startMs + 60_000 });
  expect(back).not.toHaveProperty('retried');
});

test('while it is not available yet, it is not taken again, and the other one waits for it', () => {
  const back = replicaIn('outdated?', 1, { protection: 'yes' });
  const spared = { ...back, entry: { ...back.entry, spared: startMs + 55_000 } };
  expect(revisionsAfter(rolling([replicaIn('outdated', 0), spared], 1))).toEqual([1, 1]);
  const available = { ...replicaIn('outdated', 1, { protection: 'yes' }), entry: spared.entry };
  expect(revisionsAfter(rolling([replicaIn('outdated', 0), available], 1))).toEqual([2, 1]);
});
