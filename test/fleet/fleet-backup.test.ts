/** A state file that is restored from a backup lacks the replicas that were made since: they are found again, and none is made in their place. */
import { cp, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  service,
  task,
  testInFolder,
  type Fleet,
  type Json,
} from '../support/processes/fleet.ts';
import { fleetOf } from '../support/processes/replicas.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

async function world(spec: object) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [fleetOf('llm', spec)]);
  expect((await fleet.apply()).code).toBe(0);
  const state = path.dirname(folderOf(fleet).state);
  const backup = path.join(folder, 'backup');
  await cp(state, backup, { recursive: true });
  const restore = async () => {
    await rm(state, { recursive: true });
    await cp(backup, state, { recursive: true });
    await plane.forgetRequests();
  };
  const services = async (): Promise<[string, string][]> =>
    (await plane.account()).services.map(({ id, name }: Json) => [name, id]).sort();
  const mutations = async () => (await plane.requests()).filter(isMutation);
  return { plane, fleet, restore, services, mutations };
}

const five = ['llm-0', 'llm-1', 'llm-2', 'llm-3', 'llm-4'];
const scale = (fleet: Fleet, count: number) =>
  fleetkeeper(['scale', 'llm', '--replicas', String(count), '-n', fleet.namespace, ...fleet.flags]);

testInFolder("replicas that were made after the backup are this fleet's", async () => {
  const { fleet, restore, services, mutations } = await world({ replicas: 3 });
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 5 })]);
  expect((await fleet.apply()).code).toBe(0);
  const before = await services();
  expect(before.map(([name]) => name)).toEqual(five);
  await restore();
  const { plan } = await fleet.plan();
  expect(plan.summary).toMatchObject({ create: 0, delete: 0 });
  fleet.run();
  await fleet.untilReady(6);
  expect(await services()).toEqual(before);
  expect(await mutations()).toEqual([]);
});

testInFolder('one of them that is protected stays so', async () => {
  const { fleet, restore, services, mutations } = await world({ replicas: 1 });
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  await fleet.write('task.yaml', [task('epoch', { serviceRef: { name: 'llm-1' } })]);
  const manager = fleet.run();
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  await manager.kill('SIGKILL');
  const before = await services();
  await restore();
  fleet.run();
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  expect(await services()).toEqual(before);
  const changes = (await mutations()).filter((request) => !request.path.includes('/activity'));
  expect(changes).toEqual([]);
});

testInFolder('a number that was given by a command since is that of what was found', async () => {
  const { fleet, restore, services } = await world({ replicas: undefined });
  expect((await scale(fleet, 3)).code).toBe(0);
  expect((await fleet.apply()).code).toBe(0);
  const before = await services();
  expect(before).toHaveLength(3);
  await restore();
  expect((await fleet.apply()).code).toBe(0);
  expect(await services()).toEqual(before);
  expect((await fleet.records()).get('ContainerService/llm-2')?.externalId).toBe(before[2]?.[1]);
});

testInFolder('what a process has removed itself is not found again', async () => {
  const { fleet, services } = await world({ replicas: 3, drain: { graceSeconds: 0 } });
  fleet.run();
  await fleet.untilReady(4);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 1, drain: { graceSeconds: 0 } })]);
  await eventually('one to be left', async () => (await services()).length === 1);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, drain: { graceSeconds: 0 } })]);
  await eventually('two', async () => (await services()).length === 2);
});

testInFolder('what a document left long ago under the name of a replica stays at the provider', async () => {
  const { fleet, services } = await world({ replicas: 1 });
  // A service counts as old after twelve settle windows.
  const apply = () => fleetkeeper(['apply', ...fleet.flags, '--yes', '--settle', '50ms', '--stable', '1s']);
  await fleet.write('own.yaml', [service('llm-1', { deletionPolicy: 'Retain' })]);
  // The fleet is held as long as there is a document with the name of a replica.
  expect((await apply()).code).toBe(1);
  const before = await services();
  expect(before.map(([name]) => name)).toEqual(['llm-0', 'llm-1']);
  await fleet.remove('own.yaml');
  expect((await apply()).code).toBe(0);
  expect((await apply()).code).toBe(0);
  expect(await services()).toEqual(before);
});
