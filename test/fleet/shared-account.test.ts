/** Two Accounts, in one namespace or in two, whose keys open one account at the provider: each read shows the things of both. */
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  service,
  testInFolder,
  testOnClock,
  type Json,
} from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, sleep, temporaryFolder } from '../support/processes/processes.ts';

function inNamespace(namespace: string, documents: readonly object[]): object[] {
  return documents.map((document: Json) => ({
    ...document,
    metadata: { ...document.metadata, namespace },
  }));
}

const image = (tag: number) => ({ image: `ghcr.io/acme/app:${tag}` });

const hand = {
  name: 'hand',
  region: 'standard',
  ...image(1),
  resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
};

/** `default/web` and `team/api`, each with an Account of its namespace. */
async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('default.yaml', account(plane.url));
  await fleet.write('team.yaml', inNamespace('team', account(plane.url)));
  const write = (tag: number) =>
    fleet.write('all.yaml', [
      service('web', image(tag)),
      ...inNamespace('team', [service('api', image(tag))]),
    ]);
  await write(1);
  expect((await fleet.apply()).code).toBe(0);
  return { plane, fleet, write };
}

testInFolder('a plan shows what changes in each of them, whichever is read first', async () => {
  const { plane, fleet, write } = await world();
  await write(2);
  await plane.faults([{ method: 'GET', path: '/api/account$', times: 1, fault: 'delay', delayMs: 3000 }]);
  const { code, plan } = await fleet.plan();
  expect([code, plan.summary.update, plan.summary.waiting]).toEqual([2, 2, 0]);
  expect(plan.changes.map(({ namespace, name }: Json) => `${namespace}/${name}`).sort()).toEqual([
    'default/web',
    'team/api',
  ]);
});

testInFolder('an import writes each thing once, and a plan of it finds nothing to do', async () => {
  const { plane, fleet } = await world();
  await plane.call('POST', '/api/services', hand);
  const { folder } = folderOf(fleet);
  const imported = await fleetkeeper(['import', ...fleet.flags, '--output', folder]);
  expect([imported.code, imported.stdout]).toEqual([0, expect.stringContaining('1 document(s)')]);
  expect((await fleet.apply()).code).toBe(0);
  expect((await fleet.plan()).plan.summary).toMatchObject({ unchanged: 3, held: 0 });
});

async function isTheSameInPlanAndApply(skipped: number): Promise<void> {
  const { plane, fleet } = await world();
  const { id } = await plane.call('POST', '/api/services', hand);
  await eventually('it runs', async () => (await plane.service('hand')).state === 'running');
  const adopts = service('hand', { ...image(2), adopt: { id }, deletionPolicy: 'Retain' });
  await fleet.write('hand.yaml', [adopts, ...inNamespace('team', [adopts])]);
  const slow = async () => {
    const read = { method: 'GET', path: '/api/account$', times: 1 };
    const none = { ...read, fault: 'delay', delayMs: 1 };
    await plane.faults([...Array.from({ length: skipped }, () => none), { ...none, delayMs: 3000 }]);
  };
  await slow();
  const { plan } = await fleet.plan();
  expect(plan.held).toMatchObject([{ namespace: 'team', name: 'hand', reason: 'AdoptedTwice' }]);
  expect(plan.changes).toMatchObject([{ namespace: 'default', name: 'hand', action: 'update' }]);
  await slow();
  expect((await fleet.apply('--timeout', '20s')).code).toBe(1);
  expect((await fleet.plan()).plan.held).toMatchObject([{ namespace: 'team', reason: 'AdoptedTwice' }]);
  // The other one gets it when the first is gone.
  await fleet.write('hand.yaml', inNamespace('team', [adopts]));
  await fleet.apply('--timeout', '60s');
  expect((await fleet.apply()).code).toBe(0);
  expect(await plane.service('hand')).toMatchObject({ id, ...image(2) });
}

testInFolder.for([0, 1])(
  'of two documents that adopt one thing, the same one gets it in a plan and in an apply: %s reads of others',
  isTheSameInPlanAndApply,
);

testOnClock('what the one has made counts in the budget of the other before that is read again', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  const [second] = account(plane.url) as Json[];
  await fleet.write('first.yaml', account(plane.url, { pollSeconds: 50 }));
  await fleet.write('second.yaml', [{ ...second, metadata: { name: 'second' } }]);
  const limits = { hourlyMicros: 20_000 };
  const spec = { accountRef: { name: 'default' }, limits };
  await fleet.write('budget.yaml', [{ apiVersion, kind: 'Budget', metadata: { name: 'all' }, spec }]);
  fleet.run();
  await fleet.until('Budget/all', 'WithinBudget', 'True');
  await sleep(60_000);
  const reads = async () =>
    (await plane.requests()).filter(({ method, path }) => method === 'GET' && path === '/api/account').length;
  let before = await reads();
  // Until just after a read of the first one: the second one has one each second.
  await eventually('a read of both', async () => {
    const now = await reads();
    const isBoth = now > before + 1;
    before = now;
    return isBoth;
  });
  await fleet.write('b.yaml', [service('b', { accountRef: { name: 'second' } })]);
  await fleet.until('ContainerService/b', 'Ready', 'True');
  await fleet.write('a.yaml', [service('a')]);
  await fleet.until('ContainerService/a', 'Ready', 'False', 'BudgetExceeded');
  await sleep(120_000);
  expect((await plane.account()).services.map(({ name }: Json) => name)).toEqual(['b']);
});
