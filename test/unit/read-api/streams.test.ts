/** Event streams: what a reader applies is what the server has, however it is cut (GI5). */
import { describe, expect, test } from 'vitest';
import type { Reader } from '../../../src/read-api/fleet/reader.ts';
import { streamLimits } from '../../../src/read-api/live/streams.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { seed } from '../../support/seed.ts';
import {
  ask,
  createWorld,
  FakeSource,
  held,
  intentOf,
  openStream,
  readAccount,
  ready,
  recordOf,
  StreamReader,
  waiting,
  type Json,
  type World,
} from './support.ts';

const service = (name: string, namespace = 'default') => `ContainerService/${namespace}/${name}` as ObjectKey;
const list = (count: number) => Array.from({ length: count }, (_, at) => recordOf(service(`web-${at}`)));

describe('a stream', () => {
  test('begins with all of its view, and continues with what differs in it', async () => {
    const world = createWorld(new FakeSource(list(3)));
    const reader = await openStream(world, 'view=objects&sort=name&limit=2');
    expect([reader.kinds, reader.order]).toEqual([['state'], [service('web-0'), service('web-1')]]);
    await world.source.store.save(recordOf(service('web-1'), { conditions: held('UnknownRegion') }));
    await world.source.store.save(recordOf(service('web-2'), { conditions: held('UnknownRegion') }));
    await world.clock.advance(500);
    const data = JSON.parse(/data: (.*)/.exec(reader.texts.at(-1) ?? '')?.[1] ?? '');
    expect(data.changed.map(({ id }: Json) => id)).toEqual([service('web-1')]);
    expect(Object.keys(data)).toEqual(['at', 'changed']);
    expect(reader.items.get(service('web-1')).health).toBe('Held');
  });

  test('what changes outside of its filter and its window is no event', async () => {
    const world = createWorld(new FakeSource(list(5)));
    const reader = await openStream(world, 'view=objects&sort=name&limit=2&namespace=default');
    await world.source.store.save(recordOf(service('web-4'), { conditions: held('UnknownRegion') }));
    await world.source.store.save(recordOf(service('web-0', 'other')));
    await world.clock.advance(5000);
    expect(reader.kinds).toEqual(['state']);
  });

  test('has at most two events per second, whatever changes', async () => {
    const world = createWorld(new FakeSource(list(1)));
    const reader = await openStream(world, 'view=objects');
    for (let change = 0; change < 100; change++) {
      await world.source.store.save(
        recordOf(service('web-0'), { conditions: ready, status: { hourlyMicros: change } }),
      );
      await world.clock.advance(100);
    }
    const events = reader.kinds.filter((kind) => kind === 'change').length;
    expect(events).toBeGreaterThanOrEqual(15);
    expect(events).toBeLessThanOrEqual(20);
    await world.clock.advance(500);
    expect(reader.items.get(service('web-0')).hourlyMicros).toBe(99);
  });

  test('has a comment every 15 s, so that nobody takes it for dead', async () => {
    const world = createWorld(new FakeSource(list(1)));
    const reader = await openStream(world, 'view=objects');
    await world.clock.advance(61_000);
    expect(reader.comments).toBe(4);
  });

  test('costs nothing while there is none: no timer runs', async () => {
    const world = createWorld(new FakeSource(list(1)));
    let timers = 0;
    const after = world.clock.after.bind(world.clock);
    world.clock.after = (delayMs, run) => {
      timers += 1;
      return after(delayMs, run);
    };
    const reader = await openStream(world, 'view=objects');
    await world.clock.advance(2000);
    expect(timers).toBeGreaterThan(0);
    reader.close();
    await world.clock.advance(1000);
    timers = 0;
    await world.clock.advance(60_000);
    expect([timers, world.counts.streams]).toEqual([0, 0]);
  });
});

test('ids count the events of the view alone, and show nothing of what others read', async () => {
  const world = createWorld(new FakeSource(list(3)));
  const numberOf = ({ lastEventId = '' }: StreamReader) => Number(lastEventId.split('-')[2]);
  const quiet = await openStream(world, 'view=objects&kind=Account');
  const others = [await openStream(world, 'view=objects'), await openStream(world, 'view=objects&sort=cost')];
  for (let change = 1; change <= 5; change++) {
    await world.source.store.save(recordOf(service('web-0'), { status: { hourlyMicros: change } }));
    await world.clock.advance(500);
  }
  expect(others.map(numberOf)).toEqual([5, 5]);
  await world.source.store.save(recordOf('Account/default/default'));
  await world.clock.advance(500);
  expect([quiet.kinds, numberOf(quiet)]).toEqual([['state', 'change'], 1]);
  expect(new Set([quiet, ...others].map(({ lastEventId = '' }) => lastEventId.split('-')[1])).size).toBe(3);
});

test.each([
  ['objects', '/api/v1/objects', 'view=objects'],
  ['problems', '/api/v1/problems', 'view=problems'],
  ['nodes of the tree', '/api/v1/tree', 'view=tree'],
  ['the timeline', '/api/v1/timeline', 'view=timeline'],
])('a stream of %s has the items of that list, and no others', async (_what, target, query) => {
  const source = new FakeSource([
    ...list(3),
    recordOf(service('bad'), { conditions: held('UnknownRegion') }),
  ]);
  source.intents.push({ number: 1, intent: intentOf(service('bad')) });
  const world = createWorld(source);
  const { body } = await ask(world, target);
  const items = body.items ?? body.nodes;
  const reader = await openStream(world, query);
  expect(items.length).toBeGreaterThan(0);
  expect(reader.order.map((id) => reader.items.get(id))).toEqual(items);
});

test('a stream of an object, of the money and of the summary is their answer', async () => {
  const world = createWorld(new FakeSource(list(3), [readAccount('default/default')]));
  const targets = [
    [`/api/v1/objects/${service('web-0')}`, `view=object&object=${service('web-0')}`],
    ['/api/v1/money', 'view=money'],
    ['/api/v1/summary', 'view=summary'],
  ] as const;
  for (const [target, query] of targets)
    expect((await openStream(world, query)).head).toEqual((await ask(world, target)).body);
});

test('streams that are opened at once are opened one after the other', async () => {
  const world = createWorld(new FakeSource(list(300)));
  await ask(world, '/api/v1/objects');
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const views = Array.from({ length: 50 }, (_, at) => openStream(world, `view=objects&label=!label-${at}`));
  await Promise.all(views);
  isDone = true;
  expect(turns).toBeGreaterThan(45);
});

describe('a stream that was cut', () => {
  test('continues behind the last event that its reader has', async () => {
    const world = createWorld(new FakeSource(list(2)));
    const reader = await openStream(world, 'view=objects');
    reader.close();
    await world.source.store.save(recordOf(service('web-0'), { conditions: held('UnknownRegion') }));
    await openStream(world, 'view=objects', reader);
    expect([reader.kinds, world.counts.resets]).toEqual([['state', 'change'], []]);
    expect(reader.items.get(service('web-0')).health).toBe('Held');
  });

  test('begins anew after a restart of the process, though the numbers are the same', async () => {
    const before = createWorld(new FakeSource(list(2)));
    const reader = await openStream(before, 'view=objects');
    const id = reader.lastEventId ?? '';
    reader.lastEventId = id.replace('p1', 'p0');
    await openStream(createWorld(new FakeSource(list(1))), 'view=objects', reader);
    expect([reader.kinds, reader.order]).toEqual([['state', 'state'], [service('web-0')]]);
  });

  test('begins anew when its last event is that of another view', async () => {
    const world = createWorld(new FakeSource(list(2)));
    const first = await openStream(world, 'view=objects');
    await openStream(world, 'view=objects&kind=Account', first);
    expect([first.kinds, first.order]).toEqual([['state', 'state'], []]);
  });

  test('begins anew when more than the kept events were sent since', async () => {
    const limits = { ...streamLimits, events: 3 };
    const world = createWorld(new FakeSource(list(1)), { streamLimits: limits });
    const late = await openStream(world, 'view=objects');
    const other = await openStream(world, 'view=objects');
    late.close();
    for (let change = 0; change < 5; change++) {
      await world.source.store.save(recordOf(service('web-0'), { status: { hourlyMicros: change } }));
      await world.clock.advance(500);
    }
    await openStream(world, 'view=objects', late);
    expect([late.kinds, world.counts.resets]).toEqual([['state', 'state'], ['forgotten']]);
    expect(late.view).toEqual(other.view);
  });
});

describe(`random changes, cuts and restarts of readers (seed ${seed})`, () => {
  const draw = new SeededRandom(seed);
  const conditions = [
    ready,
    held('UnknownRegion'),
    held('DataLost'),
    waiting('Provisioning'),
    held('Paused'),
  ];
  const keys = [
    ...Array.from({ length: 30 }, (_, at) => service(`web-${at}`, at % 2 ? 'a' : 'b')),
    'ServiceFleet/a/llm' as ObjectKey,
    'Account/a/default' as ObjectKey,
  ];
  const views = [
    'view=objects&limit=5',
    'view=objects&sort=name&limit=7&namespace=a',
    'view=objects&sort=cost&health=Held',
    'view=problems&limit=3',
    'view=summary',
    'view=tree&depth=2',
    'view=timeline&limit=6',
    'view=fleet&fleet=a/llm',
    `view=object&object=${service('web-1', 'a')}`,
  ];

  async function change({ source }: World, number: number): Promise<void> {
    const key = draw.pick(keys);
    if (draw.chance(0.2)) return source.store.remove(key);
    await source.store.save(
      recordOf(key, { conditions: draw.pick(conditions), status: { hourlyMicros: draw.between(0, 9) } }),
    );
    source.intents.push({ number, intent: intentOf(key, { idempotencyKey: `k${number}` }) });
  }

  test.each(views)('%s: the reader shows what a new one gets', async (query) => {
    const world = createWorld(
      new FakeSource(
        keys.map((key) => recordOf(key)),
        [readAccount('a/default')],
      ),
    );
    const reader = await openStream(world, query);
    const compared: [object, object][] = [];
    for (let step = 1; step <= 60; step++) {
      for (let count = draw.between(0, 4); count > 0; count--) await change(world, step * 10 + count);
      if (draw.chance(0.3)) {
        reader.close();
        reader.isClosed = false;
        if (draw.chance(0.5)) await world.clock.advance(draw.between(0, 3000));
        await change(world, step * 10 + 9);
        await openStream(world, query, reader);
      } else await world.clock.advance(draw.between(0, 3000));
      if (draw.chance(0.8)) continue;
      await world.clock.advance(6000);
      compared.push([reader.view, (await openStream(world, query, new StreamReader())).view]);
    }
    for (const [shown, expected] of compared) expect(shown).toEqual(expected);
    for (const [at, key] of keys.entries()) {
      await world.source.store.save(
        recordOf(key, { conditions: held('DataLost'), status: { hourlyMicros: 11 } }),
      );
      world.source.intents.push({
        number: 1000 + at,
        intent: intentOf(key, { idempotencyKey: `last-${at}` }),
      });
    }
    await world.clock.advance(11_000);
    expect(reader.kinds.filter((kind) => kind === 'change').length).toBeGreaterThan(0);
    // One that knows nothing of what was sent before.
    const { api } = createWorld(world.source);
    expect(withoutTimes((await openStream({ api }, query)).view)).toEqual(withoutTimes(reader.view));
    expect(world.counts.defects).toEqual([]);
  });

  /** The new process is younger. */
  function withoutTimes(view: object): unknown {
    return JSON.parse(JSON.stringify(view, (name, value) => (name === 'seenAt' ? undefined : value)));
  }
});

describe('bounds', () => {
  test('100 streams are open at most; lists still answer, and a place is free when one leaves', async () => {
    const world = createWorld(new FakeSource(list(1)));
    const readers = await Promise.all(Array.from({ length: 100 }, () => openStream(world, 'view=summary')));
    expect(world.counts.streams).toBe(100);
    expect((await ask(world, '/api/v1/stream?view=summary')).status).toBe(503);
    expect((await ask(world, '/api/v1/summary')).status).toBe(200);
    readers[0]?.close();
    await openStream(world, 'view=objects');
    expect(world.counts.streams).toBe(100);
  });

  test('a reader that takes nothing is cut at 1 MiB, and no other one waits for it', async () => {
    const world = createWorld(new FakeSource(list(200)));
    const slow = await openStream(world, 'view=objects&limit=200');
    const other = await openStream(world, 'view=objects&limit=200');
    slow.isSlow = true;
    for (let round = 0; round < 20 && !slow.isClosed; round++) {
      for (const { key } of list(200))
        await world.source.store.save(recordOf(key, { status: { hourlyMicros: round } }));
      await world.clock.advance(500);
    }
    expect([slow.isClosed, other.isClosed, world.counts.resets]).toEqual([true, false, ['slow']]);
    expect(slow.waiting).toBeLessThan(2 * 1024 * 1024);
  });

  test('streams of one view share its work', async () => {
    const world = createWorld(new FakeSource(list(50)));
    await Promise.all(Array.from({ length: 20 }, () => openStream(world, 'view=summary')));
    let asked = 0;
    const manager = world.source.manager.bind(world.source);
    world.source.manager = () => {
      asked += 1;
      return manager();
    };
    await world.clock.advance(10_000);
    expect(asked).toBeLessThanOrEqual(11);
  });

  test('nobody who saves a status waits for readers, and none of their work is done by then (GI3)', async () => {
    const world = createWorld(new FakeSource(list(50)));
    const reader = await openStream(world, 'view=objects');
    const texts = reader.texts.length;
    for (let change = 0; change < 1000; change++)
      await world.source.store.save(recordOf(service('web-0'), { status: { hourlyMicros: change } }));
    expect(reader.texts.length).toBe(texts);
  });
});

test('while 10,000 changes are taken in for a reader, all other work has its turn a hundred times (GI3)', async () => {
  const records = list(10_000);
  const world = createWorld(new FakeSource(records));
  const reader = await openStream(world, 'view=objects&limit=10');
  for (const { key } of records)
    await world.source.store.save(recordOf(key, { status: { hourlyMicros: 77 } }));
  await world.clock.advance(500);
  // A pass, a heartbeat and an answer of the provider come in turns of the event loop.
  let turns = 0;
  const isShown = () => reader.items.get(service('web-0'))?.hourlyMicros === 77;
  for (; !isShown() && turns < 10_000; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(isShown()).toBe(true);
  expect(turns).toBeGreaterThanOrEqual(90);
});

test('a view that can not be computed ends its own streams, and no other one, and the process has no failure', async () => {
  const world = createWorld(new FakeSource(list(2)));
  const broken = await openStream(world, 'view=money');
  const other = await openStream(world, 'view=objects');
  const holdings = world.source.holdings();
  world.source.holdings = () => {
    throw new Error('a defect');
  };
  await world.clock.advance(11_000);
  expect([broken.isClosed, other.isClosed]).toEqual([true, false]);
  expect(world.counts.defects).toEqual([new Error('a defect')]);
  await world.source.store.save(recordOf(service('web-1'), { status: { hourlyMicros: 77 } }));
  await world.clock.advance(1000);
  expect(other.items.get(service('web-1'))).toMatchObject({ hourlyMicros: 77 });
  expect((await ask(world, '/api/v1/stream?view=money')).status).toBe(200);
  const opened = openStream(world, 'view=money');
  await expect(opened).resolves.toMatchObject({ isClosed: true });
  // With the defect, it is over.
  world.source.holdings = () => holdings;
  expect((await openStream(world, 'view=money')).isClosed).toBe(false);
});

test('a stream of a reader whose token was taken out is closed within a minute', async () => {
  let isValid = true;
  const access = {
    reader: async (): Promise<Reader> => {
      if (!isValid) throw new Error('not any more');
      return { namespaces: undefined };
    },
  };
  const world = createWorld(new FakeSource(list(1)), { access });
  const reader = await openStream(world, 'view=objects');
  await world.clock.advance(120_000);
  expect(reader.isClosed).toBe(false);
  isValid = false;
  await world.clock.advance(61_000);
  expect([reader.isClosed, world.counts.resets]).toEqual([true, ['denied']]);
});

test('a stream whose reader may see other namespaces now is closed, and begins anew', async () => {
  let namespaces = ['a'];
  const access = { reader: async (): Promise<Reader> => ({ namespaces: new Set(namespaces) }) };
  const records = [recordOf(service('x', 'a')), recordOf(service('y', 'b'))];
  const world = createWorld(new FakeSource(records), { access });
  const reader = await openStream(world, 'view=objects');
  namespaces = ['b'];
  await world.clock.advance(61_000);
  expect(reader.isClosed).toBe(true);
  await openStream(world, 'view=objects', reader);
  expect([reader.kinds.at(-1), reader.order]).toEqual(['state', [service('y', 'b')]]);
});
