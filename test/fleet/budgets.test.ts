/** Budgets: what waits for them, who comes first, and what they count. A service of these tests costs 13,500 micro-USD an hour. */
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  testInFolder,
  volume,
  type Json,
} from '../support/processes/fleet.ts';
import { fleetOf } from '../support/processes/replicas.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

const each = 13_500;
const accounts = `accounts: [{name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}]`;

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const names = async (): Promise<string[]> =>
    (await plane.account()).services.map(({ name }: Json) => name).toSorted();
  const status = async (name = 'team'): Promise<Json> =>
    (await fleet.records()).get(`Budget/${name}`)?.status;
  return { plane, fleet, names, status };
}

function budget(limits: object, spec: object = {}, name = 'team'): object {
  return { apiVersion, kind: 'Budget', metadata: { name }, spec: { namespace: true, limits, ...spec } };
}

const labelled = (name: string, labels: Record<string, string>, spec: object = {}): object => ({
  ...service(name, spec),
  metadata: { name, labels },
});

const names = (count: number) => Array.from({ length: count }, (_, index) => `app-${index}`);

test('what fits is made, and the rest waits with the budget and the amounts, until the limit is higher', async () => {
  const { plane, fleet, status } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 2 * each })]);
  await fleet.write(
    'web.yaml',
    names(16).map((name) => service(name)),
  );
  fleet.run();
  await eventually('two services', async () => (await plane.account()).services.length === 2);
  const waiting = async () => {
    const all = await Promise.all(
      names(16).map((name) => fleet.condition(`ContainerService/${name}`, 'Ready')),
    );
    return all.filter((condition) => condition?.reason === 'BudgetExceeded');
  };
  await eventually('fourteen that wait', async () => (await waiting()).length === 14);
  const [first] = await waiting();
  expect(first?.message).toMatch(
    /^Budget team: hourlyMicros allows \$0\.0270\/h, and there is \$.*; this would add \$0\.0135\/h \((observed|catalog)\)/,
  );
  await eventually('the status', async () => {
    const { waiting: count, hourlyMicros } = await status();
    return count === 14 && hourlyMicros === 2 * each;
  });
  expect(await status()).toMatchObject({ members: 16, unpricedObjects: 0 });
  expect(await fleet.condition('Budget/team', 'WithinBudget')).toMatchObject({
    status: 'True',
    reason: 'NearLimit',
    message: 'hourlyMicros: $0.0270 of $0.0270 an hour, 100 %',
  });
  expect((await plane.account()).services).toHaveLength(2);
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 5 * each })]);
  await eventually('five services', async () => (await plane.account()).services.length === 5);
  await fleet.write('budget.yaml', '');
  await fleet.untilReady(16, 90_000);
});

testInFolder(
  'with not enough for all, what has a higher priority comes first, wherever it is written',
  async () => {
    const { fleet, names: made } = await world();
    await fleet.write('budget.yaml', [budget({ hourlyMicros: 3 * each })]);
    const priority = (index: number) => ({ 'fleetkeeper.dev/shed-priority': `${index * 10}` });
    await fleet.write(
      'web.yaml',
      names(12).map((name, index) => service(name, {}, priority(index))),
    );
    fleet.run();
    await eventually('three services', async () => (await made()).length === 3);
    expect(await made()).toEqual(['app-10', 'app-11', 'app-9']);
  },
);

test('a full budget does not prevent the repair of what somebody deleted, and nobody else gets its room', async () => {
  const { plane, fleet, names: made } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 2 * each })]);
  await fleet.write('web.yaml', [service('old'), service('other')]);
  fleet.run();
  await fleet.untilReady(3);
  await fleet.write('web.yaml', [
    service('old'),
    service('other'),
    service('new', {}, { 'fleetkeeper.dev/shed-priority': '1000' }),
  ]);
  await fleet.until('ContainerService/new', 'Ready', 'False', 'BudgetExceeded');
  const before = await plane.service('old');
  await plane.call('POST', `/api/services/${before.id}/actions`, { action: 'delete' });
  await eventually(
    'the repair',
    async () => {
      const now = await plane.service('old');
      return now !== undefined && now.id !== before.id;
    },
    90_000,
  );
  expect(await made()).toEqual(['old', 'other']);
});

test('what makes things cheaper, or is not to be there any more, never waits', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web', { resources: { cpu: 4, memoryGb: 4 } }), service('gone')]);
  fleet.run();
  await fleet.untilReady(2);
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 1 })]);
  await fleet.until('Budget/team', 'WithinBudget', 'False', 'Exceeded');
  await fleet.write('web.yaml', [service('web', { resources: { cpu: 1, memoryGb: 1 } })]);
  await eventually('the smaller size', async () => (await plane.service('web'))?.resources.cpu === 1);
  await eventually('the deletion', async () => (await plane.service('gone')) === undefined);
  await fleet.write('web.yaml', [service('web', { resources: { cpu: 2, memoryGb: 1 } })]);
  await fleet.until('ContainerService/web', 'Ready', 'False', 'BudgetExceeded');
  expect((await plane.service('web')).resources.cpu).toBe(1);
});

test('a budget of labels counts replicas of fleets by their own labels, and what is not selected does not wait', async () => {
  const { plane, fleet, status } = await world();
  const search = { matchLabels: { team: 'search' } };
  await fleet.write('budget.yaml', [
    budget({ hourlyMicros: 3 * each }, { namespace: undefined, selector: search }),
  ]);
  const { spec } = fleetOf('llm') as Json;
  const template = { ...spec.template, metadata: { labels: { team: 'search' } } };
  await fleet.write('web.yaml', [
    fleetOf('llm', { replicas: 2, template }),
    labelled('other', { team: 'shop' }),
  ]);
  fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await fleet.until('ContainerService/other', 'Ready', 'True');
  await fleet.write('batch.yaml', [
    labelled('batch', { team: 'search' }, { resources: { cpu: 2, memoryGb: 1 } }),
  ]);
  await fleet.until('ContainerService/batch', 'Ready', 'False', 'BudgetExceeded');
  await eventually('the status', async () => (await status()).members === 3);
  expect(await status()).toMatchObject({ hourlyMicros: 2 * each, waiting: 1 });
  expect((await plane.account()).services).toHaveLength(3);
});

test('a budget of an account counts what nobody manages, and a ceiling holds for each', async () => {
  const { plane, fleet, status } = await world();
  await plane.call('POST', '/api/services', {
    name: 'foreign',
    region: 'standard',
    image: 'nginx',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
  });
  await fleet.write('budget.yaml', [
    budget(
      { hourlyMicros: 3 * each, perObjectHourlyMicros: 2 * each },
      { namespace: undefined, accountRef: { name: 'default' } },
    ),
  ]);
  await fleet.write('web.yaml', [
    service('large', { resources: { cpu: 3, memoryGb: 1 } }),
    service('one'),
    service('two'),
    service('three'),
  ]);
  fleet.run();
  await eventually('three services', async () => (await plane.account()).services.length === 3);
  const large = await fleet.until('ContainerService/large', 'Ready', 'False', 'BudgetExceeded');
  expect(large.message).toBe(
    'Budget team: perObjectHourlyMicros allows $0.0270/h for each, and this would cost $0.0375/h (catalog)',
  );
  await eventually('the status', async () => (await status()).hourlyMicros === 3 * each);
  expect(await status()).toMatchObject({ members: 3 });
  await eventually('the two that wait', async () => (await status()).waiting === 2);
});

test('with Report nothing waits, and the limit that is passed is shown', async () => {
  const { fleet } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each }, { mode: 'Report' })]);
  await fleet.write('web.yaml', [service('one'), service('two')]);
  fleet.run();
  await fleet.until('ContainerService/one', 'Ready', 'True');
  await fleet.until('ContainerService/two', 'Ready', 'True');
  const { message } = await fleet.until('Budget/team', 'WithinBudget', 'False', 'Exceeded');
  expect(message).toBe('hourlyMicros: $0.0270 of $0.0135 an hour, 200 %');
});

test('the balance of an account has to last, and an annotation lets an object pass', async () => {
  const { fleet } = await world();
  const ofAccount = { namespace: undefined, accountRef: { name: 'default' } };
  await fleet.write('budget.yaml', [budget({ runwayHours: 8760, hourlyMicros: 100 * each }, ofAccount)]);
  // 1,000 USD for a year are about 0.114 USD an hour.
  await fleet.write(
    'web.yaml',
    names(10).map((name) => service(name)),
  );
  const manager = fleet.run();
  await eventually('eight services', async () => {
    const all = await Promise.all(
      names(10).map((name) => fleet.condition(`ContainerService/${name}`, 'Ready')),
    );
    return all.filter((condition) => condition?.status === 'True').length === 8;
  });
  const all = () =>
    Promise.all(names(10).map((name) => fleet.condition(`ContainerService/${name}`, 'Ready')));
  const shown = await eventually('two that wait', async () => {
    const found = await all();
    return found.filter((condition) => condition?.reason === 'BudgetExceeded').length === 2 && found;
  });
  const index = shown.findIndex((condition) => condition?.reason === 'BudgetExceeded');
  expect(shown[index]?.message).toContain('has to last for 8760 h (runwayHours)');
  const passing = (year: number) => {
    const until = { 'fleetkeeper.dev/allow-overspend-until': `${year}-01-01T00:00:00Z` };
    return names(10).map((name, at) => service(name, {}, at === index ? until : undefined));
  };
  await fleet.write('web.yaml', passing(2999));
  await fleet.until(`ContainerService/app-${index}`, 'Ready', 'True');
  const stated = await eventually('the budget states it', async () => {
    const { message = '' } = (await fleet.condition('Budget/team', 'WithinBudget')) ?? {};
    return message.includes('allow-overspend-until') && message;
  });
  expect(stated).toContain(`ContainerService app-${index} until 2999-01-01T00:00:00Z`);
  const announced = () => manager.stderr.split('\n').filter((line) => line.includes('OverspendAllowed'));
  await eventually('the Event', async () => announced().length > 0);
  // Another time is announced, and nothing is announced twice.
  const text = (year: number) =>
    `ContainerService app-${index} does not wait for the budget until ${year}-01-01T00:00:00Z`;
  await fleet.write('web.yaml', passing(2998));
  await eventually('the other time', async () => announced().at(-1)?.includes(text(2998)));
  expect(announced()).toHaveLength(2);
  expect(announced()[0]).toContain(text(2999));
});

testInFolder(
  'a budget that becomes invalid lets nothing grow, and one that never was valid stops nothing',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('budget.yaml', [budget({ hourlyMicros: 10 * each })]);
    await fleet.write('never.yaml', [budget({ hourlyMicros: 'much' }, {}, 'never')]);
    await fleet.write('web.yaml', [service('one')]);
    fleet.run();
    await fleet.until('ContainerService/one', 'Ready', 'True');
    await fleet.until('Budget/team', 'Ready', 'True', 'Counted');
    await fleet.write('budget.yaml', [budget({ hourlyMicros: -1 })]);
    await fleet.until('Budget/team', 'Stalled', 'True', 'InvalidSpec');
    await fleet.write('web.yaml', [service('two')]);
    await fleet.until('ContainerService/two', 'Ready', 'False', 'BudgetInvalid');
    await eventually('the deletion', async () => (await plane.account()).services.length === 0);
    await fleet.write('budget.yaml', [budget({ hourlyMicros: 10 * each })]);
    await fleet.until('ContainerService/two', 'Ready', 'True');
  },
);

test('a volume counts, its growth is asked for first, and its service runs meanwhile', async () => {
  const { plane, fleet } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: each + 20 * 140 })]);
  await fleet.write('web.yaml', [
    volume('data'),
    service('web', { storage: { volumeRef: { name: 'data' } } }),
  ]);
  fleet.run();
  await fleet.untilReady(3);
  await fleet.write('web.yaml', [
    volume('data', { sizeGb: 40 }),
    service('web', { storage: { volumeRef: { name: 'data' } } }),
  ]);
  await fleet.until('StorageVolume/data', 'Ready', 'False', 'BudgetExceeded');
  expect((await plane.service('web')).state).toBe('running');
});

test('the room that a smaller size gives is there for the growth of its volume, which pauses the service once', async () => {
  const { plane, fleet } = await world();
  await fleet.write('budget.yaml', [budget({ hourlyMicros: 160_000 })]);
  const documents = (cpu: number, sizeGb: number) => [
    volume('data', { sizeGb, expansion: 'PauseService' }),
    service('web', { resources: { cpu, memoryGb: 1 }, storage: { volumeRef: { name: 'data' } } }),
  ];
  await fleet.write('web.yaml', documents(12, 10));
  fleet.run();
  await fleet.untilReady(3);
  await fleet.write('web.yaml', documents(1, 10));
  await eventually('the smaller size', async () => (await plane.service('web')).resources.cpu === 1);
  await fleet.untilReady(3);
  await plane.forgetRequests();
  await fleet.write('web.yaml', documents(1, 100));
  await eventually('the growth', async () => (await plane.volume('data-')).sizeGb === 100);
  await fleet.untilReady(3);
  const actions = (await plane.requests()).filter(({ path }) => path.endsWith('/actions'));
  expect(actions).toHaveLength(2);
});

testInFolder(
  'a plan shows what it costs, what becomes of each budget, and what will wait for it',
  async () => {
    const { fleet } = await world();
    await fleet.write('budget.yaml', [
      budget({ hourlyMicros: 3 * each }),
      budget({ hourlyMicros: 100 * each, monthlyMicros: 10 ** 9 }, {}, 'wide'),
    ]);
    await fleet.write('web.yaml', [service('a'), service('b')]);
    expect((await fleet.apply()).code).toBe(0);
    await fleet.write('web.yaml', [service('a'), service('b'), service('c'), service('d')]);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
    const { plan, code } = await fleet.plan();
    expect(code).toBe(2);
    const [namespace, kind] = [fleet.namespace, 'ContainerService'];
    expect(plan.cost.budgets).toMatchObject([
      {
        namespace,
        name: 'team',
        limit: 'hourlyMicros',
        limitMicros: 3 * each,
        nowMicros: 2 * each,
        thenMicros: 6 * each,
        verdict: 'exceeded',
        waiting: [`${kind}/${namespace}/d`, `ServiceFleet/${namespace}/llm`],
      },
      {
        name: 'wide',
        limit: 'hourlyMicros',
        thenMicros: 6 * each,
        verdict: 'ok',
        waiting: [],
      },
      { name: 'wide', limit: 'monthlyMicros', verdict: 'ok', waiting: [] },
    ]);
    const { stdout } = await fleetkeeper(['plan', ...fleet.flags]);
    expect(stdout).toContain(
      `Budget ${namespace}/team: $0.0270 → $0.0810 of $0.0405/h: 2 changes will wait (${kind} ${namespace}/d, ServiceFleet ${namespace}/llm)`,
    );
    const markdown = await fleetkeeper(['plan', ...fleet.flags, '--output', 'markdown']);
    expect(markdown.stdout).toContain('**exceeded**');
  },
);

testInFolder('a plan that costs more than is allowed is no success, and is not applied', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('a'), service('b')]);
  const limited = (usd: string) => fleet.plan('--max-cost-increase', usd);
  expect([(await limited('0.02')).code, (await limited('0.027')).code]).toEqual([4, 2]);
  expect((await limited('0.02')).stderr).toContain(
    'the plan costs $0.0270/h more, and --max-cost-increase is $0.0200/h',
  );
  const { code, stderr } = await fleet.apply('--max-cost-increase', '0.02');
  expect([code, stderr]).toEqual([4, expect.stringContaining('nothing is changed')]);
  expect((await plane.account()).services).toEqual([]);
  expect((await limited('many')).code).toBe(1);
});
