/**
 * Operators' decisions on unknown outcomes. `fleetkeeper resolve` writes them to the state file while another
 * process holds its lock. That process reads them only while it waits for a decision, and applies them in the
 * next pass.
 */
import type { Sqlite } from '../base/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import { dropLeft, findLeft, hasTable, leave, withStateFile } from './left-commands.ts';
import type { Resolution } from './records.ts';

/** Leaves a decision for the process that manages the state, now or next. */
export function leaveResolution(file: string, key: ObjectKey, resolution: Resolution): void {
  const value = JSON.stringify(resolution);
  withStateFile(file, (database) => {
    if (hasTable(database)) return leave(database, key, 'resolve', value);
    // A manager of an earlier version may run. It looks here, and the next version takes it from here.
    database.run('INSERT OR REPLACE INTO meta VALUES ($name, $value)', { name: `resolution:${key}`, value });
  });
}

export function findResolution(database: Sqlite, key: ObjectKey): Resolution | undefined {
  const text = findLeft(database, key, 'resolve');
  return text === undefined ? undefined : (JSON.parse(text) as Resolution);
}

export function dropResolution(database: Sqlite, key: ObjectKey): void {
  dropLeft(database, key, 'resolve');
}
