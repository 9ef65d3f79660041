/** A Budget holds for a part of the fleet, too, also where the state knows nothing of it yet. A service of these tests costs 13,500 micro-USD an hour. */
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { service, testInFolder } from '../support/processes/fleet.ts';
import { PlanFileWorld } from '../support/processes/plan-files.ts';
import { fleetkeeper } from '../support/processes/processes.ts';

const each = 13_500;
const budget = {
  apiVersion,
  kind: 'Budget',
  metadata: { name: 'team' },
  spec: { namespace: true, limits: { hourlyMicros: 2 * each } },
};

const made = async ({ plane }: PlanFileWorld) => (await plane.account()).services.length;

testInFolder('a plan file makes no more than its plan would, in a state that knows nothing yet', async () => {
  const world = await PlanFileWorld.open();
  await world.fleet.write('budget.yaml', [budget]);
  await world.fleet.write(
    'web.yaml',
    ['a', 'b', 'c'].map((name) => service(name)),
  );
  const { plan } = await world.plan();
  expect(plan.objects[0].cost).toEqual({
    beforeMicros: 0,
    afterMicros: each,
    deltaMicros: each,
    deltaHourlyMicros: each,
    basis: 'catalog',
  });
  const { code } = await world.apply('--timeout', '20s');
  expect(code).toBe(5);
  expect(await made(world)).toBe(2);
});

testInFolder('a chosen object waits for a Budget that came with it', async () => {
  const world = await PlanFileWorld.open();
  const { fleet } = world;
  await fleet.write(
    'web.yaml',
    ['a', 'b'].map((name) => service(name)),
  );
  expect((await fleetkeeper(['apply', ...fleet.flags, '--yes'])).code).toBe(0);
  await fleet.write('budget.yaml', [budget]);
  await fleet.write('more.yaml', [service('c')]);
  const target = ['--target', 'ContainerService/c'];
  const planned = await fleetkeeper(['plan', ...fleet.flags, ...target]);
  expect(planned.stdout).toContain('BudgetExceeded');
  const applied = await fleetkeeper(['apply', ...fleet.flags, ...target, '--yes', '--timeout', '20s']);
  expect([applied.code, applied.stdout]).toEqual([1, expect.stringContaining('BudgetExceeded')]);
  expect(await made(world)).toBe(2);
});

testInFolder('what a chosen object is counted with stays as it is, and leaves no record', async () => {
  const world = await PlanFileWorld.open();
  const { fleet } = world;
  await fleet.write('budget.yaml', [budget]);
  await fleet.write('web.yaml', [
    service('a', {}, { 'fleetkeeper.dev/shed-priority': '900' }),
    service('b'),
    service('c'),
  ]);
  const target = ['--target', 'ContainerService/c'];
  const applied = await fleetkeeper(['apply', ...fleet.flags, ...target, '--yes']);
  expect([applied.code, applied.stderr]).toEqual([0, expect.any(String)]);
  expect((await world.plane.account()).services.map(({ name }: { name: string }) => name)).toEqual(['c']);
  const keys = [...(await fleet.records()).keys()];
  expect(keys).not.toContain('ContainerService/a');
  expect(keys).not.toContain('ContainerService/b');
});

testInFolder('a plan file whose deletion is done already ends, and is completed', async () => {
  const world = await (await PlanFileWorld.open()).with(service('web'), service('api'));
  await world.fleet.write('all.yaml', [service('api')]);
  const { plan } = await world.plan();
  expect(plan.objects).toHaveLength(1);
  expect((await fleetkeeper(['apply', ...world.fleet.flags, '--yes'])).code).toBe(0);
  expect(await made(world)).toBe(1);
  const { code, stderr } = await world.apply();
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('steps are left (')]);
});

testInFolder(
  'a plan file does not wait for an object whose document is gone since, and which was never made',
  async () => {
    const world = await PlanFileWorld.open();
    await world.fleet.write('all.yaml', [service('web'), service('api')]);
    await world.plan();
    await world.fleet.write('all.yaml', [service('api')]);
    const { code, stderr } = await world.apply();
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('steps are left (')]);
    expect(await made(world)).toBe(1);
  },
);
