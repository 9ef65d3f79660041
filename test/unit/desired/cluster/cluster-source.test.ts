import { describe, expect, test } from 'vitest';
import { formatProblem, shardOf } from '../../../../src/desired/index.ts';
import { KubernetesError } from '../../../../src/kubernetes/index.ts';
import { controllerRevisionType } from '../../../../src/state/index.ts';
import { serviceSpec } from '../../../support/memory-cluster.ts';
import { WatchedCluster, fromSecret, putService } from '../watched-cluster.ts';

const web = 'ContainerService/default/web';

describe('a cluster as the source', () => {
  test('shows every kind of ours, with what only a cluster tells', async () => {
    const world = await WatchedCluster.with((cluster) => {
      cluster.put('Account', { metadata: { name: 'main' }, spec: { url: 'https://api.example.com' } });
      putService(cluster, 'web', {}, { finalizers: ['fleetkeeper.dev/cleanup'], labels: { team: 'a' } });
      cluster.put('ProtectedTask', { metadata: { name: 'epoch' }, spec: { serviceRef: { name: 'web' } } });
    });
    expect([...world.latest.objects.keys()].sort()).toEqual([
      'Account/default/main',
      web,
      'ProtectedTask/default/epoch',
    ]);
    expect(world.latest).toMatchObject({ sequence: 1, complete: true, empty: false, problems: [] });
    expect(world.object(web)).toMatchObject({
      namespace: 'default',
      name: 'web',
      labels: { team: 'a' },
      spec: { image: 'ghcr.io/acme/web:1', disruption: 'WhenUnprotected' },
    });
    const { uid, generation, finalizers, deletionRequestedAt } = world.object(web).cluster ?? {};
    expect({ uid, generation, finalizers, deletionRequestedAt }).toEqual({
      uid: 'uid-2',
      generation: 1,
      finalizers: ['fleetkeeper.dev/cleanup'],
      deletionRequestedAt: undefined,
    });
  });

  test('shows nothing before every kind was listed', async () => {
    const world = new WatchedCluster();
    putService(world.cluster, 'web');
    world.cluster.fault = (request) =>
      request === 'list accounts' ? new KubernetesError('not allowed', { status: 403 }) : undefined;
    void world.start();
    await world.clock.advance(20_000);
    expect(world.snapshots).toEqual([]);
    world.cluster.fault = () => undefined;
    await world.clock.advance(60_000);
    expect([...world.latest.objects.keys()]).toEqual([web]);
  });

  test('says what could not be listed, when it is told to give up', async () => {
    const world = new WatchedCluster();
    world.cluster.fault = (request) =>
      request === 'list accounts' ? new KubernetesError('accounts is forbidden', { status: 403 }) : undefined;
    const starting = world.start({ giveUpAfterMs: 10_000 });
    const failure = starting.catch((error: unknown) => error);
    await world.clock.advance(10_000);
    expect(await failure).toMatchObject({
      message:
        'accounts could not be listed in all namespaces of a cluster in memory within 10 s: accounts is forbidden',
    });
  });

  test('of an empty cluster is complete', async () => {
    const world = await WatchedCluster.with(() => {});
    expect(world.latest).toMatchObject({ complete: true, empty: true, problems: [] });
  });

  test('looks into the given namespaces only', async () => {
    const world = await WatchedCluster.with(
      (cluster) => {
        for (const namespace of ['a', 'b', 'c']) putService(cluster, 'web', {}, { namespace });
      },
      { namespaces: ['a', 'c'] },
    );
    expect([...world.latest.objects.keys()]).toEqual(['ContainerService/a/web', 'ContainerService/c/web']);
    putService(world.cluster, 'late', {}, { namespace: 'b' });
    putService(world.cluster, 'late', {}, { namespace: 'c' });
    await world.settle();
    expect(world.latest.objects.size).toBe(3);
  });
});

describe('a change', () => {
  test('makes one snapshot with all that came within 50 ms, and leaves the others as they are', async () => {
    const world = await WatchedCluster.with((cluster) => {
      for (const name of ['web', 'other', 'third']) putService(cluster, name);
    });
    const before = world.latest;
    putService(world.cluster, 'web', { image: 'ghcr.io/acme/web:2' });
    await world.clock.advance(30);
    putService(world.cluster, 'third', { image: 'ghcr.io/acme/web:2' });
    await world.clock.advance(19);
    expect(world.snapshots).toHaveLength(1);
    await world.clock.advance(1);
    expect(world.snapshots).toHaveLength(2);
    expect(world.object(web).spec).toMatchObject({ image: 'ghcr.io/acme/web:2' });
    expect(world.object(web).cluster?.generation).toBe(2);
    expect(world.object('ContainerService/default/other')).toBe(
      before.objects.get('ContainerService/default/other'),
    );
  });

  test('of the status makes no snapshot, and shows in what is there', async () => {
    const world = await WatchedCluster.with((cluster) => putService(cluster, 'web'));
    const object = world.object(web);
    const version = object.cluster?.resourceVersion;
    const stored = world.cluster.read('ContainerService', 'web');
    world.cluster.put('ContainerService', { ...stored, metadata: { name: 'web' }, status: { id: 'x' } });
    await world.clock.advance(1000);
    expect(world.snapshots).toHaveLength(1);
    expect(object.cluster?.status).toEqual({ id: 'x' });
    expect(object.cluster?.resourceVersion).not.toBe(version);
    expect(world.statuses).toEqual([web]);
  });

  test('of finalizers alone makes none either, until the object goes', async () => {
    const world = await WatchedCluster.with((cluster) => putService(cluster, 'web'));
    const finalizers = ['fleetkeeper.dev/cleanup', 'example.com/other'];
    putService(world.cluster, 'web', {}, { finalizers });
    await world.clock.advance(1000);
    expect(world.snapshots).toHaveLength(1);
    expect(world.object(web).cluster?.finalizers).toEqual(finalizers);
    expect(world.statuses).toEqual([web]);
    const going = { deletionTimestamp: '2026-01-01T00:00:05Z' };
    putService(world.cluster, 'web', {}, { finalizers, ...going });
    await world.settle();
    putService(world.cluster, 'web', {}, { finalizers: ['example.com/other'], ...going });
    await world.settle();
    expect(world.snapshots).toHaveLength(3);
  });

  test('of an annotation makes another object with the same spec', async () => {
    const world = await WatchedCluster.with((cluster) => putService(cluster, 'web'));
    const { spec } = world.object(web);
    putService(world.cluster, 'web', {}, { annotations: { 'fleetkeeper.dev/paused': 'true' } });
    await world.settle();
    expect(world.object(web).annotations).toEqual({ 'fleetkeeper.dev/paused': 'true' });
    expect(world.object(web).spec).toBe(spec);
  });

  test('of what kubectl applied last is none, and the copy is kept nowhere', async () => {
    const world = await WatchedCluster.with((cluster) => putService(cluster, 'web'));
    const copy = { 'kubectl.kubernetes.io/last-applied-configuration': '{"spec":{"env":[]}}' };
    putService(world.cluster, 'web', {}, { annotations: copy });
    await world.clock.advance(1000);
    expect(world.snapshots).toHaveLength(1);
    putService(world.cluster, 'web', { httpPort: 80 }, { annotations: copy });
    await world.settle();
    expect(world.object(web).annotations).toEqual({});
  });

  test('among 5,000 objects has one of them parsed', async () => {
    const world = await WatchedCluster.with((cluster) => {
      for (let index = 0; index < 5000; index += 1) putService(cluster, `web-${index}`);
    });
    const before = world.latest;
    putService(world.cluster, 'web-77', { image: 'ghcr.io/acme/web:2' });
    await world.settle();
    const others = [...world.latest.objects].filter(([key, object]) => before.objects.get(key) !== object);
    expect(others.map(([key]) => key)).toEqual(['ContainerService/default/web-77']);
    expect(world.latest.objects.size).toBe(5000);
  });
});

describe('an object that goes', () => {
  test('stays with the time of its deletion while it has finalizers', async () => {
    const metadata = { finalizers: ['fleetkeeper.dev/cleanup'] };
    const world = await WatchedCluster.with((cluster) => putService(cluster, 'web', {}, metadata));
    putService(world.cluster, 'web', {}, { ...metadata, deletionTimestamp: '2026-01-01T00:00:05Z' });
    await world.settle();
    expect(world.object(web).cluster?.deletionRequestedAt).toBe(Date.UTC(2026, 0, 1, 0, 0, 5));
    world.cluster.drop('ContainerService', 'web');
    await world.settle();
    expect(world.latest.objects.size).toBe(0);
  });

  test('and comes back under its name is another one', async () => {
    const world = await WatchedCluster.with((cluster) => putService(cluster, 'web'));
    const before = world.object(web);
    world.cluster.drop('ContainerService', 'web');
    putService(world.cluster, 'web');
    await world.settle();
    expect(world.object(web)).not.toBe(before);
    expect(world.object(web).cluster?.uid).not.toBe(before.cluster?.uid);
  });
});

describe('an object that the schema refuses', () => {
  test('is there, is left alone, and says which field and what to do', async () => {
    const world = await WatchedCluster.with((cluster) => {
      cluster.put('ContainerService', {
        metadata: { name: 'web', deletionTimestamp: '2026-01-01T00:00:00Z' },
        spec: { ...serviceSpec(), colour: 'red', env: [fromSecret('token')] },
      });
    });
    expect(world.latest.objects.size).toBe(0);
    expect([...world.latest.unusable.keys()]).toEqual([web]);
    expect(world.latest.cluster?.get(web)?.deletionRequestedAt).toBe(Date.UTC(2026, 0, 1));
    expect(world.latest).toMatchObject({ complete: true, empty: false });
    expect(world.latest.problems.map(formatProblem)).toEqual([
      expect.stringMatching(/^containerservices\/default\/web: spec\.colour: unknown field `colour`; /),
    ]);
  });

  test('among many is told of, up to a thousand problems', async () => {
    const world = await WatchedCluster.with((cluster) => {
      for (let index = 0; index < 1200; index += 1) putService(cluster, `web-${index}`, { httpPort: 0 });
    });
    expect(world.latest.unusable.size).toBe(1200);
    expect(world.latest.problems).toHaveLength(1001);
    expect(world.latest.problems.at(-1)?.message).toBe('200 more problems');
  });

  test('makes a snapshot when it is deleted', async () => {
    const world = await WatchedCluster.with((cluster) => putService(cluster, 'web', { httpPort: 0 }));
    putService(world.cluster, 'web', { httpPort: 0 }, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    await world.settle();
    expect(world.snapshots).toHaveLength(2);
    expect(world.latest.cluster?.get(web)?.deletionRequestedAt).toBe(Date.UTC(2026, 0, 1));
  });

  test('is used as soon as it is mended', async () => {
    const world = await WatchedCluster.with((cluster) => putService(cluster, 'web', { httpPort: 0 }));
    expect(world.latest.unusable.size).toBe(1);
    putService(world.cluster, 'web', { httpPort: 80 });
    await world.settle();
    expect(world.latest.unusable.size).toBe(0);
    expect(world.object(web).document.locate(['spec', 'httpPort'])).toEqual({
      file: 'containerservices/default/web',
      line: undefined,
    });
  });
});

describe('a Kubernetes API that has fallen silent', () => {
  test('leaves the snapshot as it was, and incomplete until it is heard again', async () => {
    const world = await WatchedCluster.with((cluster) => putService(cluster, 'web'));
    world.cluster.fault = (request) =>
      request.endsWith('services') ? new KubernetesError('down', { status: 503 }) : undefined;
    await world.clock.advance(1_000_000);
    expect(world.latest.complete).toBe(false);
    expect(world.latest.objects.size).toBe(1);
    expect(world.latest.problems.map(formatProblem).join()).toContain(
      'containerservices: the Kubernetes API has been silent',
    );
    world.cluster.fault = () => undefined;
    // Every kind is listed anew within some minutes.
    await world.clock.advance(120_000);
    expect(world.latest.problems.map(formatProblem).join()).not.toContain('containerservices');
  });
});

describe('one of several namespaces', () => {
  const namespaces = ['shop', 'lab', 'empty'];
  const shop = 'ContainerService/shop/web';
  const lab = 'ContainerService/lab/web';
  const forbidden = new KubernetesError('accounts is forbidden', { status: 403 });

  function fill(cluster: WatchedCluster['cluster']): void {
    for (const namespace of ['shop', 'lab']) putService(cluster, 'web', {}, { namespace });
  }

  const listedBeside = { type: controllerRevisionType, isNeededWith: () => true };
  const inLab = (_request: string, namespace?: string): boolean => namespace === 'lab';

  function forbid({ cluster }: WatchedCluster, what = inLab): void {
    cluster.fault = (request, namespace) => (what(request, namespace) ? forbidden : undefined);
  }

  test('in which one kind can not be listed is left out and reported, and the others are shown', async () => {
    const world = new WatchedCluster();
    fill(world.cluster);
    forbid(world, (request, namespace) => request === 'list accounts' && namespace === 'lab');
    void world.start({ namespaces });
    await world.clock.advance(4000);
    expect(world.snapshots).toEqual([]);
    await world.clock.advance(2000);
    expect([...world.latest.objects.keys()]).toEqual([shop]);
    expect(world.latest).toMatchObject({ complete: true, unread: new Set(['lab']) });
    expect(world.latest.problems.map(formatProblem)).toEqual([
      expect.stringMatching(/^accounts\/lab: they could not be listed: accounts is forbidden; /),
    ]);
    expect(world.log.filter((line) => line.includes('its objects are left alone'))).toEqual([
      expect.stringMatching(/"namespace":"lab".*run-in-a-cluster.md#deleting-a-namespace/),
    ]);
  });

  test('joins when it can be read, also without any object', async () => {
    const world = new WatchedCluster();
    fill(world.cluster);
    forbid(world, (_request, namespace) => namespace !== 'shop');
    void world.start({ namespaces });
    await world.clock.advance(6000);
    expect(world.latest.unread).toEqual(new Set(['lab', 'empty']));
    forbid(world, () => false);
    await world.clock.advance(60_000);
    expect([...world.latest.objects.keys()].sort()).toEqual([lab, shop]);
    expect(world.latest).toMatchObject({ complete: true, unread: new Set(), problems: [] });
  });

  test('is waited for as long as none can be read', async () => {
    const world = new WatchedCluster();
    fill(world.cluster);
    forbid(world, () => true);
    void world.start({ namespaces });
    await world.clock.advance(300_000);
    expect(world.snapshots).toEqual([]);
  });

  test('that only answers slowly is waited for longer than one that fails', async () => {
    const world = new WatchedCluster();
    fill(world.cluster);
    const slow = Promise.withResolvers<void>();
    world.cluster.delay = (request) => (request === 'list accounts' ? slow.promise : undefined);
    void world.start({ namespaces });
    await world.clock.advance(30_000);
    expect(world.snapshots).toEqual([]);
    slow.resolve();
    await world.clock.advance(0);
    expect(world.latest.objects.size).toBe(2);
  });

  test('that falls silent keeps its last known state, and the others are complete', async () => {
    const world = await WatchedCluster.with(fill, { namespaces });
    forbid(world);
    // Every kind has been listed anew by then.
    await world.clock.advance(670_000);
    expect([...world.latest.objects.keys()].sort()).toEqual([lab, shop]);
    expect(world.latest).toMatchObject({ complete: true, unread: new Set(['lab']) });
    world.cluster.drop('ContainerService', 'web', 'shop');
    await world.settle();
    expect([...world.latest.objects.keys()]).toEqual([lab]);
  });

  test('shows nothing new while what its objects need can not be listed any more, but what is gone', async () => {
    const world = await WatchedCluster.with(fill, { namespaces, alsoListed: [listedBeside] });
    putService(world.cluster, 'old', {}, { namespace: 'lab' });
    await world.settle();
    forbid(world, (request, namespace) => request === 'list controllerrevisions' && namespace === 'lab');
    world.source?.leaveAlone('lab', 'controllerrevisions is forbidden');
    world.source?.leaveAlone('lab', 'it is asked for only once');
    putService(world.cluster, 'new', {}, { namespace: 'lab' });
    putService(world.cluster, 'new', {}, { namespace: 'shop' });
    world.cluster.drop('ContainerService', 'old', 'lab');
    await world.clock.advance(60_000);
    const shown = [lab, shop, 'ContainerService/shop/new'];
    expect([...world.latest.objects.keys()].sort()).toEqual([...shown].sort());
    expect(world.latest).toMatchObject({ complete: true, unread: new Set(['lab']) });
    const warnings = world.log.filter((line) => /a list failed|its objects are left alone/.test(line));
    expect(warnings).toEqual([
      expect.stringContaining('controllerrevisions is forbidden'),
      expect.stringMatching(/"namespace":"lab".*controllerrevisions is forbidden/),
    ]);
    forbid(world, () => false);
    await world.clock.advance(60_000);
    expect([...world.latest.objects.keys()].sort()).toEqual([...shown, 'ContainerService/lab/new'].sort());
    expect(world.latest).toMatchObject({ complete: true, unread: new Set(), problems: [] });
  });

  test('that can be listed again is shown once more, also when nothing else has changed since', async () => {
    const world = await WatchedCluster.with(fill, { namespaces, alsoListed: [listedBeside] });
    forbid(world, (request, namespace) => request.startsWith('list') && namespace === 'empty');
    world.source?.leaveAlone('empty', 'it was refused');
    await world.settle();
    // Each snapshot waits for that, although it is not shown.
    const never = new Promise<void>(() => undefined);
    world.cluster.delay = (request) => (request === 'get secrets/empty/slow' ? never : undefined);
    putService(world.cluster, 'web', { env: [fromSecret('slow')] }, { namespace: 'empty' });
    await world.clock.advance(6000);
    const before = world.snapshots.length;
    world.source?.leaveAlone('lab', 'it was refused');
    await world.clock.advance(6000);
    expect(world.snapshots).toHaveLength(before + 1);
    expect(world.latest.unread).toEqual(new Set(['empty']));
  });

  test('that can not be read is not waited for when everything is read anew', async () => {
    const world = await WatchedCluster.with(fill, { namespaces });
    forbid(world);
    let isDone = false;
    void world.source?.readAnew().then(() => (isDone = true));
    await world.clock.advance(3000);
    expect(isDone).toBe(false);
    await world.clock.advance(4000);
    expect(isDone).toBe(true);
  });
});

describe('a shard', () => {
  const accounts = Array.from({ length: 20 }, (_, index) => `account-${index}`);

  async function shards(count: number, by: 'account' | 'namespace' = 'account'): Promise<WatchedCluster[]> {
    return Promise.all(
      Array.from({ length: count }, (_, index) =>
        WatchedCluster.with(
          (cluster) => {
            for (const name of accounts) {
              cluster.put('Account', { metadata: { name }, spec: { url: 'https://api.example.com' } });
              putService(cluster, `web-${name}`, { accountRef: { name } });
              cluster.put('ProtectedTask', {
                metadata: { name: `task-${name}` },
                spec: { serviceRef: { name: `web-${name}` } },
              });
              putService(cluster, `broken-${name}`, { accountRef: { name }, httpPort: 0 });
            }
            putService(cluster, 'homeless');
            cluster.put('ProtectedTask', {
              metadata: { name: 'lost' },
              spec: { serviceRef: { name: 'nobody-has-it' } },
            });
          },
          { shard: { index, count, by } },
        ),
      ),
    );
  }

  test('has each account with everything in it, and every object is in one', async () => {
    const worlds = await shards(3);
    const keys = worlds.map(({ latest }) => Array.from((latest.cluster ?? new Map()).keys()));
    expect(keys.flat()).toHaveLength(20 * 4 + 2);
    expect(new Set(keys.flat()).size).toBe(20 * 4 + 2);
    for (const name of accounts) {
      const home = keys.find((each) => each.includes(`Account/default/${name}`));
      expect(home).toContain(`ContainerService/default/web-${name}`);
      expect(home).toContain(`ContainerService/default/broken-${name}`);
      expect(home).toContain(`ProtectedTask/default/task-${name}`);
    }
    expect(keys.filter((each) => each.length > 0).length).toBeGreaterThan(1);
  });

  test('has a task of a service that nobody knows beside what names no account', async () => {
    const worlds = await shards(3);
    const home = worlds.find(({ latest }) => latest.objects.has('ContainerService/default/homeless'));
    expect(home?.latest.objects.has('ProtectedTask/default/lost')).toBe(true);
  });

  test('by namespace has all accounts of a namespace, and a task with its service', async () => {
    const worlds = await shards(3, 'namespace');
    const sizes = worlds.map(({ latest }) => latest.cluster?.size ?? 0);
    expect(sizes.sort((left, right) => left - right)).toEqual([0, 0, 20 * 4 + 2]);
  });

  test('by namespace is the same whatever the names of accounts', async () => {
    const namespaces = Array.from({ length: 30 }, (_, index) => `team-${index}`);
    const of = (index: number) =>
      WatchedCluster.with(
        (cluster) => {
          for (const namespace of namespaces)
            for (const name of ['a', 'b']) putService(cluster, name, { accountRef: { name } }, { namespace });
        },
        { shard: { index, count: 3, by: 'namespace' } },
      );
    const worlds = await Promise.all([0, 1, 2].map(of));
    const seen = worlds.map(
      ({ latest }) => new Set([...latest.objects.values()].map((each) => each.namespace)),
    );
    expect(seen.flatMap((each) => [...each]).sort()).toEqual([...namespaces].sort());
    expect(seen.every(({ size }) => size > 0)).toBe(true);
    expect(worlds.reduce((sum, { latest }) => sum + latest.objects.size, 0)).toBe(60);
  });

  const overTwoAccounts = (cluster: WatchedCluster['cluster']) => {
    const candidates = [
      { name: 'home', region: 'standard' },
      { name: 'away', region: 'standard', accountRef: { name: 'other' } },
    ];
    const template = { metadata: {}, spec: { ...serviceSpec(), region: undefined } };
    const spec = { replicas: 2, template, placement: { candidates } };
    cluster.put('ServiceFleet', { metadata: { name: 'wide' }, spec });
  };

  test('by account uses a fleet over several accounts that are all in its part', async () => {
    const world = await WatchedCluster.with(overTwoAccounts, {
      shard: { index: 0, count: 1, by: 'account' },
    });
    expect(world.latest.objects.has('ServiceFleet/default/wide')).toBe(true);
  });

  test('by account can not use a fleet whose own account is in its part, and whose only candidate is not', async () => {
    const at = (name: string) => shardOf(`default/${name}`, 2);
    const other = ['a', 'b', 'c', 'd', 'e'].find((name) => at(name) !== at('default')) ?? '';
    const world = await WatchedCluster.with(
      (cluster) => {
        const candidates = [{ name: 'away', region: 'standard', accountRef: { name: other } }];
        const template = { metadata: {}, spec: { ...serviceSpec(), region: undefined } };
        const spec = { replicas: 2, template, placement: { candidates } };
        cluster.put('ServiceFleet', { metadata: { name: 'far' }, spec });
      },
      { shard: { index: at('default'), count: 2, by: 'account' } },
    );
    expect(world.latest.unusable.has('ServiceFleet/default/far')).toBe(true);
  });

  test('by account can not use a fleet over several accounts, whose replicas would have several managers', async () => {
    const worlds = await Promise.all(
      [0, 1].map((index) =>
        WatchedCluster.with(overTwoAccounts, { shard: { index, count: 2, by: 'account' } }),
      ),
    );
    const home = worlds.find(({ latest }) => (latest.cluster?.size ?? 0) > 0);
    expect(home?.latest.objects.size).toBe(0);
    const [problem] = home?.latest.unusable.get('ServiceFleet/default/wide') ?? [];
    expect(problem).toMatchObject({
      path: 'spec.placement.candidates',
      message: expect.stringContaining('default, other'),
      remedy: expect.stringContaining('--shard-by namespace'),
    });
  });

  test.each([
    ['by namespace', { index: shardOf('default', 2), count: 2, by: 'namespace' as const }],
    ['that has all', undefined],
  ])('%s uses such a fleet', async (_name, shard) => {
    const world = await WatchedCluster.with(overTwoAccounts, { shard });
    expect(world.latest.objects.has('ServiceFleet/default/wide')).toBe(true);
  });
});
