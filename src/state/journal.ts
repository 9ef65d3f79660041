/** The journal, for people who investigate: at most the last 20 mutations of each object. */
import { Sqlite } from '../base/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import { readIntent } from './sqlite-contents.ts';
import type { Intent } from './records.ts';
import { stateTable } from './state-table.ts';

/** Newest first. Of a state file that `readState` has read. */
export function readJournal(file: string, object: ObjectKey): Intent[] {
  const database = new Sqlite(file, { readOnly: true, table: stateTable });
  try {
    // A file that its writer has not filled yet.
    if (database.version() === 0) return [];
    const rows = database.all('SELECT * FROM intents WHERE object = $object ORDER BY number DESC', {
      object,
    });
    return rows.map(readIntent);
  } finally {
    database.close();
  }
}

/** The intents of all objects since then (Unix milliseconds), each object's newest first. */
export function readJournalSince(file: string, sinceMs: number): ReadonlyMap<ObjectKey, Intent[]> {
  const database = new Sqlite(file, { readOnly: true, table: stateTable });
  try {
    if (database.version() === 0) return new Map();
    const rows = database.all('SELECT * FROM intents WHERE created_at >= $since ORDER BY number DESC', {
      since: sinceMs,
    });
    return Map.groupBy(rows.map(readIntent), ({ object }) => object);
  } finally {
    database.close();
  }
}

export interface NumberedIntent {
  /** Grows with each new mutation. */
  readonly number: number;
  readonly intent: Intent;
}

/** For who reads again and again, beside the process that writes. It opens the file with its first question. */
export class JournalReader {
  readonly #file: string;
  #database: Sqlite | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** Newest first. */
  ofObject(object: ObjectKey): Intent[] {
    return this.#open()
      .all('SELECT * FROM intents WHERE object = $object ORDER BY number DESC', { object })
      .map(readIntent);
  }

  /** Those with a lower number, newest first; at most `limit`. */
  page(before: number | undefined, limit: number): NumberedIntent[] {
    return this.#open()
      .all('SELECT * FROM intents WHERE number < $before ORDER BY number DESC LIMIT $limit', {
        before: before ?? Number.MAX_SAFE_INTEGER,
        limit,
      })
      .map((row) => ({ number: Number(row['number']), intent: readIntent(row) }));
  }

  close(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  #open(): Sqlite {
    this.#database ??= new Sqlite(this.#file, { readOnly: true, table: stateTable });
    return this.#database;
  }
}
