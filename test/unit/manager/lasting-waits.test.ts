/** What waits for a read that never comes says so after ten minutes, with what was read and since when, and goes on as soon as it can. */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  web,
  type Answer,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const minuteMs = 60_000;
const byId = `GET /api/services/${serviceId}`;
const edited = serviceDocument('web').replace('acme/web:1', 'acme/web:2');

const running = stoppedAfterEach();

/** The document asks for another image than there is. */
async function fleetOf(answers: Record<string, () => Answer | undefined>, service = shownService()) {
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': edited }), {
    records: [knownService()],
    settleMs: 5000,
    prepare: (api) => {
      api.services = [service];
      Object.assign(api.on, answers);
      api.on[`PATCH /api/services/${serviceId}`] = ({ body }) => {
        Object.assign(service, { image: body.patch.image, revision: Number(service['revision']) + 1 });
        return { status: 200, body: service };
      };
    },
  });
  running.push(fleet);
  return fleet;
}

const stalled = ({ store }: ScriptedFleet) =>
  store.record(web)?.status?.conditions.find(({ type }) => type === 'Stalled');

async function expectStalled(fleet: ScriptedFleet, reason: string): Promise<string> {
  await fleet.clock.advance(9 * minuteMs);
  expect(stalled(fleet)?.status).toBe('False');
  await fleet.clock.advance(2.5 * minuteMs);
  expect(stalled(fleet)).toMatchObject({ status: 'True', reason });
  expect(stalled(fleet)?.message).toMatch(/since \d{4}-\d\d-\d\dT/);
  expect(fleet.api.asked.filter(({ what }) => /^(PATCH|POST|PUT|DELETE)/.test(what))).toEqual([]);
  return stalled(fleet)?.message ?? '';
}

test('the account shows it, and each read by its id says 404', async () => {
  const fleet = await fleetOf({ [byId]: () => ({ status: 404 }) });
  const message = await expectStalled(fleet, 'ReadsDisagree');
  expect(message).toContain(serviceId);
  expect(message).toContain('404');
  expect(message).toContain('ask the provider');
  delete fleet.api.on[byId];
  await fleet.clock.advance(2 * minuteMs);
  expect(readyReason(fleet, web)).toBe('Running');
  expect(stalled(fleet)?.status).toBe('False');
});

test('when it is to be deleted, it says how to let it go', async () => {
  const fleet = await fleetOf({ [byId]: () => ({ status: 404 }) });
  await fleet.clock.advance(minuteMs);
  fleet.tell(desiredOf(access));
  expect(await expectStalled(fleet, 'ReadsDisagree')).toContain('deletionPolicy: Retain');
});

test('no read by its id succeeds', async () => {
  const fleet = await fleetOf({ [byId]: () => ({ status: 500 }) });
  expect(await expectStalled(fleet, 'Unreadable')).toContain('500');
  delete fleet.api.on[byId];
  await fleet.clock.advance(2 * minuteMs);
  expect(readyReason(fleet, web)).toBe('Running');
});

test('the account does not show it, and no read by its id succeeds', async () => {
  const fleet = await fleetOf({ [byId]: () => ({ status: 500 }) });
  fleet.api.services = [];
  expect(await expectStalled(fleet, 'AwaitingObservation')).toContain(serviceId);
});

test('its activities can not be read', async () => {
  const fleet = await fleetOf({ [`${byId}/activity`]: () => ({ status: 500 }) });
  await expectStalled(fleet, 'ActivitiesUnreadable');
});

test('it shows no revision, which a patch needs', async () => {
  const fleet = await fleetOf({}, shownService({ revision: undefined }));
  expect(await expectStalled(fleet, 'AwaitingObservation')).toContain('revision');
});

test('a read that works begins the time anew', async () => {
  const fleet = await fleetOf({ [byId]: () => ({ status: 404 }) });
  await fleet.clock.advance(8 * minuteMs);
  delete fleet.api.on[byId];
  await fleet.clock.advance(2 * minuteMs);
  expect(readyReason(fleet, web)).toBe('Running');
  fleet.api.on[byId] = () => ({ status: 404 });
  fleet.tell(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }));
  await fleet.clock.advance(8 * minuteMs);
  expect(readyReason(fleet, web)).toBe('ReadsDisagree');
  expect(stalled(fleet)?.status).toBe('False');
});
