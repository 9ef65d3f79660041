/** What a service costs counts in a budget that comes later, also when no budget counted it while its account had not been read. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, type ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  knownService,
  readyReason,
  scriptedFleet,
  secretDocument,
  shownService,
  stoppedAfterEach,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();
const more: ObjectKey = 'ContainerService/default/more';
const files = { ...access, 'web.yaml': serviceDocument('web') };
const budgetOf = (hourlyMicros: number) =>
  stringify({
    apiVersion,
    kind: 'Budget',
    metadata: { name: 'team' },
    spec: { namespace: true, limits: { hourlyMicros } },
  });

async function created(when: 'before the first read' | 'after it', hourlyMicros: number) {
  let isReadable = false;
  const fleet = await scriptedFleet(desiredOf(files), {
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService({ hourlyMicros: 600_000 })];
      api.on['GET /api/account'] = () => (isReadable ? undefined : { status: 503 });
    },
  });
  running.push(fleet);
  await fleet.clock.advance(5000);
  const withBudget = { ...files, 'budget.yaml': budgetOf(hourlyMicros) };
  if (when === 'before the first read') fleet.tell(desiredOf(withBudget));
  await fleet.clock.advance(5000);
  isReadable = true;
  await fleet.clock.advance(60_000);
  fleet.tell(desiredOf({ ...withBudget, 'more.yaml': serviceDocument('more') }));
  await fleet.clock.advance(30_000);
  const isAsked = fleet.api.asked.some(({ what }) => what === 'POST /api/services');
  return { isAsked, reason: isAsked ? undefined : readyReason(fleet, more) };
}

test.each(['before the first read', 'after it'] as const)('that of a budget which comes %s', async (when) => {
  expect(await created(when, 1_000_000)).toEqual({ isAsked: false, reason: 'BudgetExceeded' });
  expect(await created(when, 1_200_000)).toMatchObject({ isAsked: true });
});

test('a service in an account that was never read keeps those of another account waiting', async () => {
  let isReadable = false;
  const account = (name: string) =>
    accountDocument.replace('name: default', `name: ${name}`).replace('api.invalid', `${name}.invalid`);
  const bound = {
    'other.yaml': account('other'),
    'secret.yaml': secretDocument,
    'more.yaml': serviceDocument('more', ['accountRef: {name: other}']),
  };
  const fleet = await scriptedFleet(desiredOf(files), {
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService({ hourlyMicros: 600_000 })];
      api.on['GET /api/me'] = ({ host }) => ({ status: 200, body: { id: host, emailVerified: true } });
      api.on['GET /api/account'] = ({ host }) =>
        host === 'other.invalid' || isReadable ? undefined : { status: 503 };
    },
  });
  running.push(fleet);
  await fleet.clock.advance(5000);
  fleet.tell(desiredOf({ ...files, ...bound, 'budget.yaml': budgetOf(10_000_000) }));
  await fleet.clock.advance(60_000);
  const isAsked = () => fleet.api.asked.some(({ what }) => what === 'POST /api/services');
  expect(isAsked()).toBe(false);
  expect(fleet.store.record(more)?.status?.conditions[0]?.message).toContain(
    '1 of its objects are in accounts that were not read yet: default/default',
  );
  isReadable = true;
  await fleet.clock.advance(90_000);
  expect(isAsked()).toBe(true);
});
