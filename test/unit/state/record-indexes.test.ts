import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestKey } from '../../../src/base/index.ts';
import { objectKey, type ObjectKey } from '../../../src/resources/index.ts';
import { MemoryStore, newRecord, type IntentOutcome, type ObjectRecord } from '../../../src/state/index.ts';
import { indexMistake } from '../../support/full-count.ts';

const keys: readonly ObjectKey[] = (['ContainerService', 'StorageVolume', 'ProtectedTask'] as const).flatMap(
  (kind) =>
    ['default', 'team'].flatMap((namespace) => ['a', 'b'].map((name) => objectKey(kind, namespace, name))),
);

const status = fc.record({
  observedGeneration: fc.constant(1),
  conditions: fc.uniqueArray(
    fc.record({
      type: fc.constantFrom('Ready', 'Protected', 'Drifted'),
      status: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
      reason: fc.constantFrom('Running', 'Refused'),
      message: fc.constant(''),
      lastTransitionTime: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
      observedGeneration: fc.constant(1),
    }),
    { selector: ({ type }) => type },
  ),
  drift: fc.option(
    fc.array(
      fc.record({
        path: fc.constant('image'),
        kind: fc.constant('Changed' as const),
        desired: fc.constant(1),
        observed: fc.constant(2),
        since: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-03T00:00:00Z'),
      }),
      { maxLength: 2 },
    ),
    { nil: undefined },
  ),
});

const change = fc.record({
  account: fc.constantFrom(undefined, 'default/default', 'team/default'),
  externalId: fc.constantFrom(undefined, 'id-1', 'id-2', 'ID-2'),
  status: fc.option(status, { nil: undefined }),
});

const step = fc.record({
  key: fc.constantFrom(...keys),
  what: fc.constantFrom('save', 'save', 'intend', 'remove'),
  change,
  outcome: fc.constantFrom<IntentOutcome>('pending', 'unknown', 'applied'),
});

function intentOf(object: ObjectKey, outcome: IntentOutcome) {
  return {
    idempotencyKey: 'key',
    object,
    action: 'create-service',
    targetId: undefined,
    bodyDigest: '',
    baseRevision: undefined,
    baseState: undefined,
    generation: 1,
    restartToken: undefined,
    digests: undefined,
    createdAt: 0,
    finishedAt: undefined,
    outcome,
    note: undefined,
  };
}

function newStore(): MemoryStore {
  return new MemoryStore({ digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'lab' }, [], []);
}

describe('the indexes of a store', () => {
  test('are as a full count after any changes, and after a start from what was kept', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const store = newStore();
      for (const { key, what, change: changed, outcome } of steps) {
        const record = { ...newRecord(key, key), ...changed } as ObjectRecord;
        if (what === 'remove') await store.remove(key);
        else if (what === 'intend') await store.saveIntent(intentOf(key, outcome), record);
        else await store.save(record);
        expect(indexMistake(store)).toBeUndefined();
      }
      const intents = keys.flatMap((key) => store.lastIntent(key) ?? []);
      const next = new MemoryStore(store, [...store.records()], intents);
      expect(indexMistake(next)).toBeUndefined();
    });
    await fc.assert(property, { numRuns: 300 });
  });

  test('forget what was removed', async () => {
    const [key = 'Account/default/default'] = keys;
    const store = newStore();
    await store.save({ ...newRecord(key, key), account: 'default/default', externalId: 'id-1' });
    expect(store.count('default/default', 'ContainerService')).toBe(1);
    await store.remove(key);
    expect(store.count('default/default', 'ContainerService')).toBe(0);
    expect([...store.recordsOf('default/default'), ...store.recordsWithId('id-1')]).toEqual([]);
    expect([...store.gauges.objects]).toEqual([]);
  });
});
