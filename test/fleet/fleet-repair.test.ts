/** Replicas of a fleet that stay broken. */
import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, task, type Json } from '../support/processes/fleet.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { eventually, nowMs, temporaryFolder } from '../support/processes/processes.ts';

const afterSeconds = 60;
/** What others change in a replica stays, so a replica can be broken. */
const left = template({ driftPolicy: 'Report' });

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const services = async (): Promise<Json[]> => {
    const { services: all } = await plane.account();
    return all.toSorted((one: Json, other: Json) => one.name.localeCompare(other.name));
  };
  const breakReplica = async (name: string) => {
    const { id, revision } = await plane.service(name);
    await plane.call('PATCH', `/api/services/${id}`, {
      revision,
      patch: { image: 'registry.invalid/llm:1' },
    });
    await eventually(`${name} is broken`, async () => (await plane.service(name)).state === 'error');
  };
  return { plane, fleet, services, breakReplica };
}

const spec = (more: object = {}) => ({
  replicas: 3,
  template: left,
  repair: { afterSeconds },
  ...more,
});

test('a replica that stays broken is replaced, and not before its time', async () => {
  const { fleet, services, breakReplica } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', spec())]);
  expect((await fleet.apply()).code).toBe(0);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const before = new Map((await services()).map(({ name, id }) => [name, id]));
  await breakReplica('llm-1');
  const brokenAt = nowMs();
  await eventually('the status names it', async () => {
    const { message } = (await fleet.condition('ServiceFleet/llm', 'Reconciling')) ?? {};
    return message === 'not available yet: replica 1; given up: replica 1 (ServiceError)';
  });
  await eventually(
    'it is gone',
    async () => (await services()).every(({ id }) => id !== before.get('llm-1')),
    120_000,
  );
  expect(nowMs() - brokenAt).toBeGreaterThanOrEqual((afterSeconds - 5) * 1000);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const after = await services();
  expect(after.map(({ name, state }) => [name, state])).toEqual([
    ['llm-0', 'running'],
    ['llm-2', 'running'],
    ['llm-3', 'running'],
  ]);
  expect(after.slice(0, 2).map(({ id }) => id)).toEqual([before.get('llm-0'), before.get('llm-2')]);
  await run.kill('SIGTERM');
});

test('a broken replica that is protected stays until it is released, and another one is added', async () => {
  const { fleet, services, breakReplica } = await world();
  const protects = task('epoch', { serviceRef: { name: 'llm-1' } });
  await fleet.write('llm.yaml', [fleetOf('llm', spec()), protects]);
  expect((await fleet.apply()).code).toBe(0);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await breakReplica('llm-1');
  const { message } = await fleet.until(
    'ServiceFleet/llm',
    'Reconciling',
    'True',
    'ReplicasProtected',
    120_000,
  );
  expect(message).toMatch(/^protected: replica 1 by the activity "epoch"/);
  expect((await services()).map(({ name, state }) => [name, state])).toEqual([
    ['llm-0', 'running'],
    ['llm-1', 'error'],
    ['llm-2', 'running'],
    ['llm-3', 'running'],
  ]);
  await fleet.write('llm.yaml', [fleetOf('llm', spec())]);
  await eventually('it is gone', async () => (await services()).length === 3);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await run.kill('SIGTERM');
});

test('when many fail at once, none is replaced until enough are well again', async () => {
  const { plane, fleet, services, breakReplica } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', spec())]);
  expect((await fleet.apply()).code).toBe(0);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  for (const name of ['llm-0', 'llm-1', 'llm-2']) await breakReplica(name);
  const { message } = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'MassFailure', 120_000);
  expect(message).toBe(
    '3 of 3 replicas fail, and no more than 2 may for a repair: replicas 0, 1, 2 (ServiceError)',
  );
  expect((await services()).map(({ name }) => name)).toEqual(['llm-0', 'llm-1', 'llm-2']);
  const { id, revision } = await plane.service('llm-0');
  await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: 'ghcr.io/acme/llm:1' } });
  await fleet.until('ServiceFleet/llm', 'Ready', 'True', undefined, 120_000);
  expect((await services()).map(({ name, state }) => [name, state])).toContainEqual(['llm-0', 'running']);
  await run.kill('SIGTERM');
});

test('a replica that vanished is replaced, where drift is only reported', async () => {
  const { plane, fleet, services } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', spec())]);
  expect((await fleet.apply()).code).toBe(0);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const { id } = await plane.service('llm-1');
  await plane.call('POST', `/api/services/${id}/actions`, { action: 'delete' });
  await eventually(
    'another one is there',
    async () => (await services()).filter(({ state }) => state === 'running').length === 3,
    240_000,
  );
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect((await services()).map(({ name }) => name)).toEqual(['llm-0', 'llm-2', 'llm-3']);
  await run.kill('SIGTERM');
});
