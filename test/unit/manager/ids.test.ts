/** A UUID is the same in upper and in lower case: an API may write both. */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  heartbeat,
  epoch,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  shownService,
  shownVolume,
  taskDocument,
  web,
} from '../../support/scripted-fleet.ts';
import { taskPart } from '../../support/kind-state.ts';

const lower = 'abcdef00-0000-4000-8000-00000000000a';
const upper = lower.toUpperCase();
const desired = desiredOf({ ...access, 'web.yaml': serviceDocument('web'), 'task.yaml': taskDocument() });
const activity = heartbeat.replace(/services\/[^/]+/, `services/${upper}`);

test('upper case in lists and lower case in answers register an activity once', async () => {
  const fleet = await scriptedFleet(desired, {
    prepare: (api) => {
      api.on['POST /api/services'] = ({ body }) => {
        const environmentNames = Object.keys(body.environment);
        api.services = [shownService({ id: upper, environmentNames })];
        return { status: 201, body: shownService({ id: lower, environmentNames }) };
      };
      for (const id of [upper, lower]) {
        api.on[`GET /api/services/${id}`] = () => ({
          status: 200,
          body: { service: { ...api.services[0], id: lower } },
        });
      }
    },
  });
  await fleet.clock.advance(120_000);
  expect([readyReason(fleet, web), readyReason(fleet, epoch)]).toEqual(['Running', 'Held']);
  expect(taskPart(fleet.store.record(epoch)).registration?.serviceId).toBe(lower);
  const asked = fleet.api.asked.filter(({ what }) => what.endsWith('/activity'));
  expect(new Set(asked.map(({ body }) => body.id)).size).toBe(1);
  expect(asked.length).toBeLessThan(8);
  await fleet.manager.stop();
});

test('what was recorded in upper case by an older version is still known', async () => {
  const registration = { serviceId: upper, activityId: otherId, releaseKey: otherId };
  const fleet = await scriptedFleet(desired, {
    records: [
      knownService(web, { externalId: upper }),
      { ...knownService(epoch, { externalId: undefined }), kind: { registration } },
    ],
    prepare: (api) => {
      api.services = [shownService({ id: upper })];
    },
  });
  await fleet.clock.advance(60_000);
  expect([readyReason(fleet, web), readyReason(fleet, epoch)]).toEqual(['Running', 'Held']);
  expect(taskPart(fleet.store.record(epoch)).registration).toEqual({ ...registration, serviceId: lower });
  expect(fleet.api.asked.map(({ what }) => what).filter((what) => !what.startsWith('GET '))).toContain(
    activity,
  );
  expect(fleet.api.asked.some(({ what }) => what === 'POST /api/services')).toBe(false);
  await fleet.manager.stop();
});

test('a document may adopt, and attach, in the other case', async () => {
  const volume = 'abcdef00-0000-4000-8000-00000000000b';
  const more = [`adopt: {id: ${upper}}`, `storage: {volumeId: ${volume.toUpperCase()}}`];
  const document = serviceDocument('web', more);
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': document }), {
    prepare: (api) => {
      api.services = [shownService({ id: lower, volumeId: volume })];
      api.volumes = [shownVolume(volume, lower)];
    },
  });
  await fleet.clock.advance(60_000);
  expect(readyReason(fleet, web)).toBe('Running');
  expect(fleet.store.record(web)?.externalId).toBe(lower);
  await fleet.manager.stop();
});
