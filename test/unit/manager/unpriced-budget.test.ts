/** A budget with `unpriced: Block` lets nothing be made whose price the API does not show, though something like it runs. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  web,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();

function budget(unpriced: string): string {
  const spec = { namespace: true, limits: { hourlyMicros: 1_000_000 }, unpriced };
  return stringify({ apiVersion, kind: 'Budget', metadata: { name: 'team' }, spec });
}

async function created(unpriced: string) {
  const files = { ...access, 'budget.yaml': budget(unpriced) };
  const fleet = await scriptedFleet(desiredOf(files), { settleMs: 60_000 });
  running.push(fleet);
  // Somebody else's, of the same size.
  fleet.api.services = [shownService({ id: serviceId, name: 'theirs', hourlyMicros: undefined })];
  await fleet.clock.advance(40_000);
  fleet.tell(desiredOf({ ...files, 'web.yaml': serviceDocument('web') }));
  await fleet.clock.advance(20_000);
  const isAsked = fleet.api.asked.some(({ what }) => what === 'POST /api/services');
  return { isAsked, reason: readyReason(fleet, web) };
}

test('with Block it waits', async () => {
  expect(await created('Block')).toEqual({ isAsked: false, reason: 'BudgetExceeded' });
});

test('with Allow it is made', async () => {
  expect(await created('Allow')).toMatchObject({ isAsked: true });
});
