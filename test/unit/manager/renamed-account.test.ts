/** An Account gets another name: what is recorded in it is held, and the message shows the ways out. */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  knownService,
  readyReason,
  scriptedFleet,
  shownService,
  stoppedAfterEach,
  web,
  serviceId,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();

const renamed = accountDocument.replace('name: default', 'name: main');
const inMain = ['accountRef: {name: main}', 'deletionPolicy: Retain'];
const files = { ...access, 'web.yaml': serviceDocument('web') };

async function world(): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(desiredOf(files), {
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService()];
    },
  });
  running.push(fleet);
  await fleet.clock.advance(60_000);
  return fleet;
}

async function tell(fleet: ScriptedFleet, documents: Readonly<Record<string, string>>): Promise<string> {
  fleet.tell(desiredOf(documents));
  await fleet.clock.advance(600_000);
  const conditions = fleet.store.record(web)?.status?.conditions;
  return conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
}

test('of the same account, the message shows how to keep the name and how to move, which works', async () => {
  const fleet = await world();
  fleet.api.news();
  const documents = { ...files, 'account.yaml': renamed };
  const message = await tell(fleet, { ...documents, 'web.yaml': serviceDocument('web', inMain) });
  expect(readyReason(fleet, web)).toBe('ImmutableFieldChanged');
  expect(message).toMatch(
    /Both are the same account at the provider.* keep the document of default\/default\./,
  );
  expect(message).toContain(`adopt: {id: ${serviceId}}`);
  const { 'web.yaml': _removed, ...rest } = documents;
  await tell(fleet, rest);
  expect(fleet.store.record(web)).toBeUndefined();
  const moved = serviceDocument('web', [...inMain, `adopt: {id: ${serviceId}}`]);
  await tell(fleet, { ...rest, 'web.yaml': moved });
  expect(readyReason(fleet, web)).toBe('Running');
  expect(fleet.store.record(web)).toMatchObject({ account: 'default/main', externalId: serviceId });
  expect(fleet.api.news().filter((what) => !what.startsWith('GET '))).toEqual([]);
});

test('of another account, the message is that the change is to be reverted', async () => {
  const fleet = await world();
  fleet.api.on['GET /api/me'] = () => ({
    status: 200,
    body: { id: 'other', email: 'other@example.com', emailVerified: true },
  });
  const document = serviceDocument('web', inMain);
  const message = await tell(fleet, { ...files, 'account.yaml': renamed, 'web.yaml': document });
  expect(message).toMatch(/can't move to default\/main; revert the change$/);
});
