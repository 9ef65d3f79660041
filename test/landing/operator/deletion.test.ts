/** What becomes of things at the provider when objects, their Account, their Secret or their namespace go. */
import { expect, test } from 'vitest';
import { cleanupFinalizer, resourceTypes } from '../../../src/resources/index.ts';
import { account, service, task, volume, type Json } from '../../support/processes/fleet.ts';
import {
  conditionOf,
  createNamespace,
  createWorld,
  logOf,
  mutations,
  namesAt,
  namespaces,
  objectOf,
  remove,
  replica,
  secrets,
  type World,
} from '../../support/processes/operator.ts';
import { eventually } from '../../support/processes/processes.ts';

/** A running fleet of one service with a volume beside it. */
async function runningWorld(): Promise<World & { readonly program: ReturnType<typeof replica> }> {
  const world = await createWorld();
  await world.fleet.write('fleet.yaml', [service('web'), volume('data')]);
  const program = world.fleet.run();
  await world.fleet.untilReady(2);
  return { ...world, program };
}

/** A bare API server has no controller that ends namespaces. */
async function endsNamespaces({ fleet: { cluster } }: World): Promise<boolean> {
  if (cluster.server) return true;
  const target = { type: namespaces, namespace: undefined, name: `${cluster.api.namespace}-probe` };
  await cluster.api.create(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: target.name },
  });
  await cluster.api.remove(target);
  const gone = async () => (await cluster.api.get(target)) === undefined;
  return eventually('its end', gone, 15_000).catch(() => false);
}

test('a namespace that is deleted takes its services at the provider along, leaves its volumes, and goes', async ({
  skip,
}) => {
  const world = await createWorld();
  if (!(await endsNamespaces(world))) skip('nothing ends namespaces in this cluster');
  const { plane, fleet } = world;
  const { api, server } = fleet.cluster;
  // On a real server, the namespaces of documents are those of the test.
  const shop = server ? 'shop' : `${api.namespace}-shop`;
  await createNamespace(fleet, shop);
  const within = (documents: readonly object[]) =>
    documents.map((document: Json) => ({
      ...document,
      metadata: { ...document.metadata, namespace: 'shop' },
    }));
  await fleet.write('shop.yaml', [
    ...within(account(plane.url)),
    ...within([service('web'), service('worker'), volume('data')]),
    ...within([volume('scratch', { deletionPolicy: 'Delete' })]),
  ]);
  replica(fleet, ['--watch-namespaces', shop, '--log-level', 'warn']);
  await eventually('all of them Ready', async () => {
    const objects = await Promise.all(
      ['ContainerService/web', 'ContainerService/worker', 'StorageVolume/data', 'StorageVolume/scratch'].map(
        (name) => objectOf(fleet, name, shop),
      ),
    );
    return objects.every((object) => conditionOf(object, 'Ready')?.status === 'True');
  });
  await api.remove({ type: namespaces, namespace: undefined, name: shop });
  await eventually(
    'the end of the namespace',
    async () => !(await api.get({ type: namespaces, namespace: undefined, name: shop })),
  );
  const { services, volumes } = await plane.account();
  expect([services, volumes.length]).toEqual([[], 1]);
  expect(volumes[0].name).toMatch(/^data/);
});

test('an Account that is deleted before its services waits for them, says so, and goes last', async () => {
  const { plane, fleet } = await runningWorld();
  await remove(fleet, 'Account/default');
  const waiting = await fleet.until('Account/default', 'Stalled', 'True', 'InUse');
  expect(waiting.message).toContain('2 objects still manage something in this account');
  expect(waiting.message).toContain('delete them, or set `deletionPolicy: Retain`');
  expect(await namesAt(plane)).toHaveLength(2);
  await remove(fleet, 'ContainerService/web');
  await remove(fleet, 'StorageVolume/data');
  await eventually('no object', async () => (await fleet.records()).size === 0);
  expect((await plane.account()).services).toEqual([]);
});

test('without its Secret a deletion says what is missing, and Retain lets the object go', async () => {
  const { plane, fleet, program } = await runningWorld();
  const { api } = fleet.cluster;
  await program.kill('SIGTERM');
  await api.remove({ type: secrets, namespace: fleet.namespace, name: 'compute' });
  await remove(fleet, 'ContainerService/web');
  await remove(fleet, 'Account/default');
  fleet.run();
  const stuck = await fleet.until('ContainerService/web', 'Ready', 'Unknown', 'CredentialMissing');
  expect(stuck.message).toBe(
    `there is no API key for the account ${fleet.namespace}/default: there is no Secret compute in the namespace ${fleet.namespace}, which must contain it under \`apiKey\`; ` +
      `create it: \`kubectl create secret generic compute --namespace ${fleet.namespace} --from-file=apiKey=KEYFILE\`; ` +
      'to delete the object without it, set `deletionPolicy: Retain`',
  );
  const target = { type: resourceTypes.ContainerService, namespace: fleet.namespace, name: 'web' };
  await api.patch(target, { kind: 'merge', body: { spec: { deletionPolicy: 'Retain' } } });
  await eventually('the object gone', async () => !(await objectOf(fleet, 'ContainerService/web')));
  await remove(fleet, 'StorageVolume/data');
  await eventually('the Account gone', async () => !(await objectOf(fleet, 'Account/default')));
  expect(await namesAt(plane)).toHaveLength(2);
});

test('an object whose finalizer was taken off goes, and what it stood for stays as it is, told by its id', async () => {
  const { plane, fleet, program } = await runningWorld();
  const { id } = await plane.service('web');
  const before = await mutations(plane);
  const { api } = fleet.cluster;
  const target = { type: resourceTypes.ContainerService, namespace: fleet.namespace, name: 'web' };
  await api.patch(target, { kind: 'merge', body: { metadata: { finalizers: [] } } });
  await api.remove(target);
  await eventually('a word in the log', async () =>
    logOf(program).some((line) => line.object?.endsWith('/web') && line.id === id),
  );
  expect(await objectOf(fleet, 'ContainerService/web')).toBeUndefined();
  expect(await mutations(plane)).toEqual(before);
});

test('a task whose finalizer was taken off is not beaten for any more', async () => {
  const { fleet } = await createWorld();
  const type = resourceTypes.ProtectedTask;
  await fleet.write('fleet.yaml', [service('web'), task('epoch')]);
  const program = replica(fleet, ['--log-level', 'silent', '--listen', '127.0.0.1:0']);
  const [, url = ''] = await program.line(/^listening on (.*)$/);
  await fleet.untilReady(2);
  const held = async () =>
    /^fleetkeeper_activity_leases\{.*phase="held".*\} 1$/m.test(await (await fetch(`${url}/metrics`)).text());
  expect(await held()).toBe(true);
  const target = { type, namespace: fleet.namespace, name: 'epoch' };
  await fleet.cluster.api.patch(target, { kind: 'merge', body: { metadata: { finalizers: [] } } });
  await fleet.cluster.api.remove(target);
  await eventually('the end of the heartbeats', async () => !(await held()));
});

test('an object that was copied, status and all, takes nothing over from the one it was copied of', async () => {
  const { plane, fleet } = await runningWorld();
  const { api } = fleet.cluster;
  const original = await objectOf(fleet, 'ContainerService/web');
  const { id } = await plane.service('web');
  await fleet.write('copy.yaml', [
    service('copy', { serviceName: 'copy' }, { 'fleetkeeper.dev/paused': 'true' }),
  ]);
  const target = { type: resourceTypes.ContainerService, namespace: fleet.namespace, name: 'copy' };
  const metadata = { finalizers: [cleanupFinalizer] };
  await api.patch(target, { kind: 'merge', body: { metadata } });
  await api.patch(target, { kind: 'merge', body: { status: original?.status }, subresource: 'status' });
  await api.patch(target, { kind: 'merge', body: { metadata: { annotations: null } } });
  const made = await eventually('a service of its own', () => plane.service('copy'));
  expect(made.id).not.toBe(id);
  await fleet.untilReady(3);
  expect((await fleet.records()).get('ContainerService/copy')?.externalId).toBe(made.id);
  await remove(fleet, 'ContainerService/copy');
  await eventually('the copy gone', async () => !(await objectOf(fleet, 'ContainerService/copy')));
  expect((await plane.account()).services.map((each: Json) => each.id)).toEqual([id]);
});
