import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countOf } from '../../../../src/kinds/service-fleet/counts.ts';
import { isReliable, type Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import type { FleetState, RosterEntry } from '../../../../src/kinds/service-fleet/state.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import { victims } from '../../../../src/kinds/service-fleet/victims.ts';
import {
  after,
  fleetSpec,
  old,
  planOf,
  present,
  replicaIn,
  rosterAfter,
  startMs,
  states,
  worldOf,
  type State,
  type World,
} from './worlds.ts';

const slotsIn = (plan: ReturnType<typeof planOf>, phase: string) =>
  rosterAfter(plan).flatMap(({ slot, phase: own }) => (own === phase ? [slot] : []));

const replicasIn = (...given: readonly State[]) => given.map((state, slot) => replicaIn(state, slot));

/** What is wrong with the next step of a fleet. */
function violations(world: World): string[] {
  const plan = planOf(world);
  if (plan.kind !== 'arrange') return [];
  const { spec, replicas, nowMs, deleting, taken, leaving } = world;
  const want = spec.replicas;
  const before = new Map(replicas.map((replica) => [replica.entry.slot, replica]));
  const roster = rosterAfter(plan);
  const added = roster.filter(({ slot }) => !before.has(slot));
  const surge = countOf(spec.update.maxSurge, want, 'up');
  const isProtected = ({ entry, protection }: Replica) => entry.phase === 'draining' && protection === 'yes';
  const overlap = Math.min(surge, replicas.filter(isProtected).length);
  const slots = new Set(roster.map(({ slot }) => slot));
  const gone = replicas.filter(({ entry }) => !slots.has(entry.slot));
  const floor = want - countOf(spec.update.maxUnavailable, want, 'down');
  const isCorrecting = ({ correction }: Replica) => correction === 'running' || correction === 'blocked';
  const available = replicas.filter(
    (replica) => replica.entry.phase === 'wanted' && replica.isAvailable && !isCorrecting(replica),
  );
  const touched = roster.filter(({ slot, phase, revision, corrects }) => {
    const replica = before.get(slot);
    if (!replica || !available.includes(replica)) return false;
    const { entry } = replica;
    const isAllowed = corrects !== undefined && corrects !== entry.corrects;
    return phase !== 'wanted' || revision !== entry.revision || isAllowed;
  });
  const isOneCorrection =
    touched.length === 1 && touched[0]?.corrects === nowMs && floor === want && available.length >= want;
  const serving = roster.filter(({ slot, phase, revision, corrects }) => {
    const replica = before.get(slot);
    if (!replica || !replica.mayServe || available.includes(replica)) return false;
    const { entry } = replica;
    const isAllowed = corrects !== undefined && corrects !== entry.corrects;
    return entry.phase === 'wanted' && (phase !== 'wanted' || revision !== entry.revision || isAllowed);
  });
  const back = roster.filter(({ slot, phase }) => {
    const replica = before.get(slot);
    const isBack = phase === 'wanted' && replica?.entry.phase === 'draining';
    return isBack && isReliable(replica);
  });
  const retired = roster.flatMap(({ slot, phase }) => {
    const replica = before.get(slot);
    return phase === 'retiring' && replica && replica.entry.phase !== 'retiring' ? [replica] : [];
  });
  const isLeft = deleting && spec.deletionPolicy === 'Retain';
  const mayRetire = ({ entry, isMade, protection }: Replica) =>
    isLeft || !isMade || (protection === 'no' && nowMs >= entry.since + spec.drain.graceSeconds * 1000);
  const laws: Readonly<Record<string, boolean>> = {
    'FI1: too many': added.length === 0 || roster.length <= want + surge + overlap,
    'FI2: below the floor':
      deleting ||
      touched.length === 0 ||
      available.length - touched.length + back.length >= floor ||
      isOneCorrection,
    'below the floor, what may serve is left':
      deleting || serving.length === 0 || available.length + back.length >= floor,
    'FI3: retired what is protected': retired.every(mayRetire),
    'FI5: a slot of something else': added.every(({ slot }) => !taken.has(slot) && !leaving.has(slot)),
    'FI5: a slot twice': slots.size === roster.length,
    'FI5: a slot freed early': gone.every(
      ({ entry, isRecorded }) => taken.has(entry.slot) || (entry.phase === 'retiring' && !isRecorded),
    ),
  };
  return Object.keys(laws).filter((law) => laws[law] !== true);
}

describe('a fleet of three, with each of its replicas in each state', () => {
  const table = (['Auto', 'Replace'] as const).flatMap((mode) =>
    [0, 1, 2].flatMap((maxSurge) =>
      [0, 1, 2].flatMap((maxUnavailable) =>
        maxSurge + maxUnavailable === 0 ? [] : [[mode, maxSurge, maxUnavailable] as const],
      ),
    ),
  );

  test.each(table)('%s, maxSurge %d, maxUnavailable %d: keeps the floor, and ends as wanted', (...update) => {
    const [mode, maxSurge, maxUnavailable] = update;
    const spec = fleetSpec({ update: { mode, maxSurge, maxUnavailable }, repair: { maxPercent: 100 } });
    for (const first of states) {
      for (const second of states) {
        for (const third of states) {
          let world = worldOf(replicasIn(first, second, third), { spec, revisions: [old, present] });
          const found: string[] = [];
          let steps = 0;
          for (; steps < 60; steps += 1) {
            found.push(...violations(world));
            const plan = planOf(world);
            if (plan.kind === 'in-sync') break;
            world = after(world, plan);
          }
          const end = world.replicas.map(({ content, entry, isMisplaced, correction }) => [
            content,
            entry.phase,
            isMisplaced,
            correction,
          ]);
          const each = ['updated', 'wanted', false, 'none'];
          expect({ first, second, third, steps, end, found }).toEqual({
            first,
            second,
            third,
            steps: expect.toSatisfy((count: number) => count < 60),
            end: [each, each, each],
            found: [],
          });
        }
      }
    }
  });
});

function inPhaseSince(replica: Replica, phase: RosterEntry['phase'], since: number): Replica {
  return { ...replica, entry: { ...replica.entry, phase, since } };
}

const corrections = ['none', 'none', 'none', 'asked', 'asked', 'running', 'blocked', 'done'] as const;

const anyReplica = (slot: number) =>
  fc
    .record({
      state: fc.constantFrom(...states),
      phase: fc.constantFrom('wanted' as const, 'wanted' as const, 'draining' as const, 'retiring' as const),
      isMade: fc.boolean(),
      isRecorded: fc.boolean(),
      isChosen: fc.boolean(),
      isAsleep: fc.boolean(),
      correction: fc.constantFrom(...corrections),
      protection: fc.constantFrom('yes' as const, 'no' as const, 'unknown' as const),
      age: fc.integer({ min: 0, max: 100_000 }),
    })
    .map(({ state, phase, age, correction, ...more }) => {
      const replica = replicaIn(state, slot, more);
      const isRunning = correction !== 'none' && correction !== 'asked';
      const entry = isRunning ? { ...replica.entry, corrects: startMs } : replica.entry;
      return inPhaseSince({ ...replica, entry, correction }, phase, startMs - age);
    });

const anyWorld: fc.Arbitrary<World> = fc
  .record({
    replicas: fc.integer({ min: 0, max: 8 }),
    slots: fc.uniqueArray(fc.integer({ min: 0, max: 12 }), { maxLength: 9 }),
    mode: fc.constantFrom('Auto', 'Replace'),
    maxSurge: fc.constantFrom(1, 2, '50%'),
    maxUnavailable: fc.constantFrom(0, 1, '30%'),
    maxPerMinute: fc.constantFrom(1, '25%', 1000),
    graceSeconds: fc.constantFrom(0, 30),
    deletionPolicy: fc.constantFrom('Delete', 'Retain'),
    deleting: fc.boolean(),
    taken: fc.uniqueArray(fc.integer({ min: 0, max: 12 }), { maxLength: 2 }),
    gone: fc.uniqueArray(fc.integer({ min: 0, max: 12 }), { maxLength: 2 }),
    hasRollout: fc.boolean(),
  })
  .chain(({ slots, replicas, taken, gone, deleting, hasRollout, ...given }) => {
    const { mode, maxSurge, maxUnavailable, maxPerMinute, graceSeconds, deletionPolicy } = given;
    const spec = fleetSpec({
      replicas,
      update: { mode, maxSurge, maxUnavailable },
      scaleIn: { maxPerMinute },
      drain: { graceSeconds },
      deletionPolicy,
    });
    const state: FleetState = {
      update: 2,
      ...(hasRollout ? { rollout: rolloutTo(2, startMs, 1) } : {}),
    };
    const takenMap = new Map(taken.map((slot) => [slot, `llm-${slot} at web.yaml:1`]));
    const leaving = new Set(gone);
    return fc
      .tuple(...slots.toSorted((left, right) => left - right).map(anyReplica))
      .map((all) =>
        worldOf(all, { spec, state, deleting, taken: takenMap, leaving, nowMs: startMs + 20_000 }),
      );
  });

test('no step of any fleet adds too many, takes from the floor, reuses a slot, or retires what is protected', () => {
  fc.assert(
    fc.property(anyWorld, (world) => {
      expect(violations(world)).toEqual([]);
    }),
    { numRuns: 3000 },
  );
});

test('at most so many begin to drain in a minute', () => {
  fc.assert(
    fc.property(anyWorld, (world) => {
      let next = world;
      let begun = 0;
      for (let step = 0; step < 30; step += 1) {
        const plan = planOf(next);
        if (plan.kind !== 'arrange') break;
        const wanted = new Set(
          next.replicas.flatMap(({ entry }) => (entry.phase === 'wanted' ? [entry.slot] : [])),
        );
        begun += slotsIn(plan, 'draining').filter((slot) => wanted.has(slot)).length;
        next = { ...after(next, plan), nowMs: world.nowMs };
      }
      const limit = countOf(world.spec.scaleIn.maxPerMinute, world.replicas.length, 'up');
      const most = Math.max(
        1,
        limit,
        countOf(world.spec.scaleIn.maxPerMinute, world.replicas.length + 10, 'up'),
      );
      expect(begun).toBeLessThanOrEqual(most);
    }),
    { numRuns: 1000 },
  );
});

test('the order of victims is total: it does not depend on the order in which replicas are given', () => {
  const replicas = fc
    .uniqueArray(fc.integer({ min: 0, max: 50 }), { minLength: 2, maxLength: 12 })
    .chain((slots) => fc.tuple(...slots.map(anyReplica)));
  fc.assert(
    fc.property(replicas, fc.infiniteStream(fc.nat()), (given, random) => {
      const keyed = given.map((replica) => [random.next().value ?? 0, replica] as const);
      const shuffled = keyed.toSorted(([left], [right]) => left - right).map(([, replica]) => replica);
      expect(victims(shuffled)).toEqual(victims(given));
    }),
  );
});

describe('victims', () => {
  const better: readonly (readonly [string, Partial<Replica>, Partial<Replica>])[] = [
    ['one that was not made yet before one that runs', { isMade: false }, {}],
    ['one that a person has chosen before others', { isChosen: true }, { isAvailable: false }],
    ['an unavailable one before an available one', { isAvailable: false }, {}],
    ['an unprotected one before an unknown one', { protection: 'no' }, {}],
    ['an unknown one before a protected one', {}, { protection: 'yes' }],
    ['an outdated one before an updated one', { content: 'outdated' }, {}],
    ['one in an old place before others', { isMisplaced: true }, {}],
    ['one at a worse candidate before others', { rank: 1 }, {}],
    ['a more expensive one before a cheaper one', { hourlyMicros: 2 }, { hourlyMicros: 1 }],
    ['one that sleeps before one that is awake', { isAsleep: true }, {}],
    ['one where many are before one where few are', { crowd: 2 }, { crowd: 1 }],
  ];
  test.each(better)('%s, although its number is lower', (_name, first, second) => {
    const [low, high] = [replicaIn('updated', 0, first), replicaIn('updated', 1, second)];
    expect(victims([high, low])).toEqual([low, high]);
  });
});

describe('scaling', () => {
  test('adds the lowest free slots, without those whose names documents have', () => {
    const world = worldOf([replicaIn('updated', 1)], { taken: new Map([[2, 'llm-2 at web.yaml:1']]) });
    expect(slotsIn(planOf(world), 'wanted')).toEqual([0, 1, 3]);
  });

  test('adds none under a name whose document was removed, until what that made is gone', () => {
    const world = worldOf([replicaIn('updated', 1)], { leaving: new Set([0]) });
    expect(slotsIn(planOf(world), 'wanted')).toEqual([1, 2, 3]);
  });

  test('takes draining replicas back before it adds others', () => {
    const draining = replicaIn('updated', 2);
    const world = worldOf([
      ...replicasIn('updated', 'updated'),
      { ...draining, entry: { ...draining.entry, phase: 'draining' } },
    ]);
    expect(slotsIn(planOf(world), 'wanted')).toEqual([0, 1, 2]);
  });

  test('a slot is not used again while its replica may exist', () => {
    const retiring = replicaIn('updated', 0);
    const world = worldOf([{ ...retiring, entry: { ...retiring.entry, phase: 'retiring' } }], {
      spec: fleetSpec({ replicas: 1 }),
    });
    const plan = planOf(world);
    expect([slotsIn(plan, 'retiring'), slotsIn(plan, 'wanted')]).toEqual([[0], [1]]);
  });

  test('a paused fleet changes nothing in its roster', () => {
    const paused = worldOf([], { annotations: { 'fleetkeeper.dev/paused': 'true' } });
    expect(planOf(paused)).toMatchObject({ kind: 'hold', reason: 'Paused' });
  });

  test('a removal in an earlier minute does not count, also if the clock was set back since', () => {
    const spec = fleetSpec({ replicas: 0, scaleIn: { maxPerMinute: 1 } });
    const replicas = replicasIn('updated', 'updated');
    const paceAt = (at: number) =>
      worldOf(replicas, { spec, state: { update: 2, pace: { at, of: 3, begun: 1 } } });
    expect(planOf(paceAt(startMs))).toMatchObject({ kind: 'wait', reason: 'ScaleInPaced' });
    expect(planOf(paceAt(startMs - 60_000))).toMatchObject({ kind: 'arrange' });
    expect(planOf(paceAt(startMs + 3_600_000))).toMatchObject({ kind: 'arrange' });
  });
});

test.each([
  ['as maxSurge', undefined, 2],
  ['none', 0, 1],
  ['two', 2, 3],
  ['a share', '50%', 3],
])(
  'beside replicas that drain and are protected, others are added: drain.overlap %s',
  (_what, overlap, added) => {
    const draining = [1, 2].map((slot) => {
      const replica = replicaIn('outdated', slot, { protection: 'yes', protector: 'the activity "epoch"' });
      return Object.assign(replica, { entry: { ...replica.entry, phase: 'draining' } });
    });
    const drain = { graceSeconds: 0, ...(overlap === undefined ? {} : { overlap }) };
    const spec = fleetSpec({ update: { mode: 'Replace', maxSurge: 1, maxUnavailable: 0 }, drain });
    const spared = [replicaIn('updated', 0), ...draining];
    const state: FleetState = { update: 2, rollout: rolloutTo(2, startMs, 1) };
    const revisions = [old, { ...present, outcome: 'RollingOut' }] as const;
    const plan = planOf(worldOf(spared, { spec, state, revisions }));
    expect(slotsIn(plan, 'wanted').filter((slot) => slot > 2)).toHaveLength(added);
  },
);

describe('draining', () => {
  const drainingSince = (since: number, protection: Replica['protection']) => {
    const replica = replicaIn('updated', 0, { protection, protector: 'the activity "epoch"' });
    return worldOf([{ ...replica, entry: { ...replica.entry, phase: 'draining', since } }], {
      spec: fleetSpec({ replicas: 0, drain: { graceSeconds: 30 } }),
      nowMs: startMs,
    });
  };

  test('ends after its grace, and only when a read showed nothing that protects it', () => {
    expect(slotsIn(planOf(drainingSince(startMs - 30_000, 'no')), 'retiring')).toEqual([0]);
    expect(planOf(drainingSince(startMs - 29_000, 'no'))).toMatchObject({ reason: 'ReplicasLeaving' });
    expect(planOf(drainingSince(startMs - 60_000, 'unknown'))).toMatchObject({ reason: 'ReplicasLeaving' });
    expect(planOf(drainingSince(startMs - 60_000, 'yes'))).toMatchObject({
      reason: 'ReplicasProtected',
      message: 'protected: replica 0 by the activity "epoch"',
    });
  });

  test('another one drains instead of a protected one, at most once in 15 s', () => {
    const kept = replicaIn('updated', 2, { protection: 'yes', protector: 'a task' });
    const spec = fleetSpec({ replicas: 2 });
    const replicas = [
      ...replicasIn('updated', 'updated'),
      { ...kept, entry: { ...kept.entry, phase: 'draining' as const } },
    ];
    const plan = planOf(worldOf(replicas, { spec }));
    expect([slotsIn(plan, 'wanted'), slotsIn(plan, 'draining')]).toEqual([[0, 2], [1]]);
    const [first] = replicas;
    if (!first) throw new Error('there are three');
    const spared = { ...first, entry: { ...first.entry, spared: startMs } };
    const soon = worldOf([spared, ...replicas.slice(1)], { spec });
    expect(planOf(soon)).toMatchObject({ kind: 'wait' });
    expect(planOf({ ...soon, nowMs: startMs + 15_000 })).toMatchObject({ kind: 'arrange' });
  });
});

describe('deletion', () => {
  const deleted = (spec: object = {}) =>
    worldOf(replicasIn('updated', 'updated!', 'outdated'), { spec: fleetSpec(spec), deleting: true });

  test('drains all at their pace', () => {
    expect(slotsIn(planOf(deleted({ scaleIn: { maxPerMinute: 2 } })), 'draining')).toEqual([1, 2]);
  });

  test('with Retain, nothing drains and all leave the roster', () => {
    expect(slotsIn(planOf(deleted({ deletionPolicy: 'Retain' })), 'retiring')).toEqual([0, 1, 2]);
  });

  test('ends when nothing is left', () => {
    expect(planOf(worldOf([], { deleting: true }))).toMatchObject({ kind: 'in-sync' });
  });
});
