import type { UnitOfWork } from '../base/unit-of-work.ts';

/** How many bytes of each account are stored as records: as JSON, which is what they take on the disk. */
export class StoredBytes {
  readonly #unit: UnitOfWork;
  readonly #bytes = new Map<string, number>();

  constructor(unit: UnitOfWork) {
    this.#unit = unit;
  }

  of(accountId: string): number {
    return this.#bytes.get(accountId) ?? 0;
  }

  /** Outside of transactions: while the records are loaded. */
  load(accountId: string, bytes: number): void {
    this.#bytes.set(accountId, this.of(accountId) + bytes);
  }

  /** Within one: taken back with it. */
  change(accountId: string, difference: number): void {
    if (difference === 0) return;
    this.load(accountId, difference);
    this.#unit.onRollback(() => this.load(accountId, -difference));
  }
}
