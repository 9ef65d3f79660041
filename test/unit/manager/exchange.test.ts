/** Services that are to be created anew with each other's volumes: nothing is deleted before all of them may go. */
import { expect, test } from 'vitest';
import { objectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  readyReason,
  scriptedFleet,
  shownService,
  shownVolume,
  taskDocument,
  type ScriptedApi,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const names = ['one', 'two', 'three'] as const;
type Name = (typeof names)[number];
const keyOf = (name: Name) => objectKey('ContainerService', 'default', name);
const serviceOf = (name: Name) => `00000000-0000-4000-8000-00000000000${names.indexOf(name)}`;
const volumeOf = (name: Name | 'free') =>
  `00000000-0000-4000-8000-0000000000a${name === 'free' ? 9 : names.indexOf(name)}`;

/** `has`: whose volume each is to have, which has its own at first; `more`: other files, `lines`: more of a spec. */
interface Wish {
  readonly has: Partial<Record<Name, Name | 'free'>>;
  readonly lines?: Partial<Record<Name, readonly string[]>>;
  readonly more?: Readonly<Record<string, string>>;
  readonly annotations?: string;
}

function wished({ has, lines = {}, more = {}, annotations }: Wish) {
  const documents = Object.entries(has).map(([name, volume]) => {
    const storage = `storage: {volumeId: ${volumeOf(volume)}}`;
    const text = serviceDocument(name, ['replacement: Recreate', storage, ...(lines[name as Name] ?? [])]);
    const annotated = text.replace('{name: two}', `{name: two, annotations: {${annotations}}}`);
    return [`${name}.yaml`, annotations === undefined ? text : annotated] as const;
  });
  return desiredOf({ ...access, ...more, ...Object.fromEntries(documents) });
}

/** They are as they were at first, and then wanted otherwise. */
async function fleetOf(wish: Wish, prepare?: (api: ScriptedApi) => void): Promise<ScriptedFleet> {
  const own = Object.keys(wish.has) as Name[];
  const before = { has: Object.fromEntries(own.map((name) => [name, name])) };
  const fleet = await scriptedFleet(wished(before), {
    records: own.map((name) => knownService(keyOf(name), { externalId: serviceOf(name) })),
    prepare: (api) => {
      api.services = own.map((name) => shownService({ id: serviceOf(name), name, volumeId: volumeOf(name) }));
      api.volumes = [...own, 'free' as const].map((name) =>
        shownVolume(volumeOf(name), name === 'free' ? null : serviceOf(name)),
      );
      for (const name of own) {
        const deleting = {
          ...shownService({ id: serviceOf(name), name, volumeId: volumeOf(name) }),
          state: 'deleting',
        };
        api.on[`POST /api/services/${serviceOf(name)}/actions`] = () => {
          api.services = api.services.map((service) =>
            service['id'] === serviceOf(name) ? deleting : service,
          );
          return { status: 200, body: deleting };
        };
      }
    },
  });
  await fleet.clock.advance(60_000);
  fleet.api.news();
  prepare?.(fleet.api);
  fleet.tell(wished(wish));
  await fleet.clock.advance(120_000);
  return fleet;
}

function deleted({ api }: ScriptedFleet): Name[] {
  const asked = api.asked.filter(({ body }) => body?.action === 'delete').map(({ what }) => what);
  return names.filter((name) => asked.some((what) => what.includes(serviceOf(name))));
}

// COVERAGE 42
const swapped = { one: 'two', two: 'one' } as const;
const round = { one: 'two', two: 'three', three: 'one' } as const;
const task = { 'task.yaml': taskDocument({ serviceRef: { name: 'two' } }) };
const neverOpen = ['disruptionWindows: [{cron: "0 3 1 1 *", durationMinutes: 1}]'];
const shutCatalog = (api: ScriptedApi) => {
  const regions = [{ name: 'standard', geographies: ['europe'] }];
  const catalog = {
    regions,
    templates: [],
    gpuCatalog: [{ model: 'a', name: 'a', memoryGb: [1], fullMemoryGb: 1 }],
  };
  api.on['GET /api/catalog'] = () => ({
    status: 200,
    body: {
      ...catalog,
      currency: 'USD',
      browserEnabled: false,
      payment: { provider: 'p', status: 'enabled' },
    },
  });
};
const runningWork = (api: ScriptedApi) => {
  api.on[`GET /api/services/${serviceOf('two')}/activity`] = () => ({
    status: 200,
    body: { activities: [{ id: 'x', name: 'epoch 7' }] },
  });
};

interface Obstacle {
  readonly who: string;
  readonly wish: Wish;
  readonly prepare?: (api: ScriptedApi) => void;
}

const lacksSecret = ['env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]'];
const obstacles: readonly Obstacle[] = [
  { who: 'is protected by a task', wish: { has: swapped, more: task } },
  { who: 'has an unreleased activity', wish: { has: swapped }, prepare: runningWork },
  { who: 'is paused', wish: { has: swapped, annotations: 'fleetkeeper.dev/paused: "true"' } },
  { who: 'is outside its window', wish: { has: swapped, lines: { two: neverOpen } } },
  { who: 'may not be disturbed', wish: { has: swapped, lines: { two: ['disruption: Never'] } } },
  {
    who: 'can not be created where it is wanted',
    wish: { has: swapped, lines: { two: ['geography: mars'] } },
    prepare: shutCatalog,
  },
  { who: 'lacks a Secret', wish: { has: swapped, lines: { two: lacksSecret } } },
  { who: 'is protected in a round of three', wish: { has: round, more: task } },
  { who: 'goes first and is protected', wish: { has: { one: 'two', two: 'free' }, more: task } },
  { who: 'goes first and waits', wish: { has: { one: 'two', two: 'three', three: 'three' } } },
  {
    who: 'goes with another one, and is protected',
    wish: { has: { one: 'two', two: 'three', three: 'two' }, more: task },
  },
];

test.each(obstacles)('who has the volume $who: nothing is deleted', async ({ wish, prepare }) => {
  const fleet = await fleetOf(wish, prepare);
  expect(deleted(fleet)).toEqual([]);
  expect(fleet.store.record(keyOf('one'))?.status?.conditions).toContainEqual(
    expect.objectContaining({
      type: 'Reconciling',
      message: expect.stringMatching(`two|${serviceOf('two')}`),
    }),
  );
  await fleet.manager.stop();
});

test.each([
  ['two', swapped],
  ['three', round],
])('%s that may all go are deleted, each for the others', async (_name, has) => {
  const fleet = await fleetOf({ has });
  expect(deleted(fleet)).toEqual(Object.keys(has));
  await fleet.manager.stop();
});

test('what was waited for is over: all go at once', async () => {
  const fleet = await fleetOf({ has: round, more: task });
  expect([deleted(fleet), readyReason(fleet, keyOf('one')), readyReason(fleet, keyOf('two'))]).toEqual([
    [],
    'VolumeExchange',
    'Protected',
  ]);
  fleet.tell(wished({ has: round }));
  await fleet.clock.advance(20_000);
  expect(deleted(fleet)).toEqual([...names]);
  await fleet.manager.stop();
});

const hourMicros = 2_000_000;
const atThatPrice = ({ services }: ScriptedApi) =>
  services.map((service) => ({ ...service, hourlyMicros: hourMicros }));
/** The scripted account has a balance of 5 USD. */
const floorOf = (minimumBalanceMicros: number) => ({
  'account.yaml': `${access['account.yaml']}  minimumBalanceMicros: ${minimumBalanceMicros}\n`,
});

test('the balance bears only one of the creations that are to follow: nothing is deleted until it bears all', async () => {
  const fleet = await fleetOf({ has: swapped, more: floorOf(2_000_000) }, (api) => {
    api.services = atThatPrice(api);
  });
  expect(deleted(fleet)).toEqual([]);
  const reasons = new Set([readyReason(fleet, keyOf('one')), readyReason(fleet, keyOf('two'))]);
  expect(reasons).toEqual(new Set(['BalanceTooLow', 'VolumeExchange']));
  fleet.tell(wished({ has: swapped, more: floorOf(1_000_000) }));
  await fleet.clock.advance(60_000);
  expect(deleted(fleet)).toEqual(['one', 'two']);
  await fleet.manager.stop();
});

test('who has gone for a round leaves room for the others, which nobody else may take', async () => {
  const fleet = await fleetOf({ has: swapped, more: floorOf(1_000_000) }, (api) => {
    api.services = atThatPrice(api);
    api.on[`POST /api/services/${serviceOf('two')}/actions`] = () => ({ status: 409 });
  });
  expect(readyReason(fleet, keyOf('one'))).toBe('Deleting');
  const foreign = { 'stranger.yaml': serviceDocument('stranger', ['replacement: Never']) };
  fleet.tell(wished({ has: swapped, more: { ...floorOf(1_000_000), ...foreign } }));
  await fleet.clock.advance(120_000);
  expect(readyReason(fleet, objectKey('ContainerService', 'default', 'stranger'))).toBe('BalanceTooLow');
  await fleet.manager.stop();
});

test('one after the other: who has the volume goes first, and the next one when it is free', async () => {
  const fleet = await fleetOf({ has: { one: 'two', two: 'free' } });
  expect(deleted(fleet)).toEqual(['two']);
  fleet.api.services = fleet.api.services.filter(({ id }) => id !== serviceOf('two'));
  fleet.api.volumes = fleet.api.volumes.map((volume) =>
    volume['serviceId'] === serviceOf('two') ? { ...volume, serviceId: null } : volume,
  );
  await fleet.clock.advance(60_000);
  expect(deleted(fleet)).toEqual(['one', 'two']);
  await fleet.manager.stop();
});
