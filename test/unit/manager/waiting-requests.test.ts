/** A request may wait for its turn, and what it was planned for may change meanwhile. */
import { expect, test } from 'vitest';
import { sleep } from '../../../src/base/index.ts';
import { objectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  heartbeat,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  shownVolume,
  taskDocument,
  web,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const patch = `PATCH /api/services/${serviceId}`;
const edited = serviceDocument('web').replace('web:1', 'web:2');
const nobodysId = '00000000-0000-4000-8000-000000000009';

/**
 * The next disruptive request for the service waits for its turn: in the moment in which its activities are answered, another request
 * is told to wait.
 */
async function fleetBehindShutLimiter(
  documents: Readonly<Record<string, string>>,
  options: ScriptedFleetOptions,
  pauseSeconds = 4,
): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(desiredOf({ ...access, ...documents }), options);
  const { api, clock, manager } = fleet;
  await clock.advance(60_000);
  let isShut = false;
  api.on[`GET /api/services/${nobodysId}`] = () => ({ status: 429, retryAfter: String(pauseSeconds) });
  api.on[`GET /api/services/${serviceId}/activity`] = async () => {
    const [account] = manager.accounts.handles();
    if (!isShut) await account?.api.service(nobodysId);
    isShut = true;
    return undefined;
  };
  return fleet;
}

/** The service was edited, and the request for that waits. */
async function waitingPatch(
  rest: Readonly<Record<string, string>> = {},
  more: ScriptedFleetOptions = {},
): Promise<ScriptedFleet> {
  const fleet = await editedBehindPause(4, rest, more);
  expect(fleet.store.openIntent(web)).toMatchObject({ action: 'patch-service', outcome: 'pending' });
  return fleet;
}

async function editedBehindPause(
  pauseSeconds: number,
  rest: Readonly<Record<string, string>> = {},
  more: ScriptedFleetOptions = {},
): Promise<ScriptedFleet> {
  const fleet = await fleetBehindShutLimiter(
    { ...rest, 'web.yaml': serviceDocument('web') },
    {
      records: [knownService()],
      prepare: (api) => {
        api.services = [shownService()];
      },
      ...more,
    },
    pauseSeconds,
  );
  fleet.tell(desiredOf({ ...access, ...rest, 'web.yaml': edited }));
  await fleet.clock.advance(2000);
  return fleet;
}

test('what is still wanted is sent when its turn has come', async () => {
  const { clock, api, manager } = await waitingPatch();
  await clock.advance(700_000);
  expect(api.news().filter((what) => what === patch)).not.toEqual([]);
  await manager.stop();
});

test('activities count from the moment in which they were asked for, however long the answer takes', async () => {
  const shown = desiredOf({ ...access, 'web.yaml': serviceDocument('web') });
  const { api, clock, manager, tell } = await scriptedFleet(shown, {
    records: [knownService()],
    prepare: (given) => {
      given.services = [shownService()];
    },
  });
  await clock.advance(60_000);
  let askedAtMs = 0;
  let isFirst = true;
  const agesMs: number[] = [];
  api.on[`GET /api/services/${nobodysId}`] = () => ({ status: 429, retryAfter: '45' });
  api.on[`GET /api/services/${serviceId}/activity`] = async () => {
    askedAtMs = clock.monotonicMs();
    const [account] = manager.accounts.handles();
    if (isFirst) {
      isFirst = false;
      await sleep(clock, 20_000);
      await account?.api.service(nobodysId);
    }
    return undefined;
  };
  api.on[patch] = () => {
    agesMs.push(clock.monotonicMs() - askedAtMs);
    return undefined;
  };
  tell(desiredOf({ ...access, 'web.yaml': edited }));
  await clock.advance(200_000);
  expect(agesMs).not.toEqual([]);
  expect(Math.max(...agesMs)).toBeLessThanOrEqual(60_000);
  await manager.stop();
});

test('a task that is declared meanwhile protects from it', async () => {
  const { tell, clock, api, manager } = await waitingPatch();
  tell(desiredOf({ ...access, 'web.yaml': edited, 'task.yaml': taskDocument() }));
  await clock.advance(700_000);
  const asked = api.news();
  expect(asked).toContain(heartbeat);
  expect(asked).not.toContain(patch);
  await manager.stop();
});

test('during a long pause no request waits, and the object shows that', async () => {
  const fleet = await editedBehindPause(600);
  const { clock, api, manager, store } = fleet;
  await clock.advance(5000);
  expect(store.openIntent(web)).toBeUndefined();
  expect(readyReason(fleet, web)).toBe('RateLimited');
  await clock.advance(700_000);
  expect(api.news()).toContain(patch);
  await manager.stop();
});

test('a stop while a read waits is no failure of the account', async () => {
  const fleet = await fleetBehindShutLimiter(
    { 'web.yaml': serviceDocument('web') },
    {
      records: [knownService()],
      prepare: (api) => {
        api.services = [shownService()];
      },
    },
    600,
  );
  const { api, clock, manager, store, tell } = fleet;
  const answer = Promise.withResolvers<void>();
  api.on[`GET /api/services/${serviceId}/activity`] = () => undefined;
  api.on[patch] = async () => {
    await answer.promise;
    return undefined;
  };
  tell(desiredOf({ ...access, 'web.yaml': edited }));
  await clock.advance(5000);
  const [handle] = manager.accounts.handles();
  await handle?.api.service(nobodysId);
  await clock.advance(120_000);
  const account = objectKey('Account', 'default', 'default');
  const reason = () => store.record(account)?.status?.conditions.find(({ type }) => type === 'Ready')?.reason;
  expect([api.news().includes(patch), reason()]).toEqual([true, 'Connected']);
  const stopped = manager.stop();
  await clock.advance(1000);
  answer.resolve();
  await stopped;
  expect(reason()).toBe('Connected');
});

test('an activity that somebody else has registered meanwhile protects from it', async () => {
  const fleet = await editedBehindPause(600);
  const { clock, api, manager } = fleet;
  const theirs = { id: otherId, name: 'theirs', released: false, expiresAt: '2027-01-01T00:00:00Z' };
  api.on[`GET /api/services/${serviceId}/activity`] = () => ({
    status: 200,
    body: { activities: [theirs] },
  });
  await clock.advance(700_000);
  expect(api.news()).not.toContain(patch);
  expect(readyReason(fleet, web)).toBe('Protected');
  await manager.stop();
});

test('the annotation paused stops it', async () => {
  const { tell, clock, api, manager } = await waitingPatch();
  const paused = edited.replace('{name: web}', '{name: web, annotations: {fleetkeeper.dev/paused: "true"}}');
  tell(desiredOf({ ...access, 'web.yaml': paused }));
  await clock.advance(700_000);
  expect(api.news()).not.toContain(patch);
  await manager.stop();
});

test('nothing is changed any more in an account whose document has gone', async () => {
  const two = objectKey('ContainerService', 'default', 'two');
  const task = taskDocument({ serviceRef: { name: 'two' } });
  const rest = { 'two.yaml': serviceDocument('two'), 'task.yaml': task };
  const { tell, clock, api, manager } = await waitingPatch(rest, {
    records: [knownService(), knownService(two, { externalId: otherId })],
    prepare: (given) => {
      given.services = [shownService(), shownService({ id: otherId, name: 'two' })];
    },
  });
  tell(desiredOf({ ...rest, 'web.yaml': edited }));
  await clock.advance(700_000);
  expect(api.news()).not.toContain(patch);
  await manager.stop();
});

test('the mass-change brake stops a deletion', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `service-${index}`);
  const id = (index: number) => (index === 0 ? serviceId : `${nobodysId.slice(0, -2)}${index + 10}`);
  const keys = names.map((name) => objectKey('ContainerService', 'default', name));
  const of = (some: readonly string[]) =>
    Object.fromEntries(some.map((name) => [`${name}.yaml`, serviceDocument(name)]));
  const { tell, clock, api, store, manager } = await fleetBehindShutLimiter(of(names), {
    records: keys.map((key, index) => knownService(key, { externalId: id(index) })),
    prepare: (given) => {
      given.services = names.map((name, index) => shownService({ id: id(index), name }));
    },
  });
  tell(desiredOf({ ...access, ...of(names.slice(1)) }));
  await clock.advance(2000);
  const [first = web] = keys;
  expect(store.openIntent(first)).toMatchObject({ action: 'delete-service', outcome: 'pending' });
  // The mount goes: everything else is lost, too.
  tell(desiredOf(access));
  await clock.advance(700_000);
  expect(api.news()).not.toContain(`POST /api/services/${serviceId}/actions`);
  await manager.stop();
});

test.each([
  ['paused', { 'web.yaml': failing('{name: web, annotations: {fleetkeeper.dev/paused: "true"}}') }],
  ['protected', { 'web.yaml': failing('{name: web}'), 'task.yaml': taskDocument() }],
])('a restart by remediation is not sent when its service is %s meanwhile', async (_, documents) => {
  const fleet = await fleetBehindShutLimiter(
    { 'web.yaml': failing('{name: web}') },
    {
      records: [knownService()],
      prepare: (given) => {
        given.services = [shownService()];
      },
    },
  );
  const { api, clock, tell, store, manager } = fleet;
  api.on[`GET /api/services/${nobodysId}`] = () => ({ status: 429, retryAfter: '50' });
  api.services = [shownService({ state: 'error', revision: 2 })];
  while (!store.openIntent(web)) await clock.advance(1000);
  api.news();
  tell(desiredOf({ ...access, ...documents }));
  await clock.advance(120_000);
  expect(api.news()).not.toContain(`POST /api/services/${serviceId}/actions`);
  await manager.stop();
});

function failing(metadata: string): string {
  return serviceDocument('web', ['onError: {restarts: 3}']).replace('{name: web}', metadata);
}

test('where requests are few what is ready is sent, and does not wait until it has to be looked at anew', async () => {
  const services = Array.from({ length: 24 }, (_, index) => ({
    name: `service-${index}`,
    id: `${nobodysId.slice(0, -2)}${index + 10}`,
  }));
  const slow = access['account.yaml'].replace(
    'spec:',
    'spec:\n  pollSeconds: 60\n  requests: {perSecond: 0.15, burst: 1}',
  );
  const of = (more: readonly string[]) =>
    desiredOf({
      ...access,
      'account.yaml': slow,
      ...Object.fromEntries(services.map(({ name }) => [`${name}.yaml`, serviceDocument(name, more)])),
    });
  const { tell, clock, api, manager } = await scriptedFleet(of([]), {
    records: services.map(({ name, id }) =>
      knownService(objectKey('ContainerService', 'default', name), { externalId: id }),
    ),
    prepare: (given) => {
      given.services = services.map((each) => shownService(each));
    },
  });
  await clock.advance(300_000);
  api.news();
  tell(of(['restartToken: "1"']));
  await clock.advance(1_200_000);
  expect(api.news().filter((what) => what.endsWith('/actions')).length).toBeGreaterThan(20);
  await manager.stop();
});

test('two services that swap their volumes do not wait for each other to go', async () => {
  const two = objectKey('ContainerService', 'default', 'two');
  const [first, second] = [`${nobodysId.slice(0, -1)}a`, `${nobodysId.slice(0, -1)}b`];
  const service = (name: string, volumeId: string) =>
    serviceDocument(name, ['replacement: Recreate', `storage: {volumeId: ${volumeId}}`]);
  const of = (ofWeb: string, ofTwo: string) =>
    desiredOf({ ...access, 'web.yaml': service('web', ofWeb), 'two.yaml': service('two', ofTwo) });
  const { tell, clock, api, manager } = await scriptedFleet(of(first, second), {
    records: [knownService(), knownService(two, { externalId: otherId })],
    prepare: (given) => {
      given.services = [
        shownService({ volumeId: first }),
        shownService({ id: otherId, name: 'two', volumeId: second }),
      ];
      given.volumes = [shownVolume(first, serviceId), shownVolume(second, otherId)];
      for (const id of [serviceId, otherId]) {
        given.on[`POST /api/services/${id}/actions`] = () => ({ status: 200, body: shownService({ id }) });
      }
    },
  });
  await clock.advance(60_000);
  api.news();
  tell(of(second, first));
  await clock.advance(60_000);
  expect(api.news()).toEqual(
    expect.arrayContaining([
      `POST /api/services/${serviceId}/actions`,
      `POST /api/services/${otherId}/actions`,
    ]),
  );
  await manager.stop();
});

/** A creation waits for its turn for so many seconds. */
async function waitingCreation(seconds: number): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(desiredOf(access));
  const { tell, clock, api, manager } = fleet;
  await clock.advance(60_000);
  api.on[`GET /api/services/${nobodysId}`] = () => ({ status: 429, retryAfter: String(seconds) });
  api.on['GET /api/catalog'] = async () => {
    delete api.on['GET /api/catalog'];
    const [account] = manager.accounts.handles();
    await account?.api.service(nobodysId);
    return undefined;
  };
  tell(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }));
  await clock.advance((seconds - 10) * 1000);
  expect(api.news()).not.toContain('POST /api/services');
  return fleet;
}

test('what costs more is not sent with the balance of before it had to wait', async () => {
  const { clock, api, manager } = await waitingCreation(600);
  const order: string[] = [];
  api.on['GET /api/account'] = async () => {
    await sleep(clock, 3000);
    order.push('the balance is known');
    return undefined;
  };
  api.on['POST /api/services'] = () => {
    order.push('it is created');
    return { status: 201, body: shownService() };
  };
  await clock.advance(60_000);
  expect(order[0]).toBe('the balance is known');
  expect(order).toContain('it is created');
  await manager.stop();
});

test('what costs more is not sent when nothing is left by the time of its turn', async () => {
  const { clock, api, manager } = await waitingCreation(30);
  const body = { balanceMicros: 0, currency: 'USD', services: [], volumes: [], ledger: [] };
  api.on['GET /api/account'] = () => ({ status: 200, body });
  await clock.advance(60_000);
  const asked = api.news();
  expect(asked).toContain('GET /api/account');
  expect(asked).not.toContain('POST /api/services');
  await manager.stop();
});
