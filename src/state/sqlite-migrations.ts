/** The schema of a state file, step by step. */
import type { Migration, Sqlite } from '../base/index.ts';
import { commandsTable } from './left-commands.ts';
import { planFilesTable } from './plan-files.ts';
import { upgradedFrom1 } from './record-versions.ts';
import type { ObjectRecord } from './records.ts';

/** Numbered from 1. What has landed is never changed, and the next one stands at the end. */
export const migrations: readonly Migration[] = [
  `CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
   CREATE TABLE objects (key TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT;
   CREATE TABLE intents (
     number INTEGER PRIMARY KEY,
     idempotency_key TEXT NOT NULL UNIQUE,
     object TEXT NOT NULL,
     action TEXT NOT NULL,
     target_id TEXT,
     body_digest TEXT NOT NULL,
     base_revision INTEGER,
     base_state TEXT,
     generation INTEGER NOT NULL,
     restart_token TEXT,
     created_at INTEGER NOT NULL,
     finished_at INTEGER,
     outcome TEXT NOT NULL,
     note TEXT
   ) STRICT;
   CREATE INDEX intents_by_object ON intents (object, number);`,
  'ALTER TABLE intents ADD COLUMN digests TEXT;',
  `ALTER TABLE intents ADD COLUMN estimate TEXT;
   CREATE TABLE prices (account TEXT PRIMARY KEY, prices TEXT NOT NULL) STRICT;`,
  toVersion2,
  `ALTER TABLE intents ADD COLUMN demand TEXT;
   CREATE TABLE capacity (account TEXT PRIMARY KEY, at INTEGER NOT NULL, entries TEXT NOT NULL) STRICT;`,
  `CREATE TABLE revisions (
     object TEXT NOT NULL,
     number INTEGER NOT NULL,
     revision TEXT NOT NULL,
     PRIMARY KEY (object, number)
   ) STRICT;`,
  commandsTable,
  planFilesTable,
  'ALTER TABLE intents ADD COLUMN why TEXT;',
];

/** Records get a part of their kind (record-versions.ts). */
function toVersion2(database: Pick<Sqlite, 'all' | 'run'>): void {
  for (const row of database.all('SELECT key, record FROM objects')) {
    const stored = JSON.parse(String(row['record'])) as ObjectRecord;
    const record = upgradedFrom1(stored.key, { ...stored }, stored.status);
    database.run('UPDATE objects SET record = $record WHERE key = $key', {
      key: stored.key,
      record: JSON.stringify(record),
    });
  }
}
