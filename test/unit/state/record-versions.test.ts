/** Records of version 1, and what two versions of fleetkeeper make of each other's state. */
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { Sqlite, UserError, digestKey, systemRandom } from '../../../src/base/index.ts';
import { bookkeepingOf, readBookkeeping, type Bookkeeping } from '../../../src/state/bookkeeping.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { ClusterStore, newRecord, readState, type ObjectRecord } from '../../../src/state/index.ts';
import { servicePart, taskPart } from '../../support/kind-state.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ObjectCluster } from '../../support/object-cluster.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { intentOf, open, owner, recordOf, trainer, withoutLaterTables } from './support.ts';

const task: ObjectKey = 'ProtectedTask/default/epoch';
const key = digestKey(Buffer.alloc(32, 7));
const registration = { serviceId: 'service-1', activityId: 'uid-1', releaseKey: 'key-1' };
const remediation = { restarts: 2, at: 5, generation: 1 };
const template = { name: 'base', values: { image: 'a', requiredEnvironment: [] } };

const taskRecord: ObjectRecord = { ...recordOf(task), kind: { registration, releasedAt: 5 } };
const serviceRecord: ObjectRecord = {
  ...recordOf(trainer, { externalId: 'id-1', doubted: ['env'] }),
  kind: { pausedFor: 'VolumeExpansion', madeVolumeId: 'volume-1', remediation, template },
};

/** What a process of version 1 leaves of it: it writes the members that it knows, and signs them. */
function asOfVersion1(before: Bookkeeping, object: ObjectKey): Bookkeeping {
  const { version: _version, kind: _kind, signature: _signature, ...content } = before;
  const sequence = content.sequence + 1;
  const signed = { ...content, sequence };
  return { ...signed, signature: key.sign({ object, content: JSON.parse(JSON.stringify(signed)) }) };
}

function written(record: ObjectRecord, sequence = 1): Bookkeeping {
  const kept = {
    record,
    intent: intentOf(record.key, 'key-1'),
    identity: undefined,
    revisions: [],
    sequence,
  };
  return JSON.parse(JSON.stringify(bookkeepingOf(kept, key))) as Bookkeeping;
}

describe('bookkeeping that a replica of version 1 has written over', () => {
  test.each([taskRecord, serviceRecord])('has everything of $key', (record) => {
    const before = asOfVersion1(written(record), record.key);
    const read = readBookkeeping(record.key, record.uid, { bookkeeping: before }, key);
    expect(read).toMatchObject({ standing: 'signed', sequence: 2, intent: { idempotencyKey: 'key-1' } });
    expect(read.record.kind).toEqual(record.kind);
    expect(read.record).toMatchObject({ externalId: record.externalId, doubted: record.doubted });
  });

  test('has the fields under the names that version 1 reads', () => {
    expect(written(taskRecord).record).toMatchObject({ lease: registration, releasedAt: 5 });
    expect(written(serviceRecord).record).toMatchObject({ remediation, template, madeVolumeId: 'volume-1' });
  });

  test('reports what its status reports, not what was reported before', () => {
    const report = { ready: undefined, pending: undefined, drift: [], linked: ['old'], reconcileAt: 'old' };
    const bookkeeping = asOfVersion1(written({ ...serviceRecord, report }), trainer);
    const status = { observedGeneration: 1, conditions: [], volumeId: 'new', bookkeeping };
    const { record } = readBookkeeping(trainer, serviceRecord.uid, status, key);
    expect(record.report).toMatchObject({ linked: ['new'], reconcileAt: undefined });
  });
});

test("the kind's part wins over what version 1 would read", () => {
  const bookkeeping = written(taskRecord);
  const { record } = readBookkeeping(task, taskRecord.uid, { bookkeeping }, key);
  expect(record).not.toHaveProperty('lease');
  expect(record.kind).toEqual(taskRecord.kind);
});

describe('a status that a later version has signed', () => {
  let cluster: ObjectCluster;
  const storeOf = () =>
    new ClusterStore({
      api: cluster,
      identity: { digestKey: key, ownerName: 'cluster' },
      clock: new ManualClock(),
      random: systemRandom,
    });
  const later = (sequence: number) => {
    const content = {
      ...written({ ...newRecord(trainer, 'uid-1'), externalId: 'id-1' }, sequence),
      version: 3,
    };
    const { signature: _signature, ...signed } = content;
    return { ...content, signature: key.sign({ object: trainer, content: signed }) };
  };

  beforeEach(() => {
    cluster = new ObjectCluster();
    cluster.add(trainer, 'uid-1');
  });

  test('is not read, and the message says what to do', async () => {
    cluster.edit(trainer, (object) => (object.status = { bookkeeping: later(1) }));
    const observed = storeOf().observe([cluster.shown(trainer)], new Set());
    await expect(observed).rejects.toThrow(UserError);
    await expect(observed).rejects.toMatchObject({
      message: `a later version of fleetkeeper has written the status of ${trainer}`,
      remedy: expect.stringContaining('run that version'),
    });
  });

  test('is not written over by a process that has read it before', async () => {
    const store = storeOf();
    await store.observe([cluster.shown(trainer)], new Set());
    const record = store.record(trainer);
    if (!record) throw new Error('the store does not know it');
    await store.save({ ...record, externalId: 'id-1' });
    cluster.edit(trainer, (object) => (object.status = { bookkeeping: later(9) }));
    await store.observe([cluster.shown(trainer)], new Set());
    await expect(store.save({ ...record, externalId: 'id-2' })).rejects.toThrow('a later version');
    expect(cluster.shown(trainer).status).toMatchObject({ bookkeeping: { version: 3, sequence: 9 } });
  });
});

describe('a state file of version 1', () => {
  const { kind: _kind, ...flat } = taskRecord;

  /** As the schema before this one had it. */
  function earlierFile(
    records: readonly object[] = [{ ...flat, lease: registration, releasedAt: 5 }],
  ): string {
    const file = temporaryFile('state.db');
    open(file)[Symbol.dispose]();
    const database = new Sqlite(file);
    for (const [index, record] of records.entries())
      database.run('INSERT INTO objects VALUES ($key, $record)', {
        key: index === 0 ? task : `broken ${index}`,
        record: typeof record === 'string' ? record : JSON.stringify(record),
      });
    withoutLaterTables(database);
    database.run('PRAGMA user_version = 3');
    database.close();
    return file;
  }

  test('is read by a command that only reads, and stays as it is', () => {
    const file = earlierFile();
    const before = readFileSync(file);
    expect(taskPart(readState(file, systemRandom, owner).record(task))).toEqual({
      registration,
      releasedAt: 5,
    });
    expect(readFileSync(file)).toEqual(before);
  });

  test('that is damaged is refused by a command that only reads, with its name', () => {
    const file = earlierFile([{ ...flat, lease: registration }, '{"key":' as unknown as object]);
    expect(() => readState(file, systemRandom, owner)).toThrow(`can't read the state file ${file}`);
  });

  test('is migrated by its next writer', () => {
    const file = earlierFile();
    using state = open(file);
    expect(taskPart(state.store.record(task))).toEqual({ registration, releasedAt: 5 });
    expect(state.store.record(task)).not.toHaveProperty('lease');
    expect(readState(file, systemRandom, owner).record(task)).toEqual(state.store.record(task));
  });

  test('is as it was after a migration that failed in the middle', () => {
    const file = earlierFile([{ ...flat, lease: registration }, '{"key":' as unknown as object]);
    expect(() => open(file)).toThrow("can't read the state file");
    const database = new Sqlite(file);
    expect(database.version()).toBe(3);
    expect(database.get('SELECT record FROM objects WHERE key = $key', { key: task })?.['record']).toContain(
      'lease',
    );
    database.close();
  });

  test('of a later version is refused by a command that only reads, too', () => {
    const file = earlierFile();
    const database = new Sqlite(file);
    database.run('PRAGMA user_version = 99');
    database.close();
    const refusal = { remedy: 'run the version of fleetkeeper that wrote it, or a newer one' };
    expect(() => open(file)).toThrow(expect.objectContaining(refusal));
    expect(() => readState(file, systemRandom, owner)).toThrow(expect.objectContaining(refusal));
  });
});

describe('a state file with a record of a kind that this version does not know', () => {
  const refusal = {
    name: 'UserError',
    message: expect.stringMatching(/state\.db has records of kinds that .* does not know: FutureKind \(2\)$/),
    remedy: expect.stringContaining(
      'a newer version wrote it: run that version of fleetkeeper, or a newer one',
    ),
  };

  function laterFile(): string {
    const file = temporaryFile('state.db');
    open(file).close();
    const database = new Sqlite(file);
    for (const later of ['FutureKind/default/a', 'FutureKind/default/b'])
      database.run('INSERT INTO objects VALUES ($later, $record)', {
        later,
        record: JSON.stringify({ ...serviceRecord, key: later, kind: { later: 1 } }),
      });
    database.close();
    return file;
  }

  test('is refused by who reads and who writes, with the version to run, and stays as it is', () => {
    const file = laterFile();
    const before = readFileSync(file);
    expect(() => readState(file, systemRandom, owner)).toThrow(expect.objectContaining(refusal));
    expect(() => open(file)).toThrow(expect.objectContaining(refusal));
    // It would confirm the owner.
    expect(() => open(file, 'laptop')).toThrow(expect.objectContaining(refusal));
    expect(readFileSync(file)).toEqual(before);
  });

  test('is refused before its schema is migrated', () => {
    const file = laterFile();
    const database = new Sqlite(file);
    withoutLaterTables(database);
    database.run('PRAGMA user_version = 3');
    database.close();
    expect(() => open(file)).toThrow(expect.objectContaining(refusal));
    expect(() => readState(file, systemRandom, owner)).toThrow(expect.objectContaining(refusal));
    const after = new Sqlite(file);
    expect(after.version()).toBe(3);
    after.close();
  });
});

test('what a later version has added to the part of a kind is kept', () => {
  const record = { ...serviceRecord, kind: { ...serviceRecord.kind, later: 1 } };
  const { record: read } = readBookkeeping(trainer, record.uid, { bookkeeping: written(record) }, key);
  expect(read.kind).toEqual(record.kind);
  expect(servicePart(read).remediation).toEqual(remediation);
});
