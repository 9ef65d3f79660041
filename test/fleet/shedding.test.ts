/** Services that are stopped for a budget, and come back. One of these tests costs 13,500 micro-USD an hour. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  task,
  testInTime,
  testOnClock,
  type Fleet,
  type Json,
} from '../support/processes/fleet.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { nowMs, sleep, temporaryFolder } from '../support/processes/processes.ts';
import { Proxy } from '../support/processes/proxy.ts';
import { world as ways } from '../support/world.ts';

const each = 13_500;
const minuteMs = 60_000;
const accounts = `accounts: [{name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}]`;

const priority = (value: number | 'never') => ({ 'fleetkeeper.dev/shed-priority': `${value}` });

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url, { pollSeconds: 5 }));
  const states = async (): Promise<Record<string, string>> =>
    Object.fromEntries((await plane.account()).services.map(({ name, state }: Json) => [name, state]));
  const paused = async (): Promise<string[]> =>
    Object.entries(await states())
      .filter(([, state]) => state === 'paused')
      .map(([name]) => name)
      .toSorted();
  const status = async (): Promise<Json> => (await fleet.records()).get('Budget/team')?.status;
  const limit = (hourlyMicros: number, spec: object = {}) =>
    fleet.write('budget.yaml', [budget(hourlyMicros, spec)]);
  return { plane, fleet, states, paused, status, limit };
}

function budget(hourlyMicros: number, spec: object = {}): object {
  return {
    apiVersion,
    kind: 'Budget',
    metadata: { name: 'team' },
    spec: {
      namespace: true,
      limits: { hourlyMicros },
      mode: 'Shed',
      shed: { graceMinutes: 2, resumeAfterMinutes: 3 },
      ...spec,
    },
  };
}

const unlabelled = {
  namespace: undefined,
  selector: { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] },
};

const patient = 15 * minuteMs;
const until = (fleet: Fleet, name: string, status: string, reason: string) =>
  fleet.until(name, 'Ready', status, reason, patient);

/** What takes minutes is asked for every ten seconds. */
async function later(what: string, ask: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < 90; count += 1) {
    if (await ask()) return;
    await sleep(10_000);
  }
  throw new Error(`not within 15 minutes: ${what}`);
}

/** A simulated world in which nothing happens for an hour has ended. */
async function anHour(): Promise<void> {
  for (let halves = 0; halves < 2; halves += 1) await sleep(30 * minuteMs);
}

testOnClock(
  'when a limit is passed, the services of the lowest priority are stopped after the period of grace, and come back in reverse',
  async () => {
    const { plane, fleet, paused, status, limit } = await world();
    await limit(4 * each);
    await fleet.write('web.yaml', [
      service('low', {}, priority(1)),
      service('middle', {}, priority(2)),
      service('high', {}, priority(3)),
    ]);
    fleet.run();
    await fleet.untilReady(4);
    const before = await plane.account();
    await limit(Math.floor(1.5 * each));
    await fleet.until('Budget/team', 'Shedding', 'False', 'SheddingSoon');
    expect((await fleet.condition('Budget/team', 'Shedding'))?.message).toMatch(
      /^at .*: ContainerService low, ContainerService middle$/,
    );
    const startMs = nowMs();
    await later('the first stop', async () => (await paused()).length === 1);
    expect(await paused()).toEqual(['low']);
    expect(nowMs() - startMs).toBeGreaterThan(1.8 * minuteMs);
    const firstMs = nowMs();
    await later('the second stop', async () => (await paused()).length === 2);
    expect(await paused()).toEqual(['low', 'middle']);
    expect(nowMs() - firstMs).toBeGreaterThan(0.9 * minuteMs);
    await until(fleet, 'ContainerService/middle', 'False', 'ShedForBudget');
    await fleet.until('Budget/team', 'WithinBudget', 'True');
    expect(await status()).toMatchObject({
      shedding: [{ object: 'ContainerService low' }, { object: 'ContainerService middle' }],
    });
    expect(await fleet.condition('ContainerService/low', 'Drifted')).toMatchObject({ status: 'False' });
    // Not enough room for another one below 90 per cent.
    await limit(Math.floor(2.1 * each));
    await sleep(5 * minuteMs);
    expect(await paused()).toEqual(['low', 'middle']);
    await limit(4 * each);
    await later('all of them', async () => (await paused()).length === 0);
    await fleet.untilReady(4, patient);
    const idOf = async (name: string) => (await plane.service(name)).id;
    const changes = (await plane.requests()).filter(isMutation).slice(-4);
    const ids = await Promise.all(['low', 'middle', 'middle', 'low'].map(idOf));
    expect(changes.map(({ path }) => path.split('/')[3])).toEqual(ids);
    await fleet.until('Budget/team', 'Shedding', 'False', 'NothingShed');
    expect((await status()).shedding).toBeUndefined();
    const all = ({ services }: Json) => services.map(({ id }: Json) => id).toSorted();
    expect(all(await plane.account())).toEqual(all(before));
  },
);

testOnClock(
  'what is protected, outside its window, or not to be stopped is not, and that is reported with names',
  async () => {
    const { fleet, paused, limit } = await world();
    await limit(10 * each);
    const windows = [{ cron: '0 0 1 1 *', durationMinutes: 1 }];
    await fleet.write('web.yaml', [
      service('task', { disruption: 'Always' }),
      service('window', { disruptionWindows: windows }),
      service('never', {}, priority('never')),
      service('still', { disruption: 'Never' }),
      service('free'),
    ]);
    await fleet.write('task.yaml', [task('epoch', { serviceRef: { name: 'task' } })]);
    fleet.run();
    await until(fleet, 'ContainerService/free', 'True', 'Running');
    await until(fleet, 'ProtectedTask/epoch', 'True', 'Held');
    await limit(1);
    await fleet.until('Budget/team', 'Stalled', 'True', 'ShedBlocked', patient);
    expect(await paused()).toEqual(['free']);
    const { message } = (await fleet.condition('Budget/team', 'Stalled')) ?? {};
    for (const part of [
      /ContainerService task \(it is protected by the ProtectedTask epoch/,
      /ContainerService window \(no disruption window of it is open\)/,
      /ContainerService never \(`shed-priority: never`\)/,
      /ContainerService still \(it has `disruption: Never`\)/,
    ])
      expect(message).toMatch(part);
  },
);

testOnClock(
  'an activity that only the provider knows keeps a service from being stopped, and another one is',
  async () => {
    const { plane, fleet, paused, limit } = await world();
    await limit(10 * each);
    await fleet.write('web.yaml', [service('busy', { disruption: 'Always' }, priority(1)), service('idle')]);
    fleet.run();
    await fleet.untilReady(3);
    const { id } = await plane.service('busy');
    await plane.call('POST', `/api/services/${id}/activity`, { id: randomUUID(), name: 'by hand' });
    await limit(Math.floor(1.5 * each));
    await later('the stop', async () => (await paused()).length === 1);
    expect(await paused()).toEqual(['idle']);
  },
);

testOnClock(
  'a fleet gives replicas down to minReplicas before a service is stopped, and gets them back',
  async () => {
    const { plane, fleet, paused, status, limit } = await world();
    await limit(10 * each);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 3, minReplicas: 2, maxReplicas: 5 })]);
    await fleet.write('web.yaml', [service('web', {}, priority(1))]);
    fleet.run();
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    await until(fleet, 'ContainerService/web', 'True', 'Running');
    const running = async () =>
      (await plane.account()).services.filter(({ state }: Json) => state === 'running').length;
    const { hourlyMicros } = await status();
    await limit(hourlyMicros - each - 1);
    await later('one replica less, and no web', async () => (await running()) === 2);
    expect(await paused()).toEqual(['web']);
    expect((await fleet.records()).get('ServiceFleet/llm')?.status).toMatchObject({
      desiredReplicas: 2,
      limitedBy: 'Budget team',
    });
    await sleep(5 * minuteMs);
    expect(await running()).toBe(2);
    await limit(10 * hourlyMicros);
    await later('all of them', async () => (await running()) === 4);
  },
);

testOnClock(
  'a fleet whose replicas are all protected keeps them, and does not hold up what else may be stopped',
  async () => {
    const { plane, fleet, paused, status, limit } = await world();
    await limit(1000 * each, { shed: { graceMinutes: 1, maxPerMinute: 100, resumeAfterMinutes: 3 } });
    await fleet.write('llm.yaml', [
      fleetOf('llm', { replicas: 3, minReplicas: 1 }),
      fleetOf('other', { replicas: 2, minReplicas: 0 }),
    ]);
    await fleet.write('web.yaml', [service('web'), service('more')]);
    fleet.run();
    for (const name of ['llm', 'other']) await fleet.until(`ServiceFleet/${name}`, 'Ready', 'True');
    await until(fleet, 'ContainerService/web', 'True', 'Running');
    for (const name of ['llm-0', 'llm-1', 'llm-2', 'other-0', 'other-1']) {
      const { id } = await plane.service(name);
      await plane.call('POST', `/api/services/${id}/activity`, { id: randomUUID(), name: 'by hand' });
    }
    const { services } = await plane.account();
    await limit(each, { shed: { graceMinutes: 1, maxPerMinute: 100, resumeAfterMinutes: 3 } });
    const startMs = nowMs();
    await later('the stops', async () => (await paused()).length === 2);
    expect(nowMs() - startMs).toBeLessThan(5 * minuteMs);
    await fleet.until('Budget/team', 'Stalled', 'True', 'ShedBlocked', patient);
    const { message } = (await fleet.condition('Budget/team', 'Stalled')) ?? {};
    expect(message).toContain('ServiceFleet llm (its replicas that drain are protected)');
    await sleep(20 * minuteMs);
    const after = (await plane.account()).services;
    expect(after.map(({ name }: Json) => name)).toEqual(services.map(({ name }: Json) => name));
    expect(await paused()).toEqual(['more', 'web']);
    expect((await status()).shedObjects).toBe(4);
  },
);

testOnClock.each([
  [
    'an exemption',
    async (fleet: Fleet) => {
      await fleet.write('web.yaml', [
        service('web', {}, { 'fleetkeeper.dev/exempt-from-shedding-until': '2999-01-01T00:00:00Z' }),
      ]);
    },
  ],
  ['the deletion of the budget', (fleet: Fleet) => fleet.write('budget.yaml', '')],
  [
    'another mode',
    (fleet: Fleet) => fleet.write('budget.yaml', [budget(1, { ...unlabelled, mode: 'Report' })]),
  ],
  [
    'a scope that does not count it',
    (fleet: Fleet) =>
      fleet.write('web.yaml', [
        {
          ...service('web'),
          metadata: { name: 'web', labels: { team: 'other' } },
        },
      ]),
  ],
])('%s starts it again at once', async (_, end) => {
  const { fleet, paused, limit } = await world();
  await limit(10 * each, unlabelled);
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.untilReady(2);
  await fleet.write('budget.yaml', [budget(1, unlabelled)]);
  await later('the stop', async () => (await paused()).length === 1);
  await until(fleet, 'ContainerService/web', 'False', 'ShedForBudget');
  await end(fleet);
  await fleet.until('ContainerService/web', 'Ready', 'True', 'Running', 90_000);
});

testOnClock(
  'what is stopped stays so over a restart, with the reason in its status, and is stopped as desired after an edit',
  async () => {
    const { plane, fleet, paused, limit } = await world();
    await limit(10 * each);
    await fleet.write('web.yaml', [service('web'), service('other', {}, priority('never'))]);
    const program = fleet.run();
    await fleet.untilReady(3);
    await limit(Math.floor(1.5 * each));
    await later('the stop', async () => (await paused()).length === 1);
    await program.kill('SIGKILL');
    const mark = (await plane.requests()).length;
    fleet.run();
    await sleep(3 * minuteMs);
    expect(await paused()).toEqual(['web']);
    await until(fleet, 'ContainerService/web', 'False', 'ShedForBudget');
    expect((await plane.requests()).slice(mark).filter(isMutation)).toEqual([]);
    await fleet.write('web.yaml', [service('web', { desiredState: 'Stopped' })]);
    await until(fleet, 'ContainerService/web', 'True', 'Stopped');
    await fleet.write('web.yaml', [service('web')]);
    await until(fleet, 'ContainerService/web', 'True', 'Running');
  },
);

testOnClock(
  'what no manager has observed is no part of the period of grace, and a short restart is',
  async () => {
    const { fleet, paused, limit } = await world();
    await limit(10 * each);
    await fleet.write('web.yaml', [service('low', {}, priority(1)), service('high', {}, priority(2))]);
    let program = fleet.run();
    await fleet.untilReady(3);
    await limit(Math.floor(1.5 * each));
    await fleet.until('Budget/team', 'Shedding', 'False', 'SheddingSoon');
    await program.kill('SIGKILL');
    await anHour();
    program = fleet.run();
    const startMs = nowMs();
    await sleep(1.5 * minuteMs);
    expect(await paused()).toEqual([]);
    await fleet.until('Budget/team', 'Shedding', 'False', 'SheddingSoon');
    await program.kill('SIGKILL');
    await sleep(0.4 * minuteMs);
    fleet.run();
    await later('the stop', async () => (await paused()).length === 1);
    expect(nowMs() - startMs).toBeLessThan(3 * minuteMs);
  },
);

testInTime(
  '`apply` stops nothing for a budget, and starts nothing again: a manager that lasts does',
  async () => {
    const { plane, fleet, paused, limit } = await world();
    const applied = async (tag: number) => {
      // It has something to do, so it stays for a while.
      await fleet.write('other.yaml', [service('other', { image: `ghcr.io/acme/app:${tag}` })]);
      await fleet.apply('--stable', '60s');
    };
    await limit(10 * each);
    await fleet.write('web.yaml', [service('low', {}, priority(1)), service('high', {}, priority(2))]);
    await applied(1);
    await limit(Math.floor(1.5 * each));
    await applied(2);
    await anHour();
    const mark = (await plane.requests()).length;
    await applied(3);
    await applied(4);
    const sent = (await plane.requests()).slice(mark).filter(isMutation);
    expect(sent.filter(({ path }) => path.endsWith('/actions'))).toEqual([]);
    expect([sent.length, await paused()]).toEqual([2, []]);
    const { message } = await fleet.until('Budget/team', 'Shedding', 'False', 'NothingShed');
    expect(message).toContain('`fleetkeeper run`');
    const program = fleet.run();
    await fleet.until('Budget/team', 'Shedding', 'False', 'SheddingSoon');
    await later('the stops', async () => (await paused()).length === 2);
    await program.kill('SIGTERM');
    await limit(10 * each);
    await applied(5);
    await anHour();
    await applied(6);
    expect(await paused()).toEqual(['high', 'low']);
    fleet.run();
    await later('all of them', async () => (await paused()).length === 0);
  },
);

testOnClock(
  'a service with a request that waits for a person is passed over, and named when nothing else is left',
  async () => {
    const { plane, fleet, paused, limit } = await world();
    const proxy = await new Proxy(plane.url).start();
    proxy.edit = ({ revision: _hidden, ...shown }) => shown;
    await fleet.write('account.yaml', account(proxy.url, { pollSeconds: 5 }));
    const low = (restartToken: string) => service('low', { restartToken }, priority(1));
    await limit(10 * each);
    await fleet.write('web.yaml', [low('1'), service('high', {}, priority(2))]);
    fleet.run();
    await fleet.untilReady(3);
    await plane.faults([{ method: 'POST', path: '/actions$', fault: 'drop-response', times: 1 }]);
    await fleet.write('web.yaml', [low('2'), service('high', {}, priority(2))]);
    await fleet.until('ContainerService/low', 'Stalled', 'True', 'OutcomeUnknown', patient);
    await limit(Math.floor(1.5 * each));
    await later('the stop', async () => (await paused()).length === 1);
    expect(await paused()).toEqual(['high']);
    await limit(1);
    const { message } = await fleet.until('Budget/team', 'Stalled', 'True', 'ShedBlocked', patient);
    expect(message).toContain('ContainerService low (the outcome of a request about it is not known');
  },
);

testOnClock(
  'what somebody starts at the provider is stopped again only after another period of grace',
  async () => {
    const { plane, fleet, paused, limit } = await world();
    await limit(10 * each);
    await fleet.write('web.yaml', [service('web'), service('other', {}, priority('never'))]);
    fleet.run();
    await fleet.untilReady(3);
    await limit(Math.floor(1.5 * each));
    await later('the stop', async () => (await paused()).length === 1);
    await until(fleet, 'ContainerService/web', 'False', 'ShedForBudget');
    const { id } = await plane.service('web');
    await plane.call('POST', `/api/services/${id}/actions`, { action: 'start' });
    const startMs = nowMs();
    await until(fleet, 'ContainerService/web', 'True', 'Running');
    await later('the stop after that', async () => (await paused()).length === 1);
    expect(nowMs() - startMs).toBeGreaterThan(1.8 * minuteMs);
  },
);

testOnClock('what is stopped comes before anything new, whatever its priority', async () => {
  const { fleet, paused, limit } = await world();
  await limit(10 * each);
  await fleet.write('web.yaml', [service('web', {}, priority(1)), service('other', {}, priority('never'))]);
  fleet.run();
  await fleet.untilReady(3);
  await limit(Math.floor(1.5 * each));
  await later('the stop', async () => (await paused()).length === 1);
  await until(fleet, 'ContainerService/web', 'False', 'ShedForBudget');
  // Room for one, but not below 90 per cent.
  await limit(Math.floor(2.1 * each));
  await fleet.write('new.yaml', [service('new', {}, priority(1000))]);
  const { message } = await fleet.until('ContainerService/new', 'Ready', 'False', 'BudgetExceeded');
  expect(message).toMatch(/and ContainerService web, which comes first, needs /);
});

testOnClock(
  'what a fleet has given comes back to it before anything new, whatever its priority',
  async () => {
    const { plane, fleet, limit } = await world();
    await limit(10 * each);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 4, minReplicas: 1 })]);
    fleet.run();
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    const count = async () => (await plane.account()).services.length;
    await limit(Math.floor(2.5 * each));
    await later('two replicas', async () => (await count()) === 2);
    // Room for one, but not below 90 per cent.
    await limit(Math.floor(3.2 * each));
    await sleep(12 * minuteMs);
    await fleet.write('new.yaml', [service('new', {}, priority(1000))]);
    const { message } = await fleet.until('ContainerService/new', 'Ready', 'False', 'BudgetExceeded');
    expect(message).toMatch(/and ServiceFleet llm, which comes first, needs \$0\.0270\/h /);
    await sleep(12 * minuteMs);
    expect(await count()).toBe(2);
    await limit(10 * each);
    await later('all of them', async () => (await count()) === 5);
  },
);

testOnClock('a fleet at its least number replaces replicas, whatever waits to come back', async () => {
  const { plane, fleet, limit } = await world();
  const images = async () =>
    (await plane.account()).services
      .filter(({ state }: Json) => state === 'running')
      .map(({ image }: Json) => image);
  const [before, after] = ['ghcr.io/acme/llm:1', 'ghcr.io/acme/llm:2'];
  const busy = (image: string) => {
    const update = { mode: 'Replace', maxSurge: 0, maxUnavailable: 1, minReadySeconds: 0 };
    return fleetOf('busy', { replicas: 2, minReplicas: 2, update, template: template({ image }) });
  };
  const low = fleetOf('low', { replicas: 3, minReplicas: 0 });
  const shed = { graceMinutes: 1, maxPerMinute: 100, resumeAfterMinutes: 3 };
  await limit(10 * each, { shed });
  await fleet.write('llm.yaml', [low, busy(before)]);
  fleet.run();
  await later('five replicas', async () => (await images()).length === 5);
  await fleet.until('ServiceFleet/busy', 'Ready', 'True');
  await limit(Math.floor(2.5 * each), { shed });
  await later('two replicas', async () => (await images()).length === 2);
  await sleep(12 * minuteMs);
  await fleet.write('llm.yaml', [low, busy(after)]);
  await later('the new image', async () => (await images()).join(' ') === `${after} ${after}`);
});

testOnClock('what has its turn to come back does not wait for what has no room yet', async () => {
  const { plane, fleet, paused, limit } = await world();
  const names = async () =>
    (await plane.account()).services
      .filter(({ state }: Json) => state === 'running')
      .map(({ name }: Json) => name)
      .toSorted();
  const at = (value: number) => ({ annotations: priority(value) });
  const fleetAt = (name: string, replicas: number, value: number): Json => {
    const document = fleetOf(name, { replicas, minReplicas: 0 }) as Json;
    return { ...document, metadata: { name, ...at(value) } };
  };
  await limit(20 * each, { shed: { graceMinutes: 1, maxPerMinute: 100, resumeAfterMinutes: 3 } });
  await fleet.write('llm.yaml', [fleetAt('low', 3, 1), fleetAt('high', 2, 2)]);
  fleet.run();
  await later('five replicas', async () => (await names()).length === 5);
  await limit(1, { shed: { graceMinutes: 1, maxPerMinute: 100, resumeAfterMinutes: 3 } });
  await later('none', async () => (await names()).length === 0);
  await sleep(12 * minuteMs);
  // 90 per cent of it are enough for the one fleet, and not for the other.
  await limit(Math.floor(2.3 * each));
  await later('two replicas', async () => (await names()).length === 2);
  expect(await names()).toEqual(['high-0', 'high-1']);
  await fleet.write('llm.yaml', [service('large', { resources: { cpu: 3, memoryGb: 1 } }), service('web')]);
  await limit(20 * each, { shed: { graceMinutes: 1, maxPerMinute: 100, resumeAfterMinutes: 3 } });
  await fleet.untilReady(3, patient);
  await limit(1, { shed: { graceMinutes: 1, maxPerMinute: 100, resumeAfterMinutes: 3 } });
  await later('both stops', async () => (await paused()).length === 2);
  await sleep(12 * minuteMs);
  await limit(Math.floor(1.5 * each));
  await later('the start', async () => (await paused()).length === 1);
  expect(await names()).toEqual(['web']);
});

testOnClock('a clock that is ahead by days for a while stops nothing, and leaves nothing spent', async () => {
  const { fleet, paused, status } = await world();
  const days = 14 * 24 * 60 * minuteMs;
  await fleet.write('budget.yaml', [budget(0, { limits: { monthlyMicros: 100 * each } })]);
  await fleet.write('web.yaml', [service('low', {}, priority(1)), service('high', {}, priority(2))]);
  fleet.run();
  await fleet.untilReady(3);
  await sleep(2 * minuteMs);
  ways.network?.putClocks(days);
  await later('it counts the time ahead', async () => (await status()).spentMicros > 100 * each);
  await fleet.until('Budget/team', 'WithinBudget', 'False', 'Exceeded');
  await sleep(10 * minuteMs);
  expect(await paused()).toEqual([]);
  expect(await fleet.condition('Budget/team', 'Shedding')).toMatchObject({
    status: 'False',
    reason: 'NothingShed',
    message: expect.stringContaining('nobody observed') as string,
  });
  ways.network?.putClocks(0);
  await later('it counts what was spent', async () => (await status()).spentMicros < each);
  await fleet.until('Budget/team', 'WithinBudget', 'True', 'WithinLimits');
  expect((await status()).days).toHaveLength(1);
  const ofAccount: Json = (await fleet.records()).get('Account/default')?.status;
  expect(ofAccount.spentMicros).toBeLessThan(each);
});
