/** What a list of activities shows of a task that is over: the contract leaves its fields open (§4 gaps). */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  epoch,
  heartbeat,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  taskDocument,
  web,
} from '../../support/scripted-fleet.ts';
import { taskPart } from '../../support/kind-state.ts';

const fleets = stoppedAfterEach();
const patch = `PATCH /api/services/${serviceId}`;
const files = (image: string, released: boolean) => ({
  ...access,
  'web.yaml': serviceDocument('web').replace('web:1', image),
  'task.yaml': taskDocument({ released }),
});

/** A task is over, the list goes on to show `entry`, and then the image of its service changes. */
async function changedAfter(entry: object) {
  const fleet = await scriptedFleet(desiredOf(files('web:1', false)), {
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService()];
    },
  });
  fleets.push(fleet);
  const { api, clock, store } = fleet;
  await clock.advance(60_000);
  fleet.tell(desiredOf(files('web:1', true)));
  await clock.advance(30_000);
  const { registration, releasedAt } = taskPart(store.record(epoch));
  expect(releasedAt).toBeDefined();
  expect(api.news()).toContain(heartbeat);
  api.on[`GET /api/services/${serviceId}/activity`] = () => ({
    status: 200,
    body: { activities: [{ id: registration?.activityId, name: 'epoch', ...entry }] },
  });
  fleet.tell(desiredOf(files('web:2', true)));
  await clock.advance(60_000);
  return fleet;
}

test.each([
  { released: true },
  { state: 'released', releasedAt: '2026-01-01T00:01:00Z' },
  { status: 'RELEASED' },
  { releasedAt: Date.UTC(2026, 0, 1) },
  { state: { name: 'released' } },
  { fresh: false, endedAt: '2026-01-01T00:01:00Z' },
])('a service is changed although the list keeps the activity of a task that is over: %j', async (entry) => {
  const { api } = await changedAfter(entry);
  expect(api.news()).toContain(patch);
});

test.each([
  {},
  { fresh: true },
  { fresh: false, released: false },
  { fresh: false, state: 'active' },
  { releasedAt: null },
  { releasedAt: '0001-01-01T00:00:00Z' },
  { state: 'active', releasedAt: '2026-01-01T00:01:00Z' },
  { state: 'expired', releasedAt: '2026-01-01T00:01:00Z' },
  { released: false, state: 'released' },
  { id: otherId, fresh: false },
])('a service is not changed while the list shows an activity that may be in use: %j', async (entry) => {
  const fleet = await changedAfter(entry);
  expect(fleet.api.news()).not.toContain(patch);
  expect(readyReason(fleet, web)).toBe('Protected');
});
