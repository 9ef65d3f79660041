/** Who waits for a budget, and what ends that. A service of these tests costs 13,500 micro-USD an hour, and a large one 37,500. */
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  testInFolder,
  testInTime,
  type Json,
} from '../support/processes/fleet.ts';
import { eventually, sleep, temporaryFolder } from '../support/processes/processes.ts';

const each = 13_500;
const large = { resources: { cpu: 3, memoryGb: 1 } };
const first = { 'fleetkeeper.dev/shed-priority': '1000' };
const accounts = `accounts: [{name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}]`;
const patienceMs = 120_000;

async function world(spec: object = {}) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url, spec));
  const made = async (): Promise<string[]> =>
    (await plane.account()).services.map(({ name }: Json) => name).toSorted();
  const refusal = async (name: string): Promise<string> => {
    const { message } = await fleet.until(`ContainerService/${name}`, 'Ready', 'False', 'BudgetExceeded');
    return message;
  };
  const runs = (name: string) =>
    fleet.until(`ContainerService/${name}`, 'Ready', 'True', undefined, patienceMs);
  return { plane, fleet, made, refusal, runs };
}

function budget(limits: object, spec: object = {}, name = 'team'): object {
  return { apiVersion, kind: 'Budget', metadata: { name }, spec: { namespace: true, limits, ...spec } };
}

const ofTeam = (team: string) => ({ namespace: undefined, selector: { matchLabels: { team } } });
const labelled = (name: string, team: string, spec: object = {}, annotations: object = {}): object => ({
  ...service(name, spec),
  metadata: { name, labels: { team }, annotations },
});

testInFolder(
  'what was let through is made, though others that are equal began to wait meanwhile',
  async () => {
    const { fleet, made } = await world();
    await fleet.write('budget.yaml', [budget({ hourlyMicros: 2 * each })]);
    await fleet.write(
      'web.yaml',
      ['a', 'b', 'c', 'd'].map((name) => service(name)),
    );
    const { plan } = await fleet.plan();
    await fleet.apply('--timeout', '20s');
    expect(await made()).toEqual(plan.changes.map(({ name }: Json) => name));
    expect(plan.changes).toHaveLength(2);
  },
);

test('a budget that only reports from now on, and one that is deleted, let go what waited', async () => {
  const { fleet, refusal, runs } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each })]);
  await fleet.write('one.yaml', [service('one')]);
  fleet.run();
  await runs('one');
  await fleet.write('two.yaml', [service('two')]);
  await refusal('two');
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each }, { mode: 'Report' })]);
  await runs('two');
  await fleet.write('budget.yaml', [budget({ perObjectHourlyMicros: 1000 })]);
  await fleet.write('three.yaml', [service('three')]);
  await refusal('three');
  await fleet.write('budget.yaml', '');
  expect((await runs('three')).status).toBe('True');
});

test('what leaves a budget by its labels keeps no place there', async () => {
  const { fleet, refusal, runs } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 50_000 }, ofTeam('search'))]);
  await fleet.write('a.yaml', [labelled('a', 'search')]);
  fleet.run();
  await runs('a');
  await fleet.write('big.yaml', [labelled('big', 'search', large, first)]);
  await refusal('big');
  await fleet.write('big.yaml', [labelled('big', 'shop', large, first)]);
  await runs('big');
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 52_000 }, ofTeam('search'))]);
  await fleet.write('new.yaml', [labelled('new', 'search')]);
  expect((await runs('new')).status).toBe('True');
});

test('what another budget refuses, or a ceiling, keeps no room of this one', async () => {
  const { fleet, refusal, runs } = await world();
  await fleet.write('a.yaml', [service('a')]);
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 50_000 })]);
  fleet.run();
  await runs('a');
  await fleet.write('other.yaml', [budget({ hourlyMicros: 20_000 }, ofTeam('search'), 'other')]);
  await fleet.until('Budget/other', 'Ready', 'True');
  await fleet.write('big.yaml', [labelled('big', 'search', large, first)]);
  await refusal('big');
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 52_000 })]);
  await eventually('the other refuses it', async () => (await refusal('big')).includes('Budget other'));
  await fleet.write('new.yaml', [service('new')]);
  await runs('new');
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 66_000, perObjectHourlyMicros: 20_000 })]);
  await fleet.write('other.yaml', '');
  await eventually('the ceiling refuses it', async () => (await refusal('big')).includes('perObject'));
  await fleet.write('newer.yaml', [service('newer')]);
  expect((await runs('newer')).status).toBe('True');
});

testInFolder(
  'at the usual pace of requests, what has priority comes first when a limit is raised',
  async () => {
    const { fleet, made } = await world({ requests: {} });
    const names = Array.from({ length: 20 }, (_, index) => `app-${String(index).padStart(2, '0')}`);
    const priority = (index: number) => ({ 'fleetkeeper.dev/shed-priority': `${index * 10}` });
    await fleet.write('budget.yaml', [budget({ hourlyMicros: 2 * each })]);
    await fleet.write(
      'web.yaml',
      names.map((name, index) => service(name, {}, priority(index))),
    );
    fleet.run();
    await eventually('two services', async () => (await made()).length === 2, patienceMs);
    await fleet.write('budget.yaml', [budget({ hourlyMicros: 8 * each })]);
    await eventually('eight services', async () => (await made()).length === 8, patienceMs);
    expect(await made()).toEqual(names.slice(-8));
  },
);

testInFolder('an account that was not read yet does not count as nothing', async () => {
  const { fleet, made, runs } = await world();
  const other = await new ControlPlane(await temporaryFolder(), { accounts }).start();
  const [second] = account(other.url) as Json[];
  await fleet.write('second.yaml', [{ ...second, metadata: { name: 'second' } }]);
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each })]);
  const elsewhere = (minutes: number) =>
    service('b', { accountRef: { name: 'second' }, sleepAfterMinutes: minutes });
  await fleet.write('b.yaml', [elsewhere(0)]);
  const program = fleet.run();
  await runs('b');
  // Its last request adds nothing.
  await fleet.write('b.yaml', [elsewhere(60)]);
  await eventually('the change', async () => (await other.service('b'))?.sleepAfterMinutes === 60);
  await fleet.until('ContainerService/b', 'Synced', 'True');
  await program.kill('SIGKILL');
  await other.stop();
  await fleet.write('a.yaml', [service('a')]);
  fleet.run();
  const waits = await fleet.until('ContainerService/a', 'Ready', 'False', 'AwaitingObservation');
  await eventually('its cause', async () =>
    (await fleet.condition('ContainerService/a', 'Ready'))?.message.includes('not read yet'),
  );
  expect([waits.reason, await made()]).toEqual(['AwaitingObservation', []]);
  await other.start();
  await fleet.until('ContainerService/a', 'Ready', 'False', 'BudgetExceeded', patienceMs);
});

testInFolder(
  'a budget of an account whose document is gone does not pass for one in which nothing runs',
  async () => {
    const { fleet, runs } = await world();
    const other = await new ControlPlane(await temporaryFolder(), { accounts }).start();
    const [second] = account(other.url) as Json[];
    await fleet.write('second.yaml', [{ ...second, metadata: { name: 'second' } }]);
    const ofSecond = { namespace: undefined, accountRef: { name: 'second' } };
    await fleet.write('budget.yaml', [budget({ hourlyMicros: 10 * each }, ofSecond)]);
    await fleet.write('b.yaml', [service('b', { accountRef: { name: 'second' } })]);
    fleet.run();
    await runs('b');
    await fleet.until('Budget/team', 'WithinBudget', 'True');
    await fleet.write('second.yaml', []);
    const { message } = await fleet.until('Budget/team', 'WithinBudget', 'Unknown', 'AccountUnreadable');
    expect(message).toContain('second');
  },
);

testInFolder(
  'what an account costs that can not be read is estimated, though another account can be',
  async () => {
    const { fleet, runs } = await world();
    const other = await new ControlPlane(await temporaryFolder(), { accounts }).start();
    const [second] = account(other.url) as Json[];
    await fleet.write('second.yaml', [{ ...second, metadata: { name: 'second' } }]);
    await fleet.write('budget.yaml', [budget({ hourlyMicros: 10 * each })]);
    await fleet.write('b.yaml', [service('b', { accountRef: { name: 'second' } })]);
    fleet.run();
    await runs('b');
    await other.stop();
    await eventually(
      'an estimated part',
      async () => Number((await fleet.records()).get('Budget/team')?.status?.['estimatedMicros'] ?? 0) > 0,
      600_000,
    );
  },
);

testInTime('an account that can not be read after a restart costs what it cost before', async () => {
  const { fleet, runs } = await world();
  const other = await new ControlPlane(await temporaryFolder(), { accounts }).start();
  const [second] = account(other.url) as Json[];
  await fleet.write('second.yaml', [{ ...second, metadata: { name: 'second' } }]);
  await fleet.write('budget.yaml', [budget({ monthlyMicros: 10 ** 9 })]);
  const elsewhere = { accountRef: { name: 'second' } };
  await fleet.write('a.yaml', [service('a')]);
  const program = fleet.run();
  await runs('a');
  await fleet.write('web.yaml', [service('b', elsewhere), service('c', elsewhere)]);
  for (const name of ['b', 'c']) await runs(name);
  const status = async (): Promise<Json> => (await fleet.records()).get('Budget/team')?.status;
  await eventually('the burn', async () => (await status()).hourlyMicros === 3 * each);
  await program.kill('SIGTERM');
  await other.stop();
  const before = await status();
  fleet.run();
  await sleep(3_600_000);
  await eventually('one more count', async () => (await status()).countedAt !== before.countedAt);
  const after = await status();
  const hours = (Date.parse(after.countedAt) - Date.parse(before.countedAt)) / 3_600_000;
  expect(hours).toBeGreaterThan(0.9);
  expect(after.spentMicros - before.spentMicros).toBeGreaterThan(2.99 * each * hours);
  expect(after.estimatedMicros - before.estimatedMicros).toBeGreaterThan(2.9 * each * hours);
});
