/** The lines of a plan about budgets: one for each limit, with a verdict on what it would be then. */
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { palette, renderPlan } from '../../../src/cli/output/render.ts';
import type { PassResult } from '../../../src/engine/index.ts';
import { planBudgets, type ObservedBudget } from '../../../src/manager/plan-budgets.ts';
import { summarise, type FleetPlan } from '../../../src/manager/index.ts';
import { apiVersion, objectKey, type ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  knownService,
  scriptedFleet,
  shownService,
} from '../../support/scripted-fleet.ts';

const key = (name: string) => objectKey('ContainerService', 'shop', name);
const llm = objectKey('ServiceFleet', 'shop', 'llm');

function observed(limits: object, more: Partial<ObservedBudget> = {}): ObservedBudget {
  return {
    key: objectKey('Budget', 'shop', 'team'),
    terms: { limits, warnAt: [80, 95] } as unknown as ObservedBudget['terms'],
    figures: {
      burnMicros: 50n,
      reservedMicros: 0n,
      spentMicros: 0n,
      monthLeftMs: 3_600_000,
      balanceMicros: undefined,
    },
    counts: () => true,
    objects: undefined,
    isAwaitedBy: () => false,
    ...more,
  };
}

const cost = (before: bigint, after: bigint) => ({
  cost: { beforeMicros: before, afterMicros: after, basis: 'observed', unknown: [] },
});

function results(plans: Readonly<Record<string, object>>): ReadonlyMap<ObjectKey, PassResult> {
  const all = Object.entries(plans).map(([name, plan]) => [key(name), { plan } as unknown as PassResult]);
  return new Map(all as [ObjectKey, PassResult][]);
}

const growing = (before: bigint, after: bigint) => ({ kind: 'act', step: cost(before, after), later: [] });
const waiting = (after: bigint) => ({ kind: 'wait', reason: 'BudgetExceeded', steps: [cost(0n, after)] });

describe('a limit', () => {
  test.each([
    [79n, 'ok'],
    [80n, 'near'],
    [100n, 'near'],
    [101n, 'exceeded'],
  ])('of 100, of which %d would be used, is %s', (then, verdict) => {
    const [line] = planBudgets([observed({ hourlyMicros: 100 })], results({ a: growing(0n, then - 50n) }));
    expect(line).toMatchObject({ nowMicros: 50, thenMicros: Number(then), verdict });
  });
});

describe('the services of an owner', () => {
  const owner = (name: string, more: bigint) =>
    [objectKey('ServiceFleet', 'shop', name), { plan: arranged(more) } as unknown as PassResult] as const;
  const arranged = (more: bigint) => ({ kind: 'arrange', ...cost(0n, more) });
  const awaited = (limits: object, mode: string, all: ReadonlyMap<ObjectKey, PassResult>) => {
    const budget = observed(limits);
    const terms = { ...budget.terms, mode } as ObservedBudget['terms'];
    return planBudgets([{ ...budget, terms }], all).map(({ limit, waiting: those }) => [limit, those]);
  };

  test('wait where not all of them have room beside what is sent at once', () => {
    const all = new Map([
      ...results({ a: growing(0n, 20n) }),
      owner('llm', 20n),
      owner('web', 30n),
      owner('zoo', 10n),
    ]);
    expect(awaited({ hourlyMicros: 100 }, 'Gate', all)).toEqual([
      ['hourlyMicros', ['ServiceFleet/shop/web']],
    ]);
  });

  test('wait for the limit that they would pass, and for none that only reports', () => {
    const all = new Map([owner('llm', 20n)]);
    expect(awaited({ hourlyMicros: 60, monthlyMicros: 1000 }, 'Gate', all)).toEqual([
      ['hourlyMicros', ['ServiceFleet/shop/llm']],
      ['monthlyMicros', []],
    ]);
    expect(awaited({ hourlyMicros: 60 }, 'Report', all)).toEqual([['hourlyMicros', []]]);
  });
});

describe('a ceiling for each object', () => {
  const limits = { hourlyMicros: 1000, perObjectHourlyMicros: 40 };
  const objects = {
    now: new Map([
      [key('a'), 30n],
      [key('b'), 20n],
    ]),
    owned: new Map([[llm, 60n]]),
  };
  const linesOf = (found: ReadonlyMap<ObjectKey, PassResult>) => {
    const awaited = { isAwaitedBy: () => true };
    const [hourly, each] = planBudgets([observed(limits, { objects, ...awaited })], found);
    return { hourly, each };
  };

  test('is compared with the most expensive one, now and then', () => {
    expect(linesOf(results({ b: growing(20n, 35n) })).each).toMatchObject({
      limit: 'perObjectHourlyMicros',
      limitMicros: 40,
      nowMicros: 30,
      thenMicros: 35,
      verdict: 'near',
    });
    expect(linesOf(results({ a: growing(30n, 0n) })).each).toMatchObject({ thenMicros: 20, verdict: 'ok' });
  });

  test('has those that wait for it, and the other limits have not', () => {
    const { hourly, each } = linesOf(results({ big: waiting(41n), small: waiting(10n) }));
    expect(each).toMatchObject({ thenMicros: 41, verdict: 'exceeded', waiting: [key('big')] });
    expect(hourly).toMatchObject({ waiting: [key('small')] });
  });

  test('counts a replica that a fleet is to have', () => {
    const owned = (action: string) => ({
      kind: 'arrange',
      owned: [{ name: 'a', action }],
      ...cost(0n, 0n),
    });
    const withFleet = (action: string) =>
      linesOf(new Map([[llm, { plan: owned(action) } as unknown as PassResult]])).each;
    expect(withFleet('create')).toMatchObject({ nowMicros: 30, thenMicros: 60, verdict: 'exceeded' });
    expect(withFleet('delete')).toMatchObject({ thenMicros: 20, verdict: 'ok' });
    expect(withFleet('leave')).toMatchObject({ thenMicros: 30 });
  });
});

const price = 700_000;
const units = { gpuHourMicros: 600_000, cpuHourMicros: 12_500, memoryGbHourMicros: 0 };

/** What `plan` shows of a fleet with a budget. */
async function planOf(
  limits: object,
  gpus: Readonly<Record<string, number>>,
  prices: readonly object[] = [{ region: 'standard', ...units }],
): Promise<FleetPlan> {
  const spec = { namespace: true, limits };
  const files = Object.entries(gpus).map(([name, count]) => [
    `${name}.yaml`,
    serviceDocument(name).replace('gpuCount: 1', `gpuCount: ${count}`),
  ]);
  const snapshot = desiredOf({
    ...access,
    'account.yaml': `${accountDocument}  prices: ${JSON.stringify(prices)}\n`,
    'budget.yaml': stringify({ apiVersion, kind: 'Budget', metadata: { name: 'team' }, spec }),
    ...Object.fromEntries(files),
  });
  const found = new Map<ObjectKey, PassResult>();
  const onPass = (each: ObjectKey, result: PassResult) => {
    if (!each.startsWith('Account/') && !found.has(each)) found.set(each, result);
  };
  const { manager, clock } = await scriptedFleet(snapshot, {
    mode: 'preview',
    onPass,
    settleMs: 0,
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService({ hourlyMicros: price })];
    },
  });
  await clock.advance(20_000);
  const budgets = manager.budgets();
  await manager.stop();
  return summarise(found, snapshot, BigInt(price), new Set(), budgets);
}

test('a service beyond the ceiling of its budget is in the plan, with what it would cost', async () => {
  const web = { web: 1 };
  const big = { ...web, big: 2 };
  const plan = await planOf({ perObjectHourlyMicros: 1_000_000 }, big);
  expect(plan.cost.budgets).toMatchObject([
    {
      limit: 'perObjectHourlyMicros',
      limitMicros: 1_000_000,
      nowMicros: price,
      thenMicros: 1_300_000,
      verdict: 'exceeded',
      waiting: ['ContainerService/default/big'],
    },
  ]);
  expect(renderPlan(plan, palette({}, {}))).toContain(
    'Budget default/team: $0.70 → $1.30 of $1.00/h for each, of the most expensive: 1 change will wait (ContainerService default/big)',
  );
  const { cost: unchanged } = await planOf({ perObjectHourlyMicros: 1_000_000 }, web);
  expect(unchanged.budgets).toMatchObject([{ nowMicros: price, thenMicros: price, verdict: 'ok' }]);
});

test('of changes without a known price, the plan has their number and that of all changes', async () => {
  const some = [
    { region: 'standard', resources: { gpuCount: 1, cpu: 8, memoryGb: 32 }, hourlyMicros: price },
  ];
  const plan = await planOf({ hourlyMicros: 10 ** 9 }, { web: 1, a: 1, odd: 3 }, some);
  expect(plan.cost).toMatchObject({ unpriced: 1, changes: 2 });
  expect(renderPlan(plan, palette({}, {}))).toMatch(/^Cost: .*; 1 of 2 changes have no known price$/m);
});
