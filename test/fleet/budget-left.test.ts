/** What `deletionPolicy: Retain` leaves at the provider counts in budgets. A service of these tests costs 13,500 micro-USD an hour. */
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  testInFolder,
  type Fleet,
  type Json,
} from '../support/processes/fleet.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

const each = 13_500;
const accounts = `accounts: [{name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}]`;

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const made = async (): Promise<string[]> =>
    (await plane.account()).services.map(({ name }: Json) => name).toSorted();
  const budgetStatus = async (): Promise<Json> => (await fleet.records()).get('Budget/team')?.status as Json;
  return { plane, fleet, made, budgetStatus };
}

const untilLeft = (fleet: Fleet, count: number) =>
  eventually(
    `${count} left`,
    async () => (await fleet.records()).get('Budget/team')?.status?.['leftObjects'] === count,
    120_000,
  );

const budget = (limits: object, spec: object = {}): object => ({
  apiVersion,
  kind: 'Budget',
  metadata: { name: 'team' },
  spec: { namespace: true, limits, ...spec },
});
const kept = (name: string) => service(name, { deletionPolicy: 'Retain' });

test('what `Retain` leaves keeps its place in the budget of its namespace, also after a restart', async () => {
  const { plane, fleet, made, budgetStatus } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each + 2000 })]);
  await fleet.write('web.yaml', [kept('r1')]);
  const first = fleet.run();
  await fleet.until('ContainerService/r1', 'Ready', 'True');
  await fleet.write('web.yaml', [kept('r2')]);
  await untilLeft(fleet, 1);
  await first.kill('SIGTERM');
  fleet.run();
  await fleet.write('web.yaml', [kept('r3')]);
  const { message } = await fleet.until('ContainerService/r3', 'Ready', 'False', 'BudgetExceeded');
  expect(message).toContain('1 thing that was left at the provider');
  expect(await made()).toEqual(['r1']);
  expect(await budgetStatus()).toMatchObject({ hourlyMicros: each, leftObjects: 1 });
  const [{ id }] = (await plane.account()).services;
  expect((await fleet.until('Budget/team', 'WithinBudget', 'True')).message).toContain(id);
});

test('what was left ceases to count when it is gone', async () => {
  const { plane, fleet, made } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each + 2000 })]);
  await fleet.write('web.yaml', [kept('r1')]);
  fleet.run();
  await fleet.until('ContainerService/r1', 'Ready', 'True');
  await fleet.write('web.yaml', [kept('r2')]);
  await untilLeft(fleet, 1);
  await fleet.until('ContainerService/r2', 'Ready', 'False', 'BudgetExceeded');
  const [{ id }] = (await plane.account()).services;
  await plane.call('POST', `/api/services/${id}/actions`, { action: 'delete' });
  await fleet.until('ContainerService/r2', 'Ready', 'True');
  await untilLeft(fleet, 0);
  expect(await made()).toEqual(['r2']);
});

testInFolder('what was left counts once when an object of its name has it again', async () => {
  const { fleet, made, budgetStatus } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each + 2000 })]);
  await fleet.write('web.yaml', [kept('r1')]);
  fleet.run();
  await fleet.until('ContainerService/r1', 'Ready', 'True');
  await fleet.write('web.yaml', []);
  await untilLeft(fleet, 1);
  await fleet.write('web.yaml', [service('r1')]);
  await fleet.until('ContainerService/r1', 'Ready', 'True');
  await untilLeft(fleet, 0);
  expect(await budgetStatus()).toMatchObject({ members: 1, hourlyMicros: each });
  await fleet.write('web.yaml', [service('next')]);
  await fleet.until('ContainerService/next', 'Ready', 'True');
  expect(await made()).toEqual(['next']);
});

testInFolder('one `apply` after the other leaves no more than the budget allows', async () => {
  const { fleet, made } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each + 2000 })]);
  for (const name of ['r1', 'r2', 'r3']) {
    await fleet.write('web.yaml', [kept(name)]);
    await fleet.apply('--timeout', '20s');
  }
  expect(await made()).toEqual(['r1']);
  const { plan } = await fleet.plan();
  expect(plan.cost.budgets).toMatchObject([{ nowMicros: each, thenMicros: 2 * each, verdict: 'exceeded' }]);
});

testInFolder('what a service leaves at once after its creation is counted, too', async () => {
  const { fleet, made } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each + 2000 })]);
  await fleet.write('web.yaml', [kept('r1')]);
  fleet.run();
  for (const name of ['r2', 'r3', 'r4']) {
    const before = (await made()).length;
    await eventually('it is made, or waits', async () => {
      const record = (await fleet.records()).get(`ContainerService/r${Number(name.slice(1)) - 1}`);
      return (await made()).length > before || record?.report?.pending?.reason === 'BudgetExceeded';
    });
    await fleet.write('web.yaml', [kept(name)]);
  }
  await fleet.until('ContainerService/r4', 'Ready', 'False', 'BudgetExceeded');
  expect(await made()).toEqual(['r1']);
});
