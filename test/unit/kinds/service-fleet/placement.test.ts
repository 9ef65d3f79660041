import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { candidateOf, candidatesOf } from '../../../../src/kinds/service-fleet/candidates.ts';
import { choose, standings, type Market } from '../../../../src/kinds/service-fleet/placement.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import type { FleetState } from '../../../../src/kinds/service-fleet/state.ts';
import { rejectionOf } from '../../../../src/kinds/service-fleet/whereabouts.ts';
import {
  after,
  fleetSpec,
  inputsOf,
  planOf,
  replicaIn,
  rosterAfter,
  startMs,
  worldOf,
  type World,
} from './worlds.ts';

const nowMs = startMs + 1000;
const home = { name: 'home', region: 'standard' };
const away = { name: 'away', region: 'economy' };
const third = { name: 'third', region: 'standard', geography: 'asia' };

const placed = (placement: object = {}, spec: object = {}) =>
  fleetSpec({ ...spec, placement: { candidates: [home, away, third], ...placement } });

/** A replica at the candidate of this name. */
function at(spec: World['spec'], name: string, slot: number, more: Partial<Replica> = {}): Replica {
  const candidate = candidatesOf(spec).find((each) => each.name === name);
  const known = replicaIn('updated', slot);
  const entry = {
    ...known.entry,
    candidate: name,
    place: candidate?.place ?? { account: 'default', region: 'gone' },
  };
  return { ...known, entry, candidate: candidate?.name, rank: candidate?.rank ?? 3, ...more };
}

const world = (spec: World['spec'], replicas: readonly Replica[] = [], more: Partial<World> = {}) =>
  worldOf(replicas, { spec, nowMs, ...more });
const chosen = (given: World, count = 1) => choose(inputsOf(given), count).map(({ name }) => name);
const stateOf = (given: World, name: string) =>
  standings(inputsOf(given)).find(({ market }) => market.candidate.name === name)?.state;
const priceOf = (micros: number) => ({ price: { micros, basis: 'observed' } });
const scarce = (retryAt: number): Partial<Market> => ({ scarcity: { retryAt, message: 'none left' } });
const placesAfter = (given: World) =>
  rosterAfter(planOf(given)).map(({ slot, candidate }) => [slot, candidate]);

describe('the state of a candidate', () => {
  const ceiling = { maxHourlyMicros: 100 };
  const rest = (state: 'Scarce' | 'ModelNotAccepted', until: number): Partial<World> => ({
    state: { rests: [{ candidate: 'home', state, since: nowMs - 1, until }] },
  });

  test.each<[string, World['spec'], Partial<World>, string]>([
    ['nothing is known', placed(), {}, 'Available'],
    ['its account', placed(), { markets: { home: { problem: 'no key' } } }, 'Unusable'],
    ['refused', placed(), { markets: { home: scarce(nowMs + 1) } }, 'Scarce'],
    ['its pause is over', placed(), { markets: { home: scarce(nowMs) } }, 'Available'],
    ['too dear', placed(ceiling), { markets: { home: priceOf(101) } }, 'PriceTooHigh'],
    ['not too dear', placed(ceiling), { markets: { home: priceOf(100) } }, 'Available'],
    ['no price, to be tried', placed(ceiling), {}, 'Available'],
    ['no price, to be left out', placed({ ...ceiling, unpriced: 'Skip' }), {}, 'Unpriced'],
    ['no price, and none needed', placed({ unpriced: 'Skip' }), {}, 'Available'],
    ['a rest', placed(), rest('ModelNotAccepted', nowMs + 1), 'ModelNotAccepted'],
    ['a rest that is over', placed(), rest('Scarce', nowMs), 'Available'],
    [
      'its own highest price',
      placed({ ...ceiling, candidates: [{ ...home, maxHourlyMicros: 200 }, away] }),
      { markets: { home: priceOf(150) } },
      'Available',
    ],
  ])('%s', (_name, spec, more, state) => {
    expect(stateOf(world(spec, [], more), 'home')).toBe(state);
  });

  test('full with maxReplicas', () => {
    const spec = placed({ candidates: [{ ...home, maxReplicas: 2 }, away] });
    expect(stateOf(world(spec, [at(spec, 'home', 0)]), 'home')).toBe('Available');
    const full = world(spec, [at(spec, 'home', 0), at(spec, 'home', 1)]);
    expect(stateOf(full, 'home')).toBe('Full');
    expect(chosen(world(spec, [at(spec, 'home', 0)]), 3)).toEqual(['home', 'away', 'away']);
  });

  test('a scarce one that is due is asked by one replica', () => {
    const spec = placed();
    const due = { markets: { home: scarce(nowMs) } };
    expect(chosen(world(spec, [], due), 3)).toEqual(['home', 'away', 'away']);
    const asking = at(spec, 'home', 0, { isMade: false, content: 'updating' });
    const probing = world(spec, [asking], due);
    expect([stateOf(probing, 'home'), chosen(probing)]).toEqual(['Probing', ['away']]);
  });
});

describe('a candidate with a highest price, whose price was never seen', () => {
  const spec = placed({ maxHourlyMicros: 100 });
  const declared: Partial<World> = { markets: { home: { price: { micros: 90, basis: 'declared' } } } };
  const first = (more: Partial<Replica>) =>
    world(spec, [at(spec, 'home', 0, { isReady: false, isAvailable: false, ...more })], declared);

  test('gets one replica at first', () => {
    expect(chosen(world(spec, [], declared), 3)).toEqual(['home', 'away', 'third']);
    expect(stateOf(first({ hourlyMicros: 0 }), 'home')).toBe('Probing');
    expect(chosen(first({}), 2)).toEqual(['away', 'third']);
  });

  test('gets the others when that one shows its price, or is ready without one', () => {
    expect(chosen(first({ hourlyMicros: 90 }), 2)).toEqual(['home', 'home']);
    expect(chosen(first({ isReady: true }), 2)).toEqual(['home', 'home']);
    const seen = { markets: { home: priceOf(90) } };
    expect(chosen(world(spec, [], seen), 2)).toEqual(['home', 'home']);
  });

  test('is waited for if no other candidate is left', () => {
    const alone = placed({ maxHourlyMicros: 100, candidates: [home] });
    const asking = at(alone, 'home', 0, { isReady: false, isAvailable: false });
    expect(planOf(world(alone, [asking]))).toMatchObject({ kind: 'wait', reason: 'PriceUnknown' });
  });
});

describe('the strategy', () => {
  test('Ordered takes the first one that is open', () => {
    expect(chosen(world(placed()), 2)).toEqual(['home', 'home']);
    expect(chosen(world(placed(), [], { markets: { home: scarce(nowMs + 1) } }))).toEqual(['away']);
  });

  test('Cheapest takes the lowest known price, then the better rank', () => {
    const spec = placed({ strategy: 'Cheapest' });
    expect(chosen(world(spec, [], { markets: { home: priceOf(9), away: priceOf(8) } }))).toEqual(['away']);
    expect(chosen(world(spec, [], { markets: { third: priceOf(8) } }))).toEqual(['third']);
    expect(chosen(world(spec))).toEqual(['home']);
  });

  test('Spread takes where the fewest are', () => {
    const spec = placed({ strategy: 'Spread', spread: { over: 'region' } });
    expect(chosen(world(spec), 4)).toEqual(['home', 'away', 'home', 'away']);
    const geographies = placed({ strategy: 'Spread' });
    expect(chosen(world(geographies), 3)).toEqual(['home', 'third', 'home']);
  });

  test('Spread with Require leaves a replica out that would exceed maxSkew, and Prefer does not', () => {
    const shut = { markets: { away: scarce(nowMs + 1) } };
    const spread = (whenUnsatisfiable: string) =>
      placed({ strategy: 'Spread', candidates: [home, away], spread: { over: 'region', whenUnsatisfiable } });
    expect(chosen(world(spread('Require'), [], shut), 3)).toEqual(['home']);
    expect(chosen(world(spread('Prefer'), [], shut), 3)).toEqual(['home', 'home', 'home']);
  });
});

describe('replicas that drain are taken back, and more are wanted', () => {
  const draining = (replica: Replica): Replica => ({
    ...replica,
    entry: { ...replica.entry, phase: 'draining', cause: 'scale' },
  });

  test('those that come back count at their candidate', () => {
    const spec = placed({ candidates: [{ ...home, maxReplicas: 2 }, away] }, { replicas: 3 });
    const replicas = [at(spec, 'home', 0), draining(at(spec, 'home', 1))];
    expect(placesAfter(world(spec, replicas))).toEqual([
      [0, 'home'],
      [1, 'home'],
      [2, 'away'],
    ]);
  });

  test('one whose candidate has as many as it takes leaves', () => {
    const spec = placed({ candidates: [{ ...home, maxReplicas: 1 }, away] }, { replicas: 2 });
    const replicas = [at(spec, 'home', 0), draining(at(spec, 'home', 1))];
    const roster = rosterAfter(planOf(world(spec, replicas)));
    expect(roster.map(({ slot, phase, candidate }) => [slot, phase, candidate])).toEqual([
      [0, 'wanted', 'home'],
      [1, 'draining', 'home'],
      [2, 'wanted', 'away'],
    ]);
  });
});

test('whatever is known, no candidate gets more than its room, and none that is shut gets any', () => {
  const anyMarket = fc.record({
    problem: fc.option(fc.constant('no key'), { nil: undefined }),
    price: fc.option(
      fc.integer({ min: 1, max: 200 }).map((micros) => ({ micros, basis: 'declared' })),
      {
        nil: undefined,
      },
    ),
    scarcity: fc.option(
      fc.integer({ min: -5, max: 5 }).map((ms) => ({ retryAt: nowMs + ms, message: 'none left' })),
      { nil: undefined },
    ),
  });
  const any = fc.record({
    strategy: fc.constantFrom('Ordered', 'Cheapest', 'Spread'),
    whenUnsatisfiable: fc.constantFrom('Prefer', 'Require'),
    unpriced: fc.constantFrom('Try', 'Skip'),
    maxHourlyMicros: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
    most: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 3, maxLength: 3 }),
    markets: fc.tuple(anyMarket, anyMarket, anyMarket),
    count: fc.integer({ min: 0, max: 9 }),
  });
  fc.assert(
    fc.property(any, ({ strategy, whenUnsatisfiable, unpriced, maxHourlyMicros, most, markets, count }) => {
      const candidates = [home, away, third].map((each, index) =>
        Object.assign({ maxReplicas: most[index] }, each),
      );
      const spec = placed({ strategy, candidates, spread: { whenUnsatisfiable }, unpriced, maxHourlyMicros });
      const given = world(spec, [], { markets: { home: markets[0], away: markets[1], third: markets[2] } });
      const names = chosen(given, count);
      for (const { market, room, state } of standings(inputsOf(given))) {
        const { name } = market.candidate;
        const added = names.filter((each) => each === name).length;
        const { price } = market;
        const isTooDear =
          maxHourlyMicros !== undefined && price !== undefined && price.micros > maxHourlyMicros;
        const limit = state !== 'Available' || isTooDear ? 0 : market.scarcity ? Math.min(1, room) : room;
        expect(added).toBeLessThanOrEqual(limit);
      }
      const isOpen = standings(inputsOf(given)).some(({ room }) => room > 0);
      expect(names.length).toBeGreaterThanOrEqual(isOpen ? Math.min(1, count) : 0);
    }),
  );
});

describe('replicas that are added', () => {
  test('get their candidates, with the place of each', () => {
    const spec = placed({
      candidates: [
        { ...home, maxReplicas: 1 },
        { ...away, accountRef: { name: 'second' } },
      ],
    });
    expect(rosterAfter(planOf(world(spec)))).toMatchObject([
      { slot: 0, candidate: 'home', place: { account: 'default', region: 'standard' } },
      { slot: 1, candidate: 'away', place: { account: 'second', region: 'economy' } },
      { slot: 2, candidate: 'away' },
    ]);
  });

  test('wait, if there is no place for them, for the earliest time', () => {
    const spec = placed();
    const markets = { home: scarce(nowMs + 9000), away: scarce(nowMs + 5000), third: { problem: 'no key' } };
    expect(planOf(world(spec, [], { markets }))).toMatchObject({
      kind: 'wait',
      reason: 'CapacityUnavailable',
      message: '3 replicas have no place: home: none left; away: none left; third: no key',
      recheckAfterMs: 5000,
    });
  });

  test('are held, if time alone does not help', () => {
    const spec = placed({ maxHourlyMicros: 10, unpriced: 'Skip', candidates: [home, away] });
    expect(planOf(world(spec, [], { markets: { home: priceOf(11) } }))).toMatchObject({
      kind: 'hold',
      reason: 'NoCandidate',
      message:
        '3 replicas have no place: home: 11 micro-USD per hour (observed) are more than 10; away: its price is unknown',
    });
  });

  test('without placement, are added wherever capacity is: each waits for itself', () => {
    expect(placesAfter(world(fleetSpec(), [], { markets: { template: scarce(nowMs + 1) } }))).toEqual([
      [0, 'template'],
      [1, 'template'],
      [2, 'template'],
    ]);
  });
});

describe('a replica that waits for capacity', () => {
  const refused = {
    isMade: false,
    isReady: false,
    isAvailable: false,
    content: 'updating',
    waitsForCapacity: true,
  } as const;
  const spec = placed({}, { replicas: 2 });
  const markets = { home: scarce(nowMs + 9000) };

  test('gets the next candidate, if nothing of it was made', () => {
    const given = world(spec, [at(spec, 'home', 0), at(spec, 'home', 1, refused)], { markets });
    expect(planOf(given)).toMatchObject({
      reason: 'ScalingOut',
      message: 'no capacity for what was not made yet: replica 1 to away',
    });
    expect(rosterAfter(planOf(given))[1]).toMatchObject({ candidate: 'away', place: { region: 'economy' } });
  });

  test('stays, if its outcome is unknown, or if there is no other one', () => {
    const made = world(spec, [at(spec, 'home', 0), at(spec, 'home', 1, { ...refused, isMade: true })], {
      markets,
    });
    expect(planOf(made)).toMatchObject({ reason: 'ReplicasNotReady' });
    const all = { ...markets, away: scarce(nowMs + 1), third: scarce(nowMs + 1) };
    const nowhere = world(spec, [at(spec, 'home', 0), at(spec, 'home', 1, refused)], { markets: all });
    expect(planOf(nowhere)).toMatchObject({ kind: 'wait' });
  });

  test('several: each finds room, and no more than there is', () => {
    const narrow = placed({ candidates: [home, { ...away, maxReplicas: 1 }, third] });
    const all = [0, 1, 2].map((slot) => at(narrow, 'home', slot, refused));
    expect(placesAfter(world(narrow, all, { markets }))).toEqual([
      [0, 'away'],
      [1, 'third'],
      [2, 'third'],
    ]);
  });
});

describe('a replica that does not provision', () => {
  const slow = (since: number) => ({
    isReady: false,
    isAvailable: false,
    content: 'updating' as const,
    provisioningSince: since,
  });
  const spec = placed({ provisionTimeoutMinutes: 5 }, { replicas: 1 });
  const dueMs = nowMs - 300_000;

  test('drains when its time is over, its candidate rests, and the next one comes elsewhere', () => {
    const given = world(spec, [at(spec, 'home', 0, slow(dueMs))]);
    const plan = planOf(given);
    expect(plan).toMatchObject({
      reason: 'Relocating',
      message: 'did not provision in 5 min at home: replica 0',
      state: { rests: [{ candidate: 'home', state: 'Scarce', since: nowMs, until: nowMs + 1_800_000 }] },
    });
    expect(placesAfter(after(given, plan))).toEqual([
      [0, 'home'],
      [1, 'away'],
    ]);
  });

  test('is left until then, also where no other candidate can be used', () => {
    const early = world(spec, [at(spec, 'home', 0, slow(dueMs + 2000))]);
    expect(planOf(early)).toMatchObject({ kind: 'wait', recheckAfterMs: 2000 });
    const alone = { markets: { away: scarce(nowMs + 1), third: { problem: 'no key' } } };
    expect(planOf(world(spec, [at(spec, 'home', 0, slow(dueMs))], alone))).toMatchObject({ kind: 'wait' });
    const never = placed({ provisionTimeoutMinutes: 0 }, { replicas: 1 });
    expect(planOf(world(never, [at(never, 'home', 0, slow(0))]))).toMatchObject({ kind: 'wait' });
  });

  test('is left if it ran before', () => {
    const ran = at(spec, 'home', 0, { ...slow(dueMs), content: 'updated' });
    expect(planOf(world(spec, [ran]))).toMatchObject({ kind: 'wait' });
  });
});

describe('a replica that its candidate does not allow', () => {
  const rejected = (state: 'PriceTooHigh' | 'ModelNotAccepted') => ({
    rejection: { state, message: 'as shown' },
  });
  const fresh = { isReady: true, isAvailable: false, content: 'updating' } as const;
  const spec = placed({}, { replicas: 1 });
  const restsAfter = (given: World) => (planOf(given) as { state?: FleetState }).state?.rests ?? [];

  test('drains at once if it is new, and its candidate rests for an hour because of its price', () => {
    const given = world(spec, [at(spec, 'home', 0, { ...fresh, ...rejected('PriceTooHigh') })]);
    expect(planOf(given)).toMatchObject({
      reason: 'Relocating',
      message: 'to be replaced elsewhere: replica 0 (as shown)',
    });
    expect(restsAfter(given)).toEqual([
      { candidate: 'home', state: 'PriceTooHigh', since: nowMs, until: nowMs + 3_600_000 },
    ]);
    const next = after(given, planOf(given));
    // It is not taken back, although one is missing.
    expect(placesAfter(next)).toEqual([
      [0, 'home'],
      [1, 'away'],
    ]);
  });

  test('three other models within an hour, and the candidate rests', () => {
    const models = [
      { candidate: 'home', at: nowMs - 3_600_000 },
      { candidate: 'home', at: nowMs - 3_599_999 },
    ];
    const replica = at(spec, 'home', 0, { ...fresh, ...rejected('ModelNotAccepted') });
    expect(restsAfter(world(spec, [replica], { state: { models } }))).toEqual([]);
    const [, second] = models;
    if (!second) throw new Error('there are two');
    expect(restsAfter(world(spec, [replica], { state: { models: [second, second] } }))).toMatchObject([
      { candidate: 'home', state: 'ModelNotAccepted' },
    ]);
  });

  test('begins no minute of removals while it stays', () => {
    const plan = planOf(world(spec, [at(spec, 'home', 0, rejected('PriceTooHigh'))]));
    expect(plan).toMatchObject({
      reason: 'Relocating',
      state: { roster: [{ phase: 'wanted', rejected: true }] },
    });
    expect((plan as { state?: FleetState }).state?.pace).toBeUndefined();
  });

  test('stays until another one is available, if it is itself', () => {
    let given = world(spec, [at(spec, 'home', 0, rejected('PriceTooHigh'))]);
    let fewest = 1;
    for (let step = 0; step < 20; step += 1) {
      const plan = planOf(given);
      if (plan.kind === 'in-sync') break;
      given = after(given, plan);
      const available = given.replicas.filter(
        ({ entry, isAvailable }) => entry.phase === 'wanted' && isAvailable,
      );
      fewest = Math.min(fewest, available.length);
    }
    expect(fewest).toBe(1);
    expect(given.replicas.map(({ candidate }) => candidate)).toEqual(['away']);
  });

  test.each([
    [{ maxHourlyMicros: 100 }, { state: 'provisioning', hourlyMicros: 101 }, 'PriceTooHigh'],
    [{ maxHourlyMicros: 100 }, { state: 'running', hourlyMicros: 100 }, undefined],
    [{ maxHourlyMicros: 100 }, { state: 'running' }, undefined],
    [{ gpuModels: ['l4'] }, { state: 'running', gpuModel: 't4' }, 'ModelNotAccepted'],
    [{ gpuModels: ['l4'] }, { state: 'running', gpuModel: 'l4' }, undefined],
    [{ gpuModels: ['l4'] }, { state: 'running' }, undefined],
    [{ gpuModels: ['l4'] }, { state: 'provisioning', gpuModel: 't4' }, undefined],
    [{}, { state: 'running', gpuModel: 't4', hourlyMicros: 9 }, undefined],
  ])('%j with %j: %s', (candidate, service, state) => {
    const given = { maxHourlyMicros: undefined, gpuModels: undefined, ...candidate };
    expect(rejectionOf(given, service)?.state).toBe(state);
  });
});

describe('the candidate of a replica', () => {
  const spec = placed({ candidates: [home, { ...home, name: 'same' }, away] });
  const candidates = candidatesOf(spec);
  const [first] = candidates;
  const place = first?.place ?? { account: '', region: '' };

  test('is found by its place, and by its name if several have that', () => {
    expect(candidateOf({ place, candidate: 'same' }, candidates)?.name).toBe('same');
    expect(candidateOf({ place, candidate: 'renamed' }, candidates)?.name).toBe('home');
    expect(candidateOf({ place }, candidates)?.name).toBe('home');
    expect(
      candidateOf({ place: { ...place, region: 'gone' }, candidate: 'home' }, candidates),
    ).toBeUndefined();
  });

  test('is none any more: the replica is replaced at another one', () => {
    const three = placed();
    const gone = at(three, 'nowhere', 0, { isMisplaced: true });
    const given = world(three, [gone, at(three, 'home', 1), at(three, 'home', 2)]);
    expect(planOf(given)).toMatchObject({
      reason: 'RollingOut',
      message: expect.stringContaining('1 replaced'),
    });
  });
});

describe('a move back', () => {
  const minuteMs = 60_000;
  const on = { moveBack: { enabled: true } };
  const longAgo = startMs - 60 * minuteMs;
  const since = (replica: Replica, time: number): Replica => ({
    ...replica,
    entry: { ...replica.entry, since: time },
  });
  const fleet = (spec: World['spec'], more: Partial<World> = {}, time = longAgo) =>
    world(spec, [since(at(spec, 'home', 0), longAgo), since(at(spec, 'away', 1), time)], {
      nowMs: startMs,
      ...more,
    });
  const ordered = placed(on, { replicas: 2 });
  const began = { reason: 'MovingBack', message: 'replica 1 moves from away to home; added: replica 2' };

  test('adds a replica at the better candidate, and the old one drains when that is available', () => {
    let given = fleet(ordered);
    expect(planOf(given)).toMatchObject(began);
    let most = 0;
    let fewest = 2;
    for (let step = 0; step < 20; step += 1) {
      const plan = planOf(given);
      if (plan.kind === 'in-sync') break;
      given = after(given, plan);
      const wanted = given.replicas.filter(({ entry }) => entry.phase === 'wanted');
      most = Math.max(most, given.replicas.length);
      fewest = Math.min(fewest, wanted.filter(({ isAvailable }) => isAvailable).length);
    }
    expect([most, fewest]).toEqual([3, 2]);
    expect(given.replicas.map(({ entry, candidate }) => [entry.slot, candidate])).toEqual([
      [0, 'home'],
      [2, 'home'],
    ]);
  });

  const late = { state: { moves: [startMs - 30 * minuteMs, startMs - minuteMs] } };
  const resting = { state: { moveRest: { failures: 1, since: longAgo, until: startMs + minuteMs } } };
  test.each<[string, World]>([
    ['it is not enabled', fleet(placed({}, { replicas: 2 }))],
    ['it was there for less than an hour', fleet(ordered, {}, longAgo + 1)],
    ['the better one is not open', fleet(ordered, { markets: { home: scarce(startMs + minuteMs) } })],
    ['two moves have begun in this hour', fleet(ordered, late)],
    ['the last one failed', fleet(ordered, resting)],
    [
      'there may be no other one beside',
      fleet(placed(on, { replicas: 2, update: { maxSurge: 0, maxUnavailable: 1 } })),
    ],
    ['all are at the best one', world(ordered, [at(ordered, 'home', 0), at(ordered, 'home', 1)])],
  ])('does not begin if %s', (_name, given) => {
    expect(planOf(given)).toMatchObject({ kind: 'in-sync' });
  });

  test('is looked for when time alone opens it', () => {
    expect(planOf(fleet(ordered, {}, longAgo + 5000))).toMatchObject({ recheckAfterMs: 5000 });
    expect(planOf(fleet(ordered, late))).toMatchObject({ recheckAfterMs: 30 * minuteMs });
    expect(planOf(fleet(ordered, resting))).toMatchObject({ recheckAfterMs: minuteMs });
  });

  test('waits for a window, and for a protected replica', () => {
    const windows = { disruptionWindows: [{ cron: '0 3 * * *', durationMinutes: 60 }] };
    const template = {
      spec: { region: 'standard', image: 'a:1', resources: { cpu: 1, memoryGb: 1 }, ...windows },
    };
    expect(planOf(fleet(placed(on, { replicas: 2, template })))).toMatchObject({ kind: 'in-sync' });
    const given = fleet(ordered);
    const replicas = given.replicas.map((replica) => Object.assign({}, replica, { protection: 'yes' }));
    expect(planOf({ ...given, replicas })).toMatchObject({ kind: 'in-sync' });
  });

  test('Cheapest moves for a saving that is large enough', () => {
    const cheapest = (minSavingPercent: number) =>
      placed({ strategy: 'Cheapest', moveBack: { enabled: true, minSavingPercent } }, { replicas: 2 });
    const markets = { home: priceOf(90), away: priceOf(100), third: priceOf(200) };
    expect(planOf(fleet(cheapest(10), { markets }))).toMatchObject(began);
    expect(planOf(fleet(cheapest(11), { markets }))).toMatchObject({ kind: 'in-sync' });
    expect(planOf(fleet(cheapest(0), { markets: { home: priceOf(90) } }))).toMatchObject({ kind: 'in-sync' });
  });

  const moving = (probe: Partial<Replica>, more: Partial<World> = {}) => {
    const given = after(fleet(ordered), planOf(fleet(ordered)));
    const replicas = given.replicas.map((replica) =>
      replica.entry.slot === 2 ? { ...replica, ...probe } : replica,
    );
    return { ...given, replicas, ...more };
  };
  const stateAfter = (given: World) => (planOf(given) as { state?: FleetState }).state;

  test.each<[string, Partial<Replica>, number]>([
    ['is refused for capacity', { waitsForCapacity: true }, 0],
    ['is broken', { givenUp: { reason: 'ServiceError', since: startMs } }, 0],
    ['takes too long', {}, 20 * minuteMs],
  ])('fails if the probe %s: it leaves, and the old one stays', (_name, probe, laterMs) => {
    const given = moving(probe, {
      nowMs: startMs + laterMs,
      markets: { home: scarce(startMs + 180 * minuteMs), away: scarce(startMs + 180 * minuteMs) },
    });
    expect(planOf(given)).toMatchObject({ message: 'replica 1 stays: replica 2 did not become available' });
    const state = stateAfter(given);
    expect(state?.moveRest).toEqual({
      failures: 1,
      since: given.nowMs,
      until: given.nowMs + 60 * minuteMs,
    });
    expect(state?.move).toBeUndefined();
    expect(state?.roster?.map(({ slot, phase }) => [slot, phase])).toEqual([
      [0, 'wanted'],
      [1, 'wanted'],
      [2, 'draining'],
    ]);
  });

  test('each failure doubles the pause, up to a day', () => {
    const pause = (failures: number) => {
      const given = moving({ waitsForCapacity: true });
      const moveRest = { failures, since: longAgo, until: longAgo + 1 };
      const rest = stateAfter({ ...given, state: { ...given.state, moveRest } })?.moveRest;
      return ((rest?.until ?? 0) - given.nowMs) / minuteMs;
    };
    expect([pause(0), pause(1), pause(2), pause(9)]).toEqual([60, 120, 240, 1440]);
  });

  test('ends only as the floor allows: the old one stays while replicas that were added meanwhile are not available', () => {
    const probe = { isAvailable: true, isReady: true, isSettled: true, content: 'updated' } as const;
    const spec = placed(on, { replicas: 3 });
    const given = { ...moving(probe), spec };
    const coming = {
      ...at(spec, 'home', 3),
      isAvailable: false,
      isReady: false,
      content: 'updating',
    } as const;
    const busy = planOf({ ...given, replicas: [...given.replicas, coming] });
    expect(busy).toMatchObject({ kind: 'wait', reason: 'ReplicasNotReady' });
    expect(planOf({ ...given, replicas: [...given.replicas, at(spec, 'home', 3)] })).toMatchObject({
      message: 'replica 2 is available at home; draining: replica 1',
    });
  });

  test('goes on while the probe is made, and ends if the old one leaves for another reason', () => {
    expect(planOf(moving({}))).toMatchObject({ kind: 'wait', reason: 'ReplicasNotReady' });
    const given = moving({});
    const without = { ...given, replicas: given.replicas.filter(({ entry }) => entry.slot !== 1) };
    expect(planOf(without)).toMatchObject({ message: 'replica 1 moves no more' });
  });
});
