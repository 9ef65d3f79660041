/** What `deletionPolicy: Retain` leaves at the provider, in budgets of labels and of a namespace: what is remembered, and for how long. */
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, type ObjectKey } from '../../../src/resources/index.ts';
import { MemoryStore, newRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  knownService,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  shownVolume,
  stateIdentity,
  stoppedAfterEach,
  web,
  otherId,
  type ScriptedApi,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();
const team: ObjectKey = 'Budget/default/team';
const more: ObjectKey = 'ContainerService/default/more';
const kept = (name: string) => serviceDocument(name, ['deletionPolicy: Retain']);
const budgetOf = (spec: object = {}) =>
  stringify({
    apiVersion,
    kind: 'Budget',
    metadata: { name: 'team' },
    spec: { namespace: true, limits: { hourlyMicros: 1_000_000 }, ...spec },
  });
const files = { ...access, 'budget.yaml': budgetOf() };
const hourMs = 3_600_000;

async function fleetWith(
  documents: Record<string, string>,
  options: ScriptedFleetOptions = {},
): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(desiredOf(documents), {
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService({ hourlyMicros: 600_000 })];
    },
    ...options,
  });
  running.push(fleet);
  await fleet.clock.advance(60_000);
  return fleet;
}

/** The service of the documents is left. */
async function left(documents: Record<string, string> = files, options: ScriptedFleetOptions = {}) {
  const fleet = await fleetWith({ ...documents, 'web.yaml': kept('web') }, options);
  fleet.tell(desiredOf(documents));
  await fleet.clock.advance(30_000);
  return fleet;
}

const keptOf = (store: MemoryStore) =>
  Object.entries(store.record(team)?.kind ?? {}).find(([name]) => name === 'left')?.[1] as unknown;
const remembered = ({ store }: ScriptedFleet) => keptOf(store);
const statusOf = ({ store }: ScriptedFleet) => store.record(team)?.status ?? { conditions: [] };

test('the record of the budget has the id before the object is forgotten', async () => {
  const store = new MemoryStore(stateIdentity, [knownService()], []);
  const seen: unknown[] = [];
  const remove = store.remove.bind(store);
  store.remove = (key, until) => {
    if (key === web) seen.push(keptOf(store));
    return remove(key, until);
  };
  const fleet = await left(files, { store });
  expect(fleet.store.record(web)).toBeUndefined();
  expect(seen).toEqual([[{ account: 'default/default', ids: [serviceId] }]]);
  expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 600_000, leftObjects: 1, members: 0 });
});

test('what an object leaves that vanishes without a cleanup, as without its finalizer, counts and is remembered', async () => {
  const fleet = await fleetWith({ ...files, 'web.yaml': serviceDocument('web') });
  await fleet.store.remove(web);
  fleet.tell(desiredOf({ ...files, 'more.yaml': serviceDocument('more') }));
  await fleet.clock.advance(90_000);
  expect(remembered(fleet)).toEqual([{ account: 'default/default', ids: [serviceId] }]);
  expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 600_000, leftObjects: 1 });
  expect(readyReason(fleet, more)).toBe('BudgetExceeded');
});

test('a budget of an account counts it without remembering it', async () => {
  const fleet = await left({
    ...access,
    'budget.yaml': budgetOf({ namespace: undefined, accountRef: { name: 'default' } }),
  });
  expect(remembered(fleet)).toBeUndefined();
  expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 600_000, leftObjects: 0 });
});

test('the volume that was made with a service counts with it', async () => {
  const volume = { ...shownVolume(otherId, serviceId), mode: 'attached', hourlyMicros: 50_000 };
  const fleet = await left(files, {
    prepare: (api) => {
      api.services = [shownService({ hourlyMicros: 600_000, volumeId: otherId })];
      api.volumes = [volume];
    },
  });
  expect(remembered(fleet)).toEqual([{ account: 'default/default', ids: [serviceId, otherId] }]);
  expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 650_000, leftObjects: 2 });
});

test('a service that is paused when it is left counts when somebody starts it', async () => {
  const paused = shownService({ hourlyMicros: 600_000, state: 'paused' });
  const fleet = await left(files, { prepare: (api) => void (api.services = [paused]) });
  expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 0, leftObjects: 1 });
  fleet.api.services = [shownService({ hourlyMicros: 600_000 })];
  await fleet.clock.advance(120_000);
  expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 600_000 });
});

describe('what no read shows any more', () => {
  test('costs nothing, and is forgotten after an hour', async () => {
    const fleet = await left();
    fleet.api.services = [];
    await fleet.clock.advance(hourMs / 2);
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 0, leftObjects: 0 });
    expect(remembered(fleet)).toBeDefined();
    fleet.api.services = [shownService({ hourlyMicros: 600_000 })];
    await fleet.clock.advance(120_000);
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 600_000, leftObjects: 1 });
    fleet.api.services = [];
    await fleet.clock.advance(hourMs + 300_000);
    expect(remembered(fleet)).toBeUndefined();
  });

  test('is forgotten after an hour also if something else is left meanwhile', async () => {
    const two = { ...files, 'more.yaml': kept('more') };
    const next = shownService({ id: thirdId, name: 'more', hourlyMicros: 100_000 });
    const fleet = await left(two, {
      records: [knownService(), knownService(more, { externalId: thirdId })],
      prepare: (api) => void (api.services = [shownService({ hourlyMicros: 600_000 }), next]),
    });
    fleet.api.services = [next];
    await fleet.clock.advance((hourMs * 2) / 3);
    fleet.tell(desiredOf(files));
    await fleet.clock.advance(hourMs / 3 + 300_000);
    expect(remembered(fleet)).toEqual([{ account: 'default/default', ids: [thirdId] }]);
  });

  test('is forgotten by processes that live for minutes, when the first that missed it is an hour ago', async () => {
    const first = await left();
    first.api.services = [];
    await first.manager.stop();
    await first.clock.advance(2 * hourMs);
    const again = { store: first.store, beside: first, prepare: () => {} };
    const second = await fleetWith(files, again);
    expect(remembered(second)).toMatchObject([{ ids: [serviceId] }]);
    await second.manager.stop();
    await first.clock.advance(hourMs);
    await fleetWith(files, again);
    expect(remembered(first)).toBeUndefined();
  });

  test("is not forgotten while the account can't be read", async () => {
    const fleet = await left();
    fleet.api.on['GET /api/account'] = () => ({ status: 503 });
    await fleet.clock.advance(2 * hourMs);
    expect(remembered(fleet)).toBeDefined();
  });
});

test('after a restart, nothing grows in another account before that of what was left was read', async () => {
  const named = (name: string) =>
    accountDocument.replace('name: default', `name: ${name}`).replace('api.invalid', `${name}.invalid`);
  const identified = (api: ScriptedApi) => {
    api.services = [shownService({ hourlyMicros: 600_000 })];
    api.on['GET /api/me'] = ({ host }) => ({ status: 200, body: { id: host, emailVerified: true } });
  };
  const { store, manager } = await left(files, { prepare: identified });
  await manager.stop();
  let isReadable = false;
  const two = {
    ...files,
    'other.yaml': named('other'),
    'more.yaml': serviceDocument('more', ['accountRef: {name: other}']),
  };
  const fleet = await fleetWith(two, {
    store,
    prepare: (api) => {
      identified(api);
      api.on['GET /api/account'] = ({ host }) => {
        if (host !== 'other.invalid') return isReadable ? undefined : { status: 503 };
        const body = { balanceMicros: 5_000_000, currency: 'USD', services: [], volumes: [], ledger: [] };
        return { status: 200, body };
      };
    },
  });
  const isAsked = () => fleet.api.asked.some(({ what }) => what === 'POST /api/services');
  expect([isAsked(), readyReason(fleet, more)]).toEqual([false, 'AwaitingObservation']);
  isReadable = true;
  await fleet.clock.advance(120_000);
  expect(fleet.store.record(team)?.status).toMatchObject({ hourlyMicros: 600_000, leftObjects: 1 });
});

test('what was created, and no read shows yet, is left when one shows it', async () => {
  let isShown = false;
  const made = shownService({ hourlyMicros: 600_000 });
  const prices =
    'prices: [{region: standard, gpuHourMicros: 600000, cpuHourMicros: 0, memoryGbHourMicros: 0}]';
  const priced = { ...files, 'account.yaml': accountDocument.replace('spec:', `spec:\n  ${prices}`) };
  const fleet = await fleetWith(
    { ...priced, 'web.yaml': kept('web') },
    {
      records: [],
      prepare: (api) => {
        api.on['POST /api/services'] = () => ({ status: 201, body: made });
        api.on['GET /api/account'] = () => {
          api.services = isShown ? [made] : [];
          return undefined;
        };
      },
    },
  );
  fleet.tell(desiredOf({ ...priced, 'more.yaml': serviceDocument('more') }));
  await fleet.clock.advance(60_000);
  expect([fleet.store.record(web) !== undefined, readyReason(fleet, more)]).toEqual([true, 'BudgetExceeded']);
  isShown = true;
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(web)).toBeUndefined();
  expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 600_000, leftObjects: 1 });
  expect(fleet.api.asked.filter(({ what }) => what === 'POST /api/services')).toHaveLength(1);
});

test('an object stays when its budget can remember no more, and is forgotten when it can', async () => {
  const record = { account: 'default/default', ids: Array.from({ length: 300 }, (_, index) => idOf(index)) };
  const first = await fleetWith({ ...files, 'web.yaml': kept('web') });
  const budget = first.store.record(team) ?? newRecord(team, '');
  await first.store.save({ ...budget, kind: { ...budget.kind, left: [record] } });
  first.api.services = [...first.api.services, ...record.ids.map((id) => shownService({ id, name: id }))];
  await first.clock.advance(60_000);
  first.tell(desiredOf(files));
  await first.clock.advance(120_000);
  expect(first.store.record(web)?.report?.pending?.reason).toBe('BudgetExceeded');
  const { message } = first.store.record(web)?.status?.conditions.find(({ type }) => type === 'Ready') ?? {};
  expect(message).toContain('delete there what nobody needs');
  first.api.services = first.api.services.filter(({ id }) => id !== idOf(7));
  await first.clock.advance(180_000);
  expect(first.store.record(web)).toBeUndefined();
  expect(JSON.stringify(remembered(first))).not.toContain(idOf(7));
  const size = () => JSON.stringify([statusOf(first), remembered(first)]).length;
  expect(size()).toBeLessThan(20_000);
  first.api.services = [];
  await first.clock.advance(120_000);
  expect(JSON.stringify(remembered(first))).toContain('missing');
  expect(size()).toBeLessThan(20_000);
});

describe('a volume that a service uses, and no object has', () => {
  const volume = { ...shownVolume(otherId, serviceId), hourlyMicros: 50_000 };
  const withVolume = (spec: object = {}) =>
    shownService({ hourlyMicros: 600_000, volumeId: otherId, ...spec });

  test('counts only with the service after its own object left it', async () => {
    const documents = { ...files, 'web.yaml': serviceDocument('web', [`storage: {volumeId: ${otherId}}`]) };
    const fleet = await fleetWith(
      { ...documents, 'data.yaml': volumeDocument },
      {
        records: [knownService(), knownService(data, { externalId: otherId })],
        prepare: (api) => {
          api.services = [withVolume()];
          api.volumes = [volume];
        },
      },
    );
    fleet.tell(desiredOf(documents));
    await fleet.clock.advance(90_000);
    expect([fleet.store.record(data), remembered(fleet)]).toEqual([
      undefined,
      [{ account: 'default/default', ids: [otherId] }],
    ]);
    fleet.api.services = [withVolume({ revision: 2 })];
    await fleet.clock.advance(120_000);
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 650_000, leftObjects: 0 });
    fleet.api.services = [withVolume({ volumeId: null })];
    await fleet.clock.advance(120_000);
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 650_000, leftObjects: 1 });
  });

  test('counts only with the object that adopts it', async () => {
    const fleet = await fleetWith(
      { ...files, 'web.yaml': serviceDocument('web') },
      {
        prepare: (api) => {
          api.services = [withVolume()];
          api.volumes = [volume];
        },
      },
    );
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 650_000, members: 1 });
    const adopting = volumeDocument.replace('spec:', `spec:\n  adopt: {id: ${otherId}}`);
    fleet.tell(desiredOf({ ...files, 'web.yaml': serviceDocument('web'), 'data.yaml': adopting }));
    await fleet.clock.advance(120_000);
    expect(fleet.store.record(data)?.externalId).toBe(otherId);
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 650_000, members: 2 });
  });

  test('counts only with the next service after it was left with another one', async () => {
    const next = shownService({ id: thirdId, name: 'more', hourlyMicros: 100_000 });
    const documents = { ...files, 'more.yaml': serviceDocument('more') };
    const fleet = await left(documents, {
      records: [knownService(), knownService(more, { externalId: thirdId })],
      prepare: (api) => {
        api.services = [withVolume(), next];
        api.volumes = [volume];
      },
    });
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 750_000, leftObjects: 2 });
    const shown = new Set<unknown>();
    fleet.store.listen(
      (key) => key === team && shown.add(fleet.store.record(team)?.status?.['hourlyMicros']),
    );
    fleet.api.services = [withVolume({ volumeId: null }), { ...next, volumeId: otherId }];
    await fleet.clock.advance(120_000);
    expect([...shown]).toEqual([750_000]);
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 750_000, leftObjects: 1 });
  });
});

describe('what another owner has', () => {
  test('does not count any more after it was left', async () => {
    const fleet = await left();
    fleet.api.services = [shownService({ hourlyMicros: 600_000, environmentNames: [foreignBeacon] })];
    await fleet.clock.advance(120_000);
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 0, leftObjects: 0 });
  });

  test('does not count with its own volume, either', async () => {
    const api = (environmentNames: string[]) => [
      shownService({ hourlyMicros: 600_000, volumeId: otherId, environmentNames }),
    ];
    const fleet = await left(files, {
      prepare: (scripted) => {
        scripted.services = api([]);
        scripted.volumes = [{ ...shownVolume(otherId, serviceId), mode: 'attached', hourlyMicros: 50_000 }];
      },
    });
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 650_000, leftObjects: 2 });
    fleet.api.services = api([foreignBeacon]);
    await fleet.clock.advance(120_000);
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 0, leftObjects: 0 });
  });

  test('is not left when the object is removed that had it before', async () => {
    const fleet = await fleetWith(
      { ...files, 'data.yaml': volumeDocument.replace('Retain', 'Delete') },
      {
        records: [knownService(data, { externalId: otherId })],
        prepare: (api) => {
          const name = 'data-fk0123456789abc';
          api.volumes = [{ ...shownVolume(otherId, null), name, hourlyMicros: 50_000 }];
        },
      },
    );
    expect(readyReason(fleet, data)).toBe('OwnedByAnother');
    fleet.tell(desiredOf(files));
    await fleet.clock.advance(120_000);
    expect([fleet.store.record(data), remembered(fleet)]).toEqual([undefined, undefined]);
    expect(statusOf(fleet)).toMatchObject({ hourlyMicros: 0, leftObjects: 0 });
  });
});

const data: ObjectKey = 'StorageVolume/default/data';
const thirdId = '00000000-0000-4000-8000-000000000003';
const foreignBeacon = `FLEETKEEPER_BEACON_${'A'.repeat(8)}_${'B'.repeat(32)}_${'C'.repeat(8)}_${'D'.repeat(16)}`;
const volumeDocument = stringify({
  apiVersion,
  kind: 'StorageVolume',
  metadata: { name: 'data' },
  spec: { region: 'standard', sizeGb: 10, deletionPolicy: 'Retain' },
});
const idOf = (index: number) => `00000000-0000-4000-9000-${String(index).padStart(12, '0')}`;
