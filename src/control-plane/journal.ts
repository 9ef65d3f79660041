/**
 * The requests that came in, for tests of clients: who sent what, under which key, and how it was answered.
 * Bodies are there only as keyed digests. The oldest entries make room for new ones.
 */
export interface JournalEntry {
  /** RFC 3339 with milliseconds. */
  readonly at: string;
  /** Null when nobody was authenticated (yet). */
  account: string | null;
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | null;
  /** Null until the body has been read, and when there is none. */
  bodyDigest: string | null;
  /** Null while in progress, and when the connection was cut instead of answering. */
  status: number | null;
  fault?: string;
}

export class Journal {
  readonly #capacity: number;
  #entries: JournalEntry[] = [];
  /** Where the next entry goes once the ring is full: the oldest is there. */
  #next = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(entry: JournalEntry): void {
    if (this.#entries.length < this.#capacity) {
      this.#entries.push(entry);
      return;
    }
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % this.#capacity;
  }

  /** Oldest first. */
  list(): JournalEntry[] {
    return [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
  }

  clear(): void {
    this.#entries = [];
    this.#next = 0;
  }
}
