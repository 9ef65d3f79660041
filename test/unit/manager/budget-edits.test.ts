/** What becomes of those that wait for a budget, and of the budget, when its document is edited. */
import { afterEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, type ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  readyReason,
  scriptedFleet,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const running: ScriptedFleet[] = [];
afterEach(async () => {
  for (const { manager } of running.splice(0)) await manager.stop();
});

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
