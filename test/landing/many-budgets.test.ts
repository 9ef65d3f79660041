/** How many budgets count in a process: 1,000. */
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service } from '../support/processes/fleet.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return fleet;
}

const budget = (name: string, spec: object): object => ({
  apiVersion,
  kind: 'Budget',
  metadata: { name },
  spec: { limits: { hourlyMicros: 1 }, mode: 'Report', ...spec },
});

test('the youngest of more than 1,000 budgets does not count, until another one is gone', async () => {
  const fleet = await world();
  const names = Array.from({ length: 1001 }, (_, index) => `b${String(index).padStart(4, '0')}`);
  const all = names.map((name) => budget(name, { selector: { matchLabels: { team: name } }, mode: 'Gate' }));
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
