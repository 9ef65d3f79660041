/** What the rows of `cost --by` have spent: what an account or a Budget has counted, and nothing that nobody has. */
import { expect, test } from 'vitest';
import { costText } from '../../../src/cli/account/cost.ts';
import { costReport, type CostBy, type CostInputs } from '../../../src/shown/cost.ts';
import { firstTally, serviceBurn, storedTally, tallied } from '../../../src/engine/plan/index.ts';
import { accountKey, objectKey, ownerLabel, type ObjectKey } from '../../../src/resources/index.ts';

const nowMs = Date.UTC(2026, 10, 30, 14);
const account = 'shop/main';

const labels: Readonly<Record<string, Record<string, string>>> = {
  'shop/a': { team: 'search' },
  'shop/b': { team: 'ads', tier: 'gold', [ownerLabel]: 'llm' },
  'other/c': { team: 'ads' },
};

const shown = { month: '2026-11', since: '2026-11-01T00:00:00Z', estimatedMicros: 5, forecastMicros: 900 };
const october = [
  { date: '2026-10-30', micros: 7 },
  { date: '2026-10-31', micros: 8 },
];

function budget(namespace: string, name: string, spec: object, spentMicros: number, more: object = {}) {
  const key = objectKey('Budget', namespace, name);
  const status = { ...shown, spentMicros, days: october, ...more };
  return { key, kind: {}, status, manifest: { spec: { limits: {}, ...spec } } };
}

const team = (value: string) => ({ selector: { matchLabels: { team: value } } });

function report(by: CostBy, budgets: readonly object[], month?: string) {
  const tally = { ...firstTally({ at: nowMs, burnMicros: 40n, balanceMicros: undefined }, 'UTC') };
  const records = new Map([
    [accountKey(account), { key: accountKey(account), kind: { tally: storedTally(tally) } }],
  ]);
  const holdings = Object.keys(labels).map((place) => {
    const [namespace = '', name = ''] = place.split('/');
    const key = objectKey('ContainerService', namespace, name);
    const value = { id: name, state: 'running', hourlyMicros: 10 };
    return { id: name, things: { burn: serviceBurn }, value, managedBy: { is: 'fleet', key } };
  });
  const value = { id: 'x', state: 'running', hourlyMicros: 10 };
  const foreign = { id: value.id, things: { burn: serviceBurn }, value };
  const labelsOf = (key: ObjectKey) => labels[key.split('/').slice(1).join('/')] ?? {};
  const inputs = {
    accounts: [{ account, holdings: [...holdings, { ...foreign, managedBy: { is: 'nobody' } }] }],
    labelsOf,
    records: budgets,
    month,
    fleet: {
      snapshot: { objects: new Map() },
      store: { record: (key: ObjectKey) => records.get(key), identityPin: () => undefined },
    },
    nowMs,
  } as unknown as CostInputs;
  const found = costReport(inputs, by);
  const rows = found.rows.map(({ name, spentMicros, estimatedMicros, forecastMicros, countedSince }) => [
    name,
    [spentMicros, estimatedMicros, forecastMicros, countedSince],
  ]);
  return { ...found, spent: Object.fromEntries(rows) as Record<string, unknown[]> };
}

const unknown = [null, null, null, null];
const known = (spent: number, times = 1) => [spent, 5 * times, 900 * times, shown.since];

test('a namespace has spent what a Budget of all of it has counted', () => {
  const budgets = [
    budget('shop', 'all', { namespace: true }, 300),
    budget('shop', 'part', team('search'), 200),
    budget('shop', 'account', { accountRef: { name: 'main' } }, 999),
  ];
  expect(report({ by: 'namespace' }, budgets).spent).toEqual({ shop: known(300), other: unknown });
});

test('a label has spent what Budgets of just this label have counted, in each of its namespaces', () => {
  const both = { selector: { matchLabels: { team: 'search', tier: 'gold' } } };
  const budgets = [
    budget('shop', 'search', team('search'), 200),
    budget('shop', 'ads', team('ads'), 40),
    budget('shop', 'both', both, 1),
  ];
  const by = { by: 'label', key: 'team' } as const;
  expect(report(by, budgets).spent).toEqual({ search: known(200), ads: unknown });
  const more = [...budgets, budget('other', 'ads', team('ads'), 2)];
  expect(report(by, more).spent).toEqual({ search: known(200), ads: known(42, 2) });
  expect(report({ by: 'label', key: 'tier' }, budgets).spent).toEqual({ gold: unknown, null: unknown });
});

test('a Budget whose edit to another scope is held counts what it was about before', () => {
  const held = { ...budget('shop', 'all', team('search'), 300), kind: { scope: { of: 'namespace' } } };
  expect(report({ by: 'namespace' }, [held]).spent).toEqual({ shop: known(300), other: unknown });
  expect(report({ by: 'label', key: 'team' }, [held]).spent).toEqual({ search: unknown, ads: unknown });
});

test('a fleet has spent what a Budget of its label has counted', () => {
  const budgets = [budget('shop', 'llm', { selector: { matchLabels: { [ownerLabel]: 'llm' } } }, 70)];
  expect(report({ by: 'fleet' }, budgets).spent).toEqual({ llm: known(70), null: unknown });
});

test('an account has spent what it has counted, and so have all; of what nobody manages it is not known', () => {
  const { spent, total, unmanaged, accounts } = report({ by: 'account' }, []);
  const [row] = accounts;
  const whole = [0, 0, row?.forecastMicros, '2026-11-30T14:00:00Z'];
  expect(spent).toEqual({ [account]: whole });
  expect([total.spentMicros, total.forecastMicros]).toEqual([0, row?.forecastMicros]);
  expect([unmanaged.hourlyMicros, unmanaged.spentMicros]).toEqual([10, null]);
});

test('of two Budgets about the same, the one that has counted for longer is shown', () => {
  const late = { since: '2026-11-20T00:00:00Z' };
  const budgets = [
    budget('shop', 'late', { namespace: true }, 100, late),
    budget('shop', 'whole', { namespace: true }, 300),
  ];
  expect(report({ by: 'namespace' }, budgets).spent['shop']).toEqual(known(300));
});

test('an earlier month is the sum of its days that are kept, since the first of them, and has no forecast', () => {
  const budgets = [budget('shop', 'all', { namespace: true }, 300)];
  const { spent, budgets: rows } = report({ by: 'namespace' }, budgets, '2026-10');
  expect(spent['shop']).toEqual([15, null, null, '2026-10-30']);
  expect(rows).toMatchObject([{ spentMicros: 15, estimatedMicros: null, since: '2026-10-30' }]);
  expect(report({ by: 'namespace' }, budgets, '2026-09').budgets).toEqual([]);
});

test('an earlier month of a folder has all the days of the record, of which the status shows the last 62', () => {
  const counting = { timeZone: 'UTC', gapMs: 600_000, mostDays: 400 };
  const read = (at: number) => ({ at, burnMicros: 100n, balanceMicros: undefined });
  const tally = tallied(firstTally(read(Date.UTC(2026, 7, 20)), 'UTC'), read(nowMs), counting);
  const days = [...tally.days].slice(-62).map(([date]) => ({ date, micros: 2400 }));
  const all = budget('shop', 'all', { namespace: true }, 300, { days });
  const counted = { ...all, kind: { tally: storedTally(tally) } };
  const of = (month: string) => report({ by: 'namespace' }, [counted], month);
  expect(days[0]?.date).toBe('2026-09-30');
  expect(of('2026-09').budgets).toMatchObject([{ spentMicros: 30 * 2400, since: null }]);
  expect(of('2026-09').spent['shop']).toEqual([30 * 2400, null, null, null]);
  expect(of('2026-08').budgets).toMatchObject([{ spentMicros: 12 * 2400, since: '2026-08-20' }]);
});

test('the text has columns for it when something of it is known', () => {
  const budgets = [budget('shop', 'all', { namespace: true }, 3_000_000)];
  const text = costText(report({ by: 'namespace' }, budgets));
  expect(text).toMatch(/^NAMESPACE .* UNPRICED +SPENT +ESTIMATED +FORECAST$/m);
  expect(text).toMatch(/^shop .* 0 +\$3\.00 +\$0\.000005 +\$0\.000900$/m);
  expect(text).toMatch(/^other .* 0 +- +- +-$/m);
  const [table] = costText(report({ by: 'namespace' }, [])).split('\n\n');
  expect(table).not.toContain('SPENT');
});
