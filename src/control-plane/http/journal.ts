/**
 * The requests that came in, for tests of clients: who sent what, under which key, and how it was answered.
 * Bodies are there only as keyed digests. The oldest entries make room for new ones: there is a bound for their number
 * and one for their bytes, and what a client sends is cut.
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

/** Of a path and of a key, in characters. */
const longestText = 512;
/** What an entry takes beside its texts, about. */
const entryBytes = 400;
/** Entries that have left are given up together: an array is not moved for each. */
const mostGaps = 1024;

export class Journal {
  readonly #mostEntries: number;
  readonly #mostBytes: number;
  #entries: JournalEntry[] = [];
  /** How many at the start of `#entries` have left. */
  #left = 0;
  #bytes = 0;

  constructor(mostEntries: number, mostBytes: number) {
    this.#mostEntries = mostEntries;
    this.#mostBytes = mostBytes;
  }

  /** Returns the entry as it is kept: with its texts cut. */
  add(entry: JournalEntry): JournalEntry {
    const kept = {
      ...entry,
      path: shortCopy(entry.path),
      idempotencyKey: entry.idempotencyKey === null ? null : shortCopy(entry.idempotencyKey),
    };
    this.#entries.push(kept);
    this.#bytes += bytesOf(kept);
    while (this.#bytes > this.#mostBytes || this.#entries.length - this.#left > this.#mostEntries) {
      this.#removeOldest();
    }
    return kept;
  }

  /** Oldest first. */
  list(): JournalEntry[] {
    return this.#entries.slice(this.#left);
  }

  clear(): void {
    this.#entries = [];
    this.#left = 0;
    this.#bytes = 0;
  }

  #removeOldest(): void {
    const oldest = this.#entries[this.#left];
    if (!oldest) return;
    this.#bytes -= bytesOf(oldest);
    this.#left += 1;
    if (this.#left < mostGaps) return;
    this.#entries = this.#entries.slice(this.#left);
    this.#left = 0;
  }
}

/** A part of a string keeps all of it in memory; a copy does not. */
function shortCopy(text: string): string {
  return Buffer.from(text.slice(0, longestText)).toString();
}

function bytesOf({ path, idempotencyKey }: JournalEntry): number {
  return entryBytes + path.length + (idempotencyKey?.length ?? 0);
}
