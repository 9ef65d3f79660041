/** The answers themselves: problems, the tree, pages. */
import { describe, expect, test } from 'vitest';
import { rfc3339 } from '../../../src/base/index.ts';
import { firstTally, storedTally } from '../../../src/engine/plan/index.ts';
import type { Reader } from '../../../src/read-api/fleet/reader.ts';
import type { AccountNow } from '../../../src/read-api/fleet/source.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { shownPrices, type ObservedPrice } from '../../../src/state/index.ts';
import { seed } from '../../support/seed.ts';
import {
  ago,
  ask,
  createWorld,
  FakeSource,
  held,
  intentOf,
  openStream,
  readAccount,
  ready,
  recordOf,
  startMs,
  waiting,
  type Json,
} from './support.ts';

const service = (name: string, namespace = 'default') => `ContainerService/${namespace}/${name}` as ObjectKey;

describe('problems', () => {
  test('objects of one account with the same reason are one, the worst first', async () => {
    const records = [
      ...[1, 2, 3, 4, 5, 6, 7].map((at) =>
        recordOf(service(`web-${at}`), {
          conditions: held('UnknownRegion', { lastTransitionTime: ago(1000 - at) }),
        }),
      ),
      recordOf(service('other', 'b'), { conditions: held('UnknownRegion') }),
      recordOf(service('lost'), { conditions: held('DataLost') }),
    ];
    const { body } = await ask(createWorld(new FakeSource(records)), '/api/v1/problems');
    expect(body.items.map(({ reason, account, count }: Json) => [reason, account, count])).toEqual([
      ['DataLost', 'default/default', 1],
      ['UnknownRegion', 'default/default', 7],
      ['UnknownRegion', 'b/default', 1],
    ]);
    expect(body.items[1]).toMatchObject({
      since: ago(999),
      objects: [1, 2, 3, 4, 5].map((at) => service(`web-${at}`)),
      command: 'fleetkeeper describe ContainerService/web-1 -n default --source fleet',
      docs: expect.stringContaining('docs/'),
    });
    expect([body.total, body.objects]).toEqual([3, 9]);
  });

  test('what only a person can end is before what continues by itself, in however many accounts that is', async () => {
    const accounts = Array.from({ length: 60 }, (_, at) => `team-${at}`);
    const waits = accounts.flatMap((namespace) =>
      ['a', 'b'].map((name) =>
        recordOf(service(name, namespace), { conditions: waiting('CapacityUnavailable') }),
      ),
    );
    const source = new FakeSource([
      ...waits,
      recordOf(service('mistaken'), { conditions: held('InvalidSpec') }),
      recordOf(service('lost'), { conditions: held('DataLost') }),
    ]);
    const { body } = await ask(createWorld(source), '/api/v1/problems?limit=50');
    const first = body.items.slice(0, 3).map(({ reason }: Json) => reason);
    expect([body.total, ...first]).toEqual([62, 'DataLost', 'InvalidSpec', 'CapacityUnavailable']);
  });

  test('a warning is one after 5 minutes, what is critical at once, and information never', async () => {
    const since = { lastTransitionTime: ago(1) };
    const world = createWorld(
      new FakeSource([
        recordOf(service('a'), { conditions: waiting('CapacityUnavailable', since) }),
        recordOf(service('b'), { conditions: held('DataLost', since) }),
        recordOf(service('c'), { conditions: waiting('Provisioning', { lastTransitionTime: ago(9000) }) }),
      ]),
    );
    const reasons = async () =>
      (await ask(world, '/api/v1/problems')).body.items.map(({ reason }: Json) => reason);
    expect(await reasons()).toEqual(['DataLost']);
    await world.clock.advance(299_500);
    expect(await reasons()).toEqual(['DataLost', 'CapacityUnavailable']);
    await world.source.store.save(recordOf(service('b')));
    expect(await reasons()).toEqual(['CapacityUnavailable']);
  });

  test('what only a person can end is shown at once, as Pending, and is open after 5 minutes', async () => {
    const conditions = held('UnknownRegion', { lastTransitionTime: ago(1) });
    const world = createWorld(new FakeSource([recordOf(service('a'), { conditions })]));
    const states = async () =>
      (await ask(world, '/api/v1/problems')).body.items.map(({ state }: Json) => state);
    expect(await states()).toEqual(['Pending']);
    await world.clock.advance(299_500);
    expect(await states()).toEqual(['Open']);
  });

  test('what impairs the manager itself is a problem, for who may read all', async () => {
    const source = new FakeSource([recordOf(service('web'))]);
    const texts = { message: 'the folder is gone', remedy: 'put it back' };
    source.impaired = [{ cause: 'SourceUnreadable', ...texts, since: startMs }];
    const { body } = await ask(createWorld(source), '/api/v1/problems');
    expect(body.items).toEqual([
      expect.objectContaining({ ...texts, id: 'manager SourceUnreadable', severity: 'critical', count: 1 }),
    ]);
    const access = { reader: async () => ({ namespaces: new Set(['default']) }) };
    expect((await ask(createWorld(source, { access }), '/api/v1/problems')).body.items).toEqual([]);
  });

  test('documents that are none of a known object are one problem, for who may read all', async () => {
    const source = new FakeSource([recordOf(service('web'))]);
    const problem = {
      file: 'a.yaml',
      line: 3,
      path: 'spec.cpu',
      message: 'it is -1',
      remedy: 'Give at least 0.1.',
    };
    source.unusable = [
      { ...problem, key: service('new') },
      { ...problem, line: undefined, key: undefined },
      // The object itself shows it.
      { ...problem, key: service('web') },
    ];
    const { body } = await ask(createWorld(source), '/api/v1/problems');
    expect(body.items).toEqual([
      expect.objectContaining({
        reason: 'InvalidSpec',
        count: 2,
        objects: [],
        message: 'a.yaml:3: spec.cpu: it is -1',
        remedy: 'Give at least 0.1.',
        command: 'fleetkeeper plan --source fleet',
      }),
    ]);
    const access = { reader: async () => ({ namespaces: new Set(['default']) }) };
    expect((await ask(createWorld(source, { access }), '/api/v1/problems')).body.items).toEqual([]);
  });

  test('10,000 at once are groups, in answers of a few KiB', async () => {
    const records = Array.from({ length: 10_000 }, (_, at) =>
      recordOf(service(`web-${at}`), { conditions: held(at % 2 ? 'DataLost' : 'UnknownRegion') }),
    );
    const world = createWorld(new FakeSource(records));
    const { body, text } = await ask(world, '/api/v1/problems');
    expect(body.items.map(({ reason, count }: Json) => [reason, count])).toEqual([
      ['DataLost', 5000],
      ['UnknownRegion', 5000],
    ]);
    expect(text.length).toBeLessThan(5000);
    const sizes = await Promise.all(
      ['summary', 'objects', 'tree?depth=1'].map((path) => ask(world, `/api/v1/${path}`)),
    );
    for (const answer of sizes) expect(answer.text.length).toBeLessThan(100 * 1024);
  });

  test('what a person keeps is counted by itself', async () => {
    const records = [
      recordOf(service('a'), { conditions: held('Paused') }),
      recordOf(service('b'), { conditions: held('Paused') }),
    ];
    const { body } = await ask(createWorld(new FakeSource(records)), '/api/v1/problems');
    expect([body.items, body.suspended]).toEqual([[], [{ reason: 'Paused', count: 2 }]]);
  });
});

test('what is in an account that is not read any more is Stale, also in a stream, until it is read again (GI6)', async () => {
  const source = new FakeSource([recordOf(service('web'))], [readAccount('default/default')]);
  const world = createWorld(source);
  const reader = await openStream(world, 'view=objects');
  const shown = () => reader.items.get(service('web')).health;
  const healths = [shown()];
  const steps: Partial<AccountNow>[] = [
    { ageMs: 61_000 },
    { ageMs: 1000 },
    { ageMs: undefined, readAt: undefined },
  ];
  for (const account of steps) {
    source.accountsNow = [readAccount('default/default', account)];
    await world.clock.advance(1000);
    healths.push(shown());
  }
  expect(healths).toEqual(['Healthy', 'Stale', 'Healthy', 'Stale']);
  expect((await ask(world, '/api/v1/summary')).body).toMatchObject({
    oldestReadAt: null,
    accounts: [{ up: false, isStale: true, readAt: null }],
  });
});

test('of more accounts than are shown, those that are not read come first, and all of them count', async () => {
  const all = Array.from({ length: 130 }, (_, at) => readAccount(`team-${at}/default`));
  const failure = { reason: 'Unauthorized', message: '401' };
  all[110] = readAccount('team-110/default', { failure, runwaySeconds: 60 });
  all[120] = readAccount('team-120/default', { readAt: undefined, ageMs: undefined });
  const source = new FakeSource([], all);
  const { body } = await ask(createWorld(source), '/api/v1/summary');
  expect(body.accounts).toHaveLength(100);
  expect(body.accounts.slice(0, 3).map(({ account }: Json) => account)).toEqual([
    'team-110/default',
    'team-120/default',
    'team-0/default',
  ]);
  expect(body).toMatchObject({
    accountCounts: { all: 130, current: 128, unread: 1 },
    runwaySeconds: 60,
    oldestReadAt: null,
  });
  const access = { reader: async () => ({ namespaces: new Set(['team-7']) }) };
  const own = (await ask(createWorld(source, { access }), '/api/v1/summary')).body;
  expect([own.accountCounts, own.runwaySeconds]).toEqual([{ all: 1, current: 1, unread: 0 }, 3600]);
});

test('a namespace that can not be read is named, to who may see it, and what is shown is not all (GI2)', async () => {
  const source = new FakeSource([recordOf(service('web'))], [readAccount('default/default')]);
  source.gaps = [{ namespace: 'lab', note: 'lab is not there', isOfObjects: true }];
  const shown = async (namespaces: Reader['namespaces']) => {
    const access = { reader: async () => ({ namespaces }) };
    const world = createWorld(source, { access });
    const { body } = await ask(world, '/api/v1/summary');
    const { body: money } = await ask(world, '/api/v1/money');
    return [body.notes, body.isComplete, money.isComplete];
  };
  expect(await shown(undefined)).toEqual([['lab is not there'], false, false]);
  expect(await shown(new Set(['default', 'lab']))).toEqual([['lab is not there'], false, false]);
  expect(await shown(new Set(['default']))).toEqual([[], true, true]);
  source.gaps = [{ namespace: 'lab', note: 'no Events of lab', isOfObjects: false }];
  expect(await shown(undefined)).toEqual([['no Events of lab'], true, true]);
});

test('what came and went while nobody asked is neither kept nor missed', async () => {
  const source = new FakeSource([recordOf(service('old')), recordOf(service('web'))]);
  const world = createWorld(source);
  await ask(world, '/api/v1/objects');
  await source.store.remove(service('old'));
  for (let at = 0; at < 12_000; at++) {
    await source.store.save(recordOf(service(`task-${at}`)));
    await source.store.remove(service(`task-${at}`));
  }
  await source.store.save(recordOf(service('new')));
  const { body } = await ask(world, '/api/v1/objects?sort=name');
  expect(body.items.map(({ name }: Json) => name)).toEqual(['new', 'web']);
});

test('an object that this process has not observed yet is Stale, whatever an earlier one has recorded', async () => {
  const source = new FakeSource([recordOf(service('web'))]);
  source.stale.add(service('web'));
  const { body } = await ask(createWorld(source), '/api/v1/objects');
  expect(body.items[0].health).toBe('Stale');
});

describe('the tree', () => {
  const fleet: ObjectKey = 'ServiceFleet/default/llm';
  const volume: ObjectKey = 'StorageVolume/default/data';
  const records = [
    recordOf('Account/default/default'),
    recordOf(fleet, { conditions: waiting('ReplicasNotReady') }),
    recordOf(service('llm-0'), {
      derived: { owner: fleet },
      spec: { storage: { volumeRef: { name: 'data' } } },
    }),
    recordOf(service('llm-1'), { derived: { owner: fleet }, conditions: held('ServiceError') }),
    recordOf(volume, { derived: { owner: fleet } }),
    recordOf('ProtectedTask/default/train', { spec: { serviceRef: { name: 'llm-0' } } }),
    recordOf(service('web')),
  ];

  test('leads from the account to fleet, replica, volume and task; a folded node shows the worst below', async () => {
    const world = createWorld(new FakeSource(records, [readAccount('default/default')]));
    const { body } = await ask(world, '/api/v1/tree?depth=6');
    const shown = body.nodes.map(({ id, parent, worst, worstCount, children }: Json) => [
      id.split('/')[2],
      parent?.split('/')[2] ?? null,
      worst,
      worstCount,
      children,
    ]);
    expect(shown).toEqual([
      ['default', null, 'Held', 1, 2],
      ['llm', 'default', 'Held', 1, 2],
      ['web', 'default', 'Healthy', 1, 0],
      ['llm-1', 'llm', 'Held', 1, 0],
      ['llm-0', 'llm', 'Healthy', 3, 2],
      ['train', 'llm-0', 'Healthy', 1, 0],
      ['data', 'llm-0', 'Healthy', 1, 0],
    ]);
    const folded = await ask(world, '/api/v1/tree?depth=1');
    expect(folded.body.nodes).toHaveLength(1);
    expect(folded.body.nodes[0].below).toEqual({ Held: 1, Waiting: 1, Healthy: 4 });
    const part = await ask(world, '/api/v1/tree?fleet=default/llm&depth=2');
    expect(part.body.nodes.map(({ id }: Json) => id)).toEqual([fleet, service('llm-1'), service('llm-0')]);
    expect((await ask(world, '/api/v1/tree?fleet=default/none')).status).toBe(404);
  });

  test('has at most 500 nodes, the worst of them, and counts the others', async () => {
    const many = Array.from({ length: 700 }, (_, at) =>
      recordOf(service(`web-${at}`), { conditions: at === 699 ? held('DataLost') : ready }),
    );
    const { body } = await ask(createWorld(new FakeSource(many)), '/api/v1/tree');
    expect([body.nodes.length, body.omitted]).toEqual([500, 201]);
    expect(body.nodes[1].id).toBe(service('web-699'));
    expect(body.nodes[0]).toMatchObject({ id: 'Account/default/default', children: 700, worst: 'Held' });
  });

  test('replicas that came before their fleet are below it as soon as it is there', async () => {
    const world = createWorld(new FakeSource([recordOf(service('llm-0'), { derived: { owner: fleet } })]));
    const ids = async () =>
      (await ask(world, '/api/v1/tree')).body.nodes.map(({ id, parent }: Json) => [id, parent]);
    expect(await ids()).toContainEqual([service('llm-0'), 'Account/default/default']);
    await world.source.store.save(recordOf(fleet));
    expect(await ids()).toContainEqual([service('llm-0'), fleet]);
  });
});

test(`the tree after any changes is that of a new process (seed ${seed})`, async () => {
  const draw = new SeededRandom(seed);
  const fleets = ['ServiceFleet/a/one', 'ServiceFleet/a/two'] as const;
  const names = [0, 1, 2, 3, 4, 5];
  const random = (): ObjectKey =>
    draw.pick<ObjectKey>([
      draw.pick(fleets),
      service(`s-${draw.pick(names)}`, 'a'),
      `StorageVolume/a/v-${draw.pick(names)}`,
      `ProtectedTask/a/t-${draw.pick(names)}`,
      'Account/a/default',
    ]);
  const owner = () => (draw.chance(0.5) ? { derived: { owner: draw.pick(fleets) } } : {});
  const recordFor = (key: ObjectKey) =>
    recordOf(key, {
      conditions: draw.pick([ready, held('DataLost'), waiting('Provisioning')]),
      account: `a/${draw.pick(['default', 'other'])}`,
      ...(key.startsWith('ContainerService') || key.startsWith('StorageVolume') ? owner() : {}),
      spec: {
        serviceRef: { name: `s-${draw.pick(names)}` },
        ...(draw.chance(0.5) ? { storage: { volumeRef: { name: `v-${draw.pick(names)}` } } } : {}),
      },
    });
  const world = createWorld(new FakeSource([]));
  const shown = async (one: typeof world) => (await ask(one, '/api/v1/tree?depth=6')).body;
  const users = new Map<string, string>();
  const compared: [Json, Json][] = [];
  for (let change = 0; change < 400; change++) {
    const key = random();
    const record = recordFor(key);
    const volume = (record.manifest.spec['storage'] as Json)?.volumeRef.name;
    // A volume with two users may be below either.
    const isTaken =
      key.startsWith('ContainerService') && volume !== undefined && (users.get(volume) ?? key) !== key;
    if (isTaken) continue;
    for (const [used, by] of users) if (by === key) users.delete(used);
    if (draw.chance(0.3)) await world.source.store.remove(key);
    else {
      if (key.startsWith('ContainerService') && volume !== undefined) users.set(volume, key);
      await world.source.store.save(record);
    }
    if (change % 5 === 0) compared.push([await shown(world), await shown(createWorld(world.source))]);
  }
  for (const [tree, expected] of compared) expect(tree).toEqual(expected);
  expect((await shown(world)).nodes.length).toBeGreaterThan(5);
});

describe('pages', () => {
  const draw = new SeededRandom(seed);
  const conditions = [ready, held('UnknownRegion'), waiting('Provisioning'), held('Paused')];
  const random = (name: string) =>
    recordOf(service(name, draw.pick(['a', 'b'])), {
      conditions: draw.pick(conditions),
      status: { hourlyMicros: draw.between(0, 3) },
      labels: { team: draw.pick(['x', 'y']) },
    });

  test.each(['worst', 'name', 'kind', 'since', 'newest', 'cost'])(
    `one after the other, they have everything once, sorted by %s, while rows change (seed ${seed})`,
    async (sort) => {
      const source = new FakeSource(Array.from({ length: 57 }, (_, at) => random(`web-${at}`)));
      const world = createWorld(source);
      const seen: string[] = [];
      const stable = new Set([...source.store.records()].map(({ key }) => key as string));
      for (let cursor = ''; ;) {
        const { body } = await ask(world, `/api/v1/objects?sort=${sort}&limit=10${cursor}`);
        seen.push(...body.items.map(({ key }: Json) => key));
        if (body.next === null) break;
        cursor = `&cursor=${body.next}`;
        // The object of the cursor is deleted, and another one changes.
        const last = seen.at(-1) as ObjectKey;
        await source.store.remove(last);
        const moved = draw.pick([...source.store.everyKey()]);
        stable.delete(moved);
        await source.store.save({ ...random('web-x'), key: moved });
      }
      const counts = Map.groupBy(seen, (key) => key);
      for (const key of stable) expect(counts.get(key)).toHaveLength(1);
    },
  );

  test('filters are combined, and the total is that of all pages', async () => {
    const source = new FakeSource(Array.from({ length: 40 }, (_, at) => random(`web-${at}`)));
    const world = createWorld(source);
    const { body } = await ask(world, '/api/v1/objects?namespace=a&label=team%3Dx&health=Held&limit=200');
    const expected = [...source.store.records()].filter(
      ({ key, manifest, status }) =>
        key.includes('/a/') &&
        manifest.labels['team'] === 'x' &&
        status?.conditions.some(({ reason }) => reason === 'UnknownRegion'),
    );
    expect(body.items.map(({ key }: Json) => key).toSorted()).toEqual(
      expected.map(({ key }) => key).toSorted(),
    );
    expect(body.total).toBe(expected.length);
  });
});

test('a search finds what runs an image', async () => {
  const source = new FakeSource([
    recordOf(service('web'), { spec: { image: 'ghcr.io/acme/Web:2' } }),
    recordOf(service('other'), { spec: { image: { not: 'acme/web:2' } } }),
  ]);
  const { body } = await ask(createWorld(source), '/api/v1/objects?q=acme/web');
  expect(body.items.map(({ name }: Json) => name)).toEqual(['web']);
});

describe('brakes', () => {
  const massChange = {
    reason: 'MassChangeBrake',
    namespace: undefined,
    account: undefined,
    message: 'empty',
  };
  const brakesOf = async (source: FakeSource, reader?: Reader): Promise<Json[]> => {
    const access = reader ? { access: { reader: async () => reader } } : {};
    return (await ask(createWorld(source, access), '/api/v1/summary')).body.brakes;
  };
  const braked = (name: string, reason: string, more: object = {}) =>
    recordOf(service(name), { conditions: held(reason, more) });

  test('are those that objects show, by account, with the first message; what stops most is first', async () => {
    const source = new FakeSource(
      [
        braked('a', 'MassDrift'),
        braked('b', 'MassChangeBrake', { lastTransitionTime: ago(60) }),
        braked('c', 'MassChangeBrake', { lastTransitionTime: ago(90), message: 'the source is empty' }),
        braked('d', 'Paused'),
        recordOf(service('e'), { conditions: waiting('CapacityUnavailable') }),
      ],
      [readAccount('default/default')],
    );
    expect(await brakesOf(source)).toEqual([
      {
        reason: 'MassChangeBrake',
        stops: 'creations and deletions',
        namespace: null,
        account: 'default/default',
        count: 2,
        since: rfc3339(startMs - 90_000),
        message: 'the source is empty',
      },
      expect.objectContaining({ reason: 'MassDrift', count: 1 }),
    ]);
    // It is the same one.
    source.engaged = [massChange];
    expect(await brakesOf(source)).toHaveLength(2);
  });

  test('are also one that no object shows, for who sees what it is about', async () => {
    const source = new FakeSource([recordOf(service('a'))], [readAccount('default/default')]);
    const ofAccount = { ...massChange, account: 'default/default' };
    source.engaged = [massChange, ofAccount, { ...massChange, namespace: 'b' }];
    const seen = async (reader?: Reader) =>
      (await brakesOf(source, reader)).map(({ namespace, account, count, since }) => [
        namespace,
        account,
        count,
        since,
      ]);
    const ofDefault = [null, 'default/default', 0, null];
    expect(await seen()).toEqual([[null, null, 0, null], ofDefault, ['b', null, 0, null]]);
    expect(await seen({ namespaces: new Set(['default']) })).toEqual([ofDefault]);
    expect(await seen({ namespaces: new Set(['b']) })).toEqual([['b', null, 0, null]]);
    source.accountsNow = [readAccount('default/default', { isShared: true })];
    expect(await seen({ namespaces: new Set(['default']) })).toEqual([]);
  });
});

test('the rows of money have what accounts and Budgets have counted, as `cost` shows it', async () => {
  const begun = firstTally({ at: startMs, burnMicros: 0n, balanceMicros: undefined }, 'UTC');
  const tally = storedTally({ ...begun, spent: 700n * 3_600_000n, estimated: 20n * 3_600_000n });
  const source = new FakeSource(
    [
      recordOf('Account/a/default', { kind: { tally }, status: { services: 1, volumes: 0 } }),
      recordOf('ContainerService/a/web', {
        externalId: 'id-1',
        labels: { team: 'search' },
        status: { hourlyMicros: 100 },
      }),
      recordOf('Budget/a/search', {
        account: undefined,
        spec: { selector: { matchLabels: { team: 'search' } }, limits: {} },
        status: { month: '2026-11', since: ago(60), spentMicros: 300, estimatedMicros: 5 },
      }),
    ],
    [readAccount('a/default')],
  );
  // As in a cluster, whose page knows statuses only.
  source.holdings = () => undefined as never;
  const money = async (by: string) => (await ask(createWorld(source), `/api/v1/money?by=${by}`)).body;
  const { rows, total, unmanaged, accounts } = await money('account');
  const leftHours = (Date.UTC(2026, 11) - startMs) / 3_600_000;
  const counted = {
    spentMicros: 700,
    estimatedMicros: 20,
    forecastMicros: 700 + leftHours * 100,
    countedSince: rfc3339(startMs),
  };
  expect(rows).toMatchObject([{ name: 'a/default', hourlyMicros: 100, ...counted }]);
  expect([total, unmanaged]).toMatchObject([counted, { spentMicros: null, countedSince: null }]);
  expect(accounts).toMatchObject([{ spentMicros: 700, forecastMicros: counted.forecastMicros }]);
  const byLabel = { spentMicros: 300, estimatedMicros: 5, forecastMicros: null, countedSince: ago(60) };
  expect((await money('label%3Dteam')).rows).toMatchObject([{ name: 'search', ...byLabel }]);
  expect((await money('namespace')).rows).toMatchObject([{ name: 'a', spentMicros: null }]);
});

describe('price changes', () => {
  const day = 86_400_000;
  const price = (days: number, more: object = {}): ObservedPrice => ({
    region: 'standard',
    geography: 'europe',
    demand: { storageGb: 10 },
    gpuModel: undefined,
    hourlyMicros: 1200,
    at: startMs,
    moved: { at: startMs - days * day, beforeMicros: 1000 },
    ...more,
  });
  const changesOf = async (source: FakeSource, reader?: Reader): Promise<Json[]> => {
    const access = reader ? { access: { reader: async () => reader } } : {};
    return (await ask(createWorld(source, access), '/api/v1/money')).body.priceChanges;
  };

  test('are those of the status, or of the account of the environment, newest first, for 30 days', async () => {
    const prices = [
      price(2),
      price(31),
      price(1, { demand: { compute: { gpuCount: 1, cpu: 8, memoryGb: 64 } } }),
    ];
    const still = { ...price(1), moved: undefined };
    const source = new FakeSource(
      [recordOf('Account/a/default', { status: { prices: shownPrices([...prices, still]) } })],
      [readAccount('a/default'), readAccount('b/default')],
    );
    await source.store.savePrices('b/default', [price(3, { geography: 'auto' }), price(3)]);
    const shown = (await changesOf(source)).map(
      ({ account, at, geography, gpuCount, storageGb, beforeMicros }) => [
        account,
        at,
        geography,
        gpuCount,
        storageGb,
        beforeMicros,
      ],
    );
    const at = (days: number) => rfc3339(startMs - days * day);
    expect(shown).toEqual([
      ['a/default', at(1), 'europe', 1, 0, 1000],
      ['a/default', at(2), 'europe', 0, 10, 1000],
      // Of a thing that was asked for anywhere, the same change by both names of its place is one.
      ['b/default', at(3), 'europe', 0, 10, 1000],
    ]);
  });

  test('are those of accounts that the reader sees (GI2)', async () => {
    const source = new FakeSource(
      [recordOf(service('web'))],
      [readAccount('a/default'), readAccount('b/default')],
    );
    await source.store.savePrices('a/default', [price(1)]);
    await source.store.savePrices('b/default', [price(2)]);
    const names = (await changesOf(source, { namespaces: new Set(['b']) })).map(({ account }) => account);
    expect(names).toEqual(['b/default']);
  });
});

describe('the timeline', () => {
  test('a stream has whether there is more than what was looked through', async () => {
    const source = new FakeSource([recordOf(service('a')), recordOf(service('b'))]);
    const put = (object: ObjectKey, count: number) => {
      for (let index = 0; index < count; index++) {
        const number = source.intents.length + 1;
        source.intents.push({ number, intent: intentOf(object, { idempotencyKey: `k${number}` }) });
      }
    };
    put(service('a'), 3);
    const query = `view=timeline&object=${service('a')}`;
    const few = await openStream(createWorld(source), query);
    expect([few.head.hasMore, few.order.length]).toEqual([false, 3]);
    put(service('b'), 2000);
    const many = await openStream(createWorld(source), query);
    expect([many.head.hasMore, many.order.length]).toEqual([true, 0]);
  });

  test('has the newest first, by object and account; pages continue where they ended', async () => {
    const source = new FakeSource([
      recordOf(service('a')),
      recordOf(service('b'), { account: 'default/two' }),
    ]);
    for (let number = 1; number <= 450; number++) {
      const object = service(number % 3 === 0 ? 'b' : 'a');
      source.intents.push({ number, intent: intentOf(object, { idempotencyKey: `k${number}` }) });
    }
    const world = createWorld(source);
    const all = async (query: string) => {
      const found: string[] = [];
      for (let cursor = ''; ;) {
        const { body } = await ask(world, `/api/v1/timeline?limit=60&${query}${cursor}`);
        found.push(...body.items.map(({ idempotencyKey }: Json) => idempotencyKey));
        if (body.next === null) return found;
        cursor = `&cursor=${body.next}`;
      }
    };
    expect(await all('')).toEqual(Array.from({ length: 450 }, (_, at) => `k${450 - at}`));
    expect(await all('account=default/two')).toHaveLength(150);
    expect(await all(`object=${service('a')}&to=${new Date(startMs).toISOString()}`)).toHaveLength(300);
    expect(await all(`from=${new Date(startMs).toISOString()}`)).toEqual([]);
  });

  test('ends where the entries of its reader end, however many of others lie between and before (GI2)', async () => {
    const mine = service('mine', 'a');
    const source = new FakeSource([recordOf(mine), recordOf(service('theirs', 'b'))]);
    const put = (object: ObjectKey) => {
      const number = source.intents.length + 1;
      source.intents.push({ number, intent: intentOf(object, { idempotencyKey: `k${number}` }) });
    };
    const others = (count: number) => {
      for (let index = 0; index < count; index++) put(service('theirs', 'b'));
    };
    others(1500);
    put(mine);
    others(2500);
    put(mine);
    others(1500);
    const reader: Reader = { namespaces: new Set(['a']) };
    const shown = createWorld(source, { access: { reader: async () => reader } });
    const page = async (query: string) => {
      const { body } = await ask(shown, `/api/v1/timeline?${query}`);
      return { items: body.items.map(({ idempotencyKey }: Json) => idempotencyKey), next: body.next };
    };
    expect(await page('limit=100')).toEqual({ items: ['k4002', 'k1501'], next: null });
    expect(await page(`account=b/default`)).toEqual({ items: [], next: null });
    const first = await page('limit=1');
    expect(first.items).toEqual(['k4002']);
    expect(await page(`limit=1&cursor=${first.next}`)).toMatchObject({ items: ['k1501'] });
  });
});
