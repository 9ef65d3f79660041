/** How many budgets count for an object: 8. The youngest ones are too many; so in a process (test/landing/many-budgets.test.ts). */
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInFolder } from '../support/processes/fleet.ts';
import { temporaryFolder } from '../support/processes/processes.ts';

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

testInFolder(
  'a ninth budget for an object does not count for it, until one of the others is gone',
  async () => {
    const fleet = await world();
    const names = Array.from({ length: 9 }, (_, index) => `b${index}`);
    const last = (of: readonly string[]) =>
      of.map((name) => budget(name, { namespace: true, ...(name === 'b8' ? { mode: 'Gate' } : {}) }));
    await fleet.write('budgets.yaml', last(names));
    await fleet.write('web.yaml', [service('web')]);
    fleet.run();
    const held = await fleet.until('Budget/b8', 'Ready', 'False', 'InvalidSpec');
    expect(held.message).toContain('more than 8 budgets are about the same object');
    await fleet.until('ContainerService/web', 'Ready', 'True');
    await fleet.write('budgets.yaml', last(names.slice(1)));
    await fleet.until('Budget/b8', 'Ready', 'True');
    await fleet.write('more.yaml', [service('more')]);
    const waits = await fleet.until('ContainerService/more', 'Ready', 'False', 'BudgetExceeded');
    expect(waits.message).toContain('b8');
  },
);
