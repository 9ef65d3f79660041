/** Objects so large that a few hundred would fill the memory that all namespaces share: they are not kept whole, and can be deleted. */
import { expect, test } from 'vitest';
import { formatProblem } from '../../../../src/desired/index.ts';
import { WatchedCluster, putService } from '../watched-cluster.ts';

const key = 'ContainerService/default/web';
const large = Array.from({ length: 3 }, () => 'x'.repeat(100 * 1024));
const deletion = { deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: ['fleetkeeper.dev/cleanup'] };
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

function kept({ latest }: WatchedCluster): string {
  const facts = latest.cluster?.get(key) as { readonly object?: unknown } | undefined;
  return JSON.stringify(facts?.object);
}

function problems({ latest }: WatchedCluster): string[] {
  return (latest.unusable.get(key) ?? []).map(formatProblem);
}

test('one is unusable with its bound, keeps its account, and is used again when it is smaller', async () => {
  const world = await WatchedCluster.with((cluster) =>
    putService(cluster, 'web', { command: large, accountRef: { name: 'main' } }),
  );
  expect(problems(world)).toEqual([expect.stringMatching(/web: spec: is too large: .* more than 256 KiB/)]);
  expect(kept(world).length).toBeLessThan(4096);
  expect(kept(world)).toContain('"accountRef":{"name":"main"}');
  putService(world.cluster, 'web', { command: ['serve'] });
  await world.settle();
  expect(world.object(key).spec).toMatchObject({ command: ['serve'] });
});

test('labels and annotations count, and the copy of kubectl does not', async () => {
  const labels = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, at) => [`label-${at}`, 'x'.repeat(40)]),
  );
  const world = await WatchedCluster.with((cluster) => putService(cluster, 'web', {}, { labels }));
  expect(problems(world)).toHaveLength(1);
  expect(kept(world).length).toBeLessThan(4096);
  putService(world.cluster, 'web', {}, { annotations: { [lastApplied]: 'x'.repeat(250 * 1024) } });
  await world.settle();
  expect(problems(world)).toEqual([]);
  expect(kept(world).length).toBeLessThan(4096);
});

test('one that is being deleted is read without what a deletion has no use for', async () => {
  const world = await WatchedCluster.with((cluster) =>
    putService(cluster, 'web', { command: large, deletionPolicy: 'Retain' }),
  );
  putService(world.cluster, 'web', { command: large, deletionPolicy: 'Retain' }, deletion);
  await world.settle();
  expect(problems(world)).toEqual([]);
  expect(world.object(key)).toMatchObject({ spec: { deletionPolicy: 'Retain' } });
  expect(world.object(key).spec).not.toHaveProperty('command');
});

test('nor does a text that the schema refuses since an upgrade keep one from being deleted', async () => {
  const env = [{ name: 'A', value: 'x'.repeat(200 * 1024) }];
  const world = await WatchedCluster.with((cluster) => putService(cluster, 'web', { env }));
  expect(problems(world)).toEqual([expect.stringMatching(/spec\.env\[0\]\.value/)]);
  putService(world.cluster, 'web', { env }, deletion);
  await world.settle();
  expect(world.object(key).spec).not.toHaveProperty('env');
});

test('one with too many finalizers waits until some are removed: of theirs, none may be lost', async () => {
  const finalizers = Array.from({ length: 1000 }, (_, at) => `example.com/finalizer-${at}`);
  const world = await WatchedCluster.with((cluster) =>
    putService(cluster, 'web', {}, { ...deletion, finalizers }),
  );
  expect(problems(world)).toEqual([expect.stringMatching(/metadata\.finalizers: is too large/)]);
  expect(kept(world).length).toBeLessThan(4096);
  putService(world.cluster, 'web', {}, deletion);
  await world.settle();
  expect(world.object(key).cluster?.finalizers).toEqual(deletion.finalizers);
});
