import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { digestKey } from '../../../../src/base/index.ts';
import { desiredObjects, type DesiredObject } from '../../../../src/desired/index.ts';
import { LeavingObjects } from '../../../../src/engine/fleet/leaving.ts';
import { openWorkOf } from '../../../../src/engine/fleet/open-work.ts';
import { objectKey, parseObjectKey } from '../../../../src/resources/index.ts';
import { MemoryStore, newRecord, type Intent, type ObjectRecord } from '../../../../src/state/index.ts';

const kinds = ['ContainerService', 'ServiceTemplate', 'Account'] as const;
const keys = kinds.flatMap((kind) =>
  ['default', 'other'].flatMap((namespace) => ['a', 'b'].map((name) => objectKey(kind, namespace, name))),
);
const accounts = ['default/default', 'other/default'];
const key = fc.constantFrom(...keys);
const step = fc.oneof(
  fc.record({ do: fc.constant('save' as const), key, account: fc.constantFrom(undefined, ...accounts) }),
  fc.record({ do: fc.constantFrom('remove', 'write', 'take away', 'read all anew'), key }),
);

/** What the objects of a snapshot are made of does not matter here, but their keys. */
const document = (of: (typeof keys)[number]) =>
  ({ key: of, ...parseObjectKey(of), spec: {} }) as unknown as DesiredObject;

test('EI1: what has left the source is as a walk over all records has it, after any changes of either', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
    const store = new MemoryStore({ digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'lab' }, [], []);
    let objects = desiredObjects();
    const leaving = new LeavingObjects(store);
    for (const each of steps) {
      if ('account' in each) await store.save({ ...newRecord(each.key, each.key), account: each.account });
      else if (each.do === 'remove') await store.remove(each.key);
      else if (each.do === 'write') objects = objects.with([[each.key, document(each.key)]]);
      else if (each.do === 'take away') objects = objects.with([[each.key, undefined]]);
      else objects = desiredObjects(objects);
      for (const name of accounts) {
        const [home] = name.split('/');
        const all = [...store.records()].filter(
          (record) => !objects.has(record.key) && parseObjectKey(record.key).kind !== 'Account',
        );
        const near = all.filter(
          (record) => record.account === name || parseObjectKey(record.key).namespace === home,
        );
        const names = (isShared: boolean) =>
          leaving.near(objects, { name, isShared }).map((record) => record.key);
        expect(names(false).toSorted()).toEqual(near.map((record) => record.key).toSorted());
        expect(names(true).toSorted()).toEqual(all.map((record) => record.key).toSorted());
      }
    }
  });
  await fc.assert(property, { numRuns: 500 });
});

const work = fc.oneof(
  fc.record({
    do: fc.constantFrom('save' as const, 'intend' as const),
    key,
    account: fc.constantFrom(undefined, ...accounts),
    pending: fc.constantFrom(undefined, 'Provisioning'),
    outcome: fc.constantFrom('pending', 'unknown', 'applied'),
  }),
  fc.record({ do: fc.constant('remove' as const), key }),
);

test('EI1: what has open work is as a walk over all records has it, after any changes', async () => {
  const property = fc.asyncProperty(fc.array(work, { maxLength: 30 }), async (steps) => {
    const store = new MemoryStore({ digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'lab' }, [], []);
    const open = openWorkOf(store);
    for (const each of steps) {
      if (each.do === 'remove') await store.remove(each.key);
      else {
        const report = each.pending && { pending: { reason: each.pending } };
        const record = { ...newRecord(each.key, each.key), account: each.account, report };
        const intent = { object: each.key, outcome: each.outcome } as unknown as Intent;
        if (each.do === 'save') await store.save(record as unknown as ObjectRecord);
        else await store.saveIntent(intent, record as unknown as ObjectRecord);
      }
      for (const name of accounts) {
        const near = [...store.records()].filter(
          (record) =>
            (record.account === name || parseObjectKey(record.key).namespace === name.split('/')[0]) &&
            (record.report?.pending !== undefined || store.openIntent(record.key) !== undefined),
        );
        const found = open.near({ name, isShared: false }).map((record) => record.key);
        expect(found.toSorted()).toEqual(near.map((record) => record.key).toSorted());
      }
    }
  });
  await fc.assert(property, { numRuns: 500 });
});
