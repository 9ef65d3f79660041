import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestKey } from '../../../../src/base/index.ts';
import type { AccountSnapshot } from '../../../../src/observed/index.ts';
import { ManagedIds } from '../../../../src/engine/fleet/managed-ids.ts';
import {
  objectKey,
  parseObjectKey,
  type ManagedKind,
  type ObjectKey,
} from '../../../../src/resources/index.ts';
import { MemoryStore, newRecord, type ObjectRecord } from '../../../../src/state/index.ts';

const kinds = ['ContainerService', 'StorageVolume', 'ServiceTemplate', 'ImageRegistry', 'Account'] as const;
const keys = kinds.flatMap((kind) => ['a', 'b', 'c'].map((name) => objectKey(kind, 'default', name)));
const accounts = ['default/default', 'default/other'];
const anyId = fc.constantFrom('id-1', 'id-2', 'id-3', 'id-4');

const anyChange = fc.record({
  key: fc.constantFrom(...keys),
  isRemoved: fc.nat(5).map((drawn) => drawn === 0),
  account: fc.constantFrom(undefined, ...accounts),
  externalId: fc.option(anyId, { nil: undefined }),
  isSeen: fc.nat(4).map((drawn) => drawn > 0),
  deletedByUs: fc.nat(5).map((drawn) => drawn === 0),
  isLeaving: fc.nat(5).map((drawn) => drawn === 0),
});

/** Which ids each list shows; undefined: it was not read. `isSame`: all lists are those of the read before. */
const anyRead = fc.record({
  account: fc.constantFrom(...accounts),
  isSame: fc.boolean(),
  lists: fc.array(fc.option(fc.uniqueArray(anyId), { nil: undefined, freq: 4 }), {
    minLength: 4,
    maxLength: 4,
  }),
});

type Lists = readonly (ReadonlyMap<string, object> | undefined)[];

function snapshotOf([
  services = new Map(),
  volumes = new Map(),
  templates,
  registries,
]: Lists): AccountSnapshot {
  const listing = (items: Lists[number]) => (items ? { kind: 'read', items } : { kind: 'not-read' });
  const lists = { services, volumes, templates: listing(templates), registries: listing(registries) };
  return lists as unknown as AccountSnapshot;
}

/** As a walk over all records has it. */
function fullCount(
  store: MemoryStore,
  account: string,
  { services, volumes, templates, registries }: AccountSnapshot,
) {
  const all: Partial<Record<ManagedKind, ReadonlyMap<string, unknown> | undefined>> = {
    ContainerService: services,
    StorageVolume: volumes,
    ServiceTemplate: templates.kind === 'read' ? templates.items : undefined,
    ImageRegistry: registries.kind === 'read' ? registries.items : undefined,
  };
  const shown = (key: ObjectKey) => all[parseObjectKey(key).kind];
  const known = [...store.records()].filter(
    (record) =>
      record.account === account &&
      record.externalId !== undefined &&
      record.seen?.id === record.externalId &&
      !record.deletedByUs &&
      record.deletionRequestedAt === undefined &&
      shown(record.key) !== undefined,
  );
  const missing = known.filter(({ key, externalId = '' }) => !shown(key)?.has(externalId));
  return { known: known.length, missing: missing.length };
}

describe('EI1: what the brake for reads counts', () => {
  test('is as a walk over all records has it, after any changes and reads', async () => {
    const anyStep = fc.record({ changes: fc.array(anyChange, { maxLength: 4 }), read: anyRead });
    const property = fc.asyncProperty(fc.array(anyStep, { maxLength: 20 }), async (steps) => {
      const store = new MemoryStore({ digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'lab' }, [], []);
      const managed = new ManagedIds(store);
      const last = new Map<string, Lists>();
      for (const { changes, read } of steps) {
        for (const { key, isRemoved, isSeen, isLeaving, ...more } of changes) {
          const seen = isSeen && more.externalId !== undefined ? { id: more.externalId } : undefined;
          const deletionRequestedAt = isLeaving ? 1 : undefined;
          const record = { ...newRecord(key, key), ...more, seen, deletionRequestedAt };
          await (isRemoved ? store.remove(key) : store.save(record as ObjectRecord));
        }
        const drawn = read.lists.map((ids) => ids && new Map(ids.map((id) => [id, { id }])));
        const lists = (read.isSame ? last.get(read.account) : undefined) ?? drawn;
        last.set(read.account, lists);
        const snapshot = snapshotOf(lists);
        expect(managed.count(read.account, snapshot)).toEqual(fullCount(store, read.account, snapshot));
      }
    });
    await fc.assert(property, { numRuns: 500 });
  });
});
