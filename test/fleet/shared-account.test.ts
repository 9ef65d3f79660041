/** Two Accounts, in one namespace or in two, whose keys open one account at the provider: each read shows the things of both. */
import { expect } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInFolder, type Json } from '../support/processes/fleet.ts';
import { temporaryFolder } from '../support/processes/processes.ts';

function inNamespace(namespace: string, documents: readonly object[]): object[] {
  return documents.map((document: Json) => ({
    ...document,
    metadata: { ...document.metadata, namespace },
  }));
}

const image = (tag: number) => ({ image: `ghcr.io/acme/app:${tag}` });

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
