/**
 * The database: schema, opening, and the collections that live in memory. One process owns the file: SQLite's
 * exclusive lock is held until `close`, because a second server would not see what the first has in memory.
 */
import { systemEventLoop, type EventLoop } from '../../base/process.ts';
import { Sqlite } from '../../base/sqlite.ts';
import { UserError, messageOf } from '../../base/user-error.ts';
import type { Random } from '../../base/random.ts';
import { Collection } from './collection.ts';
import type {
  AccountRecord,
  RegistryRecord,
  ServiceRecord,
  TemplateRecord,
  VolumeRecord,
} from './records.ts';
import { UnitOfWork } from '../../base/unit-of-work.ts';
import { StoredBytes } from './stored-bytes.ts';

/** Numbered from 1. A step that was released is never edited: a change is a new step. */
export const migrations = [
  `
  CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
  CREATE TABLE accounts (id TEXT UNIQUE NOT NULL, account_id TEXT NOT NULL, document TEXT NOT NULL) STRICT;
  CREATE TABLE api_keys (hash TEXT PRIMARY KEY, account_id TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE services (id TEXT UNIQUE NOT NULL, account_id TEXT NOT NULL, document TEXT NOT NULL) STRICT;
  CREATE TABLE environments (service_id TEXT PRIMARY KEY, entries TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE volumes (id TEXT UNIQUE NOT NULL, account_id TEXT NOT NULL, document TEXT NOT NULL) STRICT;
  CREATE TABLE events (
    service_id TEXT NOT NULL, n INTEGER NOT NULL, message TEXT NOT NULL, created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (service_id, n)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE activities (
    service_id TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, registered_at_ms INTEGER NOT NULL,
    last_beat_at_ms INTEGER NOT NULL, released_at_ms INTEGER,
    PRIMARY KEY (service_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE ledger (
    account_id TEXT NOT NULL, n INTEGER NOT NULL, amount_micros INTEGER NOT NULL, description TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, n)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE answers (
    account_id TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, status INTEGER NOT NULL,
    body TEXT NOT NULL, created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX answers_by_age ON answers (created_at_ms);
  `,
  `
  CREATE TABLE templates (id TEXT UNIQUE NOT NULL, account_id TEXT NOT NULL, document TEXT NOT NULL) STRICT;
  CREATE TABLE registries (id TEXT UNIQUE NOT NULL, account_id TEXT NOT NULL, document TEXT NOT NULL) STRICT;
  CREATE TABLE registry_secrets (
    registry_id TEXT NOT NULL, revision INTEGER NOT NULL, username TEXT NOT NULL, password TEXT NOT NULL,
    PRIMARY KEY (registry_id, revision)
  ) STRICT, WITHOUT ROWID;
  UPDATE services SET document = json_set(document, '$.registryAccess', json('null'));
  `,
  // Answers are appended, and only their keys are sorted; each has its own time of expiry.
  `
  CREATE TABLE kept_answers (
    account_id TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, status INTEGER NOT NULL,
    body TEXT NOT NULL, expires_at_ms INTEGER NOT NULL,
    UNIQUE (account_id, key)
  ) STRICT;
  INSERT INTO kept_answers (account_id, key, fingerprint, status, body, expires_at_ms)
    SELECT account_id, key, fingerprint, status, body, created_at_ms + 86400000 FROM answers ORDER BY created_at_ms;
  DROP TABLE answers;
  ALTER TABLE kept_answers RENAME TO answers;
  CREATE INDEX answers_by_expiry ON answers (expires_at_ms);
  `,
  // The oldest of an account are found without those of others.
  'CREATE INDEX answers_by_account ON answers (account_id, expires_at_ms)',
  `
  CREATE TABLE credits (
    account_id TEXT NOT NULL, id TEXT NOT NULL, amount_micros INTEGER NOT NULL,
    PRIMARY KEY (account_id, id)
  ) STRICT, WITHOUT ROWID;
  `,
];

const sqliteBusy = 5;
const sqliteCorrupt = 11;

export class Store {
  readonly database: Sqlite;
  readonly unit: UnitOfWork;
  readonly bytes: StoredBytes;
  /**
   * Accounts that have far more than they may, from before there were quotas: one of them could be more than the memory
   * holds, so that nobody would be served. Their records stay as they are, in the database only.
   */
  readonly suspended: ReadonlySet<string>;
  readonly accounts: Collection<AccountRecord>;
  readonly services: Collection<ServiceRecord>;
  readonly volumes: Collection<VolumeRecord>;
  /** Those of the accounts; the built-in ones are in the configuration. */
  readonly templates: Collection<TemplateRecord>;
  readonly registries: Collection<RegistryRecord>;
  readonly #environmentBytes = new Map<string, number>();

  /** Throws a `UserError` when the file can't be opened, is damaged, or another process has it open. */
  constructor(
    file: string,
    loop: EventLoop = systemEventLoop,
    storedBytesOf: (accountName: string) => number = () => Infinity,
  ) {
    this.database = openExclusively(file);
    this.unit = new UnitOfWork(this.database, loop);
    this.bytes = new StoredBytes();
    try {
      this.database.migrate(migrations);
      this.accounts = new Collection('accounts', this);
      this.suspended = new Set(this.#tooLarge(storedBytesOf));
      this.services = new Collection('services', this, this.suspended);
      this.volumes = new Collection('volumes', this, this.suspended);
      this.templates = new Collection('templates', this, this.suspended);
      this.registries = new Collection('registries', this, this.suspended);
      this.#loadEnvironmentBytes();
    } catch (error) {
      this.database.close();
      throw isDamage(error) ? damaged(file, error) : error;
    }
  }

  /** A secret of this database, made once: digests stay comparable over a restart. */
  secret(name: string, random: Random): Buffer {
    this.database.run('INSERT INTO secrets (name, value) VALUES ($name, $value) ON CONFLICT DO NOTHING', {
      name,
      value: random.bytes(32),
    });
    const row = this.database.get('SELECT value FROM secrets WHERE name = $name', { name });
    return Buffer.from(row?.['value'] as Uint8Array);
  }

  setEnvironment(
    { id: serviceId, accountId }: Pick<ServiceRecord, 'id' | 'accountId'>,
    environment: Readonly<Record<string, string>>,
  ): void {
    const entries = JSON.stringify(environment);
    this.#countEnvironment(serviceId, accountId, Buffer.byteLength(entries));
    this.database.run(
      `INSERT INTO environments (service_id, entries) VALUES ($serviceId, $entries)
       ON CONFLICT (service_id) DO UPDATE SET entries = excluded.entries`,
      { serviceId, entries },
    );
  }

  /** The values, for the runtime and for telling whether a patch changes them. They are never answered. */
  environmentOf(serviceId: string): Readonly<Record<string, string>> {
    const row = this.database.get('SELECT entries FROM environments WHERE service_id = $serviceId', {
      serviceId,
    });
    return row ? (JSON.parse(String(row['entries'])) as Record<string, string>) : {};
  }

  removeService(service: ServiceRecord): void {
    const parameters = { serviceId: service.id };
    for (const table of ['environments', 'events', 'activities']) {
      this.database.run(`DELETE FROM ${table} WHERE service_id = $serviceId`, parameters);
    }
    this.#countEnvironment(service.id, service.accountId, 0);
    this.services.remove(service);
  }

  #countEnvironment(serviceId: string, accountId: string, bytes: number): void {
    const before = this.#environmentBytes.get(serviceId) ?? 0;
    this.#setEnvironmentBytes(serviceId, accountId, bytes);
    this.unit.onRollback(() => this.#setEnvironmentBytes(serviceId, accountId, before));
  }

  #setEnvironmentBytes(serviceId: string, accountId: string, bytes: number): void {
    this.bytes.add(accountId, bytes - (this.#environmentBytes.get(serviceId) ?? 0));
    if (bytes === 0) this.#environmentBytes.delete(serviceId);
    else this.#environmentBytes.set(serviceId, bytes);
  }

  #loadEnvironmentBytes(): void {
    const rows = this.database.each('SELECT service_id, octet_length(entries) AS bytes FROM environments');
    for (const row of rows) {
      const service = this.services.get(String(row['service_id']));
      if (!service) continue;
      this.#setEnvironmentBytes(service.id, service.accountId, Number(row['bytes']));
    }
  }

  #tooLarge(storedBytesOf: (accountName: string) => number): string[] {
    const bytes = new Map<string, number>();
    for (const table of ['services', 'volumes', 'templates', 'registries']) {
      const sums = this.database.each(
        `SELECT account_id, sum(octet_length(document)) AS bytes FROM ${table} GROUP BY account_id`,
      );
      for (const row of sums) {
        const id = String(row['account_id']);
        bytes.set(id, (bytes.get(id) ?? 0) + Number(row['bytes']));
      }
    }
    return Array.from(bytes)
      .filter(([id, sum]) => sum > 2 * storedBytesOf(this.accounts.get(id)?.name ?? ''))
      .map(([id]) => id);
  }

  /** The latest moment of platform time that any record mentions. */
  latestPlatformMs(): number | undefined {
    let latestMs: number | undefined;
    const see = (atMs: number) => {
      latestMs = Math.max(latestMs ?? atMs, atMs);
    };
    for (const account of this.accounts.all()) see(account.accruedAtMs);
    for (const service of this.services.all()) {
      see(service.idleSinceMs);
      if (service.operation) see(service.operation.startedAtMs);
    }
    for (const volume of this.volumes.all()) if (volume.operation) see(volume.operation.startedAtMs);
    return latestMs;
  }

  /** Copies SQLite's log into the database, and cuts it off. */
  emptyLog(): void {
    this.unit.flush();
    this.database.get('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  close(): void {
    this.database.close();
  }
}

function openExclusively(file: string): Sqlite {
  let database: Sqlite | undefined;
  try {
    database = new Sqlite(file, { busyTimeoutMs: 200, table: 'services' });
    database.get('PRAGMA locking_mode = EXCLUSIVE');
    // What is erased (a password, an environment value) is overwritten, and not only forgotten.
    database.get('PRAGMA secure_delete = ON');
    // A page that changes often is copied from the log to the database less often: 16 MiB of log.
    database.get('PRAGMA wal_autocheckpoint = 4000');
    // The lock is taken by the first write, and then kept.
    database.transaction(() => database?.run(`PRAGMA user_version = ${database.version()}`));
    return database;
  } catch (error) {
    database?.close();
    if (isBusy(error)) {
      throw new UserError(
        `the database ${file} is in use by another process, most likely another control plane`,
        'stop that one, or give this one a database of its own',
        error,
      );
    }
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  if ('errcode' in error) return error.errcode === sqliteBusy;
  return 'cause' in error && isBusy(error.cause);
}

function isDamage(error: unknown): boolean {
  if (error instanceof SyntaxError) return true; // of a record, which is JSON
  return error instanceof Error && 'errcode' in error && error.errcode === sqliteCorrupt;
}

function damaged(file: string, error: unknown): UserError {
  return new UserError(
    `can't read the database ${file}: ${messageOf(error)}`,
    'it is damaged: restore it, or move it away and let a new one be made',
    error,
  );
}
