/** What `plan` says of money: what each change costs, and what would wait for want of it. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { palette, renderPlan } from '../../../src/cli/output/render.ts';
import type { DesiredSnapshot } from '../../../src/desired/index.ts';
import { summarise, type FleetPlan } from '../../../src/manager/index.ts';
import { burnMicrosPerHour } from '../../../src/engine/plan/index.ts';
import type { PassResult } from '../../../src/engine/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  knownService,
  scriptedFleet,
  secretDocument,
  shownService,
  web,
  type ScriptedApi,
} from '../../support/scripted-fleet.ts';

const price = 1_940_000;
/** What is kept of a document that is gone. */
const kept = desiredOf({ 'web.yaml': serviceDocument('web') }).objects.get(web);
const manifest = { annotations: {}, labels: {}, spec: { ...kept?.spec } };

function accountDocument(spec: object): string {
  return stringify({
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'Account',
    metadata: { name: 'default' },
    spec: { url: 'https://api.invalid', credentialsSecretRef: { name: 'compute', key: 'apiKey' }, ...spec },
  });
}

const units = {
  gpuHourMicros: 1_596_000,
  cpuHourMicros: 19_000,
  memoryGbHourMicros: 6000,
  storageGbHourMicros: 100,
};

function fleetOf(
  services: Readonly<Record<string, readonly string[]>>,
  account: object = {},
): DesiredSnapshot {
  const documents = Object.entries(services).map(([name, more]) => [
    `${name}.yaml`,
    serviceDocument(name, more),
  ]);
  return desiredOf({
    'account.yaml': accountDocument(account),
    'secret.yaml': secretDocument,
    ...Object.fromEntries(documents),
  });
}

/** What `plan` shows of it. */
async function planOf(
  snapshot: DesiredSnapshot,
  prepare: (api: ScriptedApi) => void = () => {},
  records: Parameters<typeof scriptedFleet>[1] = {},
): Promise<FleetPlan> {
  const results = new Map<ObjectKey, PassResult>();
  const onPass = (key: ObjectKey, result: PassResult) => {
    if (!key.startsWith('Account/') && !results.has(key)) results.set(key, result);
  };
  const { manager, clock, api } = await scriptedFleet(snapshot, {
    ...records,
    prepare,
    mode: 'preview',
    onPass,
    settleMs: 0,
  });
  await clock.advance(20_000);
  await manager.stop();
  expect(api.asked.filter(({ what }) => !what.startsWith('GET'))).toEqual([]);
  const [account] = manager.accounts.handles();
  const { services, volumes } = account?.informer.current ?? { services: new Map(), volumes: new Map() };
  return summarise(results, snapshot, burnMicrosPerHour({ services, volumes }));
}

const rich = (api: ScriptedApi, services: readonly Record<string, unknown>[] = []) => {
  api.services = [...services];
  api.on['GET /api/account'] = () => ({
    status: 200,
    body: { balanceMicros: 60_000_000, currency: 'USD', services: api.services, volumes: [], ledger: [] },
  });
};

// COVERAGE 50, 62
test('a creation shows what it costs and where that comes from, and the plan what all changes cost', async () => {
  const prices = [{ region: 'standard', ...units }];
  const plan = await planOf(
    fleetOf({ web: [], 'with-storage': ['storage: {volumeGb: 100}'] }, { prices }),
    rich,
  );
  const one = 1_596_000 + 8 * 19_000 + 32 * 6000;
  expect(plan.changes.map(({ cost }) => cost)).toEqual([
    { beforeMicros: 0, afterMicros: one, deltaMicros: one, basis: 'declared' },
    { beforeMicros: 0, afterMicros: one + 10_000, deltaMicros: one + 10_000, basis: 'declared' },
  ]);
  const text = renderPlan(plan, palette({}, {}));
  expect(text).toContain('+ ContainerService default/web  create  Create  +$1.94/h (declared)');
  expect(text).toContain('Cost: $0.00/h → $3.89/h (+$3.89/h, about +$2,839.70 a month of 730 h)');
});

test.each(['paused', 'sleeping'])(
  'what a service costs that is %s is not what one costs that runs',
  async (state) => {
    const prices = [{ region: 'standard', ...units }];
    const cheap = shownService({
      id: '00000000-0000-4000-8000-000000000007',
      name: 'other',
      state,
      hourlyMicros: 2000,
      environmentNames: ['A'],
    });
    const plan = await planOf(fleetOf({ web: [] }, { prices }), (api) => rich(api, [cheap]));
    expect(plan.changes.find(({ name }) => name === 'web')?.cost).toMatchObject({
      deltaMicros: 1_596_000 + 8 * 19_000 + 32 * 6000,
      basis: 'declared',
    });
  },
);

test('a service that is created to be stopped costs nothing in the end, and the stop is in the plan', async () => {
  const prices = [{ region: 'standard', ...units }];
  const stopped = 'desiredState: Stopped';
  const plan = await planOf(
    fleetOf({ web: [stopped], data: [stopped, 'storage: {volumeGb: 100}'] }, { prices }),
    rich,
  );
  const change = (name: string, action: string, micros: readonly [number, number]) => ({
    name,
    action,
    cost: {
      beforeMicros: micros[0],
      afterMicros: micros[1],
      deltaMicros: micros[1] - micros[0],
      basis: 'declared',
    },
  });
  expect(plan.changes).toMatchObject([
    change('data', 'create', [0, price + 10_000]),
    change('data', 'stop', [price + 10_000, 10_000]),
    change('web', 'create', [0, price]),
    change('web', 'stop', [price, 0]),
  ]);
  expect(plan.changes.flatMap(({ disruptive, drift }) => disruptive ?? drift)).not.toContain(true);
  expect(plan.cost).toMatchObject({ deltaHourlyMicros: 10_000, thenHourlyMicros: 10_000 });
  expect(plan.summary).toMatchObject({ create: 2, update: 2 });
});

test('a price that nobody tells is no price', async () => {
  const plan = await planOf(fleetOf({ web: [] }), rich);
  expect(plan.changes[0]?.cost?.basis).toBe('unknown');
  expect(renderPlan(plan, palette({}, {}))).toContain('price unknown');
  expect(plan.cost).toMatchObject({ unpriced: 1, changes: 1, deltaHourlyMicros: 0 });
});

test.each([
  ['a deletion', 'running', undefined, 'delete', -price],
  ['a stop', 'running', ['desiredState: Stopped'], 'stop', -price],
  ['a start', 'paused', [], 'start', price],
] as const)('the price of what exists is known: %s', async (_what, state, more, action, delta) => {
  const shown = shownService({ state, hourlyMicros: price });
  const other = shownService({
    id: '00000000-0000-4000-8000-000000000007',
    name: 'other',
    hourlyMicros: 5,
    environmentNames: ['A'],
  });
  const snapshot = fleetOf(
    more === undefined ? { other: ['adopt: {id: 00000000-0000-4000-8000-000000000007}'] } : { web: more },
  );
  const plan = await planOf(snapshot, (api) => rich(api, [shown, other]), {
    records: [knownService(web, { manifest })],
  });
  const change = plan.changes.find((each) => each.action === action);
  expect(change?.cost).toMatchObject({ deltaMicros: delta, basis: 'observed' });
});

test('what the balance does not bear is shown as waiting, and what does fit is not', async () => {
  const prices = [{ region: 'standard', ...units }];
  const services = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, []]));
  const plan = await planOf(
    fleetOf(services, { prices, minimumBalanceMicros: 60_000_000 - 2 * price }),
    rich,
  );
  expect(plan.changes).toHaveLength(2);
  expect(plan.held.map(({ reason, actions }) => [reason, actions])).toEqual([
    ['BalanceTooLow', ['create']],
    ['BalanceTooLow', ['create']],
  ]);
  const waiting = { reason: 'BalanceTooLow', cost: { deltaMicros: price, basis: 'declared' } };
  expect(plan.waitingCosts).toMatchObject([waiting, waiting]);
});
