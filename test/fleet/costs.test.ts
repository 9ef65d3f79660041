/** What a fleet costs, and what an account was charged, as the command line shows it. */
import { expect, onTestFinished, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  task,
  testInFolder,
  testOnClock,
  type Json,
} from '../support/processes/fleet.ts';
import { fleetOf } from '../support/processes/replicas.ts';
import { eventually, fleetkeeper, launch, nowMs, temporaryFolder } from '../support/processes/processes.ts';

const each = 13_500;
/** Those of the services of these tests. */
const prices = [{ region: 'standard', gpuHourMicros: 0, cpuHourMicros: 12_000, memoryGbHourMicros: 1500 }];
const hourMs = 3_600_000;
const accounts = `accounts: [{name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}]`;

const labelled = (name: string, team: string): object => ({
  ...service(name),
  metadata: { name, labels: { team } },
});

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const report = async (...args: string[]): Promise<Json> => {
    const { stdout, code, stderr } = await fleetkeeper([...args, ...fleet.flags, '-o', 'json']);
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  };
  return { plane, fleet, report };
}

test('what everything costs adds up to the account, whatever it is divided by', async () => {
  const { plane, fleet, report } = await world();
  const limits = { monthlyMicros: 50_000_000 };
  await fleet.write('budget.yaml', [
    { apiVersion, kind: 'Budget', metadata: { name: 'all' }, spec: { namespace: true, limits } },
  ]);
  await fleet.write('web.yaml', [
    labelled('a', 'search'),
    labelled('b', 'search'),
    labelled('c', 'shop'),
    service('d'),
  ]);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  await plane.call('POST', '/api/services', {
    name: 'foreign',
    region: 'standard',
    image: 'nginx',
    resources: { gpuCount: 0, cpu: 2, memoryGb: 1 },
  });
  fleet.run();
  await fleet.untilReady(8);
  await eventually(
    'the budget',
    async () => (await fleet.records()).get('Budget/all')?.status?.['members'] === 6,
  );
  const total = { things: 7, hourlyMicros: 6 * each + 25_500, unpriced: 0 };
  const unmanaged = { things: 1, hourlyMicros: 25_500, unpriced: 0 };
  const rows = async (...by: string[]) => {
    const { rows: found, ...rest } = await report('cost', ...by);
    expect(rest).toMatchObject({ total, unmanaged });
    return Object.fromEntries(found.map(({ name, hourlyMicros }: Json) => [name, hourlyMicros / each]));
  };
  expect(await rows()).toEqual({ [fleet.namespace]: 6 });
  expect(await rows('--by', 'label=team')).toEqual({ search: 2, shop: 1, null: 3 });
  expect(await rows('--by', 'fleet')).toEqual({ llm: 2, null: 4 });
  expect(await rows('--by', 'account')).toEqual({ [`${fleet.namespace}/default`]: 6 });
  const { budgets } = await report('cost');
  expect(budgets).toMatchObject([{ name: 'all', limitMicros: 50_000_000, unattributedMicros: null }]);
  expect(budgets[0].forecastMicros).toBeGreaterThan(budgets[0].spentMicros);
  const { stdout } = await fleetkeeper(['cost', ...fleet.flags, '--by', 'label=team']);
  expect(stdout).toContain('not managed by this fleet');
  expect(stdout).toMatch(/^BUDGET +MONTH +SPENT/m);
});

test('a plan of a service that is not to run has its stop, and costs nothing in the end', async () => {
  const { plane, fleet } = await world();
  const limits = { hourlyMicros: 20_000, perObjectHourlyMicros: 20_000 };
  await fleet.write('budget.yaml', [
    { apiVersion, kind: 'Budget', metadata: { name: 'all' }, spec: { namespace: true, limits } },
  ]);
  await fleet.write('web.yaml', [service('idle', { desiredState: 'Stopped' })]);
  const { plan, code } = await fleet.plan('--max-cost-increase', '0');
  expect(code).toBe(2);
  expect(plan.changes.map(({ action, cost }: Json) => [action, cost?.deltaMicros])).toEqual([
    ['create', each],
    ['stop', -each],
  ]);
  expect(plan.cost).toMatchObject({ deltaHourlyMicros: 0, thenHourlyMicros: 0 });
  expect(plan.cost.budgets).toMatchObject([
    { limit: 'hourlyMicros', thenMicros: 0, verdict: 'ok', waiting: [] },
    { limit: 'perObjectHourlyMicros', thenMicros: 0, verdict: 'ok', waiting: [] },
  ]);
  expect((await fleet.apply('--max-cost-increase', '0')).code).toBe(0);
  expect((await plane.service('idle')).state).toBe('paused');
  await fleet.write('web.yaml', [
    service('idle', { desiredState: 'Stopped' }),
    service('large', {
      desiredState: 'Stopped',
      resources: { gpuCount: 0, cpu: 2, memoryGb: 1 },
    }),
  ]);
  // It runs until it is stopped.
  const held = await fleet.plan();
  expect(held.plan.held).toMatchObject([{ name: 'large', reason: 'BudgetExceeded', actions: ['create'] }]);
  expect(held.plan.cost).toMatchObject({ deltaHourlyMicros: 0 });
});

testInFolder(
  'what waits counts for --max-cost-increase, since an apply does it when the wait is over',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('account.yaml', account(plane.url, { prices }));
    await fleet.write('web.yaml', [service('web')]);
    expect((await fleet.apply()).code).toBe(0);
    const { id } = await plane.service('web');
    const activity = { id: '5f0f1c1e-0000-4000-8000-000000000001', name: 'epoch 7' };
    await plane.call('POST', `/api/services/${id}/activity`, activity);
    await fleet.write('web.yaml', [service('web', { resources: { cpu: 2, memoryGb: 1 } })]);
    const limited = (usd: string) => fleet.plan('--max-cost-increase', usd);
    const { plan, code, stderr } = await limited('0.001');
    expect(plan.held).toMatchObject([{ name: 'web', reason: 'Protected', actions: ['resize'] }]);
    expect(plan.cost).toMatchObject({ deltaHourlyMicros: 0 });
    expect(plan.waitingCosts).toMatchObject([
      { name: 'web', reason: 'Protected', cost: { deltaMicros: 12_000 } },
    ]);
    const problem =
      'the plan costs $0.0120/h more once what waits continues (ContainerService default/web: Protected)';
    expect([code, stderr]).toEqual([4, expect.stringContaining(problem)]);
    expect((await limited('0.012')).code).toBe(2);
    const applied = await fleet.apply('--max-cost-increase', '0.001', '--timeout', '5s');
    expect([applied.code, applied.stderr]).toEqual([4, expect.stringContaining('nothing is changed')]);
    expect((await plane.service('web')).resources).toMatchObject({ cpu: 1 });
  },
);

test.each([
  ['its own storage', { volumeGb: 10 }],
  ['independent storage', { volumeGb: 10, volumeMode: 'independent' }],
])('a replacement of the same size, with %s, costs nothing more', async (_what, storage) => {
  const { fleet } = await world();
  const consent = { 'fleetkeeper.dev/confirm-data-loss': 'renamed' };
  const web = (spec: object = {}) => service('web', { storage, replacement: 'Recreate', ...spec }, consent);
  await fleet.write('web.yaml', [web()]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('web.yaml', [web({ serviceName: 'renamed' })]);
  const { plan, code } = await fleet.plan('--max-cost-increase', '0');
  expect(plan.changes).toMatchObject([{ action: 'replace', cost: { deltaMicros: 0 } }]);
  expect([code, plan.cost.deltaHourlyMicros]).toEqual([2, 0]);
});

testInFolder('a service that is started before it gets another size costs what that size costs', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url, { prices }));
  await fleet.write('web.yaml', [service('web'), task('run')]);
  expect((await fleet.apply()).code).toBe(0);
  const { id } = await plane.service('web');
  await plane.call('POST', `/api/services/${id}/actions`, { action: 'stop' });
  await eventually('it is paused', async () => (await plane.service('web')).state === 'paused');
  await fleet.write('web.yaml', [service('web', { resources: { cpu: 2, memoryGb: 1 } }), task('run')]);
  const { plan } = await fleet.plan();
  expect(plan.changes.map(({ action, cost }: Json) => [action, cost?.deltaMicros])).toEqual([
    ['start', each],
    ['resize', 12_000],
  ]);
  expect(plan.cost).toMatchObject({ deltaHourlyMicros: 25_500 });
});

test('a declared price that is higher than what runs shows counts for what is to be made', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('a')]);
  expect((await fleet.apply()).code).toBe(0);
  const higher = [{ region: 'standard', gpuHourMicros: 0, cpuHourMicros: 30_000, memoryGbHourMicros: 1500 }];
  await fleet.write('account.yaml', account(plane.url, { prices: higher }));
  const limits = { hourlyMicros: 40_000 };
  await fleet.write('budget.yaml', [
    { apiVersion, kind: 'Budget', metadata: { name: 'all' }, spec: { namespace: true, limits } },
  ]);
  await fleet.write('web.yaml', [service('a'), service('b')]);
  const { plan, code } = await fleet.plan();
  expect(code).toBe(2);
  expect(plan.held).toMatchObject([{ name: 'b', reason: 'BudgetExceeded' }]);
  await fleet.write('budget.yaml', '');
  const costly = await fleet.plan('--max-cost-increase', '0.02');
  expect(costly.code).toBe(4);
  expect(costly.plan.changes).toMatchObject([
    { name: 'b', cost: { deltaMicros: 31_500, basis: 'declared' } },
  ]);
});

test('two Accounts with keys of one account at the provider cost what that costs', async () => {
  const { plane, fleet, report } = await world();
  const [other, ...secrets] = account(plane.url) as [{ metadata: object }, ...object[]];
  await fleet.write('account.yaml', [
    other,
    { ...other, metadata: { ...other.metadata, name: 'other' } },
    ...secrets,
  ]);
  const ofOther = service('b') as { spec: object };
  await fleet.write('web.yaml', [
    service('a'),
    { ...ofOther, spec: { ...ofOther.spec, accountRef: { name: 'other' } } },
  ]);
  fleet.run();
  await fleet.untilReady(2);
  const both = 2 * each;
  expect((await report('cost')).total).toMatchObject({ things: 2, hourlyMicros: both });
  expect((await report('inventory', '--all')).totals).toMatchObject({ items: 2, hourlyMicros: both });
  expect((await report('plan')).cost).toMatchObject({ nowHourlyMicros: both });
  const { accounts: counted, total } = await report('cost', '--by', 'account');
  const [first, second] = ['default', 'other'].map((name) => `${fleet.namespace}/${name}`);
  expect(counted).toMatchObject([
    { account: first, sharesWith: null },
    { account: second, sharesWith: first },
  ]);
  expect(total.spentMicros).toBe(counted[0].spentMicros);
});

test('without a budget, the account shows what it has spent this month and what it will have cost at its end', async () => {
  const { fleet, report } = await world();
  await fleet.write('web.yaml', [service('a'), service('b')]);
  fleet.run();
  await fleet.untilReady(2);
  const name = `${fleet.namespace}/default`;
  await eventually(
    'a minute is counted',
    async () => {
      const found = await fleet.records();
      return Number(found.get('Account/default')?.status?.['spentMicros']) > (each * 2) / 90;
    },
    180_000,
  );
  const { accounts: rows, total, budgets } = await report('cost');
  const [row] = rows;
  const now = new Date(nowMs());
  const month = now.toISOString().slice(0, 7);
  const leftHours = (Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - nowMs()) / hourMs;
  expect(rows).toMatchObject([{ account: name, month, estimatedMicros: 0 }]);
  expect(budgets).toEqual([]);
  expect(Math.abs(total.aheadMicros - leftHours * 2 * each)).toBeLessThan(each / 20);
  const age = row.forecastMicros - row.spentMicros - total.aheadMicros;
  expect([age >= 0, age < each / 10]).toEqual([true, true]);
  const { stdout } = await fleetkeeper(['cost', ...fleet.flags]);
  expect(stdout).toMatch(/^ACCOUNT +MONTH +SPENT +ESTIMATED +UNATTRIBUTED +FORECAST +COUNTED SINCE$/m);
  expect(stdout).toMatch(new RegExp(`^${name} +${month} +\\$0\\.\\d+ `, 'm'));
});

test('a ledger is shown with the oldest entry first, and of one account', async () => {
  const { fleet, report } = await world();
  await fleet.write('web.yaml', [service('a')]);
  fleet.run();
  await fleet.untilReady(1);
  const { entries } = await report('ledger');
  expect(entries.length).toBeGreaterThan(0);
  const times = entries.map(({ createdAt }: Json) => createdAt);
  expect(times).toEqual([...times].sort((left, right) => left - right));
  const { code, stderr } = await fleetkeeper(['ledger', ...fleet.flags, '--follow', '-o', 'json']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('write -o jsonl')]);
});

testOnClock('a ledger that is followed shows where entries are missing that came too fast', async () => {
  const { plane, fleet } = await world();
  // In that time, there are more charges than the API shows.
  await fleet.write('account.yaml', account(plane.url, { pollSeconds: 150 }));
  await fleet.write('web.yaml', [service('a')]);
  fleet.run();
  await fleet.untilReady(1);
  const program = launch(['ledger', ...fleet.flags, '--follow', '-o', 'jsonl']);
  onTestFinished(async () => {
    await program.kill('SIGKILL');
  });
  const [, from = '', to = ''] = await program.line(/^\{"gap":true,"from":"([^"]+)","to":"([^"]+)"\}$/);
  const missedMs = Date.parse(to) - Date.parse(from);
  expect(Math.abs(missedMs - 150_000)).toBeLessThan(10_000);
  await program.line(/"createdAt"/);
  const { stdout } = await program.kill('SIGINT');
  const lines = stdout.trim().split('\n');
  const gaps = lines.filter((line) => line.startsWith('{"gap"'));
  expect([gaps.length > 0, new Set(lines).size]).toEqual([true, lines.length]);
});
