/**
 * A person's words on mutations whose outcome no evidence tells. They are left in the state file by another process
 * (`fleetkeeper resolve`) than the one that holds its lock: that one asks for them only while it waits for such a word,
 * and takes them with its next look. SQLite lets one of the two write at a time.
 */
import { existsSync } from 'node:fs';
import { Sqlite, UserError } from '../base/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { Resolution } from './records.ts';

/** Names in `meta`. */
const prefix = 'resolution:';

/** Leaves a word for whoever manages the state, now or next. */
export function leaveResolution(file: string, key: ObjectKey, resolution: Resolution): void {
  if (!existsSync(file)) throw new UserError(`there is no state file ${file}`, 'name it with --state');
  const database = new Sqlite(file);
  try {
    const value = JSON.stringify(resolution);
    database.run('INSERT OR REPLACE INTO meta VALUES ($name, $value)', { name: prefix + key, value });
  } finally {
    database.close();
  }
}

export function findResolution(database: Sqlite, key: ObjectKey): Resolution | undefined {
  const row = database.get('SELECT value FROM meta WHERE name = $name', { name: prefix + key });
  return row && (JSON.parse(String(row['value'])) as Resolution);
}

export function dropResolution(database: Sqlite, key: ObjectKey): void {
  database.run('DELETE FROM meta WHERE name = $name', { name: prefix + key });
}
