/** What becomes of a fleet's waits when the wall clock is set back. */
import { expect, test } from 'vitest';
import { protectionOf } from '../../../../src/kinds/service-fleet/look.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import { newRecord } from '../../../../src/state/index.ts';
import { fleetSpec, place, planOf, present, replicaIn, rosterAfter, startMs, worldOf } from './worlds.ts';

const hourMs = 3_600_000;

test('a replica that began to drain an hour ahead drains since now', () => {
  const leaving = replicaIn('updated', 2);
  const entry = { ...leaving.entry, phase: 'draining' as const, since: startMs + hourMs };
  const world = worldOf([replicaIn('updated', 0), replicaIn('updated', 1), { ...leaving, entry }]);
  const roster = rosterAfter(planOf({ ...world, nowMs: startMs }));
  expect(roster.find(({ slot }) => slot === 2)).toEqual({ ...entry, since: startMs });
  expect(roster.find(({ slot }) => slot === 0)).toEqual(replicaIn('updated', 0).entry);
});

test('a replica that got its revision an hour ahead got it now: its faults count', () => {
  const updated = replicaIn('updating', 1);
  const entry = { ...updated.entry, updated: startMs + hourMs };
  const world = worldOf([replicaIn('updated', 0), { ...updated, entry }]);
  const roster = rosterAfter(planOf({ ...world, nowMs: startMs }));
  expect(roster.find(({ slot }) => slot === 1)?.updated).toBe(startMs);
});

test('a pause of a rollout that began an hour ahead begins now', () => {
  const spec = fleetSpec({ update: { steps: [{ replicas: 1 }, { pause: { seconds: 60 } }] } });
  const rollout = { ...rolloutTo(present.number, startMs + hourMs, 1), phase: 'Paused' as const, step: 1 };
  const world = worldOf([replicaIn('updated', 0), replicaIn('outdated', 1)], { spec });
  const plan = planOf({ ...world, state: { ...world.state, rollout }, nowMs: startMs });
  expect(plan).toMatchObject({ kind: 'arrange', state: { rollout: { phase: 'Paused', since: startMs } } });
});

test('a minute of removals that began a second ahead begins now, with those that have begun in it', () => {
  const world = worldOf([replicaIn('updated', 0)]);
  const pace = { at: startMs + 1000, of: 4, begun: 1 };
  const plan = planOf({ ...world, state: { ...world.state, pace }, nowMs: startMs });
  expect(plan).toMatchObject({ kind: 'arrange', state: { pace: { at: startMs, of: 4, begun: 1 } } });
});

test('activities that were read an hour ahead say nothing', () => {
  const read = (readAt: number) => ({
    ...newRecord('ContainerService/default/llm-0', 'uid'),
    kind: { activities: { readAt } },
  });
  const entry = { slot: 0, phase: 'draining', since: startMs, place } as const;
  expect(protectionOf(entry, read(startMs + hourMs), startMs + 5000).protection).toBe('unknown');
  expect(protectionOf(entry, read(startMs + 4000), startMs + 5000).protection).toBe('no');
});
