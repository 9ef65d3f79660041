/** What a plan shows of the replicas of a fleet that gets another template and another number in one edit. */
import { describe, expect, test } from 'vitest';
import type { Arrange } from '../../../../src/engine/plan/index.ts';
import type { FleetLook } from '../../../../src/kinds/service-fleet/look.ts';
import { losesData, plannedReplicas } from '../../../../src/kinds/service-fleet/planned-replicas.ts';
import { previewFleet } from '../../../../src/kinds/service-fleet/preview.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import {
  fleetSpec,
  inputsOf,
  place,
  planOf,
  replicaIn,
  startMs,
  volumeSpec,
  withVolumes,
  worldOf,
  type World,
} from './worlds.ts';

const slots = (count: number) => Array.from({ length: count }, (_, slot) => slot);
const outdated = (count: number) => slots(count).map((slot) => replicaIn('outdated', slot));
const another = { region: 'standard', image: 'a:2', resources: { cpu: 1, memoryGb: 1 } };

function shownOf(world: World) {
  const plan = planOf(world) as Arrange;
  expect(plan).toMatchObject({ kind: 'arrange', change: 'update' });
  const look = { ...inputsOf(world), name: 'llm' } as FleetLook;
  const owned = plannedReplicas(look, plan);
  const count = plan.differences.find(({ path }) => path === 'replicas');
  return {
    count: count && [count.observed, count.desired],
    replicas: Object.fromEntries(owned.map(({ name, action }) => [name, action])),
    losesData: losesData(look, owned, plan),
  };
}

test('those that leave because fewer are wanted are deleted in it, and are not updated', () => {
  const { count, replicas } = shownOf(worldOf(outdated(5), { spec: fleetSpec({ replicas: 3 }) }));
  expect(count).toEqual([5, 3]);
  expect(replicas).toEqual({
    'llm-0': 'update',
    'llm-1': 'update',
    'llm-2': 'update',
    'llm-3': 'delete',
    'llm-4': 'delete',
  });
});

test('those that are made because more are wanted are created in it', () => {
  const { count, replicas } = shownOf(worldOf(outdated(2), { spec: fleetSpec({ replicas: 4 }) }));
  expect(count).toEqual([2, 4]);
  expect(replicas).toEqual({
    'llm-0': 'update',
    'llm-1': 'update',
    'llm-2': 'create',
    'llm-3': 'create',
  });
});

test('without another number, it has none', () => {
  expect(shownOf(worldOf(outdated(3))).count).toBeUndefined();
});

test.each([
  ['Delete', true],
  ['Keep', false],
])('with `retire: %s`, data is deleted with those that leave: %s', (retire, isLost) => {
  const spec = volumeSpec({ retire }, { replicas: 1 });
  expect(shownOf(withVolumes(outdated(2), { spec })).losesData).toBe(isLost);
});

test('a replica that the rollout before has added for a while is no other number', () => {
  const running = (state: World['state']): World => {
    const replicas: Replica[] = slots(4).map((slot) => replicaIn('updated', slot));
    return worldOf(replicas, { spec: fleetSpec({ template: { spec: another } }), state });
  };
  expect(shownOf(running({ rollout: rolloutTo(2, startMs, 1) })).count).toBeUndefined();
  expect(shownOf(running({})).count).toEqual([4, 3]);
});

test.each([
  ['fewer', 1, { 'llm-1': 'delete', 'llm-2': 'delete' }, true],
  ['more', 5, { 'llm-3': 'create', 'llm-4': 'create' }, false],
])(
  'of a command that asks for %s, the replicas are shown, and what is lost with them',
  (_what, desired, names, loses) => {
    const of = { phase: 'wanted', since: startMs, revision: 2, place: { ...place, volumeGb: 10 } } as const;
    const running = slots(3).map((slot) =>
      replicaIn('updated', slot, { entry: Object.assign({ slot }, of) }),
    );
    const spec = fleetSpec({ storage: { scratch: { volumeGb: 10 } } });
    const look = { ...inputsOf(worldOf(running, { spec })), name: 'llm' } as FleetLook;
    const differences = [{ path: 'replicas', desired, observed: 3, drift: false }];
    const commanded: Arrange = {
      kind: 'arrange',
      reason: 'Commanded',
      message: '',
      change: 'scale',
      differences,
      state: { ...look.state, scaled: { replicas: desired, of: 3 } },
    };
    const owned = plannedReplicas(look, commanded);
    expect(Object.fromEntries(owned.map(({ name, action }) => [name, action]))).toEqual(names);
    expect(losesData(look, owned, commanded)).toBe(loses);
  },
);

test('one that drains and is taken back is not shown as a new one', () => {
  const draining = replicaIn('updated', 2);
  const entry = { ...draining.entry, phase: 'draining', cause: 'scale' } as const;
  const world = worldOf([replicaIn('updated', 0), replicaIn('updated', 1), { ...draining, entry }]);
  const plan = planOf(world) as Arrange;
  expect(plan).toMatchObject({ change: 'scale', message: 'taken back: replica 2' });
  expect(plannedReplicas({ ...inputsOf(world), name: 'llm' } as FleetLook, plan)).toEqual([]);
});

describe('the replicas that are named are those that the text counts', () => {
  /** `1 in place, 2 replaced`, once of the text, and once of the names. */
  function waysOf(world: World) {
    const plan = previewFleet(inputsOf(world)) as Arrange;
    const text = plan.differences.find(({ path }) => path === 'template')?.observed;
    const owned = plannedReplicas({ ...inputsOf(world), name: 'llm' } as FleetLook, plan);
    const count = (what: string) => owned.filter(({ action }) => action === what).length;
    const named = [[count('update'), 'in place'] as const, [count('replace'), 'replaced'] as const];
    const ways = named.flatMap(([of, way]) => (of > 0 ? [`${of} ${way}`] : []));
    return { text, named: ways.join(', ') };
  }

  test('with one that its candidate does not allow', () => {
    const rejection = { state: 'PriceTooHigh', message: 'as shown' } as const;
    const replicas = [
      replicaIn('outdated', 0),
      replicaIn('outdated', 1),
      replicaIn('outdated', 2, { rejection }),
    ];
    const { text, named } = waysOf(worldOf(replicas));
    expect([text, named]).toEqual([
      '3 of 3 replicas differ (2 in place, 1 replaced)',
      '2 in place, 1 replaced',
    ]);
  });

  test('with one whose volume binds it to a place that no candidate has any more', () => {
    const replicas = [replicaIn('outdated', 0), replicaIn('outdated', 1), replicaIn('misplaced', 2)];
    const sizeGb = 20;
    const volumes = [
      { slot: 0, ...place, sizeGb },
      { slot: 1, ...place, sizeGb },
      { slot: 2, account: 'default', region: 'economy', sizeGb },
    ];
    const { text, named } = waysOf(withVolumes(replicas, { state: { volumes } }));
    expect([text, named]).toEqual(['2 of 3 replicas differ (2 in place)', '2 in place']);
  });

  test('with one whose volume would have to grow, and nobody may pause it', () => {
    const replicas = slots(3).map((slot) => replicaIn('outdated', slot));
    const small = { isMade: true, shownGb: 20, geography: undefined, pending: undefined };
    const facts = new Map(slots(3).map((slot) => [slot, slot === 0 ? small : { ...small, shownGb: 30 }]));
    const volumes = { facts, taken: new Map(), leaving: new Set<number>() };
    const spec = volumeSpec({ sizeGb: 30, expansion: 'Never' });
    const { text, named } = waysOf(withVolumes(replicas, { spec, volumes }));
    expect([text, named]).toEqual(['2 of 3 replicas differ (2 in place)', '2 in place']);
  });
});
