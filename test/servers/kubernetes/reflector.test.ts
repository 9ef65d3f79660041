import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import {
  Reflector,
  setWatchSilence,
  type Change,
  type KubernetesObject,
} from '../../../src/kubernetes/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { FakeApi, failure, surroundings, widgets } from './support.ts';

const seconds = (count: number) => count * 1000;
const minutes = (count: number) => count * 60_000;
const running: Reflector[] = [];

class World {
  readonly clock = new ManualClock(0);
  readonly api = new FakeApi(this.clock);
  readonly changes: Change[] = [];
  readonly reflector: Reflector;
  readonly metrics;
  onChange: (change: Change) => void = () => {};

  constructor(
    options: { readonly keep?: (object: KubernetesObject) => KubernetesObject; readonly seed?: number } = {},
  ) {
    const around = surroundings(this.clock, options.seed);
    this.metrics = around.metrics;
    this.reflector = new Reflector({
      api: this.api,
      type: widgets,
      ...around,
      ...(options.keep && { keep: options.keep }),
      onChange: (change) => {
        this.changes.push(change);
        this.onChange(change);
      },
    });
    running.push(this.reflector);
  }

  async start(): Promise<void> {
    this.reflector.start();
    await this.clock.advance(0);
  }

  /** Goes on for that long, with the bookmarks that the API sends every minute. */
  async advance(durationMs: number): Promise<void> {
    for (let leftMs = durationMs; leftMs > 0; leftMs -= minutes(1)) {
      await this.clock.advance(Math.min(leftMs, minutes(1)));
      this.api.bookmark();
      await this.clock.advance(0);
    }
  }

  get names(): string[] {
    return [...this.reflector.items.keys()].sort();
  }

  /** `added a, updated b`. */
  get reported(): string[] {
    return this.changes.splice(0).map(({ kind, object }) => `${kind} ${object.metadata.name}`);
  }

  get copy(): string[] {
    return identities(this.reflector.items.values());
  }

  get truth(): string[] {
    return identities(this.api.objects.values());
  }
}

function identities(objects: Iterable<KubernetesObject>): string[] {
  return [...objects]
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
    .sort();
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((reflector) => reflector.stop()));
});

describe('the first list', () => {
  test('is read in pages of 500, and counts as synced only when it is complete', async () => {
    const world = new World();
    for (let index = 0; index < 1201; index += 1) world.api.put(`w${index}`);
    world.api.script.list = [failure(500)];
    world.reflector.start();
    expect(world.reflector.hasSynced).toBe(false);
    await world.clock.advance(seconds(1));
    expect(world.reflector.hasSynced).toBe(true);
    await world.reflector.whenSynced();
    expect(world.reflector.items.size).toBe(1201);
    expect(world.changes.length).toBe(1201);
    expect(world.api.calls.filter(({ verb }) => verb === 'list').map(({ limit }) => limit)).toEqual([
      500, 500, 500, 500,
    ]);
    expect(world.reflector.items.get('default/w7')?.metadata.name).toBe('w7');
  });

  test('goes on with the page that failed, and begins anew when the list expired meanwhile', async () => {
    const world = new World();
    for (let index = 0; index < 900; index += 1) world.api.put(`w${index}`);
    const clientList = world.api.list.bind(world.api);
    let broken = false;
    world.api.list = async (type, scope, signal) => {
      if (scope.continueToken !== undefined && !broken) {
        broken = true;
        world.api.delete('w0');
        world.api.compact();
        throw failure(undefined);
      }
      return clientList(type, scope, signal);
    };
    await world.start();
    expect(world.names).toEqual([]);
    await world.clock.advance(seconds(5));
    expect(world.reflector.items.size).toBe(899);
    const tokens = world.api.calls
      .filter(({ verb }) => verb === 'list')
      .map((call) => call.continueToken !== undefined);
    expect(tokens).toEqual([false, true, false, true]);
  });

  test('is read as of now when that is asked for, whatever it waits for', async () => {
    const world = new World();
    world.api.put('a');
    await world.start();
    world.api.always = { watch: failure(503), list: failure(503) };
    world.api.endWatches();
    await world.clock.advance(minutes(5));
    world.api.remembers = false;
    world.api.put('b');
    world.api.always = {};
    const listed = world.reflector.relist();
    await world.clock.advance(0);
    await listed;
    expect(world.names).toEqual(['default/a', 'default/b']);
  });

  test('keeps less of each object when that is asked for', async () => {
    const world = new World({ keep: ({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata }) });
    world.api.put('a', { large: 'thing' });
    await world.start();
    world.api.put('b', { large: 'thing' });
    await world.clock.advance(0);
    expect([...world.reflector.items.values()].map(({ spec }) => spec)).toEqual([undefined, undefined]);
  });

  test('is asked for in smaller pages when one is too large to be taken', async () => {
    const world = new World();
    world.api.put('a');
    world.api.script.list = [failure(undefined, 'TooLarge'), failure(undefined, 'TooLarge')];
    await world.start();
    await world.clock.advance(seconds(3));
    expect(world.names).toEqual(['default/a']);
    expect(world.api.calls.filter(({ verb }) => verb === 'list').map(({ limit }) => limit)).toEqual([
      500, 125, 31,
    ]);
  });
});

describe('a watch', () => {
  test('tells what is added, updated and deleted, with what was before', async () => {
    const world = new World();
    world.api.put('a', { size: 1 });
    await world.start();
    expect(world.reported).toEqual(['added a']);
    world.api.put('a', { size: 2 });
    await world.clock.advance(0);
    expect(world.changes).toMatchObject([
      { kind: 'updated', object: { spec: { size: 2 } }, previous: { spec: { size: 1 } } },
    ]);
    world.api.put('b');
    world.api.delete('a');
    await world.clock.advance(0);
    expect(world.reported).toEqual(['updated a', 'added b', 'deleted a']);
    expect(world.names).toEqual(['default/b']);
  });

  test.each([
    ['is reset', failure(undefined)],
    ['is ended by the server', undefined],
    ['fails with 500', failure(500)],
  ])('that %s goes on from the last version, without a list', async (_how, error) => {
    const world = new World();
    world.api.put('a');
    await world.start();
    world.api.bookmark();
    await world.clock.advance(0);
    world.api.endWatches(error);
    world.api.put('b');
    await world.clock.advance(seconds(1));
    expect(world.names).toEqual(['default/a', 'default/b']);
    expect(world.reported).toEqual(['added a', 'added b']);
    expect(world.api.count('list')).toBe(1);
    expect(world.api.calls.at(-1)).toMatchObject({ verb: 'watch', resourceVersion: '101' });
  });

  test('that has died silently is noticed after 70 s', async () => {
    const world = new World();
    await world.start();
    world.api.silent = true;
    world.api.put('unseen');
    await world.clock.advance(seconds(69));
    expect(world.names).toEqual([]);
    world.api.silent = false;
    await world.clock.advance(seconds(2));
    expect(world.names).toEqual(['default/unseen']);
    expect(world.api.count('list')).toBe(1);
    expect(world.api.openWatches).toBe(1);
  });

  test('of a kind that nobody changes, and for which no bookmark comes, is no failure: a list follows now and then', async () => {
    const world = new World();
    world.api.endsWatches = true;
    await world.start();
    for (let minute = 0; minute < 20; minute += 1) {
      await world.clock.advance(minutes(1));
      expect(world.reflector.silentMs).toBeLessThan(seconds(210));
    }
    expect(await world.metrics.registry.metrics()).not.toMatch(
      /^fleetkeeper_watch_failures_total\{.*\} [1-9]/m,
    );
    expect(world.api.count('list')).toBeGreaterThan(5);
    expect(world.api.count('list')).toBeLessThan(12);
    world.api.put('a');
    await world.clock.advance(0);
    expect(world.names).toEqual(['default/a']);
  });

  test('without changes lives by bookmarks, from which it goes on after history was forgotten', async () => {
    const world = new World();
    world.api.put('a');
    await world.start();
    world.api.revision += 1000;
    await world.advance(minutes(5));
    expect(world.api.count('watch')).toBe(1);
    world.api.compact();
    world.api.endWatches(failure(undefined));
    await world.clock.advance(seconds(1));
    expect(world.api.calls.at(-1)).toMatchObject({ verb: 'watch', resourceVersion: '1101' });
    expect(world.api.count('list')).toBe(1);
  });

  test('whose version is forgotten (410) is followed by a list, and that by what changed in between', async () => {
    const world = new World();
    for (const name of ['a', 'b', 'c']) world.api.put(name);
    await world.start();
    expect(world.reported.length).toBe(3);
    world.api.silent = true;
    world.api.put('a', { changed: true });
    world.api.delete('b');
    world.api.put('d');
    world.api.compact();
    world.api.silent = false;
    world.api.endWatches();
    await world.clock.advance(seconds(2));
    expect(world.reported.sort()).toEqual(['added d', 'deleted b', 'updated a']);
    expect(world.copy).toEqual(world.truth);
  });

  test.each([410, 500, 504, 429])(
    'with an error (%i) in its stream is followed by a list',
    async (status) => {
      const world = new World();
      world.api.put('a');
      await world.start();
      world.api.silent = true;
      world.api.put('b');
      world.api.silent = false;
      world.api.send({ type: 'ERROR', status, message: 'etcd was restored' });
      await world.clock.advance(seconds(1));
      expect(world.api.count('list')).toBe(2);
      expect(world.copy).toEqual(world.truth);
      expect(world.api.openWatches).toBe(1);
    },
  );

  test('that is refused again and again is followed by a list', async () => {
    const world = new World();
    await world.start();
    world.api.bookmark();
    await world.clock.advance(0);
    world.api.script.watch = [failure(400), failure(400), failure(400)];
    world.api.endWatches();
    await world.clock.advance(seconds(5));
    expect(world.api.count('list')).toBe(2);
    expect(world.api.openWatches).toBe(1);
  });

  test('from a version from which nothing ever comes is followed by a list', async () => {
    const world = new World();
    await world.start();
    world.api.silent = true;
    world.api.remembers = false;
    world.api.put('a');
    await world.clock.advance(minutes(3));
    expect(world.names).toEqual([]);
    await world.clock.advance(minutes(2));
    expect(world.names).toEqual(['default/a']);
  });

  test('that ends at once each time is asked for ever more seldom', async () => {
    const world = new World();
    await world.start();
    for (let second = 0; second < 120; second += 1) {
      world.api.endWatches();
      await world.clock.advance(seconds(1));
    }
    expect(world.api.count('watch')).toBeLessThan(20);
  });
});

describe('an object deleted and created anew under its name', () => {
  test('while a watch is open: the old one is deleted, the new one added', async () => {
    const world = new World();
    world.api.put('a');
    await world.start();
    world.api.delete('a');
    world.api.put('a');
    await world.clock.advance(0);
    expect(world.reported).toEqual(['added a', 'deleted a', 'added a']);
  });

  test('while nobody looked: a list tells both', async () => {
    const world = new World();
    const before = world.api.put('a');
    await world.start();
    world.api.silent = true;
    world.api.delete('a');
    const after = world.api.put('a');
    world.api.compact();
    world.api.endWatches();
    await world.clock.advance(seconds(1));
    expect(world.changes.slice(1).map(({ kind, object }) => [kind, object.metadata.uid])).toEqual([
      ['deleted', before.metadata.uid],
      ['added', after.metadata.uid],
    ]);
  });

  test('whose deletion is never shown: the event of the new one tells both', async () => {
    const world = new World();
    const before = world.api.put('a');
    await world.start();
    world.api.silent = true;
    world.api.delete('a');
    world.api.silent = false;
    world.api.put('a');
    await world.clock.advance(0);
    expect(world.reported).toEqual(['added a', 'deleted a', 'added a']);
    world.api.send({ type: 'MODIFIED', object: before });
    world.api.send({ type: 'DELETED', object: before });
    await world.clock.advance(0);
    expect(world.reported).toEqual([]);
    expect(world.copy).toEqual(world.truth);
  });
});

describe('events that come twice, late or in the wrong order', () => {
  test('change nothing', async () => {
    const world = new World();
    const first = world.api.put('a', { step: 1 });
    await world.start();
    const second = world.api.put('a', { step: 2 });
    await world.clock.advance(0);
    expect(world.reported).toEqual(['added a', 'updated a']);
    for (const object of [second, first, second]) {
      world.api.send({ type: 'MODIFIED', object });
      world.api.send({ type: 'ADDED', object });
    }
    await world.clock.advance(0);
    expect(world.reported).toEqual([]);
    world.api.delete('a');
    world.api.send({ type: 'MODIFIED', object: second });
    await world.clock.advance(0);
    expect(world.reported).toEqual(['deleted a']);
    expect(world.names).toEqual([]);
  });

  test('law: in any order and number, the copy ends as the API is', async () => {
    const step = fc.record({
      name: fc.constantFrom('a', 'b', 'c'),
      what: fc.constantFrom('put', 'delete', 'repeat', 'reset', 'expire', 'lose'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.integer(), async (steps, seed) => {
        const world = new World({ seed });
        await world.start();
        const seen: KubernetesObject[] = [];
        for (const { name, what } of steps) {
          if (what === 'put' || what === 'lose') {
            world.api.silent = what === 'lose';
            seen.push(world.api.put(name));
            world.api.silent = false;
          }
          if (what === 'delete') world.api.delete(name);
          if (what === 'repeat')
            for (const object of seen.toReversed()) world.api.send({ type: 'MODIFIED', object });
          if (what === 'reset') world.api.endWatches(failure(undefined));
          if (what === 'expire') {
            world.api.compact();
            world.api.endWatches(failure(410, 'Expired'));
          }
          await world.clock.advance(10);
        }
        await world.advance(minutes(12));
        expect(world.copy).toEqual(world.truth);
        await world.reflector.stop();
      }),
      { numRuns: 60 },
    );
  });
});

describe('an API that fails', () => {
  test('for an hour is asked no more than twice a minute, and what happened meanwhile is seen afterwards', async () => {
    const world = new World();
    world.api.put('a');
    await world.start();
    const before = world.api.calls.length;
    world.api.always = { list: failure(undefined), watch: failure(undefined) };
    world.api.endWatches(failure(undefined));
    await world.clock.advance(minutes(60));
    expect(world.api.calls.length - before).toBeLessThan(260);
    expect(world.names).toEqual(['default/a']);
    expect(world.reflector.problem).toMatch(
      /^widgets.example.com: nothing was heard for 3600 s: scripted connection reset/,
    );
    world.api.put('b');
    world.api.always = {};
    await world.clock.advance(seconds(31));
    expect(world.names).toEqual(['default/a', 'default/b']);
    expect(world.reflector.problem).toBeUndefined();
  });

  test.each(['list', 'watch'] as const)(
    'with 429 on %s is left alone for as long as it says',
    async (verb) => {
      const world = new World();
      world.api.script[verb] = [failure(429, 'TooManyRequests', seconds(40))];
      await world.start();
      await world.clock.advance(seconds(39));
      expect(world.api.count(verb)).toBe(1);
      await world.clock.advance(seconds(2));
      expect(world.api.count(verb)).toBe(2);
      expect(world.reflector.hasSynced).toBe(true);
    },
  );

  test('that forbids the list is a problem from the first answer on', async () => {
    const world = new World();
    world.api.always = { list: failure(403, 'Forbidden') };
    await world.start();
    expect(world.reflector.problem).toContain('403');
    expect(world.reflector.hasSynced).toBe(false);
  });

  test('that goes back in time is believed the fifth time only, and then wholly', async () => {
    const world = new World();
    world.api.revision = 5000;
    world.api.put('a');
    world.api.put('b');
    await world.start();
    world.api.revision = 90;
    world.api.compact();
    world.api.objects.clear();
    world.api.put('a', { restored: true });
    world.api.send({ type: 'ERROR', status: 410, message: 'too old' });
    await world.clock.advance(seconds(1));
    expect(world.api.count('list')).toBeGreaterThan(1);
    expect(world.names).toEqual(['default/a', 'default/b']);
    await world.clock.advance(seconds(30));
    expect(world.copy).toEqual(world.truth);
    world.api.put('c');
    await world.clock.advance(0);
    expect(world.copy).toEqual(world.truth);
  });

  test('for a moment, by a server that lags behind, takes nothing back', async () => {
    const world = new World();
    world.api.put('a');
    const old = { items: [...world.api.objects.values()], resourceVersion: '101', continueToken: undefined };
    world.api.put('b');
    await world.start();
    const list = world.api.list.bind(world.api);
    let lagging = 2;
    world.api.list = (...given) => ((lagging -= 1) >= 0 ? Promise.resolve(old) : list(...given));
    world.api.send({ type: 'ERROR', status: 410, message: 'too old' });
    await world.clock.advance(seconds(10));
    expect(world.reported).toEqual(['added a', 'added b']);
    expect(lagging).toBeLessThan(0);
    expect(world.copy).toEqual(world.truth);
  });
});

test('a list that fails half-way leaves the copy as it was', async () => {
  const world = new World();
  for (let index = 0; index < 700; index += 1) world.api.put(`w${index}`);
  await world.start();
  const list = world.api.list.bind(world.api);
  world.api.list = (type, scope, signal) =>
    scope.continueToken === undefined ? list(type, scope, signal) : Promise.reject(failure(503));
  world.api.silent = true;
  for (let index = 0; index < 700; index += 1) world.api.delete(`w${index}`);
  for (let index = 0; index < 700; index += 1) world.api.put(`v${index}`);
  world.api.compact();
  world.api.endWatches();
  await world.clock.advance(minutes(2));
  expect(world.reflector.items.size).toBe(700);
  expect(world.names[0]).toBe('default/w0');
  world.api.list = list;
  await world.clock.advance(minutes(1));
  expect(world.copy).toEqual(world.truth);
});

test('every ten minutes the list is read anew, and shows what a watch has lost', async () => {
  const world = new World();
  world.api.put('a');
  world.api.put('b');
  await world.start();
  world.api.silent = true;
  world.api.put('a', { unseen: true });
  world.api.silent = false;
  await world.advance(minutes(8));
  expect(world.api.count('list')).toBe(1);
  const untouched = world.reflector.items.get('default/b');
  await world.advance(minutes(4));
  expect(world.api.count('list')).toBe(2);
  expect(world.reported).toEqual(['added a', 'added b', 'updated a']);
  expect(world.reflector.items.get('default/b')).toBe(untouched);
});

test('who throws at a change ends nothing, and misses nothing that follows', async () => {
  const world = new World();
  world.onChange = () => {
    throw new Error('a defect of a listener');
  };
  world.api.put('a');
  world.api.put('b');
  await world.start();
  world.api.put('c');
  await world.clock.advance(0);
  expect(world.reported).toEqual(['added a', 'added b', 'added c']);
});

test('the longest silence of those of a resource is a metric, and failures are counted', async () => {
  const world = new World();
  world.api.script.list = [failure(500)];
  await world.start();
  await world.clock.advance(seconds(21));
  const silentFor = (silentMs: number, namespace?: string) => ({
    resource: world.reflector.resource,
    namespace,
    silentMs,
  });
  const others = [silentFor(0), world.reflector, silentFor(seconds(1)), silentFor(seconds(2), 'shop')];
  setWatchSilence(world.metrics, others);
  const text = await world.metrics.registry.metrics();
  expect(text).toMatch(/fleetkeeper_watch_silence_seconds\{resource="widgets.example.com",watched=""\} 2\d/);
  expect(text).toContain(
    'fleetkeeper_watch_silence_seconds{resource="widgets.example.com",watched="shop"} 2',
  );
  expect(text).toContain('fleetkeeper_watch_failures_total{resource="widgets.example.com"} 1');
});

test('once stopped it asks for nothing, and says nothing', async () => {
  const world = new World();
  await world.start();
  await world.reflector.stop();
  const asked = world.api.calls.length;
  world.api.put('late');
  await world.clock.advance(minutes(30));
  expect(world.api.calls.length).toBe(asked);
  expect(world.changes).toEqual([]);
});

test('stopped before the first list, it does not leave anybody waiting for it', async () => {
  const world = new World();
  world.api.always = { list: 'hang' };
  await world.start();
  await world.reflector.stop();
  await world.reflector.whenSynced();
  expect(world.reflector.hasSynced).toBe(false);
});
