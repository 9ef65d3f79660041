import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { digestKey } from '../../../../src/base/index.ts';
import { desiredObjects, type DesiredObject } from '../../../../src/desired/index.ts';
import type { AccountHandle, Accounts } from '../../../../src/engine/accounts.ts';
import { Fleet } from '../../../../src/engine/fleet/fleet.ts';
import { Members, recordsNear } from '../../../../src/engine/fleet/members.ts';
import { objectKey, parseObjectKey } from '../../../../src/resources/index.ts';
import { MemoryStore, newRecord } from '../../../../src/state/index.ts';
import { desiredOf } from '../../../support/desired.ts';
import { owner } from '../../../support/plan.ts';

const namespaces = ['default', 'other'];
const kinds = ['Account', 'ContainerService', 'StorageVolume', 'ProtectedTask'] as const;
const keys = kinds.flatMap((kind) =>
  namespaces.flatMap((namespace) => ['a', 'default'].map((name) => objectKey(kind, namespace, name))),
);
const accountNames = namespaces.flatMap((namespace) =>
  ['a', 'default'].map((name) => `${namespace}/${name}`),
);
const key = fc.constantFrom(...keys);
const named = fc.constantFrom(undefined, 'a', 'default', 'none');
const account = fc.constantFrom(undefined, ...accountNames);
const step = fc.oneof(
  fc.record({ do: fc.constantFrom('write' as const, 'save' as const), key, named, account }),
  fc.record({ do: fc.constantFrom('remove' as const, 'take away' as const), key }),
);

/** Its account, or its service. */
function specOf(name: string | undefined): Record<string, unknown> {
  return { serviceRef: { name: name ?? 'none' }, ...(name !== undefined && { accountRef: { name } }) };
}

const accounts = {
  resolve(namespace, name) {
    const handle = { name: `${namespace}/${name}` } as AccountHandle;
    return accountNames.includes(handle.name)
      ? { kind: 'usable', handle }
      : { kind: 'problem', reason: 'AccountNotFound', message: '' };
  },
} as Accounts;

test('EI1: the objects of an account are as a walk over all records has them, after any changes', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
    const store = new MemoryStore({ digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'lab' }, [], []);
    const none = desiredOf({});
    let objects = desiredObjects();
    const fleet = new Fleet(
      store,
      owner,
      none,
      () => false,
      () => 0,
    );
    const members = new Members({ store, fleet, accounts });
    for (const each of steps) {
      const spec = 'named' in each ? specOf(each.named) : undefined;
      if (each.do === 'remove') await store.remove(each.key);
      else if (each.do === 'save') {
        const record = newRecord(each.key, each.key);
        await store.save({
          ...record,
          account: each.account,
          manifest: { ...record.manifest, spec: spec ?? {} },
        });
      } else {
        const document = spec && ({ key: each.key, ...parseObjectKey(each.key), spec } as DesiredObject);
        objects = objects.with([[each.key, document]]);
        fleet.take({ snapshot: { ...none, objects }, brakes: new Map(), lingering: new Map() });
      }
      for (const name of accountNames) {
        const near = recordsNear(store, { name }).map((record) => record.key);
        const all = [...store.everyKey()].filter((one) => members.accountOf(one)?.name === name);
        expect(near).toEqual(expect.arrayContaining(all));
        expect(members.of({ name } as AccountHandle).toSorted()).toEqual(all.toSorted());
      }
    }
  });
  await fc.assert(property, { numRuns: 500 });
});
