/**
 * The state of folder mode: one SQLite file with one writer (see lock.ts) and any number of readers.
 *
 * A write changes memory at once. Its promise resolves when one commit has made all writes of this turn of the event loop
 * durable (base/unit-of-work.ts). If the commit fails, memory is rolled back as well.
 */
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import {
  Sqlite,
  UnitOfWork,
  UserError,
  sqliteRemedy,
  digestKey,
  provisionalKey,
  messageOf,
  systemEventLoop,
  type EventLoop,
  type Random,
} from '../base/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import { keptLeftMs, MemoryStore } from './memory-store.ts';
import {
  leftPrefix,
  load,
  pinPrefix,
  refuseUnknownKinds,
  rememberKey,
  writeIntent,
} from './sqlite-contents.ts';
import { migrations } from './sqlite-migrations.ts';
import { hasStateFile } from './sign-of-life.ts';
import { stateTable } from './state-table.ts';
import { keyBytes, type OwnerChoice } from './owner-choice.ts';
import { keptCapacityMs, type CapacityEntry } from './capacity.ts';
import type { IdentityPin } from './identity-pin.ts';
import { commitsOfOthers, dropLeft, findLeft, leftCommands } from './left-commands.ts';
import { dropResolution, findResolution } from './resolutions.ts';
import { writePlanFile, type PlanFileRecord } from './plan-files.ts';
import type { ObservedPrice } from './prices.ts';
import type { Intent, ObjectRecord, Resolution } from './records.ts';
import type { OwnerRevision } from './revisions.ts';
import type { StateStore } from './state-store.ts';

export interface OpenState {
  readonly store: StateStore;
  close(): void;
}

/** Opens the state file for its one writer, and creates it if necessary. */
export function openState(
  file: string,
  random: Random,
  owner: OwnerChoice,
  loop: EventLoop = systemEventLoop,
): OpenState {
  mkdirSync(path.dirname(path.resolve(file)), { recursive: true, mode: 0o700 });
  const database = new Sqlite(file, { table: stateTable });
  try {
    return withUserErrors(file, () => {
      // A table that is not read at the start could be damaged, too. The first write there would fail, hours later.
      database.check();
      refuseUnknownKinds(database);
      prepare(database, random, owner);
      const content = load(database, owner);
      rememberKey(database, content.identity.digestKey);
      const work = new UnitOfWork(database, loop, loop.toDisk && database.leaveWaits(loop.toDisk));
      const close = () => {
        try {
          work.close();
        } finally {
          database.close();
        }
      };
      return { store: new SqliteStore(database, work, content), close };
    });
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Migrates the schema in one transaction, so a concurrent reader never sees half of it. Only a new state gets
 * a key and an owner. An older one without them is damaged.
 */
function prepare(database: Sqlite, random: Random, owner: OwnerChoice): void {
  database.transaction(() => {
    const isNew = database.version() === 0;
    database.migrate(migrations);
    const stored = database.get("SELECT value FROM meta WHERE name = 'owner'")?.['value'];
    if (owner.explicit !== undefined && (isNew || owner.explicit === stored)) {
      database.run("INSERT OR IGNORE INTO meta VALUES ('owner-confirmed', 'yes')");
    }
    if (!isNew) return;
    const values = {
      'digest-key': keyBytes(random, owner).toString('hex'),
      owner: owner.explicit ?? owner.default,
      ...(owner.digestKey ? { 'digest-key-shared': 'yes' } : {}),
    };
    for (const [name, value] of Object.entries(values)) {
      database.run('INSERT INTO meta VALUES ($name, $value)', { name, value });
    }
  });
}

/** Runs `work` on the state file. A failure means that the file needs repair, so it becomes a `UserError`. */
function withUserErrors<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `can't read the state file ${file}: ${messageOf(error)}`,
      sqliteRemedy(error) ??
        'it is damaged, or was not written by fleetkeeper: restore it, or move it away and let a new one be made',
      error,
    );
  }
}

/**
 * The current content of the state file, for commands that only read. Writes to the returned store stay in
 * memory. Without a file, the state is empty and has a digest key that fits nothing.
 */
export function readState(file: string, random: Random, owner: OwnerChoice): MemoryStore {
  if (!hasStateFile(file)) return emptyState(random, owner);
  const database = new Sqlite(file, { readOnly: true, table: stateTable });
  try {
    const version = database.version();
    // Its writer has created the file but not filled it yet.
    if (version === 0) return emptyState(random, owner);
    if (version > migrations.length) {
      throw new UserError(
        `the state file ${file} has schema ${version}, this version of fleetkeeper reads ${migrations.length}`,
        'run the version of fleetkeeper that wrote it, or a newer one',
      );
    }
    const content = withUserErrors(file, () => {
      database.check();
      refuseUnknownKinds(database);
      return version < migrations.length ? loadMigrated(database, owner) : load(database, owner);
    });
    const { identity, records, intents, pins, prices, left, capacity, revisions } = content;
    const store = new MemoryStore(identity, records, intents, pins, prices, left, capacity, revisions);
    return store
      .takeCommands(content.commands)
      .keepPlanFiles(content.planFiles)
      .keepCountedAnew(content.countedAnew);
  } finally {
    database.close();
  }
}

/** As the next writer will find it. The file stays as it is, for the version that may still be writing it. */
function loadMigrated(database: Sqlite, owner: OwnerChoice): ReturnType<typeof load> {
  const copy = database.copied();
  try {
    copy.migrate(migrations);
    return load(copy, owner);
  } finally {
    copy.close();
  }
}

function emptyState(random: Random, owner: OwnerChoice): MemoryStore {
  const identity = {
    digestKey: owner.digestKey ? digestKey(owner.digestKey.bytes) : provisionalKey(random),
    ownerName: owner.explicit ?? owner.default,
    ownerConfirmed: owner.explicit !== undefined,
    isKeyShared: owner.digestKey !== undefined,
  };
  return new MemoryStore(identity, [], []);
}

class SqliteStore extends MemoryStore implements StateStore {
  readonly #database: Sqlite;
  readonly #work: UnitOfWork;
  readonly #identity: string;
  #commitsOfOthers: number | undefined;

  constructor(database: Sqlite, work: UnitOfWork, content: ReturnType<typeof load>) {
    const { identity, records, intents, pins, prices, left, capacity, revisions } = content;
    super(identity, records, intents, pins, prices, left, capacity, revisions);
    this.keepPlanFiles(content.planFiles).keepCountedAnew(content.countedAnew);
    this.#database = database;
    this.#work = work;
    this.#identity = identityOf(database.file);
  }

  get diskWaitMs(): number {
    return this.#work.diskWaitMs;
  }

  get diskFailure(): string | undefined {
    const { diskFailure } = this.#work;
    return diskFailure === undefined ? undefined : messageOf(diskFailure);
  }

  get fileProblem(): string | undefined {
    const { file } = this.#database;
    const now = identityOf(file);
    if (now === this.#identity) return undefined;
    const what = now === '' ? 'moved or deleted' : 'replaced by another file';
    return `the state file ${file} was ${what} while in use; nothing is sent any more but heartbeats`;
  }

  override saveAll(records: readonly ObjectRecord[]): Promise<void> {
    return this.#work.join(() => {
      for (const record of records) {
        const { key, lastCommand } = record;
        if (lastCommand && lastCommand !== this.record(key)?.lastCommand)
          dropLeft(this.#database, key, 'command', lastCommand.command);
        this.#writeRecord(record);
        this.#restoreOnRollback(key);
        this.keep(record);
      }
    });
  }

  override async saveIntent(intent: Intent, record: ObjectRecord): Promise<void> {
    // An intent in a file that nobody will find again is not durable.
    const { fileProblem } = this;
    if (fileProblem !== undefined) {
      throw new UserError(
        fileProblem,
        'put that very file back, or restart without it: the fleet is then found again by its marks',
      );
    }
    await this.#work.join(() => {
      this.#writeRecord(record);
      this.#writeIntent(intent);
      // The decision on an earlier outcome has been used.
      if (intent.outcome !== 'pending' && intent.outcome !== 'unknown') {
        dropResolution(this.#database, intent.object);
      }
      this.#restoreOnRollback(record.key);
      this.keep(record, intent);
    });
  }

  override remove(key: ObjectKey, leftUntil?: number): Promise<void> {
    return this.#work.join(() => {
      this.#writeLeft(this.record(key)?.uid, leftUntil);
      this.#database.run('DELETE FROM objects WHERE key = $key', { key });
      this.#database.run('DELETE FROM intents WHERE object = $key', { key });
      dropResolution(this.#database, key);
      this.#writeRevisions(key, []);
      dropLeft(this.#database, key, 'command');
      this.#restoreOnRollback(key);
      if (this.isKeyShared) this.#beginEpoch(this.epochWithout(key));
      this.drop(key);
    });
  }

  #writeLeft(uid: string | undefined, until: number | undefined): void {
    if (uid === undefined) return;
    const name = `${leftPrefix}${uid}`;
    if (until === undefined) this.#database.run('DELETE FROM meta WHERE name = $name', { name });
    else {
      this.#database.run('INSERT OR REPLACE INTO meta VALUES ($name, $value)', {
        name,
        value: String(until),
      });
      const forgotten = { pattern: `${leftPrefix}*`, before: until - keptLeftMs };
      this.#database.run(
        'DELETE FROM meta WHERE name GLOB $pattern AND CAST(value AS INTEGER) < $before',
        forgotten,
      );
    }
    const before = this.leftUntil(uid);
    this.#work.onRollback(() => this.keepLeft(uid, before));
    this.keepLeft(uid, until);
  }

  override resolution(key: ObjectKey): Resolution | undefined {
    return findResolution(this.#database, key);
  }

  override command(key: ObjectKey): string | undefined {
    return findLeft(this.#database, key, 'command');
  }

  override newCommands(): readonly ObjectKey[] {
    const commits = commitsOfOthers(this.#database);
    if (commits === this.#commitsOfOthers) return [];
    this.#commitsOfOthers = commits;
    return [...leftCommands(this.#database).keys()];
  }

  override saveIdentityPin(account: string, pin: IdentityPin | undefined): Promise<void> {
    const name = `${pinPrefix}${account}`;
    return this.#work.join(() => {
      if (pin) {
        const value = JSON.stringify(pin);
        this.#database.run('INSERT OR REPLACE INTO meta VALUES ($name, $value)', { name, value });
      } else {
        this.#database.run('DELETE FROM meta WHERE name = $name', { name });
      }
      const before = this.identityPin(account);
      this.#work.onRollback(() => this.keepPin(account, before));
      this.keepPin(account, pin);
    });
  }

  override savePrices(account: string, prices: readonly ObservedPrice[]): Promise<void> {
    return this.#work.join(() => {
      this.#database.run('INSERT OR REPLACE INTO prices VALUES ($account, $prices)', {
        account,
        prices: JSON.stringify(prices),
      });
      const before = this.prices(account);
      this.#work.onRollback(() => this.keepPrices(account, before));
      this.keepPrices(account, prices);
    });
  }

  override saveCapacity(account: string, entries: readonly CapacityEntry[], at: number): Promise<void> {
    return this.#work.join(() => {
      this.#database.run('INSERT OR REPLACE INTO capacity VALUES ($account, $at, $entries)', {
        account,
        at,
        entries: JSON.stringify(entries),
      });
      this.#database.run('DELETE FROM capacity WHERE at < $before', { before: at - keptCapacityMs });
      const before = this.capacity(account);
      this.#work.onRollback(() => this.keepCapacity(account, before));
      this.keepCapacity(account, entries);
    });
  }

  override saveRevisions(key: ObjectKey, revisions: readonly OwnerRevision[]): Promise<void> {
    return this.#work.join(() => this.#writeRevisions(key, revisions));
  }

  override savePlanFile(record: PlanFileRecord): Promise<void> {
    return this.#work.join(() => {
      writePlanFile(this.#database, record);
      const before = this.planFiles();
      this.#work.onRollback(() => this.keepPlanFiles(before));
      void super.savePlanFile(record);
    });
  }

  /** What did not change is not written. */
  #writeRevisions(key: ObjectKey, revisions: readonly OwnerRevision[]): void {
    const before = this.revisions(key);
    for (const { number } of before) {
      if (revisions.some((kept) => kept.number === number)) continue;
      this.#database.run('DELETE FROM revisions WHERE object = $key AND number = $number', { key, number });
    }
    for (const revision of revisions) {
      if (before.includes(revision)) continue;
      this.#database.run('INSERT OR REPLACE INTO revisions VALUES ($key, $number, $revision)', {
        key,
        number: revision.number,
        revision: JSON.stringify(revision),
      });
    }
    this.#work.onRollback(() => this.keepRevisions(key, before));
    this.keepRevisions(key, revisions);
  }

  #beginEpoch(value: string): void {
    this.#database.run("INSERT OR REPLACE INTO meta VALUES ('epoch', $value)", { value });
    const before = this.epoch;
    this.#work.onRollback(() => this.keepEpoch(before));
    this.keepEpoch(value);
  }

  #restoreOnRollback(key: ObjectKey): void {
    const [record, intent] = [this.record(key), this.lastIntent(key)];
    this.#work.onRollback(() => {
      this.drop(key);
      if (record) this.keep(record, intent);
    });
  }

  #writeRecord(record: ObjectRecord): void {
    this.#database.run('INSERT OR REPLACE INTO objects VALUES ($key, $record)', {
      key: record.key,
      record: JSON.stringify(record),
    });
  }

  #writeIntent(intent: Intent): void {
    writeIntent(this.#database, intent, this.lastIntent(intent.object));
  }
}

/** Identifies the file, whatever its name. Empty if there is none. */
function identityOf(file: string): string {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    return found ? `${found.dev}:${found.ino}` : '';
  } catch {
    // Its folder may not be entered any more, or its disk is gone.
    return '';
  }
}
