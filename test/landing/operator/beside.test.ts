/** What people see of a running operator, and do beside it. */
import { expect, test } from 'vitest';
import { service, type Json } from '../../support/processes/fleet.ts';
import {
  annotate,
  createWorld,
  eventsOf,
  jobs,
  mutations,
  objectOf,
  type World,
} from '../../support/processes/operator.ts';
import { eventually, fleetkeeper } from '../../support/processes/processes.ts';
import { resourceTypes } from '../../../src/resources/index.ts';

async function runningWorld(): Promise<World> {
  const world = await createWorld();
  await world.fleet.write('web.yaml', [service('web')]);
  world.fleet.run('--log-level', 'warn');
  await world.fleet.untilReady(1);
  return world;
}

function untilEvent({ fleet }: World, start: string): Promise<string> {
  return eventually(`the Event ${start}`, async () =>
    (await eventsOf(fleet, 'ContainerService/web')).find((text) => text.startsWith(start)),
  );
}

test('a mutation, a drift and a hold are told as Events of the object, once each', async () => {
  const world = await runningWorld();
  const { fleet, plane } = world;
  const { id, revision } = await plane.service('web');
  await untilEvent(world, `Created: create-service ${id}`);
  await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: 'ghcr.io/acme/app:9' } });
  await untilEvent(world, 'Drifted: ');
  await untilEvent(world, `Patched: patch-service ${id}`);
  await fleet.write('web.yaml', [
    service('web', { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'no', key: 'k' } } }] }),
  ]);
  const held = await untilEvent(world, 'InvalidReference: ');
  expect(held).toContain('no');
  await annotate(fleet, 'ContainerService/web', { 'fleetkeeper.dev/reconcile-at': 'now' });
  await eventually('another pass', async () => {
    const record = (await fleet.records()).get('ContainerService/web');
    return record?.status?.lastHandledReconcileAt === 'now';
  });
  const reasons = (await eventsOf(fleet, 'ContainerService/web')).map((text) => text.split(':')[0]);
  expect(reasons).toHaveLength(4);
  expect(new Set(reasons)).toEqual(new Set(['Created', 'Drifted', 'InvalidReference', 'Patched']));
});

test('a status that a person wipes is written again, and nothing is made twice', async () => {
  const { fleet, plane } = await runningWorld();
  const before = await mutations(plane);
  const { id } = await plane.service('web');
  const { api } = fleet.cluster;
  const target = { type: resourceTypes.ContainerService, namespace: fleet.namespace, name: 'web' };
  const wiped = Object.keys((await objectOf(fleet, 'ContainerService/web'))?.status ?? {});
  const body = { status: Object.fromEntries(wiped.map((name) => [name, null])) };
  await api.patch(target, { kind: 'merge', body, subresource: 'status' });
  await fleet.untilReady(1);
  expect((await fleet.records()).get('ContainerService/web')?.externalId).toBe(id);
  expect(await mutations(plane)).toEqual(before);
});

test('plan and status look beside a running operator, and change nothing', async () => {
  const { fleet, plane } = await runningWorld();
  await fleet.write('more.yaml', [service('idle', {}, { 'fleetkeeper.dev/paused': 'true' })]);
  await fleet.until('ContainerService/idle', 'Stalled', 'True', 'Paused');
  const before = (await objectOf(fleet, 'ContainerService/idle'))?.metadata.resourceVersion;
  expect((await fleet.plan()).plan.held).toMatchObject([{ name: 'idle', reason: 'Paused' }]);
  const { code, stdout } = await fleetkeeper(['status', ...fleet.flags, '--output', 'json']);
  expect(code).toBe(0);
  const reported = JSON.parse(stdout).items.map(({ kind, metadata }: Json) => `${kind}/${metadata.name}`);
  expect(reported).toEqual(['Account/default', 'ContainerService/idle', 'ContainerService/web']);
  expect((await objectOf(fleet, 'ContainerService/idle'))?.metadata.resourceVersion).toBe(before);
  expect(await mutations(plane)).toHaveLength(1);
});

test('a Job that protects a service holds back its restarts until it is over', async () => {
  const { fleet, plane } = await runningWorld();
  const { api } = fleet.cluster;
  const container = { name: 'main', image: 'busybox' };
  // Where a controller of Jobs runs, it is not to run this one: the test says how it goes.
  const managedBy = 'fleetkeeper.dev/tests';
  const spec = { managedBy, template: { spec: { containers: [container], restartPolicy: 'Never' } } };
  const metadata = {
    name: 'evaluation',
    namespace: fleet.namespace,
    annotations: { 'fleetkeeper.dev/protects': 'web' },
  };
  await api.create(jobs, { apiVersion: 'batch/v1', kind: 'Job', metadata, spec });
  await fleet.until('ProtectedTask/job-evaluation', 'Ready', 'True', 'Held');
  await fleet.write('web.yaml', [service('web', { restartToken: '2' })]);
  const waiting = await fleet.until('ContainerService/web', 'Protected', 'True');
  expect(waiting.message).toContain('job-evaluation');
  const restarts = async () => (await mutations(plane)).filter(({ path }) => path.endsWith('/actions'));
  expect(await restarts()).toEqual([]);
  const now = new Date().toISOString();
  const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: now,
  }));
  const status = { startTime: now, completionTime: now, succeeded: 1, conditions };
  const target = { type: jobs, namespace: fleet.namespace, name: 'evaluation' };
  await api.patch(target, { kind: 'merge', body: { status }, subresource: 'status' });
  await eventually('the restart', async () => (await restarts()).length === 1);
});
