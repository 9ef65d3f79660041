/** What stands in the status of an object only, and was not signed, is no ground to touch anything. */
import { describe, expect, test } from 'vitest';
import { type Owner, beaconName, derivedUid, ownerId } from '../../../src/engine/plan/index.ts';
import { newRecord, type ObjectRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  epoch,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  stateIdentity,
  taskDocument,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

type Distrust = NonNullable<ObjectRecord['distrusted']>;

const owner: Owner = { id: ownerId(stateIdentity.ownerName), digestKey: stateIdentity.digestKey };
const mark = beaconName(owner, derivedUid(stateIdentity.ownerName, web), undefined);
const other = desiredOf({ ...access, 'other.yaml': serviceDocument('other') });

function mutations({ api }: ScriptedFleet): string[] {
  return api.asked
    .map(({ what }) => what)
    .filter((what) => !what.startsWith('GET') && what.includes(serviceId));
}

/** The service of a colleague, or ours, is what the object is said to stand for; then its image is edited, and it is deleted. */
async function livedWith(
  distrusted: Distrust,
  shown: object,
  more: readonly string[] = [],
  recorded: Partial<ObjectRecord> = {},
): Promise<ScriptedFleet> {
  const edited = serviceDocument('web', more).replace('web:1', 'web:2');
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': edited }), {
    records: [knownService(web, { distrusted, ...recorded })],
    prepare: (api) => {
      api.services = [shownService(shown)];
    },
  });
  await fleet.clock.advance(60_000);
  return fleet;
}

async function deleted(fleet: ScriptedFleet): Promise<ScriptedFleet> {
  fleet.tell(other);
  await fleet.clock.advance(120_000);
  await fleet.manager.stop();
  return fleet;
}

test('a service that carries no mark is neither changed nor deleted', async () => {
  const fleet = await livedWith('unsigned', {});
  expect(readyReason(fleet, web)).toBe('OwnershipUnproven');
  expect(mutations(await deleted(fleet))).toEqual([]);
});

test('nor one whose marks the API does not show', async () => {
  const fleet = await livedWith('unsigned', { environmentNames: undefined });
  expect(mutations(await deleted(fleet))).toEqual([]);
});

test('a service with the mark of the object is its own: changed, and deleted', async () => {
  const fleet = await livedWith('unsigned', { environmentNames: [mark] });
  expect(fleet.store.record(web)?.distrusted).toBeUndefined();
  expect(mutations(await deleted(fleet))).toContain(`POST /api/services/${serviceId}/actions`);
});

test('so is one that the spec adopts', async () => {
  const fleet = await livedWith('unsigned', {}, [`adopt: {id: ${serviceId}}`]);
  expect(mutations(await deleted(fleet))).toContain(`PATCH /api/services/${serviceId}`);
});

test('so is one that a person accepts, on the Account for all in it', async () => {
  const account = access['account.yaml'].replace(
    'name: default\n',
    'name: default\n  annotations: {fleetkeeper.dev/accept-bookkeeping-until: "2030-01-01T00:00:00Z"}\n',
  );
  const fleet = await livedWith('unsigned', {});
  fleet.tell(
    desiredOf({
      'account.yaml': account,
      'secret.yaml': access['secret.yaml'],
      'web.yaml': serviceDocument('web').replace('web:1', 'web:2'),
    }),
  );
  await fleet.clock.advance(60_000);
  expect(mutations(fleet)).toContain(`PATCH /api/services/${serviceId}`);
  await fleet.manager.stop();
});

test('one that is as wanted is in sync, whatever it carries', async () => {
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }), {
    records: [knownService(web, { distrusted: 'unsigned' })],
    prepare: (api) => {
      api.services = [shownService()];
    },
  });
  await fleet.clock.advance(60_000);
  expect(readyReason(fleet, web)).toBe('Running');
  await fleet.manager.stop();
});

test('after a forgery nothing is created, since what there was may be there', async () => {
  const fleet = await livedWith('forged', {}, [], { externalId: undefined });
  expect(readyReason(fleet, web)).toBe('OwnershipUnproven');
  expect(fleet.api.asked.filter(({ what }) => what.startsWith('POST'))).toEqual([]);
  await fleet.manager.stop();
});

test('what carries the mark is found again after a forgery', async () => {
  const fleet = await livedWith('forged', { environmentNames: [mark] }, [], { externalId: undefined });
  expect(fleet.store.record(web)).toMatchObject({ externalId: serviceId, distrusted: undefined });
  expect(mutations(fleet)).toContain(`PATCH /api/services/${serviceId}`);
  await fleet.manager.stop();
});

test("what carries the mark is the object's, and not what an unsigned status names", async () => {
  const fleet = await livedWith('unsigned', {});
  fleet.api.services = [shownService(), shownService({ id: otherId, environmentNames: [mark] })];
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(web)).toMatchObject({ externalId: otherId, distrusted: undefined });
  expect(mutations(await deleted(fleet))).toEqual([]);
});

describe('a task whose service is said, by nobody who signed it, to be another one', () => {
  const taskUid = derivedUid(stateIdentity.ownerName, epoch);
  const lease = { serviceId, activityId: taskUid, releaseKey: 'key' };
  const files = desiredOf({
    ...access,
    'web.yaml': serviceDocument('web'),
    'task.yaml': taskDocument(),
  });
  const activities = ({ api }: ScriptedFleet, id: string) =>
    api.asked.filter(({ what }) => what === `POST /api/services/${id}/activity`);

  async function begun(records: readonly ObjectRecord[]): Promise<ScriptedFleet> {
    let startedAtMs = 0;
    const fleet = await scriptedFleet(files, {
      records: [knownService(web, { externalId: otherId, distrusted: 'unsigned' }), ...records],
      prepare: (api) => {
        startedAtMs = api.clock.monotonicMs();
        // The mark tells which it is, once the account has been read.
        api.on['GET /api/account'] = ({ atMs }) => (atMs < startedAtMs + 20_000 ? 'lost' : undefined);
        api.services = [
          shownService({ environmentNames: [mark] }),
          shownService({ id: otherId, name: 'of others' }),
        ];
      },
    });
    await fleet.clock.advance(60_000);
    return fleet;
  }

  test('is kept where it is, and released there', async () => {
    const fleet = await begun([
      { ...newRecord(epoch, taskUid), kind: { registration: lease }, account: 'default/default' },
    ]);
    expect(activities(fleet, otherId)).toEqual([]);
    expect(activities(fleet, serviceId)).not.toEqual([]);
    fleet.tell(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }));
    await fleet.clock.advance(60_000);
    expect(activities(fleet, serviceId).at(-1)?.body).toMatchObject({ id: taskUid, release: true });
    expect(fleet.store.record(epoch)).toBeUndefined();
    await fleet.manager.stop();
  });

  test('is registered in none before it is known which it is', async () => {
    const fleet = await begun([]);
    expect(activities(fleet, otherId)).toEqual([]);
    expect(activities(fleet, serviceId)[0]?.body).toMatchObject({ id: taskUid });
    await fleet.manager.stop();
  });
});
