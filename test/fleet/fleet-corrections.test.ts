/** What others change in the replicas of a fleet is corrected, and not in all of them at once. */
import { expect, test } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, task, type Json } from '../support/processes/fleet.ts';
import { fleetOf } from '../support/processes/replicas.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const services = async (): Promise<Json[]> => (await plane.account()).services;
  /** Each in another way, so it is not the same drift on many objects. */
  const changeReplica = async (name: string) => {
    const { id, revision } = await plane.service(name);
    await plane.call('PATCH', `/api/services/${id}`, {
      revision,
      patch: { image: `ghcr.io/acme/${name}:2` },
    });
  };
  return { plane, fleet, services, changeReplica };
}

const all = ['llm-0', 'llm-1', 'llm-2'];

test('when others change all replicas, one after the other is restored', async () => {
  const { plane, fleet, services, changeReplica } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm')]);
  expect((await fleet.apply()).code).toBe(0);
  for (const name of all) await changeReplica(name);
  await eventually('all run', async () => (await services()).every(({ state }) => state === 'running'));
  const { plan } = await fleet.plan();
  expect(plan.changes.map(({ kind, name }: Json) => `${kind}/${name}`)).toEqual(
    all.map((name) => `ContainerService/${name}`),
  );
  await plane.forgetRequests();
  const run = fleet.run();
  let fewest = 3;
  await eventually('all are restored', async () => {
    const now = await services();
    fewest = Math.min(fewest, now.filter(({ state }) => state === 'running').length);
    return now.every(({ image, state }) => image === 'ghcr.io/acme/llm:1' && state === 'running');
  });
  expect(fewest).toBe(2);
  const changes = (await plane.requests()).filter(isMutation);
  expect(changes.map(({ method }) => method)).toEqual(['PATCH', 'PATCH', 'PATCH']);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await run.kill('SIGTERM');
});

test('a protected replica that others changed stays in use, and the others are restored', async () => {
  const { plane, fleet, changeReplica } = await world();
  const protects = task('epoch', { serviceRef: { name: 'llm-2' } });
  await fleet.write('llm.yaml', [fleetOf('llm'), protects]);
  expect((await fleet.apply()).code).toBe(0);
  await changeReplica('llm-1');
  await changeReplica('llm-2');
  const run = fleet.run();
  await eventually('the other one is restored', async () => {
    const { image, state } = await plane.service('llm-1');
    return image === 'ghcr.io/acme/llm:1' && state === 'running';
  });
  const { message } = await fleet.until('ContainerService/llm-2', 'Reconciling', 'True', 'AwaitsTurn');
  expect(message).toMatch(/waits for the (activity "epoch"|ProtectedTask)/);
  expect(await fleet.condition('ContainerService/llm-2', 'Ready')).toMatchObject({ status: 'True' });
  expect((await plane.service('llm-2')).image).toBe('ghcr.io/acme/llm-2:2');
  await fleet.write('llm.yaml', [fleetOf('llm')]);
  await eventually(
    'it is restored, too',
    async () => (await plane.service('llm-2')).image === 'ghcr.io/acme/llm:1',
    100_000,
  );
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await run.kill('SIGTERM');
});
