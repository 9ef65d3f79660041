/**
 * Operators' decisions on unknown outcomes. `fleetkeeper resolve` writes them to the state file while another
 * process holds its lock. That process reads them only while it waits for a decision, and applies them in the
 * next pass. SQLite allows one writer at a time.
 */
import { existsSync } from 'node:fs';
import { Sqlite, UserError } from '../base/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { Resolution } from './records.ts';

/** Prefix of names in `meta`. */
const prefix = 'resolution:';

/** Leaves a decision for the process that manages the state, now or next. */
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
