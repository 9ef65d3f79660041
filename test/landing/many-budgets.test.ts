/** How many budgets count in a process: 1,000. */
import { expect, test } from 'vitest';
import { fleetInAccount, reportingBudget } from '../support/processes/budgets.ts';
import { service } from '../support/processes/fleet.ts';
import { eventually } from '../support/processes/processes.ts';

test('the youngest of more than 1,000 budgets does not count, until another one is gone', async () => {
  const fleet = await fleetInAccount();
  const names = Array.from({ length: 1001 }, (_, index) => `b${String(index).padStart(4, '0')}`);
  const all = names.map((name) =>
    reportingBudget(name, { selector: { matchLabels: { team: name } }, mode: 'Gate' }),
  );
  await fleet.write('budgets.yaml', all);
  const web = { ...service('web'), metadata: { name: 'web', labels: { team: 'b1000' } } };
  await fleet.write('web.yaml', [web]);
  fleet.run();
  const held = await fleet.until('Budget/b1000', 'Ready', 'False', 'InvalidSpec');
  expect(held.message).toContain('more than 1,000 budgets');
  await fleet.until('ContainerService/web', 'Ready', 'True');
  await fleet.write('budgets.yaml', all.slice(1));
  const counted = async () => (await fleet.records()).get('Budget/b1000')?.status?.['members'];
  await eventually('it counts', async () => (await counted()) === 1);
  await fleet.until('Budget/b1000', 'Ready', 'True');
});
