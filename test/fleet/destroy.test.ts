/** `destroy`: everything that the fleet manages is deleted after a plan, and nothing else. */
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { annotations } from '../../src/resources/index.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  service,
  task,
  testInFolder,
  volume,
} from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const destroy = (...flags: string[]) =>
    fleetkeeper(['destroy', ...fleet.flags, '--yes', '--settle', '1s', ...flags]);
  return { plane, fleet, destroy };
}

const names = (things: readonly { name: string }[]) =>
  things.map(({ name }) => name.replace(/-.*/, '')).sort();
const objects = async (fleet: Awaited<ReturnType<typeof world>>['fleet']) =>
  [...(await fleet.records()).keys()].filter((name) => !name.startsWith('Account/')).sort();

testInFolder(
  'all that the fleet manages is deleted in order, and nothing else; apply makes it anew',
  async () => {
    const { plane, fleet, destroy } = await world();
    await fleet.write('all.yaml', [
      volume('data', { deletionPolicy: 'Delete' }),
      volume('kept'),
      service('web', { storage: { volumeRef: { name: 'data' } } }),
      service('api'),
      ...Array.from({ length: 8 }, (_, index) => service(`s${index}`)),
    ]);
    const unmanaged = {
      name: 'theirs',
      region: 'standard',
      image: 'a',
      resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
    };
    await plane.call('POST', '/api/services', unmanaged);
    expect((await fleet.apply()).code).toBe(0);
    // What is gone from the folder is still recorded, and a confirmation by hand is not needed for many.
    const { code, stdout } = await destroy();
    expect(stdout).toMatch(/ContainerService default\/web {2}delete/);
    expect(stdout).toMatch(/StorageVolume default\/kept {2}leave/);
    expect(stdout).toContain('no longer managed (`deletionPolicy: Retain`): StorageVolume/kept.');
    expect(stdout).toContain('The documents are still in');
    expect(code).toBe(0);
    const { services, volumes } = await plane.account();
    expect([names(services), names(volumes)]).toEqual([['theirs'], ['kept']]);
    expect(await objects(fleet)).toEqual([]);
    expect(existsSync(path.join(folderOf(fleet).folder, 'all.yaml'))).toBe(true);
    expect(existsSync(folderOf(fleet).state)).toBe(true);
    const again = await destroy();
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('All is gone')]);
    expect((await fleet.apply()).code).toBe(0);
    expect(names((await plane.account()).services)).toContain('web');
  },
);

testInFolder('nothing is destroyed without a yes', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  expect((await fleet.apply()).code).toBe(0);
  const before = await fleet.records();
  await plane.forgetRequests();
  const { code, stdout, stderr } = await fleetkeeper(['destroy', ...fleet.flags]);
  expect([code, stdout, stderr]).toEqual([
    1,
    expect.stringContaining('default/web  delete'),
    expect.stringContaining('pass --yes to destroy it'),
  ]);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  expect(await fleet.records()).toEqual(before);
});

testInFolder('a running task keeps its service until it is released, and data its confirmation', async () => {
  const { plane, fleet, destroy } = await world();
  const own = { storage: { volumeGb: 10 } };
  const documents = (released: boolean, given?: Record<string, string>) => [
    service('web'),
    task('epoch', { released }),
    service('disk', own, given),
    service('plain'),
  ];
  await fleet.write('all.yaml', documents(false));
  expect((await fleet.apply()).code).toBe(0);
  const held = await destroy('--timeout', '5s');
  expect([held.code, held.stderr]).toEqual([
    1,
    expect.stringContaining('not all objects are gone after 5 s'),
  ]);
  expect(held.stdout).toMatch(/ContainerService default\/web {2}Protected/);
  expect(held.stdout).toMatch(/ProtectedTask default\/epoch {2}Protected/);
  expect(held.stdout).toMatch(/ContainerService default\/disk {2}DataLossUnconfirmed/);
  expect(names((await plane.account()).services)).toEqual(['disk', 'web']);
  const { id } = await plane.service('web');
  expect((await plane.call('GET', `/api/services/${id}/activity`)).activities).toHaveLength(1);

  // The documents as they are now count, not as they were applied.
  await fleet.write('all.yaml', documents(true, { [annotations.confirmDataLoss]: 'disk' }));
  const { code, stderr } = await destroy();
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('not all')]);
  expect((await plane.account()).services).toEqual([]);
  expect(await objects(fleet)).toEqual([]);
});

testInFolder(
  'only what is selected is destroyed, with the tasks of a service, and not what it needs',
  async () => {
    const { plane, fleet, destroy } = await world();
    await fleet.write('all.yaml', [
      volume('data', { deletionPolicy: 'Delete' }),
      service('web', { disruption: 'Always', storage: { volumeRef: { name: 'data' } } }),
      task('epoch'),
      service('api'),
    ]);
    expect((await fleet.apply()).code).toBe(0);
    const before = await fleet.records();
    const { code, stdout } = await destroy('--target', 'csvc/web');
    expect(stdout).toContain('Only a part of the fleet: ContainerService/web');
    expect(code).toBe(0);
    expect(await objects(fleet)).toEqual(['ContainerService/api', 'StorageVolume/data']);
    const after = await fleet.records();
    for (const name of await objects(fleet)) expect(after.get(name)).toEqual(before.get(name));
    expect(names((await plane.account()).volumes)).toEqual(['data']);
  },
);

testInFolder('a broken document keeps its object, and one that can not be read keeps all', async () => {
  const { plane, fleet, destroy } = await world();
  await fleet.write('web.yaml', [service('web')]);
  await fleet.write('api.yaml', [service('api')]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('web.yaml', [service('web', { imgae: 'x' })]);
  await fleet.write('torn.yaml', 'kind: [');
  const refused = await destroy();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('nothing was destroyed: correct that first'),
  ]);
  expect((await plane.account()).services).toHaveLength(2);
  await fleet.remove('torn.yaml');
  const { code, stdout, stderr } = await destroy();
  expect([code, stderr]).toEqual([1, expect.stringContaining('spec.imgae')]);
  expect(stdout).toMatch(/ContainerService default\/web {2}InvalidSpec/);
  expect(names((await plane.account()).services)).toEqual(['web']);
  expect(await objects(fleet)).toEqual(['ContainerService/web']);
});

testInFolder('after the state was lost, nothing is destroyed before apply has found it again', async () => {
  const { plane, fleet, destroy } = await world();
  await fleet.write('all.yaml', [service('web'), service('api')]);
  expect((await fleet.apply('--owner', 'fleet')).code).toBe(0);
  const { state } = folderOf(fleet);
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${state}${suffix}`, { force: true });
  const early = await destroy('--owner', 'fleet');
  expect([early.code, early.stdout]).toEqual([1, expect.stringContaining('default/web  MarkedElsewhere')]);
  expect((await plane.account()).services).toHaveLength(2);
  expect((await fleet.apply()).code).toBe(0);
  expect((await destroy()).code).toBe(0);
  expect((await plane.account()).services).toEqual([]);
});

testInFolder('a manager that runs is not disturbed, and a cluster has kubectl', async () => {
  const { plane, fleet, destroy } = await world();
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.untilReady(1);
  const { code, stderr } = await destroy();
  expect([code, stderr]).toEqual([1, expect.stringContaining('fleetkeeper run')]);
  expect((await plane.account()).services).toHaveLength(1);
  const cluster = await fleetkeeper(['destroy', '--source', 'kubernetes', '--yes']);
  expect([cluster.code, cluster.stderr]).toEqual([
    1,
    expect.stringContaining('kubectl delete containerservices.'),
  ]);
});
