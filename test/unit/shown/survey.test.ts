import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { wire } from '../../../src/api/index.ts';
import { inventoryOf, inventoryText, type InventoryItem } from '../../../src/cli/account/inventory.ts';
import { surveyor } from '../../../src/shown/survey.ts';
import type { AccountContents } from '../../../src/engine/index.ts';
import { digestKey } from '../../../src/base/index.ts';
import { beaconName, derivedUid, ownerId, templateMark, volumeMark } from '../../../src/engine/plan/index.ts';
import { objectKey } from '../../../src/resources/index.ts';
import { MemoryStore, newRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import { fleetOf } from '../../support/processes/replicas.ts';

const someAccount = { account: 'default/default', origin: 'https://api.example' };

const id = (digit: number) => `00000000-0000-4000-8000-${String(digit).padStart(12, '0')}`;
const key = digestKey(Buffer.alloc(32, 1));
const owner = { id: ownerId('shop'), digestKey: key };
const foreign = { id: ownerId('stranger'), digestKey: key };

function contents(given: Partial<AccountContents>): AccountContents {
  return { services: [], volumes: [], templates: [], registries: [], ...given };
}

function marked(by: typeof owner, name: string): string {
  return beaconName(by, derivedUid('shop', objectKey('ContainerService', 'default', name)), undefined);
}

/** A folder with one service, `web`, and what was written down of it. */
function fleet(externalId?: string) {
  const web = objectKey('ContainerService', 'default', 'web');
  const records =
    externalId === undefined ? [] : [{ ...newRecord(web, derivedUid('shop', web)), externalId }];
  return {
    snapshot: desiredOf({ 'web.yaml': serviceDocument('web') }),
    store: new MemoryStore({ digestKey: key, ownerName: 'shop' }, records, []),
  };
}

const isOfOwner = ({ managedBy }: InventoryItem) => managedBy !== null && 'owner' in managedBy;

describe('who manages what is in an account', () => {
  const service: wire.Service = { id: id(1), name: 'web', state: 'running', environmentNames: ['MODE'] };
  const managers = (given: Partial<AccountContents>, view?: ReturnType<typeof fleet>) =>
    surveyor(view)(contents(given)).map(({ managedBy }) => managedBy);

  test('is nobody where there is no mark', () => {
    expect(managers({ services: [service] })).toEqual([{ is: 'nobody' }]);
  });

  test('is the folder that has written down its id', () => {
    expect(managers({ services: [service] }, fleet(id(1)))).toMatchObject([{ is: 'fleet' }]);
  });

  test('is the folder that adopts it, also before the first apply', () => {
    const adopting = {
      ...fleet(),
      snapshot: desiredOf({ 'web.yaml': serviceDocument('web', [`adopt: {id: ${id(1)}}`]) }),
    };
    expect(managers({ services: [service] }, adopting)).toMatchObject([{ is: 'fleet' }]);
  });

  test('is the folder whose mark it carries, also when the state was lost', () => {
    const ours = { ...service, environmentNames: [marked(owner, 'web')] };
    expect(managers({ services: [ours] }, fleet())).toMatchObject([{ is: 'fleet' }]);
  });

  test('is another owner, when it carries another mark', () => {
    const theirs = { ...service, environmentNames: [marked(foreign, 'web')] };
    const volume = { id: id(2), name: `data${volumeMark(foreign, id(9))}`, mode: 'independent' };
    const template = { id: id(3), name: 'base', description: `a\n${templateMark(foreign, id(9))}` };
    expect(managers({ services: [theirs], volumes: [volume], templates: [template] }, fleet())).toEqual([
      { is: 'owner', owner: foreign.id, isOurs: false },
      { is: 'owner', owner: expect.stringMatching(/^fk[0-9a-f]{8}$/), isOurs: false },
      { is: 'owner', owner: foreign.id, isOurs: false },
    ]);
  });

  test('is the folder by name only, when it carries its mark and stands for none of its objects', () => {
    const left = { ...service, environmentNames: [marked(owner, 'left')] };
    expect(managers({ services: [left] }, fleet())).toEqual([{ is: 'owner', owner: owner.id, isOurs: true }]);
  });

  test('is the folder with a fleet, for each of its numbers, also where no name is shown', () => {
    const snapshot = desiredOf({ 'checkout.yaml': stringify(fleetOf('checkout')) });
    const declared = { ...fleet(), snapshot };
    const replica = { ...service, name: undefined, environmentNames: [marked(owner, 'checkout-2047')] };
    const beyond = { ...service, environmentNames: [marked(owner, 'checkout-2048')] };
    expect(managers({ services: [replica, beyond] }, declared)).toEqual([
      { is: 'fleet', key: objectKey('ContainerService', 'default', 'checkout-2047') },
      { is: 'owner', owner: owner.id, isOurs: true },
    ]);
  });

  // COVERAGE 64
  test('is, for storage of a service, whoever manages the service', () => {
    const theirs = { ...service, volumeId: id(2), environmentNames: [marked(foreign, 'web')] };
    const storage = { id: id(2), name: 'web', mode: 'service', serviceId: id(1) };
    expect(managers({ services: [theirs], volumes: [storage] })[1]).toEqual({
      is: 'owner',
      owner: foreign.id,
      isOurs: false,
    });
    expect(managers({ services: [service], volumes: [storage] })[1]).toEqual({ is: 'nobody' });
  });
});

describe('the inventory', () => {
  const holdings = surveyor(undefined)(
    contents({
      services: [
        { id: id(1), name: 'web', state: 'running', hourlyMicros: 150_000, environmentNames: [] },
        {
          id: id(2),
          name: 'theirs',
          state: 'running',
          hourlyMicros: 1_000_000,
          environmentNames: [marked(foreign, 'x')],
        },
        { id: id(3), state: 'running', environmentNames: [] },
      ],
      volumes: [{ id: id(4), name: 'data', status: 'ready', mode: 'independent', hourlyMicros: 2778 }],
      registries: [{ id: id(5), repository: 'ghcr.io/acme/web' }],
    }),
  );

  // COVERAGE 3, 64
  test('lists what nobody manages, with what it costs', () => {
    const { items, totals } = inventoryOf([{ ...someAccount, holdings }], false);
    expect(items.map(({ id: found }) => found)).toEqual([id(3), id(1), id(5), id(4)]);
    expect(items[1]).toEqual({
      account: 'default/default',
      kind: 'ContainerService',
      id: id(1),
      name: 'web',
      state: 'running',
      hourlyMicros: 150_000,
      managedBy: null,
    });
    expect(totals).toMatchObject({ items: 4, hourlyMicros: 152_778, unpriced: 1 });
  });

  test('prices what holds no compute at nothing, whatever price it shows', () => {
    const services = ['running', 'paused', 'sleeping', 'deleting'].map((state, index) => ({
      id: id(index),
      state,
      hourlyMicros: 972_000,
      environmentNames: [],
    }));
    const { items, totals } = inventoryOf(
      [{ ...someAccount, holdings: surveyor(undefined)(contents({ services })) }],
      false,
    );
    expect(items.map(({ hourlyMicros }) => hourlyMicros)).toEqual([972_000, 0, 0, 0]);
    expect(totals).toMatchObject({ items: 4, hourlyMicros: 972_000, unpriced: 0 });
  });

  test('a price that can be none is none', () => {
    const services = [-5, Number.NaN, 1e300].map((hourlyMicros, index) => ({
      id: id(index),
      state: 'running',
      hourlyMicros,
      environmentNames: [],
    }));
    const { totals } = inventoryOf(
      [{ ...someAccount, holdings: surveyor(undefined)(contents({ services })) }],
      false,
    );
    expect(totals).toMatchObject({ items: 3, hourlyMicros: 0, unpriced: 3 });
  });

  test('shows on request also what others manage, and who they are', () => {
    const { items } = inventoryOf([{ ...someAccount, holdings }], true);
    expect(items.find(({ name }) => name === 'theirs')?.managedBy).toEqual({ owner: foreign.id });
  });

  test('reports that there is more which has the mark of an owner', () => {
    const given = [{ ...someAccount, holdings }];
    const some = inventoryOf(given, false);
    expect(some.totals.ofOwners).toBe(inventoryOf(given, true).items.filter(isOfOwner).length);
    expect(inventoryText(some, false)).toContain('more with the mark of an owner: managed, or left by');
    expect(inventoryOf(given, true).totals.ofOwners).toBe(0);
  });

  test('sums up per hour and per month', () => {
    const text = inventoryText(inventoryOf([{ ...someAccount, holdings }], false), false);
    expect(text).toMatch(/^ContainerService +web +\S+ +running +0\.1500$/m);
    expect(text).toContain(
      '4 thing(s) that nobody manages: 0.1528 USD an hour, 111.53 USD a month of 730 hours; 1 without a price',
    );
  });

  // COVERAGE 86
  test('sums up amounts beyond what a number holds exactly', () => {
    const hourlyMicros = Number.MAX_SAFE_INTEGER;
    const services = [1, 2].map((digit) => ({ id: id(digit), hourlyMicros, environmentNames: [] }));
    const { totals } = inventoryOf(
      [{ ...someAccount, holdings: surveyor(undefined)(contents({ services })) }],
      false,
    );
    expect(totals.hourlyMicros).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('several Accounts of one account at the provider have each thing once', () => {
    const services = [{ id: id(0), state: 'running', hourlyMicros: 972_000, environmentNames: [] }];
    const shown = surveyor(undefined)(contents({ services }));
    const { items, totals } = inventoryOf(
      [
        { ...someAccount, holdings: shown },
        { ...someAccount, account: 'team-b/default', holdings: shown },
        { account: 'elsewhere/default', origin: 'https://other.example', holdings: shown },
      ],
      true,
    );
    expect(items.map(({ account }) => account)).toEqual(['default/default', 'elsewhere/default']);
    expect(totals.hourlyMicros).toBe(2 * 972_000);
  });

  test('is short where there is nothing', () => {
    expect(inventoryText(inventoryOf([], false), false)).toBe('Nothing is unmanaged.');
  });
});
