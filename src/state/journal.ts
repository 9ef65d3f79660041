/** The journal, for people who investigate: at most the last 20 mutations of each object. */
import { Sqlite, type Row } from '../base/index.ts';
import { managedKinds, parseObjectKey, type ObjectKey } from '../resources/index.ts';
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

function numbered(row: Row): NumberedIntent {
  return { number: Number(row['number']), intent: readIntent(row) };
}

/** Most readers find enough among so many. */
const rowsReadFirst = 1000;

/** By the index on objects. The order of the join is fixed, since SQLite can not know how few the ranges are. */
const pageOfRanges = `
  SELECT * FROM intents WHERE number IN (
    SELECT intents.number FROM json_each($ranges) AS range CROSS JOIN intents
      ON intents.object >= range.value ->> 0 AND intents.object < range.value ->> 1
    WHERE intents.number < $before ORDER BY intents.number DESC LIMIT $limit)
  ORDER BY number DESC`;

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
      .map(numbered);
  }

  /** The same of these namespaces alone, however few of all mutations are theirs. */
  pageOf(namespaces: ReadonlySet<string>, before: number | undefined, limit: number): NumberedIntent[] {
    const newest = this.page(before, rowsReadFirst);
    const found = newest.filter(({ intent }) => namespaces.has(parseObjectKey(intent.object).namespace));
    if (found.length >= limit || newest.length < rowsReadFirst) return found.slice(0, limit);
    return this.#byIndex(namespaces, before, limit);
  }

  close(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  /** What it costs follows from how many mutations these namespaces have. */
  #byIndex(namespaces: ReadonlySet<string>, before: number | undefined, limit: number): NumberedIntent[] {
    const ranges = Array.from(namespaces, (namespace) =>
      // `0` is the character behind `/`.
      managedKinds.map((kind) => [`${kind}/${namespace}/`, `${kind}/${namespace}0`]),
    ).flat();
    return this.#open()
      .all(pageOfRanges, {
        ranges: JSON.stringify(ranges),
        before: before ?? Number.MAX_SAFE_INTEGER,
        limit,
      })
      .map(numbered);
  }

  #open(): Sqlite {
    this.#database ??= new Sqlite(this.#file, { readOnly: true, table: stateTable });
    return this.#database;
  }
}
