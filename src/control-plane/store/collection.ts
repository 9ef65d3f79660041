/**
 * The records of one kind: all of them in memory, each change written through to its table in the running
 * transaction, and taken back in memory when that transaction fails. The records of accounts that are suspended
 * (store.ts) stay in the database only.
 */
import type { Sqlite } from '../../base/sqlite.ts';
import type { UnitOfWork } from '../../base/unit-of-work.ts';
import type { StoredBytes } from './stored-bytes.ts';

/** Called inside the transaction for each change; not while loading, and not when a change is taken back. */
type Observer<Item> = (before: Item | undefined, after: Item | undefined) => void;

type Table = 'accounts' | 'services' | 'volumes' | 'templates' | 'registries';

interface CollectionStore {
  readonly database: Sqlite;
  readonly unit: UnitOfWork;
  readonly bytes: StoredBytes;
}

export class Collection<Item extends { id: string; accountId: string }> {
  readonly #table: Table;
  readonly #database: Sqlite;
  readonly #unit: UnitOfWork;
  readonly #records = new Map<string, Item>();
  readonly #byAccount = new Map<string, Map<string, Item>>();
  readonly #versions = new Map<string, number>();
  readonly #bytes: StoredBytes;
  readonly #bytesOf = new Map<string, number>();
  readonly #suspended: string;
  readonly #observers: Observer<Item>[] = [];
  readonly #insert: string;
  readonly #delete: string;

  /** Records of `suspended` accounts are not loaded. */
  constructor(table: Table, store: CollectionStore, suspended: Iterable<string> = []) {
    const { database, unit, bytes } = store;
    this.#table = table;
    this.#database = database;
    this.#bytes = bytes;
    this.#suspended = JSON.stringify([...suspended]);
    this.#unit = unit;
    this.#insert = `INSERT INTO ${table} (id, account_id, document) VALUES ($id, $accountId, $document)
      ON CONFLICT (id) DO UPDATE SET document = excluded.document`;
    this.#delete = `DELETE FROM ${table} WHERE id = $id`;
    const rows = database.each(
      `SELECT document, octet_length(document) AS bytes FROM ${table}
       WHERE account_id NOT IN (SELECT value FROM json_each($suspended)) ORDER BY rowid`,
      { suspended: this.#suspended },
    );
    for (const row of rows) {
      const record = JSON.parse(String(row['document'])) as Item;
      this.#keep(record.id, record.accountId, record);
      this.#count(record.id, record.accountId, Number(row['bytes']));
    }
  }

  /** Also those that are not loaded, which are read one after the other. */
  *everywhere(): IterableIterator<Item> {
    yield* this.all();
    const rows = this.#database.each(
      `SELECT document FROM ${this.#table} WHERE account_id IN (SELECT value FROM json_each($suspended))`,
      { suspended: this.#suspended },
    );
    for (const row of rows) yield JSON.parse(String(row['document'])) as Item;
  }

  get(id: string): Item | undefined {
    return this.#records.get(id);
  }

  all(): IterableIterator<Item> {
    return this.#records.values();
  }

  of(accountId: string): Iterable<Item> {
    return this.#byAccount.get(accountId)?.values() ?? [];
  }

  count(accountId: string): number {
    return this.#byAccount.get(accountId)?.size ?? 0;
  }

  /** How many records the account of this one has. */
  siblings(id: string): number {
    const record = this.#records.get(id);
    return record ? this.count(record.accountId) : 0;
  }

  /** Another number after every change of this account's records. */
  version(accountId: string): number {
    return this.#versions.get(accountId) ?? 0;
  }

  observe(observer: Observer<Item>): void {
    this.#observers.push(observer);
  }

  put(record: Item): Item {
    const { id, accountId } = record;
    const document = JSON.stringify(record);
    this.#database.run(this.#insert, { id, accountId, document });
    this.#change(id, accountId, record, Buffer.byteLength(document));
    return record;
  }

  remove(record: Item): void {
    this.#database.run(this.#delete, { id: record.id });
    this.#change(record.id, record.accountId, undefined, 0);
  }

  #change(id: string, accountId: string, after: Item | undefined, bytes: number): void {
    const before = this.#records.get(id);
    const bytesBefore = this.#bytesOf.get(id) ?? 0;
    this.#keep(id, accountId, after);
    this.#count(id, accountId, bytes);
    this.#unit.onRollback(() => {
      this.#keep(id, accountId, before);
      this.#count(id, accountId, bytesBefore);
    });
    for (const observer of this.#observers) observer(before, after);
  }

  #count(id: string, accountId: string, bytes: number): void {
    this.#bytes.add(accountId, bytes - (this.#bytesOf.get(id) ?? 0));
    if (bytes === 0) this.#bytesOf.delete(id);
    else this.#bytesOf.set(id, bytes);
  }

  #keep(id: string, accountId: string, record: Item | undefined): void {
    let siblings = this.#byAccount.get(accountId);
    if (!siblings) this.#byAccount.set(accountId, (siblings = new Map()));
    if (record) {
      this.#records.set(id, record);
      siblings.set(id, record);
    } else {
      this.#records.delete(id);
      siblings.delete(id);
    }
    this.#versions.set(accountId, this.version(accountId) + 1);
  }
}
