/** Which services are stopped for a budget, in which order, and when they come back. */
import { describe, expect, test } from 'vitest';
import {
  nothingShed,
  planShedding,
  type BudgetFigures,
  type SheddingPlan,
  type ShedMember,
} from '../../../../src/engine/plan/index.ts';
import type { BudgetLimits, BudgetTerms, StoredShedding } from '../../../../src/resources/index.ts';

const minute = 60_000;
const start = Date.parse('2026-11-20T12:00:00Z');

function termsOf(limits: BudgetLimits, shed: Partial<BudgetTerms['shed']> = {}): BudgetTerms {
  return {
    scope: { of: 'namespace' },
    limits,
    timeZone: 'UTC',
    horizonHours: 24,
    mode: 'Shed',
    warnAt: [],
    unpriced: 'Allow',
    shed: { graceMinutes: 15, maxPerMinute: 1, resumeBelowPercent: 90, resumeAfterMinutes: 30, ...shed },
  };
}

function member(name: string, more: Partial<ShedMember> = {}): ShedMember {
  return {
    object: `ContainerService/default/${name}`,
    uid: name,
    text: `ContainerService ${name}`,
    priority: 500,
    savesMicros: 10n,
    replicas: undefined,
    obstacle: undefined,
    isFree: false,
    isDown: false,
    isAwaited: false,
    isUnderWay: false,
    isStopping: false,
    refusal: undefined,
    costMicros: 10n,
    ...more,
  };
}

/** A world in which what is ordered happens: a service stops when it has an order, unless it refuses. */
class World {
  nowMs = start;
  state: StoredShedding | undefined;
  terms: BudgetTerms;
  /** What is not among the members. */
  rest = 0n;
  spent = 0n;
  observed: bigint | undefined;
  readable = true;
  isOneShot = false;
  reserved = 0n;
  readonly all = new Map<string, ShedMember>();
  /** Orders are carried out at once. */
  obeys = true;

  constructor(limit: number, members: readonly ShedMember[], shed: Partial<BudgetTerms['shed']> = {}) {
    this.terms = termsOf({ hourlyMicros: limit }, shed);
    for (const each of members) this.all.set(each.object, each);
  }

  change(name: string, more: Partial<ShedMember>): void {
    const object = `ContainerService/default/${name}`;
    const before = this.all.get(object);
    if (before) this.all.set(object, { ...before, ...more });
  }

  burn(): bigint {
    return [...this.all.values()].reduce(
      (sum, { savesMicros, replicas, isDown }) =>
        sum + (isDown ? 0n : savesMicros * BigInt(replicas?.now ?? 1)),
      this.rest,
    );
  }

  plan(): SheddingPlan {
    const figures: BudgetFigures = {
      burnMicros: this.burn(),
      reservedMicros: this.reserved,
      spentMicros: this.spent,
      ...(this.observed === undefined ? {} : { observedMicros: this.observed }),
      monthLeftMs: 10 * 86_400_000,
      balanceMicros: undefined,
    };
    const members = new Map(
      [...this.all].map(([key, each]) => [key, each.isDown ? { ...each, savesMicros: 0n } : each]),
    );
    const plan = planShedding({
      terms: this.terms,
      figures: this.readable ? figures : undefined,
      before: this.state,
      members,
      nowMs: this.nowMs,
      elapsedMs: (since) => Math.max(0, this.nowMs - since),
      isOneShot: this.isOneShot,
    });
    this.state = plan.state;
    if (this.obeys) this.#obey(plan);
    return plan;
  }

  #obey({ state: { orders } }: SheddingPlan): void {
    for (const [key, each] of this.all) {
      const order = orders.find(({ object }) => object === key);
      if (each.replicas) {
        const { wanted, present } = each.replicas;
        const now = Math.min(wanted, present, order?.replicas ?? wanted);
        this.all.set(key, { ...each, replicas: { ...each.replicas, now } });
      } else if (order?.phase === 'asked' && each.obstacle === undefined && each.refusal === undefined) {
        this.all.set(key, { ...each, isDown: true });
      } else if (!order && each.isDown) this.all.set(key, { ...each, isDown: false });
    }
  }

  /** Plans every ten seconds. */
  pass(minutes: number): SheddingPlan {
    for (let count = 0; count < minutes * 6; count += 1) {
      this.nowMs += minute / 6;
      this.plan();
    }
    return this.plan();
  }

  shed(): string[] {
    return (this.state?.orders ?? []).map(({ object }) => object.split('/')[2] ?? '');
  }
}

describe('the period of grace', () => {
  test('a limit that is passed by what runs is announced at once, with the list, and nothing is stopped', () => {
    const world = new World(25, [member('a', { priority: 900 }), member('b', { priority: 1 }), member('c')]);
    const plan = world.plan();
    expect(plan).toMatchObject({ phase: 'Exceeded', isNew: true, dueAt: start + 15 * minute });
    expect(plan.list.map(({ text }) => text)).toEqual(['ContainerService b']);
    expect(world.pass(14)).toMatchObject({ phase: 'Exceeded', isNew: false });
    expect(world.shed()).toEqual([]);
    world.pass(2);
    expect(world.shed()).toEqual(['b']);
  });

  test('what is only reserved passes no limit', () => {
    const world = new World(25, [member('a')]);
    world.reserved = 100n;
    expect(world.plan()).toMatchObject({ phase: 'Within' });
    world.pass(60);
    expect(world.shed()).toEqual([]);
  });

  test('what was spent while nobody observed it stops nothing, and is reported', () => {
    const world = new World(25, [member('a')]);
    world.terms = termsOf({ monthlyMicros: 100 });
    Object.assign(world, { spent: 150n, observed: 100n });
    expect(world.pass(60)).toMatchObject({ phase: 'Within', isAssumed: true });
    expect(world.shed()).toEqual([]);
    world.observed = 101n;
    expect(world.plan()).toMatchObject({ phase: 'Exceeded', isNew: true });
  });

  test('it begins anew when the limit was kept in between', () => {
    const world = new World(25, [member('a'), member('b'), member('c')]);
    world.pass(10);
    world.terms = termsOf({ hourlyMicros: 100 });
    expect(world.plan().phase).toBe('Within');
    world.terms = termsOf({ hourlyMicros: 25 });
    expect(world.plan()).toMatchObject({ phase: 'Exceeded', isNew: true });
    world.pass(14);
    expect(world.shed()).toEqual([]);
  });

  test('it goes on after a restart, and begins anew when the clock was set back', () => {
    const world = new World(25, [member('a'), member('b'), member('c')]);
    world.pass(10);
    world.state = JSON.parse(JSON.stringify(world.state)) as StoredShedding;
    world.nowMs -= 60 * minute;
    expect(world.plan().dueAt).toBe(world.nowMs + 15 * minute);
    world.pass(14);
    expect(world.shed()).toEqual([]);
    world.pass(2);
    expect(world.shed()).toHaveLength(1);
  });

  test('while an account can not be read, nothing is stopped, and nothing comes back', () => {
    const world = new World(25, [member('a'), member('b'), member('c')]);
    world.pass(16);
    expect(world.shed()).toEqual(['a']);
    world.readable = false;
    world.terms = termsOf({ hourlyMicros: 5 });
    world.pass(60);
    world.terms = termsOf({ hourlyMicros: 1000 });
    world.pass(60);
    expect(world.shed()).toEqual(['a']);
  });
});

describe('what is stopped', () => {
  test('fleets give replicas first, down to their least number; then services, by priority, then by saving', () => {
    const world = new World(
      1,
      [
        member('dear', { priority: 900 }),
        member('small', { savesMicros: 5n }),
        member('large', { savesMicros: 50n }),
        member('fleet', { priority: 1000, replicas: { wanted: 4, least: 2, now: 4, present: 4 } }),
      ],
      { maxPerMinute: 1 },
    );
    const seen: string[] = [];
    for (let minutes = 0; minutes < 30; minutes += 0.25) {
      world.nowMs += minute / 4;
      world.plan();
      const last = world.state?.orders.at(-1);
      const text = last && `${last.object.split('/')[2]} ${last.replicas ?? ''}`.trim();
      if (text && !seen.includes(text)) seen.push(text);
    }
    expect(seen).toEqual(['fleet 3', 'fleet 2', 'large', 'small', 'dear']);
  });

  test('no more are stopped than are needed', () => {
    const world = new World(
      25,
      ['a', 'b', 'c', 'd', 'e'].map((name) => member(name)),
    );
    world.pass(60);
    expect(world.shed()).toEqual(['a', 'b', 'c']);
  });

  test('no more than maxPerMinute steps lie in any minute', () => {
    for (const maxPerMinute of [1, 3]) {
      const names = Array.from({ length: 12 }, (_, index) => `s${String(index).padStart(2, '0')}`);
      const world = new World(
        1,
        names.map((name) => member(name)),
        { maxPerMinute },
      );
      const times: number[] = [];
      for (let count = 0; count < 400; count += 1) {
        world.nowMs += 5000;
        const before = world.shed().length;
        world.plan();
        if (world.shed().length > before) times.push(world.nowMs);
      }
      expect(times).toHaveLength(12);
      for (const time of times)
        expect(times.filter((other) => time <= other && other < time + minute).length).toBeLessThanOrEqual(
          maxPerMinute,
        );
    }
  });

  test('a fleet of which only some replicas are there gives one of those with the first step', () => {
    const replicas = { wanted: 20, least: 1, now: 4, present: 4 };
    const world = new World(35, [member('fleet', { replicas })]);
    world.pass(16);
    expect(world.state?.orders).toMatchObject([{ replicas: 3, phase: 'done' }]);
    const least = new World(5, [member('fleet', { replicas: { ...replicas, now: 1, present: 1 } })]);
    const plan = least.pass(20);
    expect(plan).toMatchObject({ isBlocked: true, state: { orders: [] } });
  });

  test('what was ordered and is gone before a read shows it counts for maxPerMinute', () => {
    const world = new World(1, [member('a'), member('b'), member('c')], { maxPerMinute: 1 });
    world.obeys = false;
    world.pass(16);
    expect(world.shed()).toEqual(['a']);
    world.all.delete('ContainerService/default/a');
    world.nowMs += 1000;
    world.plan();
    expect(world.shed()).toEqual([]);
    world.nowMs += minute - 1000;
    world.plan();
    expect(world.shed()).toEqual([]);
    world.nowMs += 1000;
    world.plan();
    expect(world.shed()).toEqual(['b']);
  });

  test('after each, the next one waits for the read that shows it', () => {
    const world = new World(1, [member('a'), member('b')], { maxPerMinute: 100 });
    world.obeys = false;
    world.pass(17);
    expect(world.shed()).toEqual(['a']);
    world.change('a', { isDown: true });
    world.pass(1);
    expect(world.shed()).toEqual(['a', 'b']);
  });

  test('what must not be stopped never is, and when nothing else is left, that is reported with the reasons', () => {
    const world = new World(1, [
      member('task', { obstacle: 'it is protected by a task' }),
      member('never', { priority: Number.POSITIVE_INFINITY }),
      member('exempt', { isFree: true }),
      member('free'),
      member('fleet', { replicas: { wanted: 2, least: 2, now: 2, present: 2 } }),
    ]);
    const plan = world.pass(60);
    expect(world.shed()).toEqual(['free']);
    expect(plan).toMatchObject({ phase: 'Shedding', isBlocked: true });
    expect(plan.kept).toEqual([
      { text: 'ContainerService task', obstacle: 'it is protected by a task' },
      { text: 'ContainerService never', obstacle: '`shed-priority: never`' },
      { text: 'ContainerService exempt', obstacle: 'it is exempt' },
      { text: 'ContainerService fleet', obstacle: 'it has no more replicas than `minReplicas`' },
    ]);
  });

  test('what turns out to be protected is passed over for five minutes, and the next one is stopped', () => {
    const world = new World(15, [member('a'), member('b')]);
    world.change('a', { refusal: 'Protected' });
    world.pass(18);
    expect(world.shed()).toEqual(['b']);
    expect(world.state?.spared).toMatchObject([{ because: 'Protected' }]);
  });

  test('an order whose request may still take effect is not given up', () => {
    const world = new World(15, [member('a'), member('b')]);
    world.obeys = false;
    world.pass(16);
    world.change('a', { isUnderWay: true, refusal: 'Protected' });
    world.pass(60);
    expect(world.shed()).toEqual(['a']);
  });

  test('an order that nothing came of is withdrawn when the limit is kept again', () => {
    const world = new World(15, [member('a'), member('b')]);
    world.obeys = false;
    world.pass(16);
    world.terms = termsOf({ hourlyMicros: 100 });
    world.plan();
    expect(world.shed()).toEqual([]);
  });

  test('a stop that was made stays, though no read shows it yet and the limit is kept again', () => {
    const world = new World(15, [member('a'), member('b')]);
    world.obeys = false;
    world.pass(16);
    world.change('a', { isStopping: true });
    world.terms = termsOf({ hourlyMicros: 22 });
    world.plan();
    world.change('a', { isDown: true });
    world.pass(1);
    expect(world.state?.orders).toMatchObject([{ phase: 'done' }]);
  });
});

describe('what comes back', () => {
  const shedding = () => {
    const world = new World(15, [member('a', { priority: 1 }), member('b', { priority: 2 }), member('c')]);
    world.pass(20);
    expect(world.shed()).toEqual(['a', 'b']);
    return world;
  };

  test('nothing while there is room within the limit, but not below resumeBelowPercent', () => {
    const world = shedding();
    // With 20 of 22, 90 per cent are passed.
    world.terms = termsOf({ hourlyMicros: 22 });
    world.pass(120);
    expect(world.shed()).toEqual(['a', 'b']);
    world.terms = termsOf({ hourlyMicros: 23 });
    world.pass(31);
    expect(world.shed()).toEqual(['a']);
  });

  test('what is reserved takes room as well', () => {
    const world = shedding();
    world.terms = termsOf({ hourlyMicros: 100 });
    world.reserved = 85n;
    world.pass(120);
    expect(world.shed()).toEqual(['a', 'b']);
  });

  test('after resumeAfterMinutes, in the reverse order, one after the other', () => {
    const world = shedding();
    world.terms = termsOf({ hourlyMicros: 100 });
    expect(world.pass(29).phase).toBe('Resuming');
    expect(world.shed()).toEqual(['a', 'b']);
    world.obeys = false;
    world.change('b', { isAwaited: true });
    world.pass(2);
    expect(world.shed()).toEqual(['a']);
    world.pass(5);
    expect(world.shed()).toEqual(['a']);
    world.change('b', { isDown: false, isAwaited: false });
    world.plan();
    expect(world.shed()).toEqual([]);
  });

  test('what can not be started does not keep the others back for more than ten minutes', () => {
    const world = shedding();
    world.terms = termsOf({ hourlyMicros: 100 });
    world.obeys = false;
    world.change('b', { isAwaited: true });
    world.pass(42);
    expect(world.shed()).toEqual([]);
  });

  test('a fleet gets one replica after the other', () => {
    const world = new World(25, [member('fleet', { replicas: { wanted: 4, least: 1, now: 4, present: 4 } })]);
    world.pass(20);
    expect(world.state?.orders).toMatchObject([{ replicas: 2 }]);
    world.terms = termsOf({ hourlyMicros: 100 });
    world.pass(29);
    const caps = new Set<number | undefined>();
    for (let count = 0; count < 12; count += 1) {
      world.nowMs += minute / 6;
      world.plan();
      caps.add(world.state?.orders[0]?.replicas);
    }
    expect([...caps].filter((cap) => cap !== undefined)).toEqual([2, 3]);
    expect(world.shed()).toEqual([]);
  });

  test.each([
    ['it is exempt, edited, or not counted any more', { isFree: true }],
    ['another object has its name', { uid: 'another' }],
  ])('at once when %s', (_, more) => {
    const world = shedding();
    world.obeys = false;
    world.change('a', more);
    world.plan();
    expect(world.shed()).toEqual(['b']);
  });

  test('what somebody starts counts, and is not stopped again before a new period of grace', () => {
    const world = shedding();
    world.change('b', { isDown: false });
    expect(world.plan().phase).toBe('Exceeded');
    expect(world.shed()).toEqual(['a']);
    world.pass(14);
    expect(world.shed()).toEqual(['a']);
    world.pass(2);
    expect(world.shed()).toEqual(['a', 'b']);
  });

  test('what somebody starts while a limit is passed has its own period of grace', () => {
    const world = new World(5, [member('a', { priority: 1 }), member('b', { priority: 2 }), member('c')]);
    world.pass(16);
    expect(world.shed()).toEqual(['a']);
    world.change('a', { isDown: false });
    world.pass(13);
    expect(world.shed()).toEqual(['b', 'c']);
    world.pass(3);
    expect(world.shed()).toEqual(['b', 'c', 'a']);
  });
});

describe('a process that ends as soon as all is done', () => {
  test('orders and announces nothing, and begins no period of grace for a later one', () => {
    const world = new World(25, [member('a'), member('b'), member('c')]);
    world.isOneShot = true;
    expect(world.plan()).toMatchObject({ phase: 'Within', isNew: false, isLeft: true, list: [] });
    world.pass(60);
    expect(world.shed()).toEqual([]);
    world.isOneShot = false;
    expect(world.plan()).toMatchObject({ phase: 'Exceeded', isNew: true, dueAt: world.nowMs + 15 * minute });
  });

  test('ends the period of grace of an earlier one', () => {
    const world = new World(25, [member('a'), member('b'), member('c')]);
    world.pass(14);
    world.isOneShot = true;
    world.plan();
    world.isOneShot = false;
    world.pass(14);
    expect(world.shed()).toEqual([]);
  });

  test('lets nothing go, however long there has been room for it', () => {
    const world = new World(25, [member('a'), member('b'), member('c')]);
    world.pass(16);
    world.terms = termsOf({ hourlyMicros: 100 });
    world.pass(29);
    world.isOneShot = true;
    expect(world.pass(60)).toMatchObject({ phase: 'Resuming', isLeft: false });
    expect(world.shed()).toEqual(['a']);
    world.isOneShot = false;
    world.pass(29);
    expect(world.shed()).toEqual(['a']);
    world.pass(2);
    expect(world.shed()).toEqual([]);
  });

  test('ends what may not last, and notices that what was ordered before it is done', () => {
    const world = new World(5, [member('a', { priority: 1 }), member('b', { priority: 2 })]);
    world.obeys = false;
    world.pass(16);
    world.isOneShot = true;
    world.change('a', { isDown: true });
    world.plan();
    expect(world.state?.orders).toMatchObject([{ phase: 'done' }]);
    world.change('a', { isFree: true });
    world.plan();
    expect(world.shed()).toEqual([]);
  });
});

test('nothing to do needs nothing to be known of members', () => {
  const world = new World(100, []);
  expect(world.plan()).toMatchObject({ phase: 'Within', state: nothingShed, isBlocked: false });
});
