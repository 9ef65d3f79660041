/** Volumes of replicas: which there are, how large they are to be, where their replicas may be, and when they end. */
import { describe, expect, test } from 'vitest';
import { ownedBy } from '../../../../src/kinds/service-fleet/children.ts';
import { serviceFleetDocument } from '../../../../src/kinds/service-fleet/schema.ts';
import type { FleetState, VolumeEntry } from '../../../../src/kinds/service-fleet/state.ts';
import type { VolumeFacts } from '../../../../src/kinds/service-fleet/volumes.ts';
import {
  after,
  planOf,
  place,
  present,
  replicaIn,
  rosterAfter,
  startMs,
  states,
  volumeSpec,
  withVolumes,
  type World,
} from './worlds.ts';

const three = [0, 1, 2].map((slot) => replicaIn('updated', slot));
const made: VolumeFacts = { isMade: true, shownGb: 20, geography: undefined, pending: undefined };

function volumesAfter(world: World): readonly VolumeEntry[] {
  const plan = planOf(world);
  return plan.kind === 'arrange' ? ((plan.state as FleetState).volumes ?? []) : (world.state.volumes ?? []);
}

const retired = (volumes: readonly VolumeEntry[]) =>
  volumes.flatMap((volume) => (volume.retired ? [volume.slot] : []));

const factsOf = (facts: Readonly<Record<number, Partial<VolumeFacts>>>, slots = [0, 1, 2, 3]) => ({
  facts: new Map(slots.map((slot) => [slot, { ...made, ...facts[slot] }])),
  taken: new Map<number, string>(),
  leaving: new Set<number>(),
});

// ---- documents ---------------------------------------------------------------------------------------

describe('a document with storage.perReplica', () => {
  const update = { maxSurge: 0, maxUnavailable: 1 };
  const refusals = (spec: object, name = 'llm') =>
    serviceFleetDocument
      .safeParse({
        apiVersion: 'fleetkeeper.dev/v1alpha1',
        kind: 'ServiceFleet',
        metadata: { name },
        spec: {
          template: { spec: { region: 'standard', image: 'a:1', resources: { cpu: 1, memoryGb: 1 } } },
          storage: { perReplica: { sizeGb: 20 } },
          update,
          maxReplicas: 50,
          ...spec,
        },
      })
      .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);

  test.each([
    ['its least form', {}],
    ['without an overlap', { drain: { overlap: '0%' } }],
    ['shares', { update: { maxSurge: '0%', maxUnavailable: '25%' } }],
    ['other storage', { storage: { scratch: { volumeGb: 10 } }, update: {}, maxReplicas: undefined }],
  ])('is accepted: %s', (_case, spec) => {
    expect(refusals(spec)).toBeUndefined();
  });

  test('is accepted with a name of 38 characters, and refused with a longer one', () => {
    expect(refusals({}, 'a'.repeat(38))).toBeUndefined();
    expect(refusals({}, 'a'.repeat(39))).toEqual([
      'metadata.name: at most 38 characters with storage.perReplica, because it is part of the names of volumes',
    ]);
    expect(refusals({ storage: undefined }, 'a'.repeat(63))).toBeUndefined();
  });

  const surge =
    'spec.update: storage.perReplica needs maxSurge 0 and maxUnavailable of at least 1, because an additional replica would need a volume of its own';
  test.each([
    [{ update: {} }, surge],
    [{ update: { maxSurge: 1, maxUnavailable: 1 } }, surge],
    [
      { drain: { overlap: 1 } },
      'spec.drain: storage.perReplica needs drain.overlap 0, because an additional replica would need a volume of its own',
    ],
    [
      { maxReplicas: undefined },
      'spec.maxReplicas: storage.perReplica needs maxReplicas of at most 50, the volumes that an account may have (§8)',
    ],
    [
      { storage: { perReplica: { sizeGb: 20 }, scratch: { volumeGb: 10 } } },
      'spec.storage: needs exactly one of perReplica and scratch',
    ],
    [{ storage: {} }, 'spec.storage: needs exactly one of perReplica and scratch'],
  ])('is refused: %j', (spec, message) => {
    expect(refusals(spec)).toEqual([message]);
  });
});

// ---- objects -----------------------------------------------------------------------------------------

describe('the objects of a fleet with volumes', () => {
  const objects = (volumes: VolumeEntry[]) =>
    ownedBy({
      name: 'llm',
      spec: volumeSpec({ expansion: 'PauseService', retire: 'Delete' }),
      state: {
        roster: [{ slot: 0, phase: 'wanted', since: startMs, place: { ...place, volume: true } }],
        volumes,
      },
      revisions: [],
    });

  test('are replicas that refer to their volumes, and the volumes, also those without a replica', () => {
    const own = { ...place, sizeGb: 20 };
    const [replica, first, second] = objects([
      { slot: 0, ...own },
      { slot: 3, ...own, geography: 'europe' },
    ]);
    expect(replica).toMatchObject({
      name: 'llm-0',
      spec: { storage: { volumeRef: { name: 'llm-data-0' } } },
    });
    expect(first).toMatchObject({
      kind: 'StorageVolume',
      name: 'llm-data-0',
      labels: { 'fleetkeeper.dev/fleet': 'llm', 'fleetkeeper.dev/slot': '0' },
      spec: { region: 'standard', sizeGb: 20, expansion: 'PauseService' },
      content: undefined,
    });
    expect(second).toMatchObject({ name: 'llm-data-3', spec: { geography: 'europe' } });
  });

  test('a volume that is no object any more stays at the provider, unless it was retired before', () => {
    const own = { ...place, sizeGb: 20 };
    const policies = objects([
      { slot: 0, ...own },
      { slot: 3, ...own, retired: true },
    ]).flatMap(({ kind, spec }) => (kind === 'StorageVolume' ? [spec] : []));
    expect(policies).toMatchObject([{ deletionPolicy: 'Retain' }, { deletionPolicy: 'Delete' }]);
  });

  test('one that is retired is not made any more: its service is still leaving, and its own creation may be next', () => {
    const own = { ...place, sizeGb: 20 };
    const held = objects([
      { slot: 0, ...own },
      { slot: 3, ...own, retired: true },
    ]).flatMap(({ kind, drainingSince }) => (kind === 'StorageVolume' ? [drainingSince] : []));
    expect(held).toEqual([undefined, 0]);
  });
});

// ---- sizes -------------------------------------------------------------------------------------------

describe('a volume of a replica', () => {
  const grown = { ...present, content: { ...present.content, perReplica: { sizeGb: 30 } } };
  const growing = (expansion: string, more: Partial<World> = {}) => {
    const outdated = three.map((replica) => ({ ...replica, content: 'outdated' as const }));
    const world = withVolumes(outdated, { spec: volumeSpec({ sizeGb: 30, expansion }) });
    const [first] = world.revisions;
    const revisions = first ? [{ ...first, outcome: 'Healthy' as const }, grown] : [];
    const replicas = world.replicas.map((replica) => ({
      ...replica,
      revision: first,
      isAsDocument: false,
      entry: { ...replica.entry, revision: 1 },
    }));
    return { ...world, revisions, replicas, ...more };
  };
  const begun = (world: World): World => after(world, planOf(world));

  test('is to grow when its replica gets the revision that asks for it, and not before', () => {
    const world = begun(growing('PauseService'));
    expect(volumesAfter(world).map(({ sizeGb }) => sizeGb)).toEqual([20, 20, 30]);
  });

  test('does not grow while nobody may pause its replica, and that is no fault of the revision', () => {
    const world = begun(growing('Never'));
    const plan = planOf(world);
    expect(plan.kind === 'arrange' && (plan.state as FleetState).rollout?.stopped?.reason).toBe(
      'ExpansionNeedsPause',
    );
    expect(planOf(after(world, plan))).toMatchObject({ kind: 'hold', reason: 'ExpansionNeedsPause' });
  });

  test('never shrinks: what it shows counts when the revision is taken back, and when others made it larger', () => {
    const withSizes = (recorded: number, shownGb: number | undefined) =>
      volumesAfter({
        ...withVolumes(
          three.map((replica, slot) => (slot === 1 ? replicaIn('drifted', 1) : replica)),
          { volumes: factsOf({ 0: { shownGb } }) },
        ),
        state: { volumes: [{ slot: 0, ...place, sizeGb: recorded }] },
      })[0]?.sizeGb;
    expect(withSizes(30, 30)).toBe(30);
    expect(withSizes(30, undefined)).toBe(30);
    // It has not grown yet, and nobody asks for that any more.
    expect(withSizes(30, 20)).toBe(20);
  });

  test('that others made larger is recorded, and that is the last change', () => {
    const world = withVolumes(three, { volumes: factsOf({ 1: { shownGb: 50 } }) });
    expect(volumesAfter(world)[1]).toMatchObject({ slot: 1, sizeGb: 50 });
    expect(planOf(after(world, planOf(world))).kind).toBe('in-sync');
  });
});

// ---- the end -----------------------------------------------------------------------------------------

describe('a volume ends', () => {
  /** Each change of the fleet, until nothing is left to be done. */
  function lifeOf(given: World): { readonly retired: number[]; readonly left: number[] } {
    let world = given;
    const all = new Set<number>();
    for (let step = 0; step < 60; step += 1) {
      const plan = planOf(world);
      if (plan.kind === 'in-sync') break;
      for (const slot of retired(volumesAfter(world))) all.add(slot);
      world = after(world, plan);
    }
    return {
      retired: [...all].toSorted((one, other) => one - other),
      left: (world.state.volumes ?? []).map(({ slot }) => slot),
    };
  }

  test.each([
    ['Keep', { retired: [], left: [0, 1, 2] }],
    ['Delete', { retired: [1, 2], left: [0] }],
  ])('after a scale-in: %s', (retire, expected) => {
    expect(lifeOf(withVolumes(three, { spec: volumeSpec({ retire }, { replicas: 1 }) }))).toEqual(expected);
  });

  test.each(['Auto', 'Replace'] as const)('never because of a rollout, a repair or drift: %s', (mode) => {
    const update = { mode, maxSurge: 0, maxUnavailable: 1 };
    const spec = volumeSpec({ retire: 'Delete' }, { update, repair: { maxPercent: 100 } });
    for (const first of states)
      for (const second of states)
        for (const third of states) {
          const replicas = [first, second, third].map((state, slot) => replicaIn(state, slot));
          const { retired: ended, left } = lifeOf(withVolumes(replicas, { spec }));
          expect({ first, second, third, ended, left }).toEqual({
            first,
            second,
            third,
            ended: [],
            left: [0, 1, 2],
          });
        }
  });

  test('only when its replica is gone: while that drains or is deleted, it stays', () => {
    const spec = volumeSpec({ retire: 'Delete' }, { replicas: 2 });
    const draining = after(withVolumes(three, { spec }), planOf(withVolumes(three, { spec })));
    expect(retired(draining.state.volumes ?? [])).toEqual([]);
    const free = draining.replicas.map((replica) =>
      replica.entry.phase === 'draining' ? { ...replica, protection: 'no' as const } : replica,
    );
    const retiring = after({ ...draining, replicas: free }, planOf({ ...draining, replicas: free }));
    expect(retired(retiring.state.volumes ?? [])).toEqual([2]);
    expect(volumesAfter(retiring).map(({ slot }) => slot)).toEqual([0, 1, 2]);
    const gone = retiring.replicas.map((replica) =>
      replica.entry.phase === 'retiring' ? { ...replica, isRecorded: false } : replica,
    );
    expect(volumesAfter({ ...retiring, replicas: gone }).map(({ slot }) => slot)).toEqual([0, 1]);
  });

  test.each([
    ['Keep', 'Delete', []],
    ['Delete', 'Delete', [3]],
    ['Delete', 'Retain', []],
  ])('with its fleet, also without a replica: %s, deletionPolicy %s', (retire, deletionPolicy, expected) => {
    const spec = volumeSpec({ retire }, { deletionPolicy });
    const world = withVolumes([], { spec, deleting: true }, [3]);
    expect(retired(volumesAfter(world))).toEqual(expected);
    const { left } = lifeOf(world);
    expect(left).toEqual([]);
  });

  test('with the replica that leaves instead of a protected one, which has no cause any more', () => {
    const [first, second, third] = three;
    const kept = third && {
      ...third,
      entry: { ...third.entry, phase: 'draining' as const, cause: 'scale' as const },
      protection: 'yes' as const,
    };
    const all = [first, second, kept].flatMap((each) => each ?? []);
    const world = withVolumes(all, { spec: volumeSpec({ retire: 'Delete' }, { replicas: 2 }) });
    expect(rosterAfter(planOf(world)).map(({ phase, cause }) => [phase, cause])).toEqual([
      ['wanted', undefined],
      ['draining', 'scale'],
      ['wanted', undefined],
    ]);
  });

  test('when it was never made, and its replica leaves', () => {
    const spec = volumeSpec({}, { replicas: 2 });
    const [first, second, third] = three;
    const leaving = third && {
      ...third,
      entry: { ...third.entry, phase: 'draining' as const },
      isMade: false,
    };
    const all = [first, second, leaving].flatMap((each) => each ?? []);
    const unmade = factsOf({ 2: { isMade: false, shownGb: undefined } });
    expect(retired(volumesAfter(withVolumes(all, { spec, volumes: unmade })))).toEqual([2]);
  });

  test('when no replica has it, and it is lost or has become that of a document', () => {
    const lost = factsOf({ 3: { pending: 'DataLost' }, 1: { pending: 'DataLost' } });
    expect(volumesAfter(withVolumes(three, { volumes: lost }, [3])).map(({ slot }) => slot)).toEqual([
      0, 1, 2,
    ]);
    const taken = { ...factsOf({}), taken: new Map([[1, 'StorageVolume/default/llm-data-1 at a.yaml:1']]) };
    expect(volumesAfter(withVolumes(three, { volumes: taken }, [3])).map(({ slot }) => slot)).toEqual([
      0, 2, 3,
    ]);
  });
});

// ---- places ------------------------------------------------------------------------------------------

describe('a number with a volume', () => {
  const candidates = [
    { name: 'home', region: 'standard', geography: 'europe' },
    { name: 'away', region: 'economy' },
  ];
  const spec = volumeSpec({}, { placement: { candidates } });
  const at = (region: string, geography?: string): Partial<World> => ({
    spec,
    state: {
      volumes: [{ slot: 0, account: 'default', region, sizeGb: 20, ...(geography ? { geography } : {}) }],
    },
  });
  const candidateOf = (world: World, slot: number) =>
    rosterAfter(planOf(world)).find((entry) => entry.slot === slot)?.candidate;

  test('is used where its volume is, and no other number is', () => {
    const there = withVolumes([], at('economy'), [0]);
    expect([0, 1, 2].map((slot) => candidateOf(there, slot))).toEqual(['away', 'home', 'home']);
  });

  test.each([
    ['in the geography that was asked for', 'europe', undefined, 'home'],
    ['in a geography that the API has chosen, in its own form', undefined, 'Europe (Frankfurt)', 'home'],
    ['nobody knows where in the region', undefined, undefined, 'home'],
    ['elsewhere', 'asia', undefined, undefined],
  ])('%s', (_case, asked, shown, expected) => {
    const world = withVolumes([], {
      ...at('standard', asked),
      volumes: factsOf({ 0: { geography: shown } }, [0]),
    });
    expect(candidateOf(world, 0)).toBe(expected);
  });

  test('waits if no candidate is there: the volume is named', () => {
    const world = withVolumes(three.slice(1), at('lost'), [0]);
    const home = { ...place, geography: 'europe', volume: true } as const;
    const replicas = world.replicas.map((replica) => ({
      ...replica,
      candidate: 'home',
      entry: { ...replica.entry, place: home },
    }));
    expect(planOf({ ...world, replicas })).toMatchObject({
      kind: 'hold',
      reason: 'PlacementBound',
      message: expect.stringContaining('llm-data-0 (account default, region lost)'),
    });
  });

  test('is not used again while its volume is still being deleted, or is that of a document', () => {
    const volumes = { facts: new Map(), taken: new Map([[0, 'a']]), leaving: new Set([2]) };
    const world = withVolumes([], { spec: volumeSpec(), volumes });
    expect(rosterAfter(planOf(world)).map(({ slot }) => slot)).toEqual([1, 3, 4]);
  });

  test('keeps its replica although that can not be where it is any more', () => {
    const misplaced = [0, 1, 2].map((slot) => replicaIn('misplaced', slot, { content: 'updated' }));
    const volumes = [0, 1, 2].map((slot) => ({ slot, account: 'default', region: 'economy', sizeGb: 20 }));
    const plan = planOf(withVolumes(misplaced, { state: { volumes } }));
    expect(plan).toMatchObject({ kind: 'hold', reason: 'PlacementBound' });
  });

  test('a volume that is not made yet moves on with its replica when there is no capacity', () => {
    const [waiting] = three;
    const replica = waiting && { ...waiting, isMade: false, waitsForCapacity: true, candidate: 'home' };
    const scarce = { home: { scarcity: { retryAt: startMs + 600_000, message: 'none' } } };
    const moved = (isMade: boolean) =>
      volumesAfter(
        withVolumes(replica ? [replica] : [], {
          spec: { ...spec, replicas: 1 },
          markets: scarce,
          volumes: factsOf({ 0: { isMade } }, [0]),
        }),
      )[0]?.region;
    expect(moved(false)).toBe('economy');
    expect(moved(true)).toBe('standard');
  });
});
