/**
 * The records of one kind: all of them in memory, each change written through to its table in the running
 * transaction, and taken back in memory when that transaction fails.
 */
import type { Sqlite } from '../base/sqlite.ts';
import type { UnitOfWork } from '../base/unit-of-work.ts';

/** Called inside the transaction for each change; not while loading, and not when a change is taken back. */
type Observer<Item> = (before: Item | undefined, after: Item | undefined) => void;

type Table = 'accounts' | 'services' | 'volumes' | 'templates' | 'registries';

export class Collection<Item extends { id: string; accountId: string }> {
  readonly #database: Sqlite;
  readonly #unit: UnitOfWork;
  readonly #records = new Map<string, Item>();
  readonly #byAccount = new Map<string, Map<string, Item>>();
  readonly #versions = new Map<string, number>();
  readonly #observers: Observer<Item>[] = [];
  readonly #insert: string;
  readonly #delete: string;

  constructor(table: Table, database: Sqlite, unit: UnitOfWork) {
    this.#database = database;
    this.#unit = unit;
    this.#insert = `INSERT INTO ${table} (id, account_id, document) VALUES ($id, $accountId, $document)
      ON CONFLICT (id) DO UPDATE SET document = excluded.document`;
    this.#delete = `DELETE FROM ${table} WHERE id = $id`;
    for (const row of database.all(`SELECT document FROM ${table} ORDER BY rowid`)) {
      const record = JSON.parse(String(row['document'])) as Item;
      this.#keep(record.id, record.accountId, record);
    }
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

  /** Another number after every change of this account's records. */
  version(accountId: string): number {
    return this.#versions.get(accountId) ?? 0;
  }

  observe(observer: Observer<Item>): void {
    this.#observers.push(observer);
  }

  put(record: Item): Item {
    const { id, accountId } = record;
    this.#database.run(this.#insert, { id, accountId, document: JSON.stringify(record) });
    this.#change(id, accountId, record);
    return record;
  }

  remove(record: Item): void {
    this.#database.run(this.#delete, { id: record.id });
    this.#change(record.id, record.accountId, undefined);
  }

  #change(id: string, accountId: string, after: Item | undefined): void {
    const before = this.#records.get(id);
    this.#keep(id, accountId, after);
    this.#unit.onRollback(() => this.#keep(id, accountId, before));
    for (const observer of this.#observers) observer(before, after);
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
