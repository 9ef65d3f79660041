/** Amounts that can't be read: an earlier version stored numbers of hundreds of digits. All else of the record is read. */
import { expect, test } from 'vitest';
import { Sqlite, digestKey, systemRandom } from '../../../src/base/index.ts';
import { firstTally, storedTally } from '../../../src/engine/plan/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { ClusterStore, readState, type ObjectRecord, type StateStore } from '../../../src/state/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ObjectCluster } from '../../support/object-cluster.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { open, owner, recordOf } from './support.ts';

const budget: ObjectKey = 'Budget/default/team';
const account: ObjectKey = 'Account/default/main';
const scope = { of: 'namespace' } as const;
const tally = storedTally(firstTally({ at: 5, burnMicros: 7n, balanceMicros: 9n }, 'UTC'));
const damaged = { ...tally, spent: '9'.repeat(300), days: { '1970-01-01': '9'.repeat(300) } };
const order = { object: 'a', uid: 'b', since: 1, askedAt: 1, phase: 'done', micros: '9'.repeat(41) };
const shedding = { orders: [order], ended: [], spared: [] };

function expectRest(store: StateStore, anew: readonly ObjectKey[]): void {
  expect(store.record(budget)).toMatchObject({ uid: `uid of ${budget}`, kind: { scope } });
  expect(store.record(account)).toMatchObject({ externalId: 'id-1', account: 'default/main' });
  for (const key of [budget, account]) {
    const { tally: read } = { tally: undefined, ...store.record(key)?.kind };
    expect(read === undefined).toBe(anew.includes(key));
  }
  const reported = anew.map((key) => ({ key, fields: ['tally'] }));
  expect([...store.newlyCounted()].sort((one, other) => (one.key < other.key ? 1 : -1))).toEqual(reported);
  expect(store.newlyCounted()).toEqual([]);
}

const records = (kept: unknown): ObjectRecord[] => [
  recordOf(budget, { kind: { scope, tally: kept } }),
  recordOf(account, { externalId: 'id-1', account: 'default/main', kind: { tally: kept } }),
];

test.each([
  { kept: tally, anew: [] },
  { kept: damaged, anew: [budget, account] },
  { kept: { ...tally, spent: 5 }, anew: [budget, account] },
])(
  'a state file with the tally $kept.spent is read, and what begins anew is known',
  async ({ kept, anew }) => {
    const file = temporaryFile('state.db');
    {
      using state = open(file);
      await state.store.saveAll(records(kept));
    }
    expectRest(readState(file, systemRandom, owner), anew);
    using again = open(file);
    expectRest(again.store, anew);
  },
);

test('a stop that was ordered for a budget stays, with a cost beyond any limit', async () => {
  const file = temporaryFile('state.db');
  {
    using state = open(file);
    await state.store.save(recordOf(budget, { kind: { scope, tally, shedding } }));
  }
  const { kind } = readState(file, systemRandom, owner).record(budget) ?? {};
  expect(kind).toMatchObject({ tally, shedding: { orders: [{ ...order, micros: '9'.repeat(40) }] } });
});

test('a record in which anything else is damaged is not left out: the file is refused', async () => {
  const file = temporaryFile('state.db');
  {
    using state = open(file);
    await state.store.save(recordOf(budget, { kind: { scope: { of: 'nothing' }, tally: damaged } }));
  }
  expect(() => readState(file, systemRandom, owner)).toThrow(`the record of ${budget} can't be read`);
  expect(() => open(file)).toThrow(`the record of ${budget} can't be read`);
});

test('a state file that holds other JSON in place of a tally is read', () => {
  const file = temporaryFile('state.db');
  open(file)[Symbol.dispose]();
  const database = new Sqlite(file);
  for (const { key, kind, ...rest } of records(7))
    database.run('INSERT INTO objects VALUES ($key, $record)', {
      key,
      record: JSON.stringify({ key, ...rest, kind }),
    });
  database.close();
  expectRest(readState(file, systemRandom, owner), [budget, account]);
});

test('bookkeeping of a cluster with such amounts is the object’s own, and not taken for a forged one', async () => {
  const cluster = new ObjectCluster();
  const another = () => {
    const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'cluster' };
    return new ClusterStore({ api: cluster, identity, clock: new ManualClock(), random: systemRandom });
  };
  const shown = async (store: ClusterStore) =>
    store.observe([cluster.shown(budget), cluster.shown(account)], new Set());
  for (const key of [budget, account]) cluster.add(key, `uid of ${key}`);
  const store = another();
  await shown(store);
  for (const record of records(damaged)) await store.save(record);
  const next = another();
  await shown(next);
  expectRest(next, [budget, account]);
  expect(next.record(account)?.distrusted).toBeUndefined();
});
