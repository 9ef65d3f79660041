import { execFileSync } from 'node:child_process';
import {
  existsSync,
  fstatSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { Sqlite, sqliteRemedy, UserError } from '../../../src/base/index.ts';
import { temporaryFile } from '../../support/temporary.ts';

const migrations = ['CREATE TABLE t (x TEXT) STRICT', 'ALTER TABLE t ADD COLUMN y TEXT'];

function opened(file: string, options?: ConstructorParameters<typeof Sqlite>[1]): Sqlite & Disposable {
  const database = new Sqlite(file, options);
  return Object.assign(database, { [Symbol.dispose]: () => database.close() });
}

describe('a database', () => {
  test('is durable at every commit: it asks for it, and a second reader sees the commit at once', () => {
    const file = temporaryFile('a.db');
    using writer = opened(file);
    writer.migrate(migrations);
    expect(writer.get('PRAGMA synchronous')).toEqual({ synchronous: 2 });
    expect(writer.get('PRAGMA journal_mode')).toEqual({ journal_mode: 'wal' });
    using reader = opened(file, { readOnly: true });
    writer.run('INSERT INTO t (x) VALUES ($x)', { x: 'a' });
    expect(reader.all('SELECT x FROM t')).toEqual([{ x: 'a' }]);
  });

  test('that leaves the wait for the disk to others gives them its log; one in memory has none', async () => {
    const file = temporaryFile('a.db');
    using writer = opened(file);
    writer.migrate(migrations);
    const asked: number[] = [];
    const log = writer.leaveWaits(async (fileDescriptor) => void asked.push(fileDescriptor));
    expect(writer.get('PRAGMA synchronous')).toEqual({ synchronous: 1 });
    writer.run('INSERT INTO t (x) VALUES ($x)', { x: 'a' });
    await log?.onDisk();
    log?.sync();
    expect(asked.map((each) => fstatSync(each).ino)).toEqual([statSync(`${file}-wal`).ino]);
    log?.close();
    expect(() => log?.sync()).toThrow(`the disk did not confirm what was written to ${file}: EBADF`);
    using inMemory = opened(':memory:');
    expect(inMemory.leaveWaits(async () => undefined)).toBeUndefined();
    expect(inMemory.get('PRAGMA synchronous')).toEqual({ synchronous: 2 });
  });

  test('that a link leads to has its log beside itself', () => {
    const file = temporaryFile('a.db');
    const link = temporaryFile('link.db');
    symlinkSync(file, link);
    using writer = opened(link);
    writer.migrate(migrations);
    const log = writer.leaveWaits(async () => undefined);
    log?.sync();
    log?.close();
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
  });

  test('can be read by its owner only, together with what SQLite puts beside it', () => {
    const file = temporaryFile('a.db');
    using database = opened(file);
    database.migrate(migrations);
    database.run(`INSERT INTO t (x) VALUES ('secret')`);
    for (const path of [file, `${file}-wal`, `${file}-shm`]) expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('opened for reading is not made, and not written', () => {
    const file = temporaryFile('a.db');
    expect(() => new Sqlite(file, { readOnly: true })).toThrow(UserError);
    expect(existsSync(file)).toBe(false);
    opened(file)[Symbol.dispose]();
    using reader = opened(file, { readOnly: true });
    expect(() => reader.run('CREATE TABLE u (x TEXT)')).toThrow('readonly');
  });

  const advised = (file: string) =>
    expect.objectContaining({
      name: 'UserError',
      message: expect.stringContaining(`can't open the database ${file}`),
      remedy: expect.stringContaining('check that the path is right'),
    }) as Error;

  test('that is cut off can not be opened, and what to do is to restore it', () => {
    const file = temporaryFile('a.db');
    {
      using database = opened(file);
      database.migrate(migrations);
      for (let at = 0; at < 200; at += 1)
        database.run('INSERT INTO t (x) VALUES ($text)', { text: 'x'.repeat(500) });
    }
    truncateSync(file, 20_000);
    for (const readOnly of [false, true])
      expect(() => new Sqlite(file, { readOnly })).toThrow(
        expect.objectContaining({
          message: `can't open the database ${file}: database disk image is malformed`,
          remedy: expect.stringMatching(/^it is damaged: restore it, with the files beside it/),
        }),
      );
  });

  test.each([
    [5, /another process uses it: wait/],
    [778, /make room if the disk is full; otherwise check it/], // SQLITE_IOERR_WRITE
    [11, /it is damaged: restore it/],
    [267, /it is damaged: restore it/], // SQLITE_CORRUPT_VTAB
    [13, /the disk is full: make room/],
    [26, /it is damaged: restore it from a backup/],
  ])('that SQLite refuses with %s has a remedy that fits', (errcode, remedy) => {
    expect(sqliteRemedy(Object.assign(new Error('refused'), { errcode }))).toMatch(remedy);
    expect(sqliteRemedy(Object.assign(new Error('refused'), { errcode: 14 }))).toBeUndefined();
    expect(sqliteRemedy(new Error('of another kind'))).toBeUndefined();
  });

  test('in a folder that is not there can not be opened, and what to do is told', () => {
    expect(() => new Sqlite('/nowhere/a.db')).toThrow(advised('/nowhere/a.db'));
  });

  test('that is something else can not be opened, what to do is told, and it stays as it was', () => {
    const file = temporaryFile('a.db');
    const text = 'this is a shopping list, not a database'.repeat(50);
    writeFileSync(file, text);
    expect(() => new Sqlite(file)).toThrow(advised(file));
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  test('of another program is not written, whatever its tables are called', () => {
    const file = temporaryFile('cookies.db');
    const other = new DatabaseSync(file);
    other.exec('CREATE TABLE meta (key TEXT, value TEXT); CREATE TABLE cookies (value TEXT)');
    other.close();
    const before = readFileSync(file);
    for (const readOnly of [false, true]) {
      expect(() => new Sqlite(file, { readOnly, table: 't' })).toThrow(
        expect.objectContaining({
          name: 'UserError',
          message: `the database ${file} is of another program: it has no table t`,
          remedy: expect.stringContaining('nothing was written'),
        }),
      );
    }
    expect(readFileSync(file).equals(before)).toBe(true);
    const own = temporaryFile('own.db');
    for (let time = 0; time < 2; time += 1) {
      using database = opened(own, { table: 't' });
      database.migrate(migrations);
    }
  });

  test('that is a pipe or a device is not waited for', () => {
    const pipe = temporaryFile('pipe');
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
    for (const file of [pipe, '/dev/null']) {
      for (const readOnly of [false, true]) {
        expect(() => new Sqlite(file, { readOnly })).toThrow(/it is no plain file/);
      }
    }
  });
});

describe('a transaction', () => {
  test('that throws leaves nothing behind, and the next one works', () => {
    using database = opened(':memory:');
    database.migrate(migrations);
    const fails = () =>
      database.transaction(() => {
        database.run(`INSERT INTO t (x) VALUES ('a')`);
        throw new Error('no');
      });
    expect(fails).toThrow('no');
    expect(database.all('SELECT * FROM t')).toEqual([]);
    expect(database.transaction(() => database.run(`INSERT INTO t (x) VALUES ('b')`))).toBe(1);
    expect(database.all('SELECT x FROM t')).toEqual([{ x: 'b' }]);
  });

  test('inside another one is a part of it', () => {
    using database = opened(':memory:');
    database.migrate(migrations);
    const insert = () => database.transaction(() => database.run(`INSERT INTO t (x) VALUES ('a')`));
    expect(() =>
      database.transaction(() => {
        insert();
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(database.all('SELECT * FROM t')).toEqual([]);
  });

  test('of one writer waits for nobody who reads', () => {
    const file = temporaryFile('a.db');
    using writer = opened(file);
    writer.migrate(migrations);
    using reader = opened(file, { readOnly: true });
    writer.transaction(() => {
      writer.run(`INSERT INTO t (x) VALUES ('a')`);
      expect(reader.all('SELECT * FROM t')).toEqual([]);
    });
    expect(reader.all('SELECT * FROM t')).toHaveLength(1);
  });

  test('refused by another writer is an error, and can be tried again', () => {
    const file = temporaryFile('a.db');
    using one = opened(file);
    one.migrate(migrations);
    using other = opened(file, { busyTimeoutMs: 1 });
    const insert = () => other.transaction(() => other.run(`INSERT INTO t (x) VALUES ('a')`));
    one.transaction(() => expect(insert).toThrow('locked'));
    expect(insert()).toBe(1);
  });
});

describe('the schema', () => {
  test('is brought up step by step, and what is there already is left alone', () => {
    const file = temporaryFile('a.db');
    {
      using old = opened(file);
      old.migrate(migrations.slice(0, 1));
      expect(old.version()).toBe(1);
      old.run(`INSERT INTO t (x) VALUES ('kept')`);
    }
    using database = opened(file);
    for (let count = 0; count < 2; count += 1) database.migrate(migrations);
    expect(database.version()).toBe(2);
    expect(database.all('SELECT * FROM t')).toEqual([{ x: 'kept', y: null }]);
  });

  test('stays at the last whole step when one fails', () => {
    using database = opened(':memory:');
    const broken = [...migrations, `INSERT INTO t (x) VALUES ('half'); CREATE TABLE t (x TEXT)`];
    expect(() => database.migrate(broken)).toThrow('already exists');
    expect(database.version()).toBe(2);
    expect(database.all('SELECT * FROM t')).toEqual([]);
  });

  test('of a newer version is refused, with what to do', () => {
    const file = temporaryFile('a.db');
    using newer = opened(file);
    newer.migrate(migrations);
    using database = opened(file);
    expect(() => database.migrate(migrations.slice(0, 1))).toThrow(
      expect.objectContaining({
        name: 'UserError',
        message: expect.stringContaining('has schema 2, but this version of fleetkeeper knows only 1'),
        remedy: expect.stringContaining('newer'),
      }),
    );
  });
});
