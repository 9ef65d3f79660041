import { afterEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/base/index.ts';
import { Election, readLease, type KubernetesObject } from '../../../src/kubernetes/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { FakeApi, failure, surroundings, widgets } from './support.ts';

const seconds = (count: number) => count * 1000;
const elections: Election[] = [];

/** One process: its clock may differ from the others', and stand still. */
class Process {
  readonly election: Election;
  readonly identity: string;
  readonly said: string[] = [];
  readonly metrics;

  constructor(api: FakeApi, identity: string, clock: Clock, seed = identity.length, reads?: () => string[]) {
    this.identity = identity;
    const around = surroundings(ticking(clock), seed);
    this.metrics = around.metrics;
    this.election = new Election({
      api,
      namespace: 'fleetkeeper',
      name: 'fleetkeeper',
      identity,
      ...around,
      ...(reads ? { reads } : {}),
      onLeading: () => this.said.push('leading'),
      onIsolated: (reason) => this.said.push(`isolated: ${reason}`),
      onRegained: () => this.said.push('regained'),
      onLost: (reason) => this.said.push(`lost: ${reason}`),
    });
    elections.push(this.election);
  }

  get mayAct(): boolean {
    return this.election.mayAct();
  }
}

/** As a real clock, it never shows the same time twice. */
function ticking(clock: Clock): Clock {
  let ticks = 0;
  return {
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs() + (ticks += 1e-7),
    after: (delayMs, run) => clock.after(delayMs, run),
  };
}

class World {
  readonly clock = new ManualClock(0);
  readonly api = new FakeApi(this.clock);
  readonly first = new Process(this.api, 'first', this.clock);
  readonly second = new Process(this.api, 'second', this.clock);

  /** The first one leads, the second one waits. */
  static async led(): Promise<World> {
    const world = new World();
    world.first.election.start();
    await world.clock.advance(0);
    world.second.election.start();
    await world.clock.advance(seconds(5));
    if (!world.first.mayAct || world.second.mayAct) throw new Error('the first one does not lead');
    return world;
  }

  get spec(): Record<string, unknown> {
    return (this.api.objects.get('fleetkeeper')?.spec ?? {}) as Record<string, unknown>;
  }

  edit(spec: object): void {
    const lease = this.api.objects.get('fleetkeeper') as KubernetesObject;
    this.api.put('fleetkeeper', { ...(lease.spec as object), ...spec });
  }
}

afterEach(async () => {
  await Promise.all(elections.splice(0).map((election) => election.stop()));
});

/** The leader, whose way to the API server can be cut, and `second`, which waits and keeps its own. */
async function ledAlone() {
  const world = new World();
  const cut = { isCut: false };
  const api = new Proxy(world.api, {
    get: (target, name) => {
      const own: unknown = Reflect.get(target, name);
      if (typeof own !== 'function') return own;
      if (cut.isCut && (name === 'get' || name === 'replace'))
        return () => Promise.reject(failure(undefined));
      return (own as () => unknown).bind(target);
    },
  });
  const alone = new Process(api, 'alone', world.clock);
  alone.election.start();
  await world.clock.advance(0);
  world.second.election.start();
  return { world, alone, cut };
}

describe('a process that stands alone', () => {
  test('creates the Lease, leads at once, and renews it', async () => {
    const world = new World();
    expect(world.first.mayAct).toBe(false);
    world.first.election.start();
    await world.clock.advance(0);
    expect(world.first.mayAct).toBe(true);
    expect(world.spec).toEqual({
      holderIdentity: 'first',
      leaseDurationSeconds: 15,
      acquireTime: '1970-01-01T00:00:00.000000Z',
      renewTime: '1970-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    await world.clock.advance(seconds(60));
    expect(world.spec).toMatchObject({
      acquireTime: '1970-01-01T00:00:00.000000Z',
      renewTime: expect.stringMatching(/00:5[789]|01:00/),
    });
    expect(world.first.said).toEqual(['leading']);
    expect(world.api.count('replace')).toBeGreaterThanOrEqual(25);
    expect(world.api.count('get')).toBe(1);
    expect(await world.first.metrics.registry.metrics()).toContain(
      'leader_election_master_status{name="fleetkeeper"} 1',
    );
  });

  test('waits while it is forbidden, says so, and leads once it is allowed', async () => {
    const world = new World();
    world.api.always = { get: failure(403, 'Forbidden') };
    world.first.election.start();
    await world.clock.advance(seconds(60));
    expect(world.first.election.problem).toContain('403');
    expect(world.first.mayAct).toBe(false);
    world.api.always = {};
    await world.clock.advance(seconds(3));
    expect(world.first.mayAct).toBe(true);
    expect(world.first.election.problem).toBeUndefined();
  });

  test('is not stopped by a namespace that is not there yet', async () => {
    const world = new World();
    world.api.always = { create: failure(404, 'NotFound') };
    world.first.election.start();
    await world.clock.advance(seconds(10));
    expect(world.first.election.problem).toContain('404');
    world.api.always = {};
    await world.clock.advance(seconds(3));
    expect(world.first.mayAct).toBe(true);
  });

  test('whose create was answered by nobody finds that it holds the Lease', async () => {
    const world = new World();
    const create = world.api.create.bind(world.api);
    world.api.create = async (...given) => {
      await create(...given);
      throw failure(undefined);
    };
    world.first.election.start();
    await world.clock.advance(seconds(3));
    expect(world.first.mayAct).toBe(true);
    expect(world.spec['leaseTransitions']).toBe(0);
  });
});

describe('a Lease that another one holds', () => {
  test('is taken when it has not changed for 15 s, and not before', async () => {
    const { world, alone, cut } = await ledAlone();
    const renewedMs = world.clock.monotonicMs();
    cut.isCut = true;
    await world.clock.advance(seconds(12));
    expect([alone.mayAct, world.second.mayAct]).toEqual([false, false]);
    while (!world.second.mayAct) await world.clock.advance(100);
    expect(world.clock.monotonicMs() - renewedMs).toBeGreaterThan(seconds(15));
    expect(world.clock.monotonicMs() - renewedMs).toBeLessThan(seconds(20));
    expect(world.spec).toMatchObject({ holderIdentity: 'second', leaseTransitions: 1 });
    cut.isCut = false;
    await world.clock.advance(seconds(3));
    expect(alone.said).toEqual([
      'leading',
      expect.stringMatching(/^isolated: the Lease was not renewed for 10 s/),
      'lost: second holds the Lease',
    ]);
  });

  test('is respected whatever the clocks of its holder say', async () => {
    const world = new World();
    const behind = new Process(world.api, 'behind', new ManualClock(Date.UTC(2000, 0, 1)));
    world.first.election.start();
    await world.clock.advance(0);
    world.edit({ renewTime: '2001-01-01T00:00:00.000000Z' });
    behind.election.start();
    await world.clock.advance(0);
    expect(behind.mayAct).toBe(false);
  });

  test('is waited for as long as its holder claims, but not for ever', async () => {
    const world = new World();
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'fleetkeeper' } };
    await world.api.create(
      { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease', namespaced: true },
      { ...lease, spec: { holderIdentity: 'old', leaseDurationSeconds: 1e9 } },
    );
    world.first.election.start();
    await world.clock.advance(seconds(59));
    expect(world.first.mayAct).toBe(false);
    await world.clock.advance(seconds(2));
    expect(world.first.mayAct).toBe(true);
  });

  test('is taken at once when it is given back', async () => {
    const world = await World.led();
    await world.first.election.stop();
    expect(world.first.mayAct).toBe(false);
    expect(world.spec).toMatchObject({ holderIdentity: '', leaseTransitions: 0 });
    await world.clock.advance(seconds(2.5));
    expect(world.second.mayAct).toBe(true);
    expect(world.first.said).toEqual(['leading']);
  });

  test('is got by exactly one of five that want it at the same time', async () => {
    const world = await World.led();
    const others = ['three', 'fourth', 'the fifth'].map((name) => new Process(world.api, name, world.clock));
    for (const { election } of others) election.start();
    await world.clock.advance(seconds(3));
    await world.first.election.stop();
    for (let step = 0; step < 300; step += 1) {
      await world.clock.advance(100);
      expect([world.second, ...others].filter((process) => process.mayAct).length).toBeLessThanOrEqual(1);
    }
    expect([world.second, ...others].filter((process) => process.mayAct).length).toBe(1);
    expect(world.spec['leaseTransitions']).toBe(1);
  });
});

describe('a leader', () => {
  test('whose Lease was taken by somebody knows it with the next renewal', async () => {
    const world = await World.led();
    world.edit({ holderIdentity: 'thief' });
    await world.clock.advance(seconds(2.5));
    expect(world.first.mayAct).toBe(false);
    expect(world.first.said).toEqual(['leading', 'lost: thief holds the Lease']);
    await world.clock.advance(seconds(60));
    expect(world.first.said.length).toBe(2);
    expect(world.first.mayAct).toBe(false);
  });

  test.each([
    ['emptied', (world: World) => world.edit({ holderIdentity: '' }), 'nobody holds'],
    ['deleted', (world: World) => world.api.delete('fleetkeeper'), 'deleted'],
  ])('whose Lease was %s acts no more', async (_how, change, reason) => {
    const world = await World.led();
    await world.second.election.stop();
    change(world);
    await world.clock.advance(seconds(2.5));
    expect(world.first.mayAct).toBe(false);
    expect(world.first.said[1]).toContain(reason);
  });

  test('goes on when somebody only writes a label to the Lease', async () => {
    const world = await World.led();
    for (let time = 0; time < 10; time += 1) {
      world.edit({});
      await world.clock.advance(seconds(3));
    }
    expect(world.first.mayAct).toBe(true);
  });

  test('goes on after failures that last less than 10 s', async () => {
    const world = await World.led();
    world.api.always = { replace: failure(503) };
    await world.clock.advance(seconds(7));
    expect(world.first.mayAct).toBe(true);
    world.api.always = {};
    await world.clock.advance(seconds(30));
    expect(world.first.mayAct).toBe(true);
    expect(world.first.said).toEqual(['leading']);
  });

  test('without API server for an hour acts no more, and again as soon as its renewal is accepted', async () => {
    const world = await World.led();
    world.api.always = { replace: failure(undefined), get: failure(undefined) };
    for (let minute = 0; minute < 60; minute += 1) {
      await world.clock.advance(seconds(60));
      expect([world.first.mayAct, world.second.mayAct]).toEqual([false, false]);
    }
    expect(world.first.election.isInOffice).toBe(true);
    expect(world.first.said).toEqual(['leading', expect.stringMatching(/^isolated/)]);
    const text = () => world.first.metrics.registry.metrics();
    expect(await text()).toContain('leader_election_master_status{name="fleetkeeper"} 0');
    await world.second.election.stop();
    world.api.always = {};
    await world.clock.advance(seconds(3));
    expect(world.first.mayAct).toBe(true);
    expect(world.first.said[2]).toBe('regained');
    expect(world.spec).toMatchObject({ holderIdentity: 'first', leaseTransitions: 0 });
    expect(await text()).toContain('leader_election_master_status{name="fleetkeeper"} 1');
  });

  test('that was cut off alone finds that another one leads, and has lost', async () => {
    const { world, alone, cut } = await ledAlone();
    cut.isCut = true;
    await world.clock.advance(seconds(40));
    expect([alone.mayAct, world.second.mayAct]).toEqual([false, true]);
    expect(alone.election.isInOffice).toBe(true);
    cut.isCut = false;
    await world.clock.advance(seconds(3));
    expect(alone.said.at(-1)).toBe('lost: second holds the Lease');
    expect([alone.mayAct, alone.election.isInOffice]).toEqual([false, false]);
  });

  test('whose requests hang tries three times before it gives up', async () => {
    const world = await World.led();
    const before = world.api.count('replace');
    world.api.always = { replace: 'hang' };
    await world.clock.advance(seconds(12));
    expect(world.api.count('replace') - before).toBeGreaterThanOrEqual(3);
    expect(world.first.said[1]).toContain('no answer within 3 s');
  });

  test('that was paused may not act from the first moment on, before any timer has run', async () => {
    const clock = new ManualClock(0);
    const api = new FakeApi(clock);
    // Between SIGSTOP and SIGCONT time passes, and nothing runs; the wall clock is set back meanwhile.
    let pausedMs = 0;
    const paused = {
      wallMs: () => clock.wallMs(),
      monotonicMs: () => clock.monotonicMs() + pausedMs,
      after: clock.after.bind(clock),
    };
    const leader = new Process(api, 'paused', paused);
    leader.election.start();
    await clock.advance(0);
    pausedMs = 9_999;
    expect(leader.mayAct).toBe(true);
    pausedMs = 10_000;
    expect(leader.mayAct).toBe(false);
    expect(leader.said).toEqual(['leading']);
  });

  test('on a machine that was suspended, with its monotonic clock, may act again only after a renewal', async () => {
    const clock = new ManualClock(0);
    const api = new FakeApi(clock);
    let suspendedMs = 0;
    const suspended = {
      wallMs: () => clock.wallMs() + suspendedMs,
      monotonicMs: () => clock.monotonicMs(),
      after: clock.after.bind(clock),
    };
    const leader = new Process(api, 'suspended', suspended);
    leader.election.start();
    await clock.advance(0);
    suspendedMs = 60_000;
    expect(leader.mayAct).toBe(false);
    await clock.advance(seconds(3));
    expect(leader.mayAct).toBe(true);
    suspendedMs = -3_600_000;
    expect(leader.mayAct).toBe(true);
  });

  test('does not take the answer to a renewal for newer than its request', async () => {
    const world = await World.led();
    const replace = world.api.replace.bind(world.api);
    let release: (() => void) | undefined;
    world.api.replace = async (...given) => {
      const written = await replace(...given);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return written;
    };
    await world.clock.advance(seconds(2.4));
    const sentAtMs = world.api.calls.findLast(({ verb }) => verb === 'replace')?.atMs ?? 0;
    await world.clock.advance(300);
    release?.();
    world.api.always = { replace: failure(500), get: failure(500) };
    world.api.replace = replace;
    await world.clock.advance(sentAtMs + seconds(10) - 1 - world.clock.monotonicMs());
    expect(world.first.mayAct).toBe(true);
    await world.clock.advance(1);
    expect(world.first.mayAct).toBe(false);
  });
});

test('a thousand conflicts keep a candidate waiting, and no longer', async () => {
  const world = await World.led();
  await world.first.election.stop();
  let conflicts = 0;
  world.api.beforeWrite = () => {
    if (conflicts === 1000) return;
    conflicts += 1;
    world.edit({});
  };
  await world.clock.advance(seconds(1990));
  expect(world.second.mayAct).toBe(false);
  await world.clock.advance(seconds(420));
  expect(conflicts).toBe(1000);
  expect(world.second.mayAct).toBe(true);
  expect(world.spec['leaseTransitions']).toBe(1);
});

test('law: whatever fails and for how long, there is never more than one that may act', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const clock = new ManualClock(0);
    const api = new FakeApi(clock);
    const { random } = surroundings(clock, seed);
    const processes = ['a', 'bb', 'ccc'].map(
      (name, index) => new Process(api, name, clock, seed * 10 + index),
    );
    for (const { election } of processes) election.start();
    for (let step = 0; step < 400; step += 1) {
      const die = random.fraction();
      if (die < 0.05) api.always = { replace: failure(500), get: failure(500) };
      else if (die < 0.08) api.always = { replace: 'hang' };
      else if (die < 0.2) api.always = {};
      else if (die < 0.22) api.script.replace = [failure(409, 'Conflict')];
      await clock.advance(500);
      const { holderIdentity } = (api.objects.get('fleetkeeper')?.spec ?? {}) as { holderIdentity?: string };
      const acting = processes.filter((process) => process.mayAct).map(({ identity }) => identity);
      expect([[], [holderIdentity]]).toContainEqual(acting);
    }
    api.always = {};
    await Promise.all(processes.map(({ election }) => election.stop()));
  }
});

describe('what a leader reads', () => {
  const lease = { namespace: 'fleetkeeper', name: 'fleetkeeper' };

  test('is in the Lease with each renewal, and is not that of a later holder who does not show it', async () => {
    const clock = new ManualClock(0);
    const api = new FakeApi(clock);
    let reads: string[] = [];
    const shown = async () => (await readLease(api, lease))?.reads;
    const leader = new Process(api, 'leader', clock, undefined, () => reads);
    leader.election.start();
    await clock.advance(0);
    expect(await shown()).toEqual([]);
    reads = ['shop', 'lab'];
    await clock.advance(seconds(3));
    expect(await shown()).toEqual(['shop', 'lab']);
    await leader.election.stop();
    expect(await shown()).toEqual(['shop', 'lab']);
    const older = new Process(api, 'older', clock);
    older.election.start();
    await clock.advance(seconds(3));
    expect(older.mayAct).toBe(true);
    expect(await shown()).toBeUndefined();
  });

  test.each(['', 'no JSON', 'null', '7', '{"holder":"leader","namespaces":"all"}'])(
    'is not known where somebody has written %j',
    async (text) => {
      const api = new FakeApi(new ManualClock(0));
      const object = api.put('fleetkeeper', { holderIdentity: 'leader' });
      const metadata = { ...object.metadata, annotations: { 'fleetkeeper.dev/reads': text } };
      await api.replace(widgets, { ...object, metadata });
      expect(await readLease(api, lease)).toMatchObject({ identity: 'leader', reads: undefined });
    },
  );
});
