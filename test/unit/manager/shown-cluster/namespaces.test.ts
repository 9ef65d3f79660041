/** A page of several namespaces, of which one can't be read any more, or never could. */
import { expect, onTestFinished, test } from 'vitest';
import { sleep, systemRandom } from '../../../../src/base/index.ts';
import { KubernetesError, type KubernetesApi } from '../../../../src/kubernetes/index.ts';
import { ShownCluster } from '../../../../src/manager/index.ts';
import { ClusterSource } from '../../../../src/read-api/index.ts';
import type { ObjectKey } from '../../../../src/resources/index.ts';
import { createLogger, createMetrics } from '../../../../src/telemetry/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryCluster, serviceSpec } from '../../../support/memory-cluster.ts';

const minute = 60_000;
const keys = ['ContainerService/shop/web', 'ContainerService/lab/web'] as const;

/** Its watches end after a minute, as those of an API server. An operator is at work. */
function createWorld(namespaces: readonly string[] = ['shop', 'lab']) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster();
  for (const namespace of ['shop', 'lab']) {
    cluster.put('ContainerService', { metadata: { name: 'web', namespace }, spec: serviceSpec() });
    cluster.put('Account', { metadata: { name: 'default', namespace }, status: readLately(clock) });
  }
  const refused = new Set<string>();
  cluster.fault = (request, namespace = '') =>
    refused.has(namespace) ? new KubernetesError(`${request}: forbidden`, { status: 403 }) : undefined;
  const api: Pick<KubernetesApi, 'list' | 'watch' | 'get' | 'namespace'> = {
    namespace: 'fleetkeeper-system',
    list: cluster.list.bind(cluster),
    // oxlint-disable-next-line require-yield -- nothing changes
    async *watch({ plural }, { namespace }, signal) {
      const fault = cluster.fault(`watch ${plural}`, namespace);
      if (fault) throw fault;
      await sleep(clock, minute, signal);
    },
    get: async ({ name }) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, uid: 'lease', resourceVersion: '1' },
      spec: {
        holderIdentity: 'host_1_a',
        leaseDurationSeconds: 15,
        renewTime: new Date(clock.wallMs()).toISOString(),
      },
    }),
  };
  const shown = new ShownCluster({
    api,
    namespaces,
    shards: 1,
    shardBy: 'account',
    clock,
    random: systemRandom,
    logger: createLogger('info', { write: () => undefined }),
    metrics: createMetrics(),
  });
  const source = new ClusterSource({ cluster: shown, clock, version: '1', commandFlags: '' });
  const moved = new Set<ObjectKey>();
  source.listen((key) => moved.add(key));
  onTestFinished(async () => {
    const stopped = shown.stop();
    await clock.advance(minute);
    await stopped;
  });
  const current = () => keys.filter((key) => source.store.record(key) && source.isCurrent(key));
  return { clock, refused, shown, source, moved, current };
}

const readLately = (clock: ManualClock) => ({
  services: 1,
  moneyAt: new Date(clock.wallMs()).toISOString(),
  conditions: [],
});

test('what is lost of one namespace makes nothing of the others stale', async () => {
  const { clock, refused, shown, source, moved, current } = createWorld();
  shown.start();
  await clock.advance(6000);
  expect([source.unread, source.gaps, current()]).toEqual([undefined, [], keys]);
  moved.clear();
  refused.add('lab');
  await clock.advance(6 * minute);
  expect(current()).toEqual([keys[0]]);
  expect(source.unread).toBeUndefined();
  expect(source.gaps).toEqual([
    {
      namespace: 'lab',
      note: expect.stringMatching(/^lab can't be read now.*nothing was heard.*forbidden/) as string,
      isOfObjects: true,
    },
  ]);
  expect(source.notes).toHaveLength(1);
  expect(moved).toContain(keys[1]);
  // Nobody vouches for the status of its Account any more.
  const ages = source.accounts().map(({ name, ageMs = 0 }) => [name, ageMs > 5 * minute]);
  expect(ages).toEqual([
    ['shop/default', false],
    ['lab/default', true],
  ]);
  refused.clear();
  await clock.advance(2 * minute);
  expect([source.gaps, current()]).toEqual([[], keys]);
});

test('after a restart, the others are shown without the one that can not be read, and it joins', async () => {
  const { clock, refused, shown, source, current } = createWorld();
  refused.add('lab');
  shown.start();
  await clock.advance(6000);
  expect([source.unread, current()]).toEqual([undefined, [keys[0]]]);
  expect(source.gaps.map(({ namespace, isOfObjects }) => [namespace, isOfObjects])).toEqual([['lab', true]]);
  expect([...shown.namespaces].toSorted()).toEqual(['lab', 'shop']);
  refused.clear();
  await clock.advance(minute);
  expect([source.gaps, current()]).toEqual([[], keys]);
});

test('while none of them can be read, there is no answer', async () => {
  const { clock, refused, shown, source } = createWorld();
  refused.add('lab').add('shop');
  shown.start();
  await clock.advance(6000);
  expect(source.unread).toContain('forbidden');
  refused.delete('shop');
  await clock.advance(minute);
  expect(source.unread).toBeUndefined();
});

test('the only namespace is waited for, and its silence has a note', async () => {
  const { clock, refused, shown, source, current } = createWorld(['shop']);
  refused.add('shop');
  shown.start();
  await clock.advance(6000);
  expect(source.unread).toContain('forbidden');
  refused.clear();
  await clock.advance(minute);
  expect([source.unread, current()]).toEqual([undefined, [keys[0]]]);
  refused.add('shop');
  await clock.advance(6 * minute);
  expect([source.gaps, current()]).toEqual([[], []]);
  expect(source.notes).toContainEqual(expect.stringMatching(/^ContainerService may be out of date/));
});
