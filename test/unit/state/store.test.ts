import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Sqlite, systemRandom } from '../../../src/base/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import {
  MemoryStore,
  intentOutcomes,
  lastReport,
  openState,
  readState,
  type StateStore,
  keptCapacityMs,
  type CapacityEntry,
  type OwnerRevision,
} from '../../../src/state/index.ts';
import { settle } from '../../support/manual-clock.ts';
import { ManualEventLoop } from '../../support/manual-event-loop.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { intentOf, open, owner, recordOf, trainer, withoutLaterTables } from './support.ts';

const keys: ObjectKey[] = [trainer, 'ContainerService/default/other', 'StorageVolume/default/data'];

/** All that a store shows. */
function contents(store: StateStore) {
  return {
    owner: store.ownerName,
    digest: [store.digestKey.id, store.digestKey.digest('x')],
    records: [...store.records()].sort((left, right) => (left.key < right.key ? -1 : 1)),
    objects: keys.map((key) => ({
      record: store.record(key),
      open: store.openIntent(key),
      last: store.lastIntent(key),
    })),
    left: keys.map((key) => store.leftUntil(recordOf(key).uid)),
    ids: ['id-0', 'id-1', 'id-2'].map((id) => store.recordOf(id)?.key),
  };
}

const demand = { region: 'standard', geography: 'auto', gpuCount: 1, cpu: 8, memoryGb: 64, storageGb: 0 };
const scarce: CapacityEntry = {
  demand,
  state: 'Scarce',
  since: 5,
  at: 6e12,
  grantedAt: 4,
  failures: 2,
  retryAt: 9,
  refusal: { status: 409, code: 'no_capacity', message: 'none left' },
};

describe('the state file', () => {
  test('gives back what was saved, after it was closed', async () => {
    const file = temporaryFile('state.db');
    const status = { observedGeneration: 1, conditions: [], state: 'running' };
    const record = recordOf(trainer, {
      externalId: 'id-1',
      deletionRequestedAt: 5,
      refusal: { fingerprint: 'f', generation: 1, action: 'a', status: 422, code: 'c', message: 'm', at: 1 },
      repeated: { fingerprint: 'f', count: 2 },
      status,
      report: lastReport(status),
    });
    const intent = intentOf(trainer, 'key-1');
    let before;
    {
      using state = open(file);
      await state.store.saveIntent(intent, record);
      before = contents(state.store);
    }
    using state = open(file);
    expect(contents(state.store)).toEqual(before);
    expect(state.store.record(trainer)).toEqual(record);
    expect(state.store.openIntent(trainer)).toEqual(intent);
    expect(state.store.recordOf('id-1')).toEqual(record);
  });

  test('keeps what a request adds to the cost of an hour, and what things were seen to cost', async () => {
    const file = temporaryFile('state.db');
    const estimate = { estimateMicros: 972_000, basis: 'catalog', unknown: [] } as const;
    const price = {
      region: 'standard',
      geography: 'europe',
      demand: { storageGb: 10 },
      gpuModel: undefined,
      hourlyMicros: 1400,
      at: 5,
    };
    {
      using state = open(file);
      await state.store.saveIntent(intentOf(trainer, 'key-1', { estimate }), recordOf(trainer));
      await state.store.savePrices('default/default', [price]);
    }
    using state = open(file);
    expect(state.store.openIntent(trainer)?.estimate).toEqual(estimate);
    expect(state.store.prices('default/default')).toEqual([price]);
    expect(readState(file, systemRandom, owner).prices('default/default')).toEqual([price]);
  });

  test('keeps what was learned of capacity, and what an open request needs of it', async () => {
    const file = temporaryFile('state.db');
    const other = { ...scarce, at: scarce.at - keptCapacityMs };
    {
      using state = open(file);
      await state.store.saveIntent(intentOf(trainer, 'key-1', { demand }), recordOf(trainer));
      await state.store.saveCapacity('default/old', [other], other.at - 1);
      await state.store.saveCapacity('default/default', [scarce], scarce.at);
    }
    using state = open(file);
    expect(state.store.openIntent(trainer)?.demand).toEqual(demand);
    expect(state.store.capacity('default/default')).toEqual([scarce]);
    expect(readState(file, systemRandom, owner).capacity('default/default')).toEqual([scarce]);
    // A week without news: nobody has used it.
    expect(state.store.capacity('default/old')).toEqual([]);
  });

  test('keeps the revisions of an object, and forgets them with it', async () => {
    const file = temporaryFile('state.db');
    const revision = { number: 1, content: { image: 'a' }, data: [], values: 'v', digest: 'd', at: 5 };
    const first = { ...revision, outcome: 'RollingOut' } as const;
    const second = { ...first, number: 2 };
    {
      using state = open(file);
      await Promise.all([
        state.store.saveRevisions(trainer, [first, second]),
        state.store.save(recordOf(trainer)),
      ]);
      await state.store.saveRevisions(trainer, [{ ...second, outcome: 'Healthy' }]);
    }
    {
      using state = open(file);
      expect(state.store.revisions(trainer)).toEqual([{ ...second, outcome: 'Healthy' }]);
      expect(readState(file, systemRandom, owner).revisions(trainer)).toHaveLength(1);
      await state.store.remove(trainer);
    }
    using state = open(file);
    expect(state.store.revisions(trainer)).toEqual([]);
  });

  test('of 0.1.0 is read, with its open intents', async () => {
    const file = temporaryFile('state.db');
    const intent = intentOf(trainer, 'key-1', { outcome: 'unknown' });
    {
      using state = open(file);
      await state.store.saveIntent(intent, recordOf(trainer));
    }
    const older = new Sqlite(file);
    older.run('ALTER TABLE intents DROP COLUMN estimate');
    older.run('DROP TABLE prices');
    withoutLaterTables(older);
    older.run('PRAGMA user_version = 2');
    older.close();
    using state = open(file);
    expect(state.store.openIntent(trainer)).toEqual(intent);
    expect(state.store.prices('default/default')).toEqual([]);
    expect(state.store.capacity('default/default')).toEqual([]);
  });

  test('a record of an older version is read, with what it lacks as in a new one', async () => {
    const file = temporaryFile('state.db');
    const record = recordOf(trainer, { externalId: 'id-1' });
    {
      using state = open(file);
      await state.store.save(record);
    }
    const { unconfirmed: _u, shownAs: _s, doubted: _d, ...older } = record;
    const database = new Sqlite(file);
    database.run('UPDATE objects SET record = $record', { record: JSON.stringify(older) });
    database.close();
    using state = open(file);
    expect(state.store.record(trainer)).toEqual(record);
  });

  test('law: whatever is written, a reopened state shows what the open one showed', async () => {
    const number = fc.nat(2);
    const write = fc.oneof(
      fc.record({
        do: fc.constant('save' as const),
        key: number,
        id: fc.option(number),
        generation: fc.nat(),
      }),
      fc.record({
        do: fc.constant('remove' as const),
        key: number,
        leftUntil: fc.option(fc.nat(), { nil: undefined }),
      }),
      fc.record({
        do: fc.constantFrom('new intent' as const, 'same intent' as const),
        key: number,
        outcome: fc.constantFrom(...intentOutcomes),
        baseRevision: fc.option(fc.nat(), { nil: undefined }),
        baseState: fc.option(fc.string(), { nil: undefined }),
        note: fc.option(fc.string(), { nil: undefined }),
        at: fc.nat(),
      }),
    );
    const source = temporaryFile('state.db');
    open(source)[Symbol.dispose]();
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 20 }), async (writes) => {
        const file = `${source}-copy`;
        copyFileSync(source, file);
        let shown;
        {
          using state = open(file);
          const { store } = state;
          for (const [index, step] of writes.entries()) {
            const key = keys[step.key] ?? trainer;
            if (step.do === 'remove') await store.remove(key, step.leftUntil);
            else if (step.do === 'save') {
              const externalId = step.id === null ? undefined : `id-${step.id}`;
              const taken = externalId !== undefined && (store.recordOf(externalId)?.key ?? key) !== key;
              await store.save(recordOf(key, { generation: step.generation, ...(!taken && { externalId }) }));
            } else {
              const known = step.do === 'same intent' ? store.lastIntent(key) : undefined;
              const { outcome, note, baseRevision, baseState, at } = step;
              const changes = { outcome, note, baseRevision, baseState, createdAt: at, finishedAt: at + 1 };
              const intent = intentOf(key, known?.idempotencyKey ?? `key-${index}`, changes);
              await store.saveIntent(intent, store.record(key) ?? recordOf(key));
            }
          }
          shown = contents(store);
        }
        using reopened = open(file);
        expect(contents(reopened.store)).toEqual(shown);
        expect(contents(readState(file, systemRandom, owner))).toEqual(shown);
      }),
      { numRuns: 25 },
    );
  });

  test('what is written in one turn is in memory at once, and durable together', async () => {
    const file = temporaryFile('state.db');
    const loop = new ManualEventLoop();
    const state = openState(file, systemRandom, owner, loop);
    const reported: string[] = [];
    const other = keys[1] ?? trainer;
    void state.store.save(recordOf(trainer)).then(() => reported.push('record'));
    void state.store
      .saveIntent(intentOf(other, 'key-1'), recordOf(other))
      .then(() => reported.push('intent'));
    expect([state.store.record(trainer), state.store.openIntent(other)]).not.toContain(undefined);
    await settle();
    expect(reported).toEqual([]);
    expect([...readState(file, systemRandom, owner).records()]).toEqual([]);
    loop.turn();
    await settle();
    expect(reported).toEqual(['record', 'intent']);
    expect([...readState(file, systemRandom, owner).records()]).toHaveLength(2);
    state.close();
  });

  /** A loop whose disk takes what is written when it is told to. */
  function withSlowDisk() {
    const waits: PromiseWithResolvers<void>[] = [];
    const toDisk = () => {
      const wait = Promise.withResolvers<void>();
      waits.push(wait);
      return wait.promise;
    };
    return { loop: Object.assign(new ManualEventLoop(), { toDisk }), waits };
  }

  test('what is written is told when the disk has it, and meanwhile the loop goes on', async () => {
    const file = temporaryFile('state.db');
    const { loop, waits } = withSlowDisk();
    const state = openState(file, systemRandom, owner, loop);
    const reported: string[] = [];
    const [first, second] = [trainer, keys[1] ?? trainer];
    for (const key of [first, second]) {
      void state.store.save(recordOf(key)).then(() => reported.push(key));
      loop.turn();
      await settle();
    }
    // Both are committed, and others see them.
    expect([...readState(file, systemRandom, owner).records()]).toHaveLength(2);
    expect(reported).toEqual([]);
    for (const expected of [[first], [first, second]]) {
      waits.shift()?.resolve();
      await settle();
      expect(reported).toEqual(expected);
    }
    state.close();
  });

  test('what the disk does not confirm ends the process, and is told to nobody', async () => {
    const file = temporaryFile('state.db');
    const { loop, waits } = withSlowDisk();
    const state = openState(file, systemRandom, owner, loop);
    const reported: string[] = [];
    const tell = () => reported.push('told');
    void state.store.save(recordOf(trainer)).then(tell, tell);
    loop.turn();
    waits.shift()?.reject(new Error('EIO: i/o error, fdatasync'));
    await settle();
    void state.store.save(recordOf(keys[1] ?? trainer)).then(tell, tell);
    loop.turn();
    await settle();
    expect([reported, waits]).toEqual([[], []]);
    const crash = expect.objectContaining({
      message: `the disk did not confirm what was written to ${file}: EIO: i/o error, fdatasync`,
      remedy: expect.stringContaining('start again') as string,
    }) as unknown;
    expect(loop.crashes).toEqual([crash]);
    expect(() => state.close()).toThrow('the disk did not confirm');
  });

  test('what waits for the disk is there when it is closed', async () => {
    const file = temporaryFile('state.db');
    const { loop } = withSlowDisk();
    const state = openState(file, systemRandom, owner, loop);
    const saved = state.store.save(recordOf(trainer));
    state.close();
    await saved;
    expect([...readState(file, systemRandom, owner).records()]).toHaveLength(1);
  });

  test('what waits for its turn is written when it is closed', async () => {
    const file = temporaryFile('state.db');
    const state = openState(file, systemRandom, owner, new ManualEventLoop());
    const saved = state.store.save(recordOf(trainer));
    state.close();
    await saved;
    expect([...readState(file, systemRandom, owner).records()]).toHaveLength(1);
  });

  test('law: what the disk has no room for is not in memory either, and nothing that was written in that turn', async () => {
    const key = fc.constantFrom(...keys);
    const id = fc.option(fc.constantFrom('id-0', 'id-1', 'id-2'), { nil: undefined });
    const kind = fc.constantFrom<'save' | 'intent' | 'remove' | 'pin'>('save', 'intent', 'remove', 'pin');
    const write = fc.record({ kind, key, id, isFull: fc.nat(5).map((chance) => chance === 5) });
    const source = temporaryFile('state.db');
    open(source)[Symbol.dispose]();
    const schema = new Sqlite(source);
    // As SQLite does by itself when it finds no room.
    for (const table of ['objects', 'meta']) {
      const text = table === 'objects' ? 'NEW.record' : 'NEW.value';
      schema.run(
        `CREATE TRIGGER full_${table} BEFORE INSERT ON ${table} WHEN instr(${text}, 'no room')
         BEGIN SELECT RAISE(ROLLBACK, 'no room'); END`,
      );
    }
    schema.close();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(write, { maxLength: 4 }), { maxLength: 8 }), async (turns) => {
        const file = `${source}-copy`;
        copyFileSync(source, file);
        using state = open(file);
        const { store } = state;
        let count = 0;
        for (const turn of turns) {
          const isLost = turn.some(({ kind: does, isFull }) => isFull && does !== 'remove');
          const results = await Promise.allSettled(
            turn.map(({ kind: does, key: object, id: externalId, isFull }) => {
              const said = isFull ? 'no room' : `write ${(count += 1)}`;
              if (does === 'remove') return store.remove(object);
              if (does === 'pin') return store.saveIdentityPin(object, { id: said, emailDigest: undefined });
              const isTaken =
                externalId !== undefined && (store.recordOf(externalId)?.key ?? object) !== object;
              const record = recordOf(object, { file: said, ...(!isTaken && { externalId }) });
              if (does === 'save') return store.save(record);
              return store.saveIntent(intentOf(object, `key of ${said}`), record);
            }),
          );
          const isKept = results.every(({ status }) => status === 'fulfilled');
          expect(isKept).toBe(!isLost);
          const read = readState(file, systemRandom, owner);
          expect(contents(store)).toEqual(contents(read));
          for (const account of keys) expect(store.identityPin(account)).toEqual(read.identityPin(account));
        }
      }),
      { numRuns: 40 },
    );
  });

  test('takes intent and record together or not at all', async () => {
    const file = temporaryFile('state.db');
    {
      using state = open(file);
      await state.store.save(recordOf(trainer));
      const impossible = { ...intentOf(trainer, 'key-1'), bodyDigest: null as unknown as string };
      await expect(state.store.saveIntent(impossible, recordOf(trainer, { generation: 2 }))).rejects.toThrow(
        'NOT NULL',
      );
      expect(state.store.record(trainer)?.generation).toBe(1);
      expect(state.store.lastIntent(trainer)).toBeUndefined();
    }
    using state = open(file);
    expect(state.store.record(trainer)?.generation).toBe(1);
    expect(state.store.lastIntent(trainer)).toBeUndefined();
  });

  test('keeps twenty intents of each object, the newest among them', async () => {
    const file = temporaryFile('state.db');
    {
      using state = open(file);
      for (let count = 1; count <= 30; count += 1) {
        const done = intentOf(trainer, `key-${count}`, { outcome: 'applied' });
        await state.store.saveIntent(done, recordOf(trainer));
        if (count <= 3)
          await state.store.saveIntent(
            intentOf(keys[1] ?? trainer, `other-${count}`),
            recordOf(keys[1] ?? trainer),
          );
      }
    }
    using state = open(file);
    expect(state.store.lastIntent(trainer)?.idempotencyKey).toBe('key-30');
    expect(state.store.openIntent(keys[1] ?? trainer)?.idempotencyKey).toBe('other-3');
    const database = new Sqlite(file, { readOnly: true });
    const kept = database.all('SELECT idempotency_key FROM intents WHERE object = $object ORDER BY number', {
      object: trainer,
    });
    const others = database.all('SELECT 1 FROM intents WHERE object <> $object', { object: trainer });
    database.close();
    expect(kept.map((row) => row['idempotency_key'])).toEqual(
      Array.from({ length: 20 }, (_, index) => `key-${index + 11}`),
    );
    expect(others).toHaveLength(3);
  });

  test('keeps the digest key and the owner that it was made with', () => {
    const file = temporaryFile('state.db');
    let made;
    {
      using state = open(file, 'team-a');
      made = contents(state.store);
    }
    using state = open(file);
    expect(contents(state.store)).toEqual(made);
    expect(state.store.ownerName).toBe('team-a');
  });

  test('and each new one has a digest key of its own', () => {
    using one = open(temporaryFile('state.db'));
    using other = open(temporaryFile('state.db'));
    expect(one.store.digestKey.id).not.toBe(other.store.digestKey.id);
  });

  test('made with a key that others share has that key, says so, and begins an epoch with each object that it forgets', async () => {
    const file = temporaryFile('state.db');
    const digestKey = { bytes: Buffer.alloc(32, 7), suppliedBy: 'a file' };
    const openShared = () => openState(file, systemRandom, { ...owner, digestKey });
    const epochs: (string | undefined)[] = [];
    let made;
    {
      const state = openShared();
      const { store } = state;
      made = contents(store).digest;
      epochs.push(store.epoch);
      await store.saveIntent(intentOf(trainer, 'key-1'), recordOf(trainer, { externalId: 'id-1' }));
      await store.remove(trainer);
      epochs.push(store.epoch);
      await store.saveIntent(intentOf(trainer, 'key-2'), recordOf(trainer));
      await store.remove(trainer);
      epochs.push(store.epoch);
      state.close();
    }
    expect([epochs[0], new Set(epochs).size]).toEqual([undefined, 3]);
    // Once made, it needs nobody to supply the key again.
    using state = open(file);
    expect([contents(state.store).digest, state.store.isKeyShared, state.store.epoch]).toEqual([
      made,
      true,
      epochs[2],
    ]);
    using other = open(temporaryFile('state.db'));
    expect(other.store.isKeyShared).toBe(false);
  });

  test('an epoch that was not written has not begun', async () => {
    const file = temporaryFile('state.db');
    const loop = new ManualEventLoop();
    const digestKey = { bytes: Buffer.alloc(32, 7), suppliedBy: undefined };
    const state = openState(file, systemRandom, { ...owner, digestKey }, loop);
    const saved = state.store.save(recordOf(trainer));
    loop.turn();
    await saved;
    const impossible = { ...intentOf(trainer, 'key-1'), bodyDigest: null as unknown as string };
    const lost = Promise.allSettled([
      state.store.remove(trainer),
      state.store.saveIntent(impossible, recordOf(trainer)),
    ]);
    loop.turn();
    await lost;
    expect([state.store.epoch, state.store.record(trainer)?.key]).toEqual([
      readState(file, systemRandom, owner).epoch,
      readState(file, systemRandom, owner).record(trainer)?.key,
    ]);
    state.close();
  });

  test('a key that comes again after another one is that of the newest intent', async () => {
    const file = temporaryFile('state.db');
    {
      using state = open(file);
      for (const key of ['key-1', 'key-2', 'key-1']) {
        await state.store.saveIntent(intentOf(trainer, key, { outcome: 'not-applied' }), recordOf(trainer));
      }
    }
    using state = open(file);
    expect(state.store.lastIntent(trainer)?.idempotencyKey).toBe('key-1');
  });

  test.each(['opened', 'read'])('%s with another digest key than it was made with is refused', (how) => {
    const file = temporaryFile('state.db');
    open(file)[Symbol.dispose]();
    const digestKey = { bytes: Buffer.alloc(32, 7), suppliedBy: '--digest-key-file k' };
    const attempt = () =>
      how === 'read'
        ? readState(file, systemRandom, { ...owner, digestKey })
        : openState(file, systemRandom, { ...owner, digestKey });
    expect(attempt).toThrow(
      expect.objectContaining({
        name: 'UserError',
        message: `the state file ${file} was made with another digest key than that of --digest-key-file k`,
      }),
    );
    // Nobody said this one: what the state has, counts.
    openState(file, systemRandom, { ...owner, digestKey: { ...digestKey, suppliedBy: undefined } }).close();
  });

  test.each(['opened', 'read'])('%s for another owner is refused in a sentence', (how) => {
    const file = temporaryFile('state.db');
    open(file, 'team-a')[Symbol.dispose]();
    const attempt = () =>
      how === 'read'
        ? readState(file, systemRandom, { default: 'x', explicit: 'team-b' })
        : open(file, 'team-b');
    expect(attempt).toThrow(
      expect.objectContaining({
        name: 'UserError',
        message: `the state file ${file} was made for the owner "team-a", not "team-b"`,
        remedy: expect.stringContaining('another state file'),
      }),
    );
    open(file, 'team-a')[Symbol.dispose]();
  });

  test('can be read by its owner only', () => {
    const file = temporaryFile('folder/state.db');
    using state = open(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    expect(state.store.ownerName).toBe('laptop');
  });
});

describe('a look at the state', () => {
  test('changes not a byte of the file', async () => {
    const file = temporaryFile('state.db');
    {
      using state = open(file);
      await state.store.save(recordOf(trainer));
    }
    const [bytes, { mtimeMs }] = [readFileSync(file), statSync(file)];
    const seen = readState(file, systemRandom, owner);
    await seen.save(recordOf(trainer, { generation: 7 }));
    await seen.remove(trainer);
    expect(readFileSync(file).equals(bytes)).toBe(true);
    expect(statSync(file).mtimeMs).toBe(mtimeMs);
    expect(readState(file, systemRandom, owner).record(trainer)?.generation).toBe(1);
  });

  test('works beside the one that writes, and shows what was last acknowledged', async () => {
    const file = temporaryFile('state.db');
    using state = open(file);
    for (const generation of [1, 2, 3]) {
      await state.store.save(recordOf(trainer, { generation }));
      expect(contents(readState(file, systemRandom, owner))).toEqual(contents(state.store));
    }
  });

  test('at a file that is not there shows nothing, and makes none', () => {
    const file = temporaryFile('state.db');
    const seen = readState(file, systemRandom, { default: 'laptop', explicit: 'team-a' });
    expect([...seen.records()]).toEqual([]);
    expect(seen.ownerName).toBe('team-a');
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
  });
});

function revisionOf(number: number): OwnerRevision {
  const data = [{ kind: 'Secret', name: 'keys', keys: ['token'] }] as const;
  return { number, content: { image: 'a' }, data, values: 'v', digest: 'd', outcome: 'Healthy', at: 5 };
}

describe('a damaged state file', () => {
  const damages: Record<string, (file: string) => void> = {
    'is text': (file) =>
      writeFileSync(file, 'not a database at all, but long enough to look like one'.repeat(20)),
    'has lost its end': (file) => writeFileSync(file, readFileSync(file).subarray(0, 5000)),
    'has a page of noise': (file) => {
      const bytes = readFileSync(file);
      bytes.fill(0xa5, 4096);
      writeFileSync(file, bytes);
    },
    'holds a record that is not JSON': (file) => change(file, `UPDATE objects SET record = '{"key":'`),
    'has no digest key': (file) => change(file, 'DROP TABLE meta; CREATE TABLE meta (name TEXT, value TEXT)'),
    'has a digest key with one other digit': (file) =>
      change(
        file,
        `UPDATE meta SET value = CASE substr(value, 1, 1) WHEN '0' THEN '1' ELSE '0' END || substr(value, 2)
         WHERE name = 'digest-key'`,
      ),
    'has a digest key that is no hex': (file) =>
      change(file, "UPDATE meta SET value = 'zz' WHERE name = 'digest-key'"),
    'has half a digest key': (file) =>
      change(file, "UPDATE meta SET value = substr(value, 1, 32) WHERE name = 'digest-key'"),
    'is a database of something else': (file) =>
      change(file, 'DROP TABLE meta; DROP TABLE objects; DROP TABLE intents'),
  };

  function change(file: string, sql: string): void {
    const database = new Sqlite(file);
    for (const statement of sql.split(';')) database.run(statement);
    database.close();
  }

  const ways = Object.entries(damages).flatMap(([what, damage]) =>
    ['opened', 'read'].map((how) => ({ what, how, damage })),
  );

  test.each(ways)('that $what is told with what to do when it is $how', async ({ damage, how }) => {
    const file = temporaryFile('state.db');
    {
      using state = open(file);
      await state.store.saveIntent(intentOf(trainer, 'key-1'), recordOf(trainer));
    }
    damage(file);
    const attempt = () => (how === 'read' ? readState(file, systemRandom, owner) : open(file));
    expect(attempt).toThrow(
      expect.objectContaining({
        name: 'UserError',
        message: expect.stringContaining(file),
        remedy: expect.stringMatching(/\w/),
      }),
    );
  });
});

test.each([
  '{}',
  '{',
  'null',
  '[]',
  JSON.stringify({ ...revisionOf(1), number: 2 }),
  JSON.stringify({ ...revisionOf(1), data: [{}] }),
  JSON.stringify({ ...revisionOf(1), outcome: 'Lost' }),
])(
  'a state file with the revision %s is refused: its replicas would be changed to another one',
  async (text) => {
    const file = temporaryFile('state.db');
    {
      using state = open(file);
      await state.store.saveRevisions('ServiceFleet/default/web', [revisionOf(1)]);
    }
    const database = new Sqlite(file);
    database.run('UPDATE revisions SET revision = $text', { text });
    database.close();
    const refused = expect.objectContaining({
      name: 'UserError',
      message: `can't read the state file ${file}: the revision 1 of ServiceFleet/default/web can't be read`,
      remedy: expect.stringContaining('it is damaged'),
    });
    expect(() => readState(file, systemRandom, owner)).toThrow(refused);
    expect(() => open(file)).toThrow(refused);
  },
);

const priced = { region: 'standard', geography: 'eu', demand: { storageGb: 5 }, hourlyMicros: 7, at: 9 };

test.each([
  { text: '{}', left: [] },
  { text: '[', left: [] },
  { text: JSON.stringify([{}, priced, null, { ...priced, at: '9' }]), left: [priced] },
  {
    text: JSON.stringify([
      { ...priced, demand: {} },
      { ...priced, moved: {} },
    ]),
    left: [],
  },
])(
  'prices that a state file stores as $text are observed anew, and that is known',
  async ({ text, left }) => {
    const file = temporaryFile('state.db');
    {
      using state = open(file);
      await state.store.savePrices('main/default', [{ ...priced, gpuModel: undefined }]);
      expect(readState(file, systemRandom, owner).newlyCounted()).toEqual([]);
    }
    const database = new Sqlite(file);
    database.run('UPDATE prices SET prices = $text', { text });
    database.close();
    const anew = [{ key: 'Account/main/default', fields: ['prices'] }];
    using state = open(file);
    for (const store of [readState(file, systemRandom, owner), state.store]) {
      expect(store.prices('main/default')).toEqual(left);
      expect(store.newlyCounted()).toEqual(anew);
    }
  },
);

test('a state file of a version that did not keep the id of its key is read, and has the id when it was opened', () => {
  const file = temporaryFile('state.db');
  open(file).close();
  const ids = () => {
    const database = new Sqlite(file);
    const found = database.all("SELECT value FROM meta WHERE name = 'digest-key-id'");
    database.run("DELETE FROM meta WHERE name = 'digest-key-id'");
    database.close();
    return found;
  };
  expect(ids()).toHaveLength(1);
  const { id } = readState(file, systemRandom, owner).digestKey;
  expect(ids()).toEqual([]);
  open(file).close();
  expect(ids()).toEqual([{ value: id }]);
});

test('a state file with noise on any page is refused when it is opened, and when it is read', async () => {
  const file = temporaryFile('state.db');
  {
    using state = open(file);
    await state.store.saveIntent(intentOf(trainer, 'key-1'), recordOf(trainer));
  }
  const bytes = readFileSync(file);
  const pageBytes = bytes.readUInt16BE(16);
  expect(bytes.length / pageBytes).toBeGreaterThan(10);
  for (let start = 0; start < bytes.length; start += pageBytes) {
    writeFileSync(file, Buffer.from(bytes).fill(0xa5, start, start + pageBytes));
    const expected = expect.objectContaining({
      name: 'UserError',
      message: expect.stringContaining(file),
      remedy: expect.stringContaining('restore it'),
    });
    expect(() => open(file), `opened, page at ${start}`).toThrow(expected);
    expect(() => readState(file, systemRandom, owner), `read, page at ${start}`).toThrow(expected);
  }
});

describe('an intent', () => {
  test.each(intentOutcomes)('that is %s', async (outcome) => {
    const store = new MemoryStore(
      { digestKey: { id: '', digest: String, sign: () => '' }, ownerName: 'laptop' },
      [],
      [],
    );
    await store.saveIntent(intentOf(trainer, 'key-1', { outcome }), recordOf(trainer));
    const isOpen = outcome === 'pending' || outcome === 'unknown';
    expect(store.openIntent(trainer)?.outcome).toBe(isOpen ? outcome : undefined);
    expect(store.lastIntent(trainer)?.outcome).toBe(outcome);
  });

  test('of one object is none of another', async () => {
    using state = open(temporaryFile('state.db'));
    await state.store.saveIntent(intentOf(trainer, 'key-1'), recordOf(trainer));
    expect(state.store.openIntent('ContainerService/default/other')).toBeUndefined();
  });
});
