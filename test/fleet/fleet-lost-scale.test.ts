/** A number that the command `scale` gave is lost with the state file. What becomes of the replicas that the document does not ask for. */
import { rm } from 'node:fs/promises';
import { expect } from 'vitest';
import { apiVersion, resourceTypes } from '../../src/resources/index.ts';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  type Fleet,
  type Json,
  testInCluster,
  testInFolder,
} from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

const fleetOf = (spec: object) => ({
  apiVersion,
  kind: 'ServiceFleet',
  metadata: { name: 'llm' },
  spec: {
    template: {
      spec: {
        region: 'standard',
        image: 'ghcr.io/acme/llm:1',
        resources: { cpu: 1, memoryGb: 1 },
        httpPort: 8000,
      },
    },
    update: { minReadySeconds: 0 },
    scaleIn: { maxPerMinute: 1000 },
    drain: { graceSeconds: 0 },
    ...spec,
  },
});

/** Two replicas by the document, or one if `spec` gives no number, and four by a command. */
async function scaled(spec: object) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [fleetOf(spec)]);
  expect((await fleet.apply()).code).toBe(0);
  expect((await order(fleet, 'scale', 'llm', '--replicas', '4', '--for', '2h')).code).toBe(0);
  expect((await fleet.apply()).code).toBe(0);
  expect(await names(plane)).toEqual(four);
  await rm(folderOf(fleet).state);
  await plane.forgetRequests();
  return { plane, fleet };
}

const four = ['llm-0', 'llm-1', 'llm-2', 'llm-3'];
const order = (fleet: Fleet, ...args: string[]) =>
  fleetkeeper([...args, '-n', fleet.namespace, ...fleet.flags]);
const names = async (plane: ControlPlane) =>
  (await plane.call('GET', '/api/account')).services.map(({ name }: Json) => name).sort();
function clusterOf(fleet: Fleet) {
  if (fleet instanceof ClusterFleet) return fleet.cluster;
  throw new Error('this test needs a cluster');
}

const statusOf = async (fleet: Fleet): Promise<Json> =>
  (await fleet.records()).get('ServiceFleet/llm')?.status;

testInFolder(
  'after a lost state, replicas beyond the document stay until the owner is confirmed',
  async () => {
    const { plane, fleet } = await scaled({ replicas: 2 });
    fleet.run();
    const held = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'OwnershipUnproven');
    expect(held.message).toContain('4 replicas were found, and 2 are wanted: replicas 3, 2 would be removed');
    expect(held.message).toContain('a number that `scale` gave was lost with the state');
    expect(held.message).toContain('--owner fleet');
    const { endpoints, replicas, drainingReplicas } = await statusOf(fleet);
    expect([endpoints.length, replicas, drainingReplicas]).toEqual([4, 4, 0]);
    // The number is given again, and nothing was interrupted.
    expect((await order(fleet, 'scale', 'llm', '--replicas', '4', '--for', '2h')).code).toBe(0);
    await fleet.until('ServiceFleet/llm', 'Ready', 'True', 'AllAvailable');
    await fleet.until('ServiceFleet/llm', 'Stalled', 'False');
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
    expect(await names(plane)).toEqual(four);
  },
);

testInFolder('a plan after a lost state shows what a confirmed owner removes, and why', async () => {
  const { plane, fleet } = await scaled({ replicas: 2 });
  const { plan } = await fleet.plan('--owner', 'fleet');
  expect(plan.changes).toMatchObject([
    { action: 'scale', differences: [{ path: 'replicas', desired: 2, observed: 4 }] },
  ]);
  const { stdout } = await order(fleet, 'plan', '--owner', 'fleet');
  expect(stdout).toContain(
    'replicas: 4 → 2  (found again; a number that `scale` gave was lost with the state',
  );
  const applied = await fleet.apply('--owner', 'fleet');
  expect(applied.code).toBe(0);
  expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
});

testInFolder('also while nobody knows yet whether what was found is available', async () => {
  const { plane, fleet } = await scaled({ replicas: 2 });
  await fleet.write('llm.yaml', [fleetOf({ replicas: 2, update: { minReadySeconds: 3 } })]);
  const { plan } = await fleet.plan('--owner', 'fleet');
  expect(plan.changes).toMatchObject([
    {
      action: 'scale',
      differences: [{ path: 'replicas', desired: 2, observed: 4 }],
      replicas: [
        { name: 'llm-2', action: 'delete' },
        { name: 'llm-3', action: 'delete' },
      ],
    },
  ]);
  expect((await fleet.apply('--owner', 'fleet')).code).toBe(0);
  expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
});

testInFolder('without a number in the document, as many stay as were found', async () => {
  const { plane, fleet } = await scaled({});
  expect((await fleet.apply('--owner', 'fleet')).code).toBe(0);
  expect(await names(plane)).toEqual(four);
  expect((await statusOf(fleet)).scaled).toEqual({ replicas: 4 });
  expect((await order(fleet, 'scale', 'llm', '--replicas', '2')).code).toBe(0);
  expect((await fleet.apply()).code).toBe(0);
  expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
});

testInCluster(
  'a number by the command is in the document of a cluster, whatever is lost of a status',
  async () => {
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder).start();
    const fleet = await createFleet(folder);
    await fleet.write('account.yaml', account(plane.url));
    await fleet.write('llm.yaml', [fleetOf({ replicas: 2 })]);
    const run = fleet.run();
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    expect((await order(fleet, 'scale', 'llm', '--replicas', '4')).code).toBe(0);
    await eventually('four replicas', async () => (await names(plane)).length === 4);
    await run.kill('SIGTERM');
    const { api } = clusterOf(fleet);
    const { namespace } = fleet;
    for (const name of ['llm', ...four]) {
      const type = resourceTypes[name === 'llm' ? 'ServiceFleet' : 'ContainerService'];
      const target = { type, namespace, name };
      await api.patch(target, { kind: 'merge', body: { status: null }, subresource: 'status' });
    }
    await plane.forgetRequests();
    expect((await fleet.apply()).code).toBe(0);
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
    expect(await names(plane)).toEqual(four);
  },
);
