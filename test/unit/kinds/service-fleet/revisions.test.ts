import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Arrange } from '../../../../src/engine/plan/index.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import {
  contentOf,
  hasContent,
  kept,
  nextNumber,
  withContent,
} from '../../../../src/kinds/service-fleet/revisions.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import {
  after,
  fleetSpec,
  old,
  planOf,
  present,
  replicaIn,
  revisionOf,
  rosterAfter,
  startMs,
  worldOf,
  type World,
} from './worlds.ts';

const done = { ...present, outcome: 'Healthy' } as const;
const three = () => [0, 1, 2].map((slot) => replicaIn('updated', slot));
const withImage = (image: string) =>
  fleetSpec({ template: { spec: { region: 'standard', image, resources: { cpu: 1, memoryGb: 1 } } } });

function arranged(world: World): Arrange {
  const plan = planOf(world);
  if (plan.kind !== 'arrange') throw new Error(`${plan.kind}: ${JSON.stringify(plan)}`);
  return plan;
}

const outcomes = ({ revisions = [] }: Arrange) => revisions.map(({ number, outcome }) => [number, outcome]);

describe('the content of a revision', () => {
  const content = { image: 'a:1', resources: { cpu: 1, memoryGb: 1 } };

  test('is what reaches the replicas one after the other', () => {
    const { template } = fleetSpec({
      template: {
        spec: {
          region: 'standard',
          image: 'a:1',
          resources: { cpu: 1, memoryGb: 1 },
          sleepAfterMinutes: 5,
          disruption: 'Never',
        },
      },
    });
    expect(Object.keys(contentOf(template.spec)).sort()).toEqual(['image', 'resources', 'sleepAfterMinutes']);
  });

  test('is compared by the present schema: a default that a version adds is no change', () => {
    const stored = { content, values: 'v' };
    const now = { content: { ...content, resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } }, values: 'v' };
    expect(hasContent(stored, now)).toBe(true);
    const other = { content: { ...content, resources: { gpuCount: 1, cpu: 1, memoryGb: 1 } }, values: 'v' };
    expect(hasContent(stored, other)).toBe(false);
    expect(hasContent(stored, { content, values: 'w' })).toBe(false);
  });

  test('takes the place of that of the template, and nothing else of it', () => {
    const { spec } = withImage('a:2').template;
    expect(withContent({ ...spec, httpPort: 80, disruption: 'Never' }, content)).toMatchObject({
      image: 'a:1',
      httpPort: undefined,
      disruption: 'Never',
    });
  });
});

test('a number is not used twice, as far as the roster remembers', () => {
  expect(nextNumber([], [], undefined)).toBe(1);
  expect(nextNumber([old, present], [{ revision: 7 }, {}], 3)).toBe(8);
  expect(nextNumber([old, present], [], 4)).toBe(5);
});

test('what replicas have, what the document requires and the newest Healthy one are kept', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('Healthy', 'Failed', 'Superseded'), { minLength: 1, maxLength: 30 }),
      fc.uniqueArray(fc.integer({ min: 1, max: 30 })),
      fc.integer({ min: 1, max: 20 }),
      (given, used, limit) => {
        const all = given.map((outcome, index) => revisionOf(index + 1, 'a', { outcome }));
        const numbers = kept(all, new Set(used), limit).map(({ number }) => number);
        const newest = all.findLast(({ outcome }) => outcome === 'Healthy')?.number;
        const needed = [...used.filter((number) => number <= all.length), newest ?? all.length];
        expect(numbers).toEqual(expect.arrayContaining(needed));
        expect(numbers.length).toBeLessThanOrEqual(limit + new Set(needed).size);
      },
    ),
  );
});

describe('a new template', () => {
  test('is a new revision, and its rollout begins in the same change', () => {
    const plan = arranged(worldOf(three(), { spec: withImage('a:2') }));
    expect(outcomes(plan)).toEqual([
      [1, 'Healthy'],
      [2, 'Healthy'],
      [3, 'RollingOut'],
    ]);
    expect(plan).toMatchObject({
      change: 'update',
      state: { update: 3, rollout: { revision: 3, phase: 'Progressing', surge: 1 } },
    });
    expect(rosterAfter(plan).map(({ revision }) => revision)).toEqual([2, 2, 2]);
  });

  test('supersedes the rollout under way', () => {
    const world = worldOf([replicaIn('updated', 0), replicaIn('outdated', 1), replicaIn('outdated', 2)], {
      spec: withImage('a:2'),
      revisions: [old, present],
      state: { update: 2, rollout: rolloutTo(2, startMs, 1) },
    });
    const plan = arranged(world);
    expect(outcomes(plan)).toEqual([
      [1, 'Healthy'],
      [2, 'Superseded'],
      [3, 'RollingOut'],
    ]);
    expect(plan.state).toMatchObject({ update: 3, rollout: { revision: 3 } });
  });

  test('with the content of the newest Healthy one returns to it: no revision is made', () => {
    const world = worldOf([replicaIn('updated', 0), replicaIn('outdated', 1), replicaIn('outdated', 2)], {
      spec: withImage('a:0'),
      revisions: [old, present],
      state: { update: 2, rollout: rolloutTo(2, startMs, 0) },
    });
    const plan = arranged(world);
    expect(outcomes(plan)).toEqual([
      [1, 'Healthy'],
      [2, 'Superseded'],
    ]);
    expect(plan.state).toMatchObject({ update: 1 });
  });

  test('with other values of a Secret, and the same text, is a new revision', () => {
    const rotated = { ...done, values: 'before' };
    expect(outcomes(arranged(worldOf(three(), { revisions: [old, rotated] })))).toEqual([
      [1, 'Healthy'],
      [2, 'Healthy'],
      [3, 'RollingOut'],
    ]);
  });

  test('of more than 256 KiB is refused, and nothing is changed', () => {
    const env = ['A', 'B'].map((name) => ({ name, value: 'x'.repeat(131_072) }));
    const spec = fleetSpec({
      template: { spec: { region: 'standard', image: 'a:1', resources: { cpu: 1, memoryGb: 1 }, env } },
    });
    expect(planOf(worldOf(three(), { spec }))).toMatchObject({ kind: 'hold', reason: 'InvalidSpec' });
  });

  test('of a new fleet is shown as a creation, and of one that was there before as a scale-out', () => {
    const plan = arranged(worldOf([], { revisions: [], state: { update: undefined } }));
    expect(plan).toMatchObject({ change: 'create', state: { update: 1, rollout: { revision: 1 } } });
    expect(arranged(worldOf([], { revisions: [old] }))).toMatchObject({ change: 'scale' });
    expect(rosterAfter(plan).map(({ revision }) => revision)).toEqual([1, 1, 1]);
  });
});

describe('a revision', () => {
  test('is Healthy when all wanted replicas are available at it, and not before', () => {
    const state = { update: 2, rollout: { ...rolloutTo(2, startMs, 0), reached: [0, 1, 2] } };
    const revisions = [old, present];
    const last = replicaIn('updated!', 2);
    const waits = worldOf([...three().slice(0, 2), last], { revisions, state });
    expect(planOf(waits)).toMatchObject({ kind: 'wait', reason: 'ReplicasNotReady' });
    const plan = arranged(worldOf(three(), { revisions, state }));
    expect(outcomes(plan)).toEqual([
      [1, 'Healthy'],
      [2, 'Healthy'],
    ]);
    expect(plan.state).toMatchObject({ rollout: undefined });
  });

  test('is Healthy although a replica that was added for its rollout waits for room', () => {
    const record = { ...rolloutTo(2, startMs, 2), reached: [0, 1, 2, 3] };
    const waiting = replicaIn('updating', 4, { isMade: false, mayServe: false, excuse: 'BudgetExceeded' });
    const spec = fleetSpec({ update: { maxSurge: 2 } });
    const replicas = [...three(), replicaIn('updated', 3), waiting];
    const world = worldOf(replicas, {
      spec,
      revisions: [old, present],
      state: { update: 2, rollout: record },
    });
    const plan = arranged(world);
    expect(outcomes(plan)).toEqual([
      [1, 'Healthy'],
      [2, 'Healthy'],
    ]);
    const leaving = rosterAfter(planOf({ ...world, revisions: [old, done], state: plan.state }));
    expect(leaving.filter(({ phase }) => phase === 'draining').map(({ slot }) => slot)).toEqual([3, 4]);
  });

  test('is not Healthy while one that was updated in place is on its way', () => {
    const record = { ...rolloutTo(2, startMs, 1), reached: [0, 1, 3] };
    const coming = replicaIn('updating', 2);
    const entry = { ...coming.entry, updated: startMs };
    const replicas = [...three().slice(0, 2), { ...coming, entry }, replicaIn('updated', 3)];
    const state = { update: 2, rollout: record };
    const plan = planOf(worldOf(replicas, { revisions: [old, present], state }));
    expect(plan).toMatchObject({ kind: 'wait', reason: 'ReplicasNotReady' });
  });

  test('that is Healthy is no return for a replica that was left behind with an earlier one', () => {
    const world = worldOf([...three().slice(0, 2), replicaIn('outdated', 2)]);
    const plan = arranged(world);
    expect(plan).toMatchObject({ reason: 'RollingOut', state: { rollout: { phase: 'Progressing' } } });
    const newer = revisionOf(3, 'a:2', { outcome: 'Superseded' });
    const other = { ...replicaIn('outdated', 2), revision: newer };
    const back = [...three().slice(0, 2), { ...other, entry: { ...other.entry, revision: 3 } }];
    expect(arranged(worldOf(back, { revisions: [old, done, newer] }))).toMatchObject({
      reason: 'RollingBack',
      state: { rollout: { phase: 'RollingBack' } },
    });
  });

  test('of a fleet that is scaled to 0 continues when replicas return', () => {
    const zero = fleetSpec({ replicas: 0 });
    const rollout = rolloutTo(2, startMs, 1);
    const paused = worldOf([], { spec: zero, revisions: [old, present], state: { update: 2, rollout } });
    expect(planOf(paused)).toMatchObject({ kind: 'in-sync' });
    const back = arranged({ ...paused, spec: fleetSpec() });
    expect(rosterAfter(back).map(({ revision }) => revision)).toEqual([2, 2, 2]);
    expect(back.state).toMatchObject({ rollout: { revision: 2, phase: 'Progressing' } });
  });
});

describe('the state of a version that had no revisions', () => {
  /** As it was observed then: by a digest of the content alone. */
  const earlier = (slot: number, more: Partial<Replica> = {}) => {
    const replica = replicaIn('updated', slot);
    const { revision: _none, ...entry } = replica.entry;
    const before = { ...replica, entry: { ...entry, granted: 'a:1' }, revision: undefined, isSettled: false };
    return { ...before, content: 'unknown' as const, ...more };
  };
  const none = { revisions: [], state: { update: undefined } };

  test('rolls nothing: the first revision is that of the document, and all replicas have it', () => {
    const world = worldOf(
      [0, 1, 2].map((slot) => earlier(slot)),
      none,
    );
    const plan = arranged(world);
    expect(outcomes(plan)).toEqual([[1, 'Healthy']]);
    expect(plan.change).toBeUndefined();
    expect(rosterAfter(plan)).toMatchObject([0, 1, 2].map((slot) => ({ slot, revision: 1 })));
    expect(rosterAfter(plan)[0]).not.toHaveProperty('granted');
    const next = after(world, plan);
    expect(planOf({ ...next, replicas: three() })).toMatchObject({ kind: 'in-sync' });
  });

  test('in the middle of a rollout: what differs is updated, and there is nothing to return to', () => {
    const other = earlier(2, { isAsDocument: false });
    const world = worldOf([earlier(0), earlier(1), other], none);
    const plan = arranged(world);
    expect(outcomes(plan)).toEqual([[1, 'RollingOut']]);
    expect(rosterAfter(plan).map(({ revision }) => revision)).toEqual([1, 1, undefined]);
    let next = after(world, plan);
    for (let step = 0; step < 20 && planOf(next).kind !== 'in-sync'; step += 1)
      next = after(next, planOf(next));
    expect(next.replicas.map(({ entry }) => entry.revision)).toEqual([1, 1, 1]);
  });
});

test('a replica that is taken back in a rollout that began without any gets its surge', () => {
  const draining = replicaIn('outdated', 0);
  let world = worldOf([{ ...draining, entry: { ...draining.entry, phase: 'draining' } }], {
    spec: fleetSpec({ replicas: 1 }),
    revisions: [old, present],
    state: { update: 2, rollout: rolloutTo(2, startMs, 0) },
  });
  for (let step = 0; step < 20 && planOf(world).kind !== 'in-sync'; step += 1)
    world = after(world, planOf(world));
  expect(world.replicas.map(({ entry }) => [entry.slot, entry.revision])).toEqual([[0, 2]]);
});
