/** `apply` removes nothing that its plan has not shown, whatever becomes due while it waits. */
import { expect } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInFolder, type Json } from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf } from '../support/processes/replicas.ts';

testInFolder('a replica whose time is over during an apply stays until a plan has shown that', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  expect((await fleet.apply()).code).toBe(0);
  const scale = ['scale', 'llm', '--replicas', '3', '--for', '20s'];
  expect((await fleetkeeper([...scale, ...fleet.flags])).code).toBe(0);
  expect((await fleet.apply('--stable', '0s')).code).toBe(0);
  const names = async () => (await plane.account()).services.map(({ name }: Json) => name).sort();
  expect(await names()).toEqual(['llm-0', 'llm-1', 'llm-2']);

  await fleet.write('web.yaml', [service('web')]);
  const { plan } = await fleet.plan();
  expect(plan.changes).toMatchObject([{ action: 'create', name: 'web' }]);
  const applied = await fleet.apply('--stable', '40s');
  expect(await names()).toEqual(['llm-0', 'llm-1', 'llm-2', 'web']);
  expect([applied.code, applied.stderr]).toEqual([1, expect.stringContaining('llm (NotInPlan)')]);
  const ready = await fleet.condition('ServiceFleet/llm', 'Ready');
  expect(ready?.message).toContain('1 of its replicas would leave (scale)');

  const { plan: next, code } = await fleet.plan();
  expect([code, next.changes]).toMatchObject([2, [{ action: 'scale', name: 'llm' }]]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await names()).toEqual(['llm-0', 'llm-1', 'web']);
});
