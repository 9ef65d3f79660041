import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../../../src/base/index.ts';
import { ClusterData } from '../../../../src/desired/cluster/cluster-data.ts';
import { formatProblem, type DataId, type DesiredObject } from '../../../../src/desired/index.ts';
import { resolveEnvironment } from '../../../../src/kinds/container-service/environment-values.ts';
import { KubernetesError } from '../../../../src/kubernetes/index.ts';
import { createLogger } from '../../../../src/telemetry/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { base64, type MemoryCluster } from '../../../support/memory-cluster.ts';
import { WatchedCluster, fromSecret, putService } from '../watched-cluster.ts';

const token = 'secrets/default/token';

function putSecret(cluster: MemoryCluster, name: string, value: string, more: object = {}): void {
  cluster.put('Secret', { metadata: { name }, data: { key: base64(value), ...more } });
}

function putUser(cluster: MemoryCluster, name = 'web', metadata: object = {}): void {
  putService(cluster, name, { env: [fromSecret('token')] }, metadata);
}

async function withToken(value = 'one'): Promise<WatchedCluster> {
  return WatchedCluster.with((cluster) => {
    putSecret(cluster, 'token', value);
    putUser(cluster);
  });
}

function valueOf({ latest }: WatchedCluster, name = 'token'): string | undefined {
  return latest.secrets.get(`default/${name}`)?.get('key')?.reveal();
}

const forbidden = (request: string) =>
  request === `get ${token}` ? new KubernetesError('secrets is forbidden', { status: 403 }) : undefined;

describe('Secrets and ConfigMaps', () => {
  test('are there in the first snapshot, and only those that objects refer to are read', async () => {
    const world = await WatchedCluster.with((cluster) => {
      for (const name of ['token', 'login', 'key', 'nobodys']) putSecret(cluster, name, `of ${name}`);
      cluster.put('ConfigMap', { metadata: { name: 'settings' }, data: { mode: 'fast' } });
      const credentialsSecretRef = { name: 'key', key: 'key' };
      cluster.put('Account', {
        metadata: { name: 'main' },
        spec: { url: 'https://api.example.com', credentialsSecretRef },
      });
      cluster.put('ImageRegistry', {
        metadata: { name: 'images' },
        spec: { repository: 'ghcr.io/acme/web', credentialsSecretRef: { name: 'login', passwordKey: 'key' } },
      });
      const mode = { name: 'MODE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } };
      putService(cluster, 'web', { env: [fromSecret('token'), mode] });
    });
    expect([...world.cluster.gets].sort()).toEqual([
      'configmaps/default/settings',
      'secrets/default/key',
      'secrets/default/login',
      token,
    ]);
    expect(valueOf(world)).toBe('of token');
    const web = world.object('ContainerService/default/web') as DesiredObject<'ContainerService'>;
    const resolved = resolveEnvironment(web, world.latest);
    expect(resolved.ok && resolved.environment?.reveal()).toEqual({ TOKEN: 'of token', MODE: 'fast' });
    expect(
      JSON.stringify(Array.from(world.latest.secrets.values(), (each) => Array.from(each))),
    ).not.toContain('of ');
  });

  test('keep nothing but the keys that are referred to', async () => {
    const world = await WatchedCluster.with((cluster) => {
      putSecret(cluster, 'token', 'one', { keystore: '/w==', other: base64('two') });
      putUser(cluster);
    });
    expect([...(world.latest.secrets.get('default/token')?.keys() ?? [])]).toEqual(['key']);
    expect(world.latest.problems).toEqual([]);
  });

  test('that are no text say so', async () => {
    const world = await WatchedCluster.with((cluster) => {
      cluster.put('Secret', { metadata: { name: 'token' }, data: { key: '/w==' } });
      putUser(cluster);
    });
    expect(world.latest.problems.map(formatProblem)).toEqual([
      'secrets/default/token: data.key: is not text (UTF-8), so no variable can take it; correct the base64, or remove it',
    ]);
  });

  test('are read before an object that refers to them shows', async () => {
    const world = await WatchedCluster.with((cluster) => putSecret(cluster, 'token', 'one'));
    const answer = Promise.withResolvers<void>();
    world.cluster.delay = () => answer.promise;
    putUser(world.cluster);
    await world.clock.advance(1000);
    expect(world.snapshots).toHaveLength(1);
    answer.resolve();
    await world.settle();
    expect(world.latest.objects.size).toBe(1);
    expect(valueOf(world)).toBe('one');
  });

  test('that are slow to come hold nothing up for ever, and are told of', async () => {
    const world = new WatchedCluster();
    putUser(world.cluster);
    const answer = Promise.withResolvers<void>();
    world.cluster.delay = (request) => (request.startsWith('get ') ? answer.promise : undefined);
    void world.start();
    await world.clock.advance(29_000);
    expect(world.snapshots).toEqual([]);
    await world.clock.advance(1000);
    expect(world.latest.objects.size).toBe(1);
    expect(world.latest.problems.map(formatProblem)).toEqual([
      'secrets/default/token: has not been read yet; wait for the API server',
    ]);
    const web = world.object('ContainerService/default/web') as DesiredObject<'ContainerService'>;
    expect(resolveEnvironment(web, world.latest)).toMatchObject({
      ok: false,
      message: 'the Secret token in the namespace default has not been read yet',
    });
    expect(world.latest.secrets.get('default/token')?.fault?.isUnread).toBe(true);
    putSecret(world.cluster, 'token', 'one');
    answer.resolve();
    await world.settle();
    expect(world.latest.problems).toEqual([]);
    expect(valueOf(world)).toBe('one');
  });
});

describe('a value that changes', () => {
  test('is noticed within a minute', async () => {
    const world = await withToken();
    putSecret(world.cluster, 'token', 'two');
    await world.clock.advance(60_100);
    expect(valueOf(world)).toBe('two');
  });

  test('is noticed at once when an object that refers to it is edited or asks for a look', async () => {
    const world = await withToken();
    putSecret(world.cluster, 'token', 'two');
    putUser(world.cluster, 'web', { annotations: { 'fleetkeeper.dev/reconcile-at': 'now' } });
    await world.settle();
    expect(valueOf(world)).toBe('two');
    putSecret(world.cluster, 'token', 'three');
    putService(world.cluster, 'web', { env: [fromSecret('token')], httpPort: 80 });
    await world.settle();
    expect(valueOf(world)).toBe('three');
  });

  test('is not looked for because of a label', async () => {
    const world = await withToken();
    putUser(world.cluster, 'web', { labels: { team: 'a' } });
    await world.settle();
    expect(world.snapshots).toHaveLength(2);
    expect(world.cluster.gets).toEqual([token]);
  });

  test('and one that does not: it stays the same one, and makes no snapshot', async () => {
    const world = await withToken();
    await world.clock.advance(200_000);
    expect(world.cluster.gets.length).toBeGreaterThan(2);
    expect(world.snapshots).toHaveLength(1);
  });

  test('is looked for no more when nobody refers to it', async () => {
    const world = await withToken();
    putService(world.cluster, 'web');
    await world.settle();
    expect(world.latest.secrets.size).toBe(0);
    const { length } = world.cluster.gets;
    await world.clock.advance(300_000);
    expect(world.cluster.gets).toHaveLength(length);
  });
});

describe('reads', () => {
  async function withMany(count: number): Promise<WatchedCluster> {
    return WatchedCluster.with((cluster) => {
      for (let index = 0; index < count; index += 1) {
        putSecret(cluster, `token-${index}`, 'one');
        putService(cluster, `web-${index}`, { env: [fromSecret(`token-${index}`)] });
      }
    });
  }

  test('are at most four at once, also at the start', async () => {
    const world = await withMany(100);
    expect(world.latest.secrets.size).toBe(100);
    expect(world.cluster.busiest).toBe(4);
  });

  test('of a hundred Secrets are spread over the quarter of a minute in which each is read', async () => {
    const world = await withMany(100);
    const perSecond: number[] = [];
    for (let slot = 0; slot < 60; slot += 1) {
      const { length } = world.cluster.gets;
      await world.clock.advance(1000);
      perSecond.push(world.cluster.gets.length - length);
    }
    expect(Math.max(...perSecond)).toBeLessThanOrEqual(10);
    expect(new Set(world.cluster.gets.slice(100)).size).toBe(100);
  });

  test('of very many are ten a second', async () => {
    const world = await withMany(1000);
    await world.clock.advance(100_000);
    const { length } = world.cluster.gets;
    await world.clock.advance(100_000);
    expect(world.cluster.gets.length - length).toBeLessThanOrEqual(1000);
    expect(world.cluster.gets.length - length).toBeGreaterThan(900);
  });
});

describe('a namespace whose objects refer to very many', () => {
  /** A thousand that are not there, and two of another namespace. */
  function fill(cluster: MemoryCluster): void {
    const env = Array.from({ length: 1000 }, (_, index) => ({
      name: `V${index}`,
      valueFrom: { configMapKeyRef: { name: `none-${index}`, key: 'key', optional: true } },
    }));
    putService(cluster, 'big', { env }, { namespace: 'loud' });
    for (const name of ['token', 'key'])
      cluster.put('Secret', { metadata: { name, namespace: 'quiet' }, data: { key: base64('one') } });
    putService(cluster, 'web', { env: [fromSecret('token')] }, { namespace: 'quiet' });
    cluster.put('Account', {
      metadata: { name: 'main', namespace: 'quiet' },
      spec: { url: 'https://api.example.com', credentialsSecretRef: { name: 'key', key: 'key' } },
    });
  }
  const shown = ({ latest }: WatchedCluster) => latest.secrets.get('quiet/token')?.get('key')?.reveal();

  test('has its turns as others have, and keys of Accounts come first', async () => {
    const world = await WatchedCluster.with(fill);
    expect(world.cluster.gets[0]).toBe('secrets/quiet/key');
    expect(world.cluster.gets.slice(0, 3)).toContain('secrets/quiet/token');
    expect(world.cluster.gets).toHaveLength(1002);
  });

  test('leaves the period of others as it is', async () => {
    const world = await WatchedCluster.with(fill);
    for (let index = 0; index < 1000; index += 1) {
      const metadata = { name: `none-${index}`, namespace: 'loud' };
      world.cluster.put('ConfigMap', { metadata, data: { key: 'x' } });
    }
    await world.clock.advance(60_000);
    const { length } = world.cluster.gets;
    world.cluster.put('Secret', {
      metadata: { name: 'token', namespace: 'quiet' },
      data: { key: base64('two') },
    });
    await world.clock.advance(15_500);
    expect(shown(world)).toBe('two');
    expect(world.cluster.gets.length - length).toBeLessThanOrEqual(160);
  });

  test('holds up no snapshot with changes of others', async () => {
    const world = await WatchedCluster.with(fill);
    const never = Promise.withResolvers<void>();
    world.cluster.delay = (request) => (request.includes('/loud/') ? never.promise : undefined);
    putService(world.cluster, 'big', { env: [fromSecret('slow')] }, { namespace: 'loud' });
    await world.clock.advance(5050);
    putService(world.cluster, 'web', { env: [fromSecret('token')], httpPort: 80 }, { namespace: 'quiet' });
    await world.settle();
    expect(world.object('ContainerService/quiet/web').spec).toMatchObject({ httpPort: 80 });
    never.resolve();
  });
});

describe('a Secret that is not there', () => {
  test('is absent, and found soon after it is made', async () => {
    const world = await WatchedCluster.with((cluster) => putUser(cluster));
    expect(world.latest).toMatchObject({ complete: true, problems: [] });
    expect(valueOf(world)).toBeUndefined();
    putSecret(world.cluster, 'token', 'one');
    await world.clock.advance(2100);
    expect(valueOf(world)).toBe('one');
  });

  test('any more is absent, too', async () => {
    const world = await withToken();
    world.cluster.drop('Secret', 'token');
    await world.clock.advance(60_100);
    expect(valueOf(world)).toBeUndefined();
    expect(world.latest.secrets.size).toBe(0);
  });

  test('any more is kept for an object that is being deleted, until that is gone', async () => {
    const world = await withToken();
    const going = { finalizers: ['fleetkeeper.dev/cleanup'], deletionTimestamp: '2026-01-01T00:00:00Z' };
    world.cluster.drop('Secret', 'token');
    putUser(world.cluster, 'web', going);
    await world.settle();
    expect(valueOf(world)).toBe('one');
    expect(world.log.join('')).toContain('"data":"Secret/default/token"');
    expect(world.log.filter((line) => line.includes('data gone before its users'))).toHaveLength(1);
    await world.clock.advance(300_000);
    expect(valueOf(world)).toBe('one');
    world.cluster.drop('ContainerService', 'web');
    await world.settle();
    expect(world.latest.secrets.size).toBe(0);
  });

  test('any more comes back when the object that refers to it is deleted later', async () => {
    const world = await withToken();
    world.cluster.drop('Secret', 'token');
    await world.clock.advance(60_100);
    expect(valueOf(world)).toBeUndefined();
    putUser(world.cluster, 'web', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    await world.settle();
    expect(valueOf(world)).toBe('one');
  });
});

describe('a Secret that cannot be read', () => {
  test('keeps its last value, and a problem says what to do', async () => {
    const world = await withToken();
    world.cluster.fault = forbidden;
    await world.clock.advance(60_100);
    expect(valueOf(world)).toBe('one');
    expect(world.latest.problems.map(formatProblem)).toEqual([
      "secrets/default/token: can't be read: secrets is forbidden; check that fleetkeeper may `get` secrets in the namespace default",
    ]);
    world.cluster.fault = () => undefined;
    await world.clock.advance(60_100);
    expect(world.latest.problems).toEqual([]);
  });

  test('does not hold up the first snapshot', async () => {
    const world = new WatchedCluster();
    putUser(world.cluster);
    world.cluster.fault = forbidden;
    void world.start();
    await world.clock.advance(100);
    expect(world.latest.problems).toHaveLength(1);
    expect(world.latest.objects.size).toBe(1);
  });
});

/** Of a heap without garbage. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

test('those that are missing take little memory, because anybody may refer to as many as they like', async () => {
  const count = 10_000;
  const data = new ClusterData({
    api: { get: async () => undefined },
    clock: new ManualClock(),
    random: systemRandom,
    logger: createLogger('silent'),
    onChange: () => undefined,
  });
  const refer = (at: number) => {
    const name = `missing-${at}`;
    const referred = { kind: 'Secret', namespace: 'team', name, keys: new Set(['key']) } as const;
    const id: DataId = `Secret/team/${name}`;
    return [id, { ...referred, deleting: false, edited: false, isKey: false }] as const;
  };
  const referred = new Map(Array.from({ length: count }, (_, at) => refer(at)));
  const before = heapBytes();
  data.refer(referred);
  await data.answered(1000);
  expect((heapBytes() - before) / count).toBeLessThan(600);
  expect(data.problems()).toEqual([]);
  data.stop();
});
