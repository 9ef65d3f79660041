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
