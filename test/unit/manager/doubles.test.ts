/** What carries our mark and is not what is recorded: only known ids are deleted (S5), and nothing is made beside it. */
import { describe, expect, test } from 'vitest';
import { hasNews, summarise } from '../../../src/manager/index.ts';
import { beaconName, ownerId } from '../../../src/engine/plan/index.ts';
import type { PassResult } from '../../../src/engine/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
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
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const owner = { id: ownerId(stateIdentity.ownerName), digestKey: stateIdentity.digestKey };
const original = knownService(web, { seen: { id: serviceId, revision: 1, state: 'running', since: 0 } });
const environmentNames = [beaconName(owner, original.uid, undefined)];
const copy = { id: otherId, name: 'copy of web', environmentNames, hourlyMicros: 250_000 };

const running = stoppedAfterEach();

async function fleetOf(
  services: readonly object[],
  document: string | null = serviceDocument('web'),
  records = [original],
): Promise<{ fleet: ScriptedFleet; deleted: string[]; tell: (text: string | null) => void }> {
  const deleted: string[] = [];
  const files = (text: string | null) =>
    desiredOf({ ...access, ...(text === null ? {} : { 'web.yaml': text }) });
  const fleet = await scriptedFleet(files(document), {
    records,
    prepare: (api) => {
      api.services = services.map((each) => shownService(each));
      for (const id of [serviceId, otherId]) {
        api.on[`POST /api/services/${id}/actions`] = ({ body }) => {
          if (body.action === 'delete') {
            deleted.push(id);
            api.services = api.services.filter((service) => service['id'] !== id);
          }
          return { status: 200, body: shownService({ id }) };
        };
      }
    },
  });
  running.push(fleet);
  return { fleet, deleted, tell: (text) => fleet.tell(files(text)) };
}

test('a document that is taken out takes its own service with it, and not a copy that carries the same mark', async () => {
  const { fleet, deleted, tell } = await fleetOf([{ environmentNames }, copy]);
  await fleet.clock.advance(30_000);
  tell(null);
  await fleet.clock.advance(600_000);
  expect(deleted).toEqual([serviceId]);
  expect(fleet.store.record(web)).toBeUndefined();
});

test('a copy that appears is reported with its price and what to do, and the service stays Ready', async () => {
  const { fleet } = await fleetOf([{ environmentNames }]);
  await fleet.clock.advance(30_000);
  const conditionOf = () =>
    fleet.store.record(web)?.status?.conditions.find(({ type }) => type === 'Duplicated');
  expect(conditionOf()).toBeUndefined();
  fleet.api.services = [shownService({ environmentNames }), shownService(copy)];
  await fleet.clock.advance(60_000);
  expect(conditionOf()).toMatchObject({ status: 'True', reason: 'MarkFoundElsewhere' });
  expect(conditionOf()?.message).toContain(`adopt: {id: ${otherId}}`);
  expect(conditionOf()?.message).toContain(`fleetkeeper.dev/adopt-from: "${owner.id}"`);
  expect(fleet.store.record(web)?.status?.duplicates).toEqual([
    { id: otherId, name: 'copy of web', state: 'running', hourlyMicros: 250_000 },
  ]);
  expect(readyReason(fleet, web)).toBe('Running');
  fleet.api.services = [shownService({ environmentNames })];
  await fleet.clock.advance(60_000);
  expect(conditionOf()).toMatchObject({ status: 'False' });
});

test('a plan shows a copy, and is not the plan of a fleet without news', async () => {
  const { fleet } = await fleetOf([{ environmentNames }, copy]);
  await fleet.clock.advance(30_000);
  const results = new Map<ObjectKey, PassResult>();
  const preview = await scriptedFleet(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }), {
    store: fleet.store,
    mode: 'preview',
    onPass: (key, result) => results.set(key, result),
    prepare: (api) => {
      api.services = [shownService({ name: 'web', environmentNames }), shownService(copy)];
    },
  });
  running.push(preview);
  await preview.clock.advance(5000);
  const plan = summarise(results, desiredOf({}), 0n);
  expect(plan.duplicates).toMatchObject([{ object: 'web', id: otherId, hourlyMicros: 250_000 }]);
  expect(plan.summary.duplicates).toBe(1);
  expect(hasNews(plan)).toBe(true);
});

test('when the recorded service is gone, a copy is neither taken over nor joined by another one: a person says which', async () => {
  const { fleet, deleted, tell } = await fleetOf([copy]);
  await fleet.clock.advance(600_000);
  expect(readyReason(fleet, web)).toBe('MarkedElsewhere');
  expect(fleet.store.record(web)?.externalId).toBe(serviceId);
  expect(fleet.api.asked.filter(({ what }) => what === 'POST /api/services')).toEqual([]);
  tell(serviceDocument('web', [`adopt: {id: ${otherId}}`]));
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(web)?.externalId).toBe(otherId);
  tell(null);
  await fleet.clock.advance(600_000);
  expect(deleted).toEqual([otherId]);
});

test('what carries the mark of an object that goes, and was never recorded, is not deleted without a word', async () => {
  const { fleet, deleted } = await fleetOf([copy], null, [
    knownService(web, {
      externalId: undefined,
      deletionRequestedAt: 1,
      manifest: { annotations: {}, labels: {}, spec: desiredSpec() },
    }),
  ]);
  await fleet.clock.advance(600_000);
  expect(deleted).toEqual([]);
  expect(readyReason(fleet, web)).toBe('MarkedElsewhere');
});

function desiredSpec(): Record<string, unknown> {
  const { objects } = desiredOf({ 'web.yaml': serviceDocument('web') });
  return { ...objects.get(web)?.spec };
}

describe('a creation that was delivered twice, and answered with the refusal of the second copy', () => {
  /** The service of before was deleted with its document, and the document is back. */
  async function successor() {
    const { fleet, deleted, tell } = await fleetOf([{ environmentNames }]);
    let creations = 0;
    fleet.api.on['POST /api/services'] = ({ body }) => {
      creations += 1;
      const names = Object.keys(body.environment);
      fleet.api.services = [shownService({ id: otherId, environmentNames: names, state: 'running' })];
      return { status: 429 };
    };
    await fleet.clock.advance(30_000);
    tell(null);
    await fleet.clock.advance(1500);
    tell(serviceDocument('web'));
    await fleet.clock.advance(60_000);
    return { fleet, deleted, tell, creations: () => creations };
  }

  test('is what stands there, and is not made again', async () => {
    const { fleet, creations } = await successor();
    expect(creations()).toBe(1);
    expect(fleet.store.record(web)?.externalId).toBe(otherId);
    expect(readyReason(fleet, web)).toBe('Running');
  });

  test('goes with its document', async () => {
    const { fleet, deleted, tell } = await successor();
    tell(null);
    await fleet.clock.advance(600_000);
    expect(deleted).toEqual([serviceId, otherId]);
    expect(fleet.store.record(web)).toBeUndefined();
  });
});
