/**
 * Rows of all objects, and counts of them. Whoever changes an object only notes its key here (`listen`). The rows are made anew when somebody
 * asks, or at most twice a second while a stream is open, and in slices: so no pass waits for a reader (GI3).
 *
 *     (nothing) ── first question ──> every key is noted ─> rows
 *     rows ── a record moved, an account went stale or was read again ──> keys are noted ── next question ──> rows
 *
 * All of it follows from the records. Nothing is stored, and nothing is decided by it.
 */
import { sleep, type Clock } from '../../base/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import { Counts } from './counts.ts';
import { Hierarchy } from './hierarchy.ts';
import { indexedRow, type IndexedRow } from './row.ts';
import { SortedRows, type Sort } from './sorted-rows.ts';
import { isAccountStale, type AccountNow, type FleetSource } from './source.ts';

/** So many rows are made before other work has its turn. */
const slice = 100;
/** Keys of objects that are gone are kept until somebody asks, but not more than these. */
const mostGone = 10_000;

export type RowListener = (before: IndexedRow | undefined, after: IndexedRow | undefined) => void;

export class FleetIndex {
  readonly #source: FleetSource;
  readonly #clock: Clock;
  readonly #rows = new Map<ObjectKey, IndexedRow>();
  readonly #noted = new Set<ObjectKey>();
  readonly #orders = new Map<Sort, SortedRows>();
  readonly #trouble = new Map<ObjectKey, IndexedRow>();
  readonly #listeners = new Set<RowListener>();
  readonly counts = new Counts();
  readonly hierarchy: Hierarchy = new Hierarchy(this.#rows);
  #stale: ReadonlySet<string> = new Set();
  #accounts: readonly AccountNow[] = [];
  #refreshing: Promise<void> | undefined;
  #isBuilt = false;
  #version = 0;

  constructor(source: FleetSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
    source.listen((key) => {
      if (!this.#isBuilt) return;
      this.#noted.add(key);
      if (this.#noted.size > this.#rows.size + mostGone) this.#forget();
    });
  }

  /** Grows with each change of a row. */
  get version(): number {
    return this.#version;
  }

  get rows(): ReadonlyMap<ObjectKey, IndexedRow> {
    return this.#rows;
  }

  /** Objects that wait, are held or can't be used, for reasons that are more than information. */
  get trouble(): ReadonlyMap<ObjectKey, IndexedRow> {
    return this.#trouble;
  }

  get accounts(): readonly AccountNow[] {
    return this.#accounts;
  }

  isStale(account: string): boolean {
    return this.#stale.has(account);
  }

  order(sort: Sort): SortedRows {
    const known = this.#orders.get(sort);
    if (known) return known;
    const made = new SortedRows(sort, this.#rows.values());
    this.#orders.set(sort, made);
    return made;
  }

  /** `listener` is called for each row that changes, until the returned function is called. */
  subscribe(listener: RowListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes in what has changed. Whoever asks meanwhile waits for the same. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#takeIn().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #takeIn(): Promise<void> {
    if (!this.#isBuilt) {
      this.#isBuilt = true;
      for (const key of this.#rows.keys()) this.#noted.add(key);
      for (const key of this.#source.store.everyKey()) this.#noted.add(key);
    }
    this.#noteAccounts();
    let left = slice;
    for (const key of this.#noted) {
      this.#noted.delete(key);
      this.#make(key);
      left -= 1;
      if (left > 0) continue;
      left = slice;
      // oxlint-disable-next-line no-await-in-loop -- others have their turn between two slices
      await sleep(this.#clock, 0);
    }
  }

  /** Nobody has asked for long, and many objects came and went: everything is examined with the next question. */
  #forget(): void {
    this.#isBuilt = false;
    this.#noted.clear();
  }

  /** Objects of an account that went stale, or was read again, are shown in another way. */
  #noteAccounts(): void {
    this.#accounts = this.#source.accounts();
    const stale = new Set(this.#accounts.filter(isAccountStale).map(({ name }) => name));
    for (const name of new Set([...stale, ...this.#stale])) {
      if (stale.has(name) === this.#stale.has(name)) continue;
      for (const { key } of this.#source.store.recordsOf(name)) this.#noted.add(key);
    }
    this.#stale = stale;
  }

  #make(key: ObjectKey): void {
    const { store } = this.#source;
    const record = store.record(key);
    const before = this.#rows.get(key);
    const after =
      record &&
      indexedRow({
        record,
        open: store.openIntent(key),
        isStale: !this.#source.isCurrent(key) || this.#stale.has(record.account ?? ''),
        createdAt: this.#source.createdAt(key),
      });
    if (after) this.#rows.set(key, after);
    else this.#rows.delete(key);
    if (after?.isTrouble) this.#trouble.set(key, after);
    else this.#trouble.delete(key);
    this.counts.change(before, after);
    this.hierarchy.change(before, after);
    for (const order of this.#orders.values()) order.change(before, after);
    for (const listener of this.#listeners) listener(before, after);
    this.#version += 1;
  }
}
