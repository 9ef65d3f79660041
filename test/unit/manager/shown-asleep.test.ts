/**
 * Reads show a service paused or asleep that runs: they come from a replica that lags behind, or are wrong. While work in it is protected,
 * it is changed no more than one that they show running.
 */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  heartbeat,
  knownService,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  taskDocument,
  web,
} from '../../support/scripted-fleet.ts';

const patch = `PATCH /api/services/${serviceId}`;
const action = `POST /api/services/${serviceId}/actions`;
const activities = `GET /api/services/${serviceId}/activity`;
const task = { 'task.yaml': taskDocument() };
const edited = serviceDocument('web').replace('web:1', 'web:2');
const running = stoppedAfterEach();
const listed = { id: '00000000-0000-4000-8000-000000000900', name: 'epoch', released: false };

/** A service that runs, and then is shown in this state. */
async function shownAs(state: string, rest: Readonly<Record<string, string>>) {
  const fleet = await scriptedFleet(desiredOf({ ...access, ...rest, 'web.yaml': serviceDocument('web') }), {
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService()];
      // It runs.
      api.on[action] = () => ({ status: 409 });
      api.on[patch] = () => ({
        status: 200,
        body: shownService({ revision: 2, image: 'ghcr.io/acme/web:2' }),
      });
    },
  });
  running.push(fleet);
  await fleet.clock.advance(60_000);
  fleet.api.services = [shownService({ state })];
  await fleet.clock.advance(20_000);
  fleet.api.news();
  return fleet;
}

test.each(['paused', 'sleeping'])('a protected service that is shown %s is not changed', async (state) => {
  const fleet = await shownAs(state, task);
  fleet.tell(desiredOf({ ...access, ...task, 'web.yaml': edited }));
  await fleet.clock.advance(60_000);
  expect(fleet.api.news()).not.toContain(patch);
  fleet.tell(desiredOf({ ...access, 'web.yaml': edited }));
  await fleet.clock.advance(120_000);
  expect(fleet.api.news()).toContain(patch);
});

test.each(['paused', 'sleeping'])(
  'without a task, one that is shown %s is changed as before',
  async (state) => {
    const fleet = await shownAs(state, {});
    fleet.tell(desiredOf({ ...access, 'web.yaml': edited }));
    await fleet.clock.advance(5000);
    const news = fleet.api.news();
    expect(news).toContain(patch);
    expect(news).not.toContain(activities);
  },
);

test('while the document of its task can not be read, heartbeats that are accepted protect it', async () => {
  const fleet = await shownAs('sleeping', task);
  fleet.api.on[activities] = () => ({ status: 200, body: { activities: [listed] } });
  const broken = { 'task.yaml': taskDocument({ until: 'never' }) };
  fleet.tell(desiredOf({ ...access, ...broken, 'web.yaml': edited }));
  await fleet.clock.advance(60_000);
  const news = fleet.api.news();
  expect(news).not.toContain(patch);
  expect(news).toContain(heartbeat);
  expect(readyReason(fleet, web)).toBe('Protected');
});

test('a task that the API refuses for a paused service keeps nobody from starting or releasing it', async () => {
  const fleet = await scriptedFleet(desiredOf({ ...access, ...task, 'web.yaml': serviceDocument('web') }), {
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService({ state: 'paused' })];
      api.on[heartbeat] = () => ({ status: api.services[0]?.['state'] === 'paused' ? 409 : 200 });
      api.on[patch] = () => ({
        status: 200,
        body: shownService({ revision: 2, image: 'ghcr.io/acme/web:2' }),
      });
      api.on[action] = () => {
        const started = shownService({ revision: 2 });
        api.services = [started];
        return { status: 200, body: started };
      };
    },
  });
  running.push(fleet);
  fleet.tell(desiredOf({ ...access, ...task, 'web.yaml': edited }));
  await fleet.clock.advance(60_000);
  expect(fleet.api.asked.find(({ what }) => what === action)?.body).toMatchObject({ action: 'start' });
  expect(fleet.api.news()).not.toContain(patch);
  fleet.tell(desiredOf({ ...access, 'web.yaml': edited }));
  await fleet.clock.advance(60_000);
  expect(fleet.api.news()).toContain(patch);
});
