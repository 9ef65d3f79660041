/** What is shown of a budget: what is ahead of it, what waits and why. A service of these tests costs 13,500 micro-USD an hour. */
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInFolder, type Json } from '../support/processes/fleet.ts';
import { fleetOf } from '../support/processes/replicas.ts';
import { eventually, fleetkeeper, nowMs, temporaryFolder } from '../support/processes/processes.ts';

const each = 13_500;
const hourMs = 3_600_000;
const accounts = `accounts: [{name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}]`;

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const status = async (): Promise<Json> => (await fleet.records()).get('Budget/team')?.status;
  const shown = async (...args: string[]) => (await fleetkeeper([...args, ...fleet.flags])).stdout;
  return { plane, fleet, status, shown };
}

const budget = (limits: object, spec: object = {}): object => ({
  apiVersion,
  kind: 'Budget',
  metadata: { name: 'team' },
  spec: { namespace: true, limits, ...spec },
});

test('a forecast counts the replicas that a schedule will want, though there is none now', async () => {
  const { fleet, status } = await world();
  const now = new Date(nowMs());
  // The hour after the next one, of each day.
  const cron = `0 ${(now.getUTCHours() + 2) % 24} * * *`;
  const schedules = [{ name: 'hour', cron, durationMinutes: 60, replicas: 4 }];
  await fleet.write('budget.yaml', [budget({ monthlyMicros: 10 ** 9 })]);
  await fleet.write('web.yaml', [service('web'), fleetOf('llm', { replicas: 0, schedules })]);
  fleet.run();
  await fleet.untilReady(3);
  const monthEnd = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const found = await eventually('the forecast', async () => {
    const seen = await status();
    return seen?.hourlyMicros === each && seen;
  });
  const left = (monthEnd - Date.parse(found.countedAt)) / hourMs;
  const begin = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  const opens = Array.from(
    { length: 40 },
    (_, day) => begin + (day * 24 + ((now.getUTCHours() + 2) % 24)) * hourMs,
  );
  const hours = opens.filter((at) => at > nowMs() && at + hourMs <= monthEnd).length;
  const expected = found.spentMicros + left * each + hours * 4 * each;
  expect(Math.abs(found.forecastMicros - expected)).toBeLessThan(each / 20);
});

test('describe, status and cost show the limits, what waits, and that a limit is passed', async () => {
  const { fleet, shown, status } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 2 * each, monthlyMicros: 10 ** 7 })]);
  await fleet.write('web.yaml', [service('a'), service('b')]);
  fleet.run();
  for (const name of ['a', 'b']) await fleet.until(`ContainerService/${name}`, 'Ready', 'True');
  await fleet.write('more.yaml', [service('c')]);
  await fleet.until('ContainerService/c', 'Ready', 'False', 'BudgetExceeded');
  await eventually('the budget counts it', async () => (await status())?.waiting === 1);
  const text = await shown('describe', 'Budget/team');
  expect(text).toMatch(/^Limits: +\$0\.0270\/h, \$10\.00 a month$/m);
  expect(text).toMatch(/^Members: +3$/m);
  expect(text).toMatch(/^Reserved: +\$0\.00\/h$/m);
  expect(text).toMatch(/^Waiting: +1: ContainerService c$/m);
  expect(text).toMatch(/^Spent: +\$0\.\d+ in \d{4}-\d\d$/m);
  expect(text).toMatch(/^Forecast: +\$\d+\.\d+ at the end of the month/m);
  expect(await shown('status', 'Budget/team')).toContain(
    'Counted; NearLimit: hourlyMicros: $0.0270 of $0.0270 an hour, 100 %',
  );
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each })]);
  await fleet.until('Budget/team', 'WithinBudget', 'False', 'Exceeded');
  expect(await shown('status', 'Budget/team')).toContain(
    'Counted; Exceeded: hourlyMicros: $0.0270 of $0.0135 an hour, 200 %',
  );
  const cost = await shown('cost');
  expect(cost).toMatch(/LIMIT +USD\/HOUR +LIMIT\/HOUR/);
  expect(cost).toMatch(/\/team +\d{4}-\d\d .* - +\$0\.0270 +\$0\.0135 +-$/m);
});

test('what waits for a budget names the moment from which a schedule makes room', async () => {
  const { fleet } = await world();
  const now = new Date(nowMs());
  const hour = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), now.getUTCHours());
  // Two replicas until the hour after the next one begins, and then one, for an hour.
  const opensAt = hour + 2 * hourMs;
  const cron = `0 ${new Date(opensAt).getUTCHours()} * * *`;
  const schedules = [{ name: 'less', cron, durationMinutes: 60, replicas: 1 }];
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 2 * each })]);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, schedules })]);
  fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await fleet.write('more.yaml', [service('more')]);
  const { message } = await fleet.until('ContainerService/more', 'Ready', 'False', 'BudgetExceeded');
  const from = new Date(opensAt).toISOString().replace('.000Z', 'Z');
  expect(message).toContain(`by a schedule, it costs less from ${from} on`);
});

testInFolder('a rollout that needs room in a full budget reports that it waits for it', async () => {
  const { fleet } = await world();
  const { spec } = fleetOf('llm') as Json;
  const surge = { update: { ...spec.update, maxSurge: 1, maxUnavailable: 0 } };
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 2 * each })]);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, ...surge })]);
  fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const template = { ...spec.template, spec: { ...spec.template.spec, image: 'ghcr.io/acme/llm:2' } };
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, ...surge, template })]);
  const { message } = await eventually('the cause', async () => {
    const ready = await fleet.condition('ServiceFleet/llm', 'Reconciling');
    // Before that, it reports that the deadline of the rollout stands still.
    return ready?.message.includes('BudgetExceeded: ') && ready;
  });
  expect(message).toContain(
    'BudgetExceeded: replica 2 (`maxSurge: 0` with `maxUnavailable: 1` needs no room)',
  );
});
