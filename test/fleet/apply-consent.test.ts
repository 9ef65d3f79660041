/** `apply` removes nothing that its plan has not shown, whatever becomes due while it waits; and it finishes what an earlier one has begun. */
import { describe, expect } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInFolder, type Json } from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

async function world(spec: object) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const declare = (next: object) => fleet.write('llm.yaml', [fleetOf('llm', { ...spec, ...next })]);
  await declare({});
  expect((await fleet.apply()).code).toBe(0);
  const names = async () => (await plane.account()).services.map(({ name }: Json) => name).sort();
  return { plane, fleet, declare, names };
}

testInFolder('a replica whose time is over during an apply stays until a plan has shown that', async () => {
  const { fleet, names } = await world({ replicas: 2 });
  const scale = ['scale', 'llm', '--replicas', '3', '--for', '20s'];
  expect((await fleetkeeper([...scale, ...fleet.flags])).code).toBe(0);
  expect((await fleet.apply('--stable', '0s')).code).toBe(0);
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

describe('an apply that follows one that was stopped', () => {
  testInFolder('finishes the removal of a replica', async () => {
    const { fleet, declare, names } = await world({ replicas: 2, drain: { graceSeconds: 25 } });
    await declare({ replicas: 1 });
    expect((await fleet.apply('--timeout', '8s')).code).toBe(1);
    expect(await names()).toEqual(['llm-0', 'llm-1']);
    const shown = await fleet.plan('--max-cost-increase', '0');
    const held = [{ name: 'llm-1', reason: 'Draining', actions: ['delete'] }];
    expect([shown.code, shown.plan.held]).toMatchObject([2, held]);
    const { code, stderr } = await fleet.apply();
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('NotInPlan')]);
    expect(await names()).toEqual(['llm-0']);
  });

  testInFolder('finishes the removal of a fleet with its volumes', async () => {
    const storage = { perReplica: { sizeGb: 20, retire: 'Delete' } };
    const update = { minReadySeconds: 0, maxSurge: 0, maxUnavailable: 1 };
    const { plane, fleet, names } = await world({
      replicas: 2,
      maxReplicas: 4,
      drain: { graceSeconds: 25 },
      update,
      storage,
    });
    await fleet.remove('llm.yaml');
    expect((await fleet.apply('--timeout', '8s')).code).toBe(1);
    expect(await names()).toEqual(['llm-0', 'llm-1']);
    const { plan } = await fleet.plan();
    expect(plan.held.map(({ name, actions }: Json) => `${actions} ${name}`)).toEqual([
      'delete llm-0',
      'delete llm-1',
    ]);
    const { code, stderr } = await fleet.apply();
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('NotInPlan')]);
    expect((await plane.account()).volumes).toEqual([]);
  });

  testInFolder('replaces a replica that stays broken', async () => {
    const left = template({ driftPolicy: 'Report' });
    const { plane, fleet, names } = await world({
      replicas: 2,
      maxReplicas: 4,
      template: left,
      repair: { afterSeconds: 60 },
    });
    const { id, revision } = await plane.service('llm-1');
    await plane.call('PATCH', `/api/services/${id}`, {
      revision,
      patch: { image: 'registry.invalid/llm:1' },
    });
    await eventually('it is broken', async () => (await plane.service('llm-1')).state === 'error');
    const isReplaced = async () => (await fleet.apply()).code === 0 && (await names()).includes('llm-2');
    await eventually('it is replaced', isReplaced, 150_000);
    expect(await names()).toEqual(['llm-0', 'llm-2']);
  });
});
