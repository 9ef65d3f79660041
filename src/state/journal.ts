/** The journal of one object, for people who investigate: at most its last 20 mutations. */
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
