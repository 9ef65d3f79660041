/** Objects whose status was wiped while no process ran (test/unit/state/cluster-store.test.ts has how that is noticed): nothing is made twice, or left behind. */
import { expect, test } from 'vitest';
import { beaconName, ownerId } from '../../../src/engine/plan/index.ts';
import { lostCreation, type ObjectRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  stateIdentity,
  stoppedAfterEach,
  web,
} from '../../support/scripted-fleet.ts';

const owner = { id: ownerId(stateIdentity.ownerName), digestKey: stateIdentity.digestKey };
const { uid } = knownService();
const environmentNames = [beaconName(owner, uid, undefined)];
const wiped = knownService(web, {
  externalId: undefined,
  account: undefined,
  creationInDoubt: lostCreation(uid),
});
const document = serviceDocument('web');
const leaving = (): ObjectRecord => {
  const spec = { ...desiredOf({ 'web.yaml': document }).objects.get(web)?.spec };
  return { ...wiped, deletionRequestedAt: 1, manifest: { annotations: {}, labels: {}, spec } };
};

const running = stoppedAfterEach();

/** `shown`: what is in the account after so many milliseconds. */
async function fleetOf(
  record: ObjectRecord,
  shown: (nowMs: number) => readonly string[],
  files: Readonly<Record<string, string>> = access,
) {
  const deleted: string[] = [];
  const isWanted = record.deletionRequestedAt === undefined;
  const fleet = await scriptedFleet(desiredOf(isWanted ? { ...files, 'web.yaml': document } : files), {
    records: [record],
    prepare: (api) => {
      const startMs = api.clock.monotonicMs();
      const look = () => {
        api.services = shown(api.clock.monotonicMs() - startMs)
          .filter((id) => !deleted.includes(id))
          .map((id) => shownService({ id, environmentNames }));
        return undefined;
      };
      api.on['GET /api/account'] = look;
      for (const id of [serviceId, otherId]) {
        api.on[`GET /api/services/${id}`] = look;
        api.on[`POST /api/services/${id}/actions`] = ({ body }) => {
          if (body.action === 'delete') deleted.push(id);
          return { status: 200, body: shownService({ id }) };
        };
      }
    },
  });
  running.push(fleet);
  const created = () => fleet.api.asked.filter(({ what }) => what === 'POST /api/services');
  return { fleet, deleted, created };
}

test('one that is deleted is not forgotten before what it made is shown, and then that is deleted', async () => {
  const { fleet, deleted } = await fleetOf(leaving(), (nowMs) => (nowMs < 240_000 ? [] : [serviceId]));
  await fleet.clock.advance(60_000);
  expect(readyReason(fleet, web)).toBe('OutcomeUnknown');
  await fleet.clock.advance(400_000);
  expect(deleted).toEqual([serviceId]);
  expect(fleet.store.record(web)).toBeUndefined();
});

test('nor because its Account is away', async () => {
  const { fleet } = await fleetOf(leaving(), () => [serviceId], {});
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(web)).toBeDefined();
});

test('nor when nothing is shown for as long as the Account says; then it is', async () => {
  const { fleet } = await fleetOf(leaving(), () => []);
  await fleet.clock.advance(590_000);
  expect(fleet.store.record(web)).toBeDefined();
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(web)).toBeUndefined();
});

test('two things with its mark are a matter for a person, also when it is deleted', async () => {
  const { fleet, deleted } = await fleetOf(leaving(), () => [serviceId, otherId]);
  await fleet.clock.advance(900_000);
  expect([readyReason(fleet, web), deleted]).toEqual(['MarkedTwice', []]);
});

test('one that is wanted takes what it made, however late that is shown', async () => {
  const { fleet, created } = await fleetOf(wiped, (nowMs) => (nowMs < 240_000 ? [] : [serviceId]));
  await fleet.clock.advance(300_000);
  expect([created(), fleet.store.record(web)?.externalId]).toEqual([[], serviceId]);
  expect(fleet.store.record(web)?.creationInDoubt).toBeUndefined();
});

test('one that is wanted and made nothing is created when that is certain; its status says what for it waits', async () => {
  const { fleet, created } = await fleetOf(wiped, () => []);
  await fleet.clock.advance(590_000);
  expect(created()).toEqual([]);
  const ready = fleet.store.record(web)?.status?.conditions.find(({ type }) => type === 'Ready');
  expect(ready?.message).toContain('the status of the object was wiped');
  await fleet.clock.advance(60_000);
  expect(created().length).toBeGreaterThan(0);
});
