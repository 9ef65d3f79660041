/** How many budgets count for an object: 8. The youngest ones are too many; so in a process (test/landing/many-budgets.test.ts). */
import { expect } from 'vitest';
import { fleetInAccount, reportingBudget } from '../support/processes/budgets.ts';
import { service, testInFolder } from '../support/processes/fleet.ts';

testInFolder(
  'a ninth budget for an object does not count for it, until one of the others is gone',
  async () => {
    const fleet = await fleetInAccount();
    const names = Array.from({ length: 9 }, (_, index) => `b${index}`);
    const last = (of: readonly string[]) =>
      of.map((name) =>
        reportingBudget(name, { namespace: true, ...(name === 'b8' ? { mode: 'Gate' } : {}) }),
      );
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

testInFolder('a budget is one too many only while the object is there for which it is', async () => {
  const fleet = await fleetInAccount();
  const names = Array.from({ length: 9 }, (_, index) => `b${index}`);
  await fleet.write(
    'budgets.yaml',
    names.map((name) => reportingBudget(name, { selector: { matchLabels: { team: 'search' } } })),
  );
  const web = { ...service('web'), metadata: { name: 'web', labels: { team: 'search' } } };
  await fleet.write('web.yaml', [web]);
  fleet.run();
  await fleet.until('Budget/b8', 'Ready', 'False', 'InvalidSpec');
  await fleet.write('web.yaml', [{ ...web, metadata: { name: 'web', labels: { team: 'ads' } } }]);
  await fleet.until('Budget/b8', 'Ready', 'True');
  await fleet.write('web.yaml', [web]);
  await fleet.until('Budget/b8', 'Ready', 'False', 'InvalidSpec');
  await fleet.write('web.yaml', []);
  await fleet.until('Budget/b8', 'Ready', 'True');
});
