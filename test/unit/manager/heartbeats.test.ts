/** What must not stop the heartbeats of a task, whatever happens to the account, its key and its documents. */
import { describe, expect, test } from 'vitest';
import { derivedUid } from '../../../src/engine/plan/index.ts';
import { objectKey, type ObjectKey, type Registration } from '../../../src/resources/index.ts';
import { MemoryStore, newRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  heartbeat,
  epoch,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  secretDocument,
  serviceId,
  shownService,
  shownVolume,
  stateIdentity,
  taskDocument,
  web,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';
import { taskPart } from '../../support/kind-state.ts';

const held = { 'web.yaml': serviceDocument('web'), 'task.yaml': taskDocument() };
const files = { ...access, ...held };
const volume = shownVolume(otherId, null);

/** A task is held in a service that is as wanted. */
async function holding(
  documents: Readonly<Record<string, string>> = files,
  options: ScriptedFleetOptions = {},
): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(desiredOf(documents), {
    records: [knownService()],
    ...options,
    prepare: (api) => {
      api.services = [shownService()];
      api.volumes = [volume];
    },
  });
  await fleet.clock.advance(60_000);
  expect(fleet.api.news()).toContain(heartbeat);
  return fleet;
}

/** The service may be let go, and is kept running then; its task goes on. `rest`: the documents without that of the service. */
async function holdingInRetained() {
  const { 'web.yaml': _service, ...rest } = files;
  const { 'account.yaml': _account, ...withoutAccount } = rest;
  const retained = { ...rest, 'web.yaml': serviceDocument('web', ['deletionPolicy: Retain']) };
  return { fleet: await holding(retained, { graceMs: 2000 }), rest, withoutAccount };
}

/** In so many seconds from now. */
async function heartbeatsIn({ clock, api }: ScriptedFleet, seconds: number): Promise<number> {
  api.news();
  await clock.advance(seconds * 1000);
  return api.news().filter((what) => what === heartbeat).length;
}

test('heartbeats go on when the document of their account, and its key, are lost', async () => {
  const fleet = await holding();
  fleet.tell(desiredOf(held));
  await fleet.clock.advance(10_000);
  fleet.api.news();
  await fleet.clock.advance(60_000);
  expect(fleet.api.news()).toEqual([heartbeat, heartbeat]);
  await fleet.manager.stop();
});

test('heartbeats go on when the key is lost, and its account after it', async () => {
  const fleet = await holding(files, { graceMs: 2000 });
  const { 'secret.yaml': _lost, ...withoutKey } = files;
  fleet.tell(desiredOf(withoutKey));
  expect(await heartbeatsIn(fleet, 300)).toBeGreaterThan(8);
  fleet.tell(desiredOf(held));
  expect(await heartbeatsIn(fleet, 300)).toBeGreaterThan(8);
  await fleet.manager.stop();
});

test('heartbeats go on when an Account goes, comes back, and goes again', async () => {
  const { fleet, rest, withoutAccount } = await holdingInRetained();
  fleet.tell(desiredOf(rest));
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(web)).toBeUndefined();
  for (const documents of [withoutAccount, rest, withoutAccount]) {
    fleet.tell(desiredOf(documents));
    await fleet.clock.advance(1000);
  }
  expect(await heartbeatsIn(fleet, 600)).toBeGreaterThan(15);
  await fleet.manager.stop();
});

test('a task is told by its Account again once that has come back', async () => {
  const { fleet, rest, withoutAccount } = await holdingInRetained();
  for (const documents of [rest, withoutAccount, rest]) {
    fleet.tell(desiredOf(documents));
    await fleet.clock.advance(1000);
  }
  await fleet.clock.advance(600_000);
  expect(readyReason(fleet, epoch)).toBe('Held');
  await fleet.manager.stop();
});

test('a heartbeat that is answered 401 makes it asked soon whose key it is, however seldom the account is read', async () => {
  const seldom = accountDocument.replace('spec:', 'spec:\n  pollSeconds: 900');
  const fleet = await holding({ ...files, 'account.yaml': seldom });
  fleet.api.on[heartbeat] = () => ({ status: 401 });
  expect(await heartbeatsIn(fleet, 30)).toBeGreaterThan(0);
  delete fleet.api.on[heartbeat];
  expect(await heartbeatsIn(fleet, 40)).toBeGreaterThan(0);
  await fleet.manager.stop();
});

test('after a 401 it is asked whose key it is for a task whose Account is gone, too', async () => {
  const fleet = await holding();
  fleet.tell(desiredOf(held));
  await fleet.clock.advance(60_000);
  fleet.api.on[heartbeat] = () => ({ status: 401 });
  expect(await heartbeatsIn(fleet, 31)).toBeGreaterThan(0);
  delete fleet.api.on[heartbeat];
  expect(await heartbeatsIn(fleet, 300)).toBeGreaterThan(7);
  await fleet.manager.stop();
});

test('heartbeats go on while it can not be asked whose account it is that something has vanished from', async () => {
  const fleet = await holding();
  fleet.api.volumes = [];
  fleet.api.on['GET /api/me'] = () => ({ status: 429, retryAfter: '600' });
  expect(await heartbeatsIn(fleet, 590)).toBeGreaterThan(15);
  await fleet.manager.stop();
});

test('heartbeats go on when the Account is edited while Retry-After keeps everything else waiting', async () => {
  const fleet = await holding();
  fleet.api.on['GET /api/account'] = () => ({ status: 429, retryAfter: '600' });
  await fleet.clock.advance(40_000);
  const seldom = accountDocument.replace('spec:', 'spec:\n  pollSeconds: 20');
  fleet.tell(desiredOf({ ...files, 'account.yaml': seldom }));
  expect(await heartbeatsIn(fleet, 500)).toBeGreaterThan(14);
  await fleet.manager.stop();
});

test('a heartbeat that is told of a conflict does not wait to look into it while Retry-After keeps everything else waiting', async () => {
  const fleet = await holding();
  const { api } = fleet;
  api.on['GET /api/account'] = () => ({ status: 429, retryAfter: '1800' });
  await fleet.clock.advance(40_000);
  api.on[heartbeat] = () => {
    delete api.on[heartbeat];
    return { status: 409 };
  };
  expect(await heartbeatsIn(fleet, 600)).toBeGreaterThan(15);
  await fleet.manager.stop();
});

/** Heartbeats are refused for a while, as happens for many reasons; `answers` says what the list shows then. */
async function conflictsFor(ms: number, answers: object): Promise<ScriptedFleet> {
  const fleet = await holding();
  fleet.api.on[heartbeat] = () => ({ status: 409 });
  fleet.api.on[`GET /api/services/${serviceId}/activity`] = () => ({ status: 200, body: answers });
  await fleet.clock.advance(ms);
  return fleet;
}

// COVERAGE 18, 74
test('a list that does not show an activity yet makes no second one beside it', async () => {
  const fleet = await conflictsFor(300_000, { activities: [] });
  delete fleet.api.on[heartbeat];
  expect(await heartbeatsIn(fleet, 60)).toBeGreaterThan(0);
  const heartbeats = fleet.api.asked.filter(({ what }) => what === heartbeat);
  expect(new Set(heartbeats.map(({ body }) => body.id)).size).toBe(1);
  expect(readyReason(fleet, epoch)).toBe('Held');
  await fleet.manager.stop();
});

test('an activity that somebody else has released is registered again, under another id', async () => {
  const fleet = await holding();
  const { activityId: released } = taskPart(fleet.store.record(epoch)).registration ?? {};
  const answers = { activities: [{ activity: 'other' }, { id: released?.toUpperCase(), released: true }] };
  fleet.api.on[heartbeat] = ({ body }) => (body.id === released ? { status: 409 } : undefined);
  fleet.api.on[`GET /api/services/${serviceId}/activity`] = () => ({ status: 200, body: answers });
  await fleet.clock.advance(60_000);
  expect(taskPart(fleet.store.record(epoch)).registration?.activityId).not.toBe(released);
  expect(readyReason(fleet, epoch)).toBe('Held');
  await fleet.manager.stop();
});

test('an activity that a late heartbeat registers after its release is released again, also by the process after a restart', async () => {
  const first = await holding();
  const { api, clock, store } = first;
  const ended = desiredOf({ ...files, 'task.yaml': taskDocument({ released: true }) });
  /** What the provider has taken in; an answer to a key that it knows changes nothing. */
  const active = new Set<string>();
  const keys = new Set<string | undefined>();
  api.on[heartbeat] = ({ body, key }) => {
    if (!body.release) return 'lost';
    if (!keys.has(key)) active.delete(body.id);
    keys.add(key);
    return undefined;
  };
  api.on[`GET /api/services/${serviceId}/activity`] = () => ({
    status: 200,
    body: { activities: [...active].map((id) => ({ id })) },
  });
  await clock.advance(31_000);
  first.tell(ended);
  while (keys.size === 0) await clock.advance(100);
  await first.manager.stop();
  const { registration, releasedAt } = taskPart(store.record(epoch));
  expect(releasedAt).toBeUndefined();
  active.add(registration?.activityId ?? '');
  const next = await scriptedFleet(ended, { beside: first, store });
  await clock.advance(30_000);
  expect(readyReason(next, epoch)).toBe('Released');
  expect(taskPart(store.record(epoch)).releasedAt).toBeDefined();
  expect([...active]).toEqual([]);
  await next.manager.stop();
});

test('a task whose release is refused is not over because its service is missing from one list', async () => {
  const { fleet, rest } = await holdingInRetained();
  fleet.tell(desiredOf(rest));
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(web)).toBeUndefined();
  fleet.api.services = [];
  fleet.api.on[heartbeat] = () => ({ status: 503 });
  const { 'task.yaml': _task, ...withoutTask } = rest;
  fleet.tell(desiredOf(withoutTask));
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(epoch)).toBeDefined();
  delete fleet.api.on[heartbeat];
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(epoch)).toBeUndefined();
  expect(fleet.api.asked.some(({ what, body }) => what === heartbeat && body.release === true)).toBe(true);
  await fleet.manager.stop();
});

test('a key of another account protects nothing, and none is used that is known to be wrong', async () => {
  const fleet = await holding();
  fleet.api.on['GET /api/me'] = () => ({ status: 200, body: { id: 'somebody-else', emailVerified: true } });
  fleet.tell(desiredOf({ ...files, 'secret.yaml': secretDocument.replace('apiKey: key', 'apiKey: other') }));
  await fleet.clock.advance(10_000);
  expect(await heartbeatsIn(fleet, 300)).toBe(0);
  await fleet.manager.stop();
});

test('a task that ends is over with its service, also when that is only told to be gone', async () => {
  const reporting = { ...files, 'web.yaml': serviceDocument('web', ['driftPolicy: Report']) };
  const fleet = await holding(reporting);
  fleet.api.services = [];
  fleet.api.on[heartbeat] = () => ({ status: 404 });
  fleet.api.on[`GET /api/services/${serviceId}/activity`] = () => ({ status: 404 });
  await fleet.clock.advance(60_000);
  const { 'task.yaml': _task, ...rest } = reporting;
  fleet.tell(desiredOf(rest));
  await fleet.clock.advance(600_000);
  expect(fleet.store.record(epoch)).toBeUndefined();
  expect(fleet.store.record(web)).toBeDefined();
  await fleet.manager.stop();
});

test('a task that is said to protect another service is held where it was registered, and released there', async () => {
  const two = objectKey('ContainerService', 'default', 'two');
  const both = { ...files, 'two.yaml': serviceDocument('two') };
  const fleet = await holding(both, {
    records: [knownService(), knownService(two, { externalId: otherId })],
  });
  fleet.api.services = [shownService(), shownService({ id: otherId, name: 'two' })];
  const moved = taskDocument({ serviceRef: { name: 'two' } });
  fleet.tell(desiredOf({ ...both, 'task.yaml': moved }));
  expect(await heartbeatsIn(fleet, 60)).toBeGreaterThan(0);
  expect(readyReason(fleet, epoch)).toBe('ImmutableFieldChanged');
  const ended = taskDocument({ serviceRef: { name: 'two' }, released: true });
  fleet.tell(desiredOf({ ...both, 'task.yaml': ended }));
  await fleet.clock.advance(60_000);
  const released = fleet.api.asked.filter(({ body }) => body?.release === true);
  expect(released.map(({ what }) => what)).toEqual([heartbeat]);
  await fleet.manager.stop();
});

test('a task whose deadline passes while its document can not be used is not beaten for any more', async () => {
  const until = { deadline: '2026-01-01T00:03:00Z' };
  const fleet = await holding({ ...files, 'task.yaml': taskDocument({ until }) });
  fleet.tell(desiredOf({ ...files, 'task.yaml': taskDocument({ until, typo: 1 }) }));
  expect(await heartbeatsIn(fleet, 60)).toBeGreaterThan(0);
  await fleet.clock.advance(90_000);
  expect(await heartbeatsIn(fleet, 600)).toBe(0);
  await fleet.manager.stop();
});

const nobodyElse = () => ({ status: 429, retryAfter: '1800' }) as const;

test('a key that is changed while Retry-After keeps everything else waiting is beaten with', async () => {
  const fleet = await holding();
  fleet.api.on['GET /api/account'] = nobodyElse;
  await fleet.clock.advance(40_000);
  const rotated = secretDocument.replace('apiKey: key', 'apiKey: rotated');
  fleet.tell(desiredOf({ ...files, 'secret.yaml': rotated }));
  expect(await heartbeatsIn(fleet, 600)).toBeGreaterThan(17);
  await fleet.manager.stop();
});

test('a key that is changed is asked about again when the first question has failed', async () => {
  const fleet = await holding();
  const { api } = fleet;
  api.on['GET /api/account'] = nobodyElse;
  await fleet.clock.advance(40_000);
  api.on['GET /api/me'] = () => {
    delete api.on['GET /api/me'];
    return { status: 503 };
  };
  const rotated = secretDocument.replace('apiKey: key', 'apiKey: rotated');
  fleet.tell(desiredOf({ ...files, 'secret.yaml': rotated }));
  expect(await heartbeatsIn(fleet, 600)).toBeGreaterThan(15);
  await fleet.manager.stop();
});

test('one 401 while Retry-After keeps everything else waiting stops heartbeats for half a minute only', async () => {
  const fleet = await holding();
  const { api } = fleet;
  api.on['GET /api/account'] = nobodyElse;
  await fleet.clock.advance(40_000);
  api.on[heartbeat] = () => {
    delete api.on[heartbeat];
    return { status: 401 };
  };
  await fleet.clock.advance(31_000);
  expect(await heartbeatsIn(fleet, 600)).toBeGreaterThan(15);
  await fleet.manager.stop();
});

test('a key that was rejected just before its Account went is asked about again', async () => {
  const seldom = accountDocument.replace('spec:', 'spec:\n  pollSeconds: 900');
  const fleet = await holding({ ...files, 'account.yaml': seldom });
  const { api, clock, tell } = fleet;
  const rejected = Promise.withResolvers<void>();
  api.on[heartbeat] = () => {
    delete api.on[heartbeat];
    rejected.resolve();
    return { status: 401 };
  };
  await clock.advance(30_000);
  await rejected.promise;
  tell(desiredOf(held));
  expect(await heartbeatsIn(fleet, 600)).toBeGreaterThan(15);
  await fleet.manager.stop();
});

test.each([{ until: { deadline: '2026-01-01T00:03:00Z' } }, { released: true }])(
  'a task whose Account has gone is not beaten for after its end: %o',
  async (ends) => {
    const before = 'until' in ends ? ends : {};
    const fleet = await holding({ ...files, 'task.yaml': taskDocument(before) });
    fleet.tell(desiredOf({ ...held, 'task.yaml': taskDocument(before) }));
    await fleet.clock.advance(30_000);
    fleet.tell(desiredOf({ ...held, 'task.yaml': taskDocument(ends) }));
    await fleet.clock.advance(120_000);
    expect(await heartbeatsIn(fleet, 600)).toBe(0);
    await fleet.manager.stop();
  },
);

test('a task that is said to protect a service of another account is beaten for where it was registered', async () => {
  const two = objectKey('ContainerService', 'default', 'two');
  const second = accountDocument.replace('name: default', 'name: second').replace('api.', 'second.');
  const both = {
    ...files,
    'second.yaml': second,
    'two.yaml': serviceDocument('two', ['accountRef: {name: second}']),
  };
  const records = [knownService(), knownService(two, { externalId: otherId, account: 'default/second' })];
  const fleet = await holding(both, { records });
  fleet.tell(desiredOf({ ...both, 'task.yaml': taskDocument({ serviceRef: { name: 'two' } }) }));
  await fleet.clock.advance(90_000);
  const hosts = fleet.api.asked.filter(({ what }) => what === heartbeat).map(({ host }) => host);
  expect(new Set(hosts)).toEqual(new Set(['api.invalid']));
  expect(await heartbeatsIn(fleet, 60)).toBeGreaterThan(0);
  await fleet.manager.stop();
});

describe('a task whose status can not be written', () => {
  /** As of a cluster whose API server takes no status: nothing that is saved becomes durable. */
  class Refused extends MemoryStore {
    override isKindStateDurable = () => true;

    constructor(registration: Registration | undefined) {
      const uid = derivedUid(stateIdentity.ownerName, epoch);
      const task = { ...newRecord(epoch, uid), kind: { registration }, account: 'default/default' };
      super(stateIdentity, [knownService(), task], []);
    }

    override async flush(key: ObjectKey): Promise<void> {
      if (key === epoch) throw new Error('forbidden');
    }
  }

  async function begun(registration: Registration | undefined, isDurable: boolean): Promise<ScriptedFleet> {
    const store = new Refused(registration);
    store.isKindStateDurable = () => isDurable;
    const fleet = await scriptedFleet(desiredOf(files), {
      store,
      prepare: (api) => {
        api.services = [shownService()];
        api.volumes = [volume];
      },
    });
    await fleet.clock.advance(60_000);
    return fleet;
  }

  test('is beaten for by a new process, when its registration is written down', async () => {
    const registration = {
      serviceId,
      activityId: derivedUid(stateIdentity.ownerName, epoch),
      releaseKey: 'key-1',
    };
    const fleet = await begun(registration, true);
    expect(await heartbeatsIn(fleet, 300)).toBeGreaterThanOrEqual(9);
    await fleet.manager.stop();
  });

  test('is not beaten for while its registration is not', async () => {
    const fleet = await begun(undefined, false);
    expect(await heartbeatsIn(fleet, 300)).toBe(0);
    await fleet.manager.stop();
  });
});
