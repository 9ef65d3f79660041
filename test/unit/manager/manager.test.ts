/** The manager between a source and a store that do not do as they should. */
import { expect, test } from 'vitest';
import { MemoryStore, type ObjectRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import { settle } from '../../support/manual-clock.ts';
import {
  access,
  accountDocument,
  knownService,
  readyReason,
  scriptedFleet,
  shownService,
  stateIdentity,
  web,
} from '../../support/scripted-fleet.ts';

/** `hold`: saved at once, as every reader sees, and durable only when it resolves; or refused. */
class SlowStore extends MemoryStore {
  hold: () => Promise<void> = () => Promise.resolve();

  override async saveAll(records: readonly ObjectRecord[]): Promise<void> {
    const held = this.hold();
    await Promise.race([held, super.saveAll(records)]);
    await held;
  }
}

/** It has room for so many records at once. */
class CrampedStore extends MemoryStore {
  most = 10;

  override async saveAll(records: readonly ObjectRecord[]): Promise<void> {
    if (records.length > this.most) throw new Error('database or disk is full');
    await super.saveAll(records);
  }
}

class FullStore extends MemoryStore {
  isFull = false;

  override async saveAll(records: readonly ObjectRecord[]): Promise<void> {
    if (this.isFull) throw new Error('database or disk is full');
    await super.saveAll(records);
  }
}

const service = (image: string) => desiredOf({ 'web.yaml': serviceDocument('web', [`command: [${image}]`]) });

test('what the source says is taken in later when the disk has no room for it now', async () => {
  const store = new FullStore(stateIdentity, [], []);
  const { tell, clock } = await scriptedFleet(service('one'), { store });
  store.isFull = true;
  tell(service('two'));
  await clock.advance(30_000);
  expect(store.record(web)?.generation).toBe(1);
  store.isFull = false;
  await clock.advance(300_000);
  expect(store.record(web)).toMatchObject({ generation: 2, status: { observedGeneration: 2 } });
});

test('what could not be taken in does not come back over what the source says by then', async () => {
  const store = new SlowStore(stateIdentity, [], []);
  const { tell, clock } = await scriptedFleet(service('one'), { store });
  store.hold = () => Promise.reject(new Error('database or disk is full'));
  tell(service('two'));
  await settle();
  const { promise, resolve } = Promise.withResolvers<void>();
  store.hold = () => promise;
  tell(service('three'));
  await settle();
  // The time to try again comes while the newer one is being written down.
  await clock.advance(30_000);
  store.hold = () => Promise.resolve();
  resolve();
  await clock.advance(300_000);
  expect(store.record(web)?.manifest.spec).toMatchObject({ command: ['three'] });
});

test('while an edit is being written down, what is planned is planned for the edit', async () => {
  const inAccount = (name: string) =>
    desiredOf({ 'web.yaml': serviceDocument('web', [`accountRef: {name: ${name}}`]) });
  const store = new SlowStore(stateIdentity, [], []);
  const { tell, manager } = await scriptedFleet(inAccount('one'), { store });
  const { promise, resolve } = Promise.withResolvers<void>();
  store.hold = () => promise;
  tell(inAccount('two'));
  await settle();
  store.hold = () => Promise.resolve();
  manager.recheck(web);
  await settle();
  const record = store.record(web);
  expect(record).toMatchObject({ generation: 2, status: { observedGeneration: 2 } });
  expect(record?.status?.conditions[0]?.message).toContain('there is no Account two');
  resolve();
});

test('an account is kept, with its limits and its key, while the folder shows not one document, or not all', async () => {
  const first = desiredOf({ 'account.yaml': accountDocument });
  const { tell, manager } = await scriptedFleet(first);
  const [before] = manager.accounts.handles();
  expect(before?.name).toBe('default/default');
  tell(desiredOf({}));
  await settle();
  tell({ ...service('one'), complete: false });
  await settle();
  tell(first);
  await settle();
  const [after] = manager.accounts.handles();
  expect(after).toBe(before);
  await manager.stop();
});

test('while what the source says now can not be written down, nothing is done by what it said before', async () => {
  const { promise: readable, resolve: read } = Promise.withResolvers<undefined>();
  const store = new FullStore(stateIdentity, [], []);
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }), {
    store,
    prepare: (api) => {
      api.on['GET /api/account'] = () => readable;
    },
  });
  const { tell, clock, api, manager } = fleet;
  store.isFull = true;
  tell(desiredOf({ ...access, 'other.yaml': serviceDocument('other') }));
  // Each try comes later than the one before.
  await clock.advance(25_000);
  store.isFull = false;
  read(undefined);
  await settle();
  await clock.advance(100);
  const asked = api.news();
  expect(asked.filter((what) => what === 'GET /api/account')).toHaveLength(2);
  expect(readyReason(fleet, web)).toBe('SourceIncomplete');
  expect(asked).not.toContain('POST /api/services');
  await manager.stop();
});

test('of a source that could not be taken in at the start nothing is said to be as wanted', async () => {
  const store = new CrampedStore(stateIdentity, [knownService()], []);
  store.most = 1;
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }), {
    store,
    prepare: (api) => {
      api.services = [shownService()];
    },
  });
  await fleet.clock.advance(60_000);
  expect(readyReason(fleet, web)).toBe('SourceIncomplete');
  store.most = 10;
  await fleet.clock.advance(300_000);
  expect(readyReason(fleet, web)).toBe('Running');
  await fleet.manager.stop();
});

test('one document that goes while the disk is full does not engage the mass-change brake', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `service-${index}`);
  const of = (some: readonly string[]) =>
    desiredOf(Object.fromEntries(some.map((name) => [`${name}.yaml`, serviceDocument(name)])));
  const store = new FullStore(stateIdentity, [], []);
  const { tell, clock, manager } = await scriptedFleet(of(names), { store, graceMs: 2000 });
  store.isFull = true;
  tell(of(names.slice(1)));
  await clock.advance(60_000);
  store.isFull = false;
  await clock.advance(3_600_000);
  expect(store.record('ContainerService/default/service-0')).toBeUndefined();
  await manager.stop();
});

test('what was to be created is created when its Account was away for less than the grace', async () => {
  const files = { ...access, 'web.yaml': serviceDocument('web') };
  const { 'account.yaml': account, ...rest } = files;
  const fleet = await scriptedFleet(desiredOf(files), {
    graceMs: 10_000,
    prepare: (api) => {
      const error = { code: 'capacity_unavailable', message: 'none left' };
      api.on['POST /api/services'] = () => ({ status: 409, body: { error } });
    },
  });
  const { tell, clock, api, manager } = fleet;
  await clock.advance(60_000);
  expect(api.news()).toContain('POST /api/services');
  tell(desiredOf(rest));
  await clock.advance(3000);
  tell(desiredOf({ ...rest, 'account.yaml': account }));
  await clock.advance(3000);
  api.news();
  await clock.advance(2 * 3_600_000);
  expect(readyReason(fleet, web)).not.toBe('AccountNotFound');
  expect(api.news()).toContain('POST /api/services');
  await manager.stop();
});

test('Retry-After outlives an Account that goes and comes back', async () => {
  const files = { ...access, 'web.yaml': serviceDocument('web') };
  const { 'account.yaml': account, ...rest } = files;
  const { tell, clock, api, manager } = await scriptedFleet(desiredOf(files), { graceMs: 10_000 });
  await clock.advance(60_000);
  api.on['GET /api/account'] = () => ({ status: 429, retryAfter: '600' });
  await clock.advance(20_000);
  api.news();
  tell(desiredOf(rest));
  await clock.advance(3000);
  tell(desiredOf({ ...rest, 'account.yaml': account }));
  await clock.advance(300_000);
  expect(api.news()).toEqual([]);
  await manager.stop();
});

test.each([
  ['fleetkeeper.dev/paused: "yes"', '"yes" is neither "true" nor "false"'],
  ['fleetkeeper.dev/pausd: "true"', 'there is no such annotation'],
  ['fleetkeeper.dev/accept-drift-until: tomorrow', '"tomorrow" is not a time'],
])('an annotation that says nothing holds its object: %s', async (annotation, message) => {
  const document = serviceDocument('web').replace(
    '{name: web}',
    `{name: web, annotations: {example.com/paused: "yes", ${annotation}}}`,
  );
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': document }));
  await fleet.clock.advance(60_000);
  expect(readyReason(fleet, web)).toBe('InvalidAnnotation');
  expect(fleet.store.record(web)?.status?.conditions[0]?.message).toContain(message);
  expect(fleet.api.news()).not.toContain('POST /api/services');
  await fleet.manager.stop();
});
