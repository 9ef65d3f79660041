/** How many bytes of each account are stored as records: as JSON, which is what they take on the disk. */
export class StoredBytes {
  readonly #bytes = new Map<string, number>();

  of(accountId: string): number {
    return this.#bytes.get(accountId) ?? 0;
  }

  /** `difference`: below 0 when fewer are stored. Whoever changes records in a transaction takes it back with it. */
  add(accountId: string, difference: number): void {
    if (difference !== 0) this.#bytes.set(accountId, this.of(accountId) + difference);
  }
}
