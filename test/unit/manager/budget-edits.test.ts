/** What becomes of those that wait for a budget, and of the budget, when its document is edited. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { budgetRows } from '../../../src/cli/status/budget-text.ts';
import { setBudgets } from '../../../src/manager/budget-metrics.ts';
import { apiVersion, type ObjectKey } from '../../../src/resources/index.ts';
import { costReport } from '../../../src/shown/cost.ts';
import type { StatusEntry } from '../../../src/shown/entries.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  readyReason,
  scriptedFleet,
  stoppedAfterEach,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';
import { ask, createWorld, FakeSource } from '../read-api/support.ts';

const running = stoppedAfterEach();

const team: ObjectKey = 'Budget/default/team';
const price = 700_000;
const gpu = { region: 'standard', resources: { gpuCount: 1, cpu: 8, memoryGb: 32 }, hourlyMicros: price };
const whole = {
  ...access,
  'account.yaml': `${accountDocument}  prices: ${JSON.stringify([gpu])}\n`,
  'web.yaml': serviceDocument('web'),
};

const withBudget = (limits: object, scope: object = { namespace: true }) => {
  const spec = { ...scope, limits };
  const document = { apiVersion, kind: 'Budget', metadata: { name: 'team' }, spec };
  return desiredOf({ ...whole, 'budget.yaml': stringify(document) });
};

async function started(limits: object): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(withBudget(limits));
  running.push(fleet);
  await fleet.clock.advance(40_000);
  return fleet;
}

const isAsked = ({ api }: ScriptedFleet) => api.asked.some(({ what }) => what === 'POST /api/services');

test('what already waits reports at once that the document of its budget became invalid', async () => {
  const fleet = await started({ hourlyMicros: price - 1 });
  expect(readyReason(fleet, web)).toBe('BudgetExceeded');
  fleet.tell(withBudget({ hourlyMicros: -1 }));
  await fleet.clock.advance(2000);
  expect(readyReason(fleet, web)).toBe('BudgetInvalid');
  fleet.tell(withBudget({ hourlyMicros: price - 2 }));
  await fleet.clock.advance(2000);
  expect(readyReason(fleet, web)).toBe('BudgetExceeded');
});

test('an edit of both scope and limits waits as a whole: the first ones stay in force', async () => {
  const fleet = await started({ hourlyMicros: price - 1 });
  const selector = { matchLabels: { team: 'search' } };
  fleet.tell(withBudget({ hourlyMicros: 2 * price }, { selector }));
  await fleet.clock.advance(10_000);
  const held = fleet.store.record(team)?.status?.conditions.find(({ type }) => type === 'Stalled');
  expect([held?.reason, held?.message]).toEqual([
    'ImmutableFieldChanged',
    'budget.yaml:5: spec: a budget is always about the same: namespace: true stays in force, with the limits from before this edit; take the change back, or write another budget',
  ]);
  expect([readyReason(fleet, web), isAsked(fleet)]).toEqual(['BudgetExceeded', false]);
  fleet.tell(withBudget({ hourlyMicros: 2 * price }));
  await fleet.clock.advance(20_000);
  expect(isAsked(fleet)).toBe(true);
});

test('while such an edit waits, everything shows the limits in force, and what it is about', async () => {
  const limit = price - 1;
  const fleet = await started({ hourlyMicros: limit });
  const selector = { matchLabels: { team: 'search' } };
  fleet.tell(withBudget({ monthlyMicros: 5 }, { selector, mode: 'Shed' }));
  await fleet.clock.advance(10_000);
  const record = fleet.store.record(team);
  if (!record) throw new Error('there is no budget');
  const { budgets } = costReport(
    {
      accounts: [],
      labelsOf: () => ({}),
      records: [record],
      month: undefined,
      fleet: undefined,
      nowMs: fleet.clock.wallMs(),
    },
    { by: 'namespace' },
  );
  expect(budgets).toMatchObject([{ limitMicros: null, hourlyLimitMicros: limit }]);
  const rows = budgetRows({ kind: 'Budget', record } as unknown as StatusEntry, []);
  expect(rows[0]).toEqual(['Limits:', '$0.70/h']);
  const metrics = createMetrics();
  setBudgets(metrics, fleet.store);
  expect((await metrics.registry.metrics()).match(/^fleetkeeper_budget_.*limit.*/gm)).toEqual([
    `fleetkeeper_budget_limit_hourly_micros{budget="default/team"} ${limit}`,
  ]);
  const api = createWorld(new FakeSource([record]));
  const shown = [{ mode: 'Gate', hourlyLimitMicros: limit, monthlyLimitMicros: null }];
  for (const path of ['money', 'summary'])
    expect((await ask(api, `/api/v1/${path}`)).body.budgets).toMatchObject(shown);
});
