/**
 * What a command line leaves for the manager: the table `commands` of the state file. It holds operator commands, and operators'
 * decisions on unknown outcomes (resolutions.ts), at most one of each for an object. A newer one replaces an older one.
 *
 * The command line writes while another process holds the lock of the file. SQLite allows one writer at a time. A row is gone
 * when the manager has used it, in the commit that records the effect.
 */
import { Sqlite, UserError } from '../base/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import { hasStateFile } from './sign-of-life.ts';
import { stateTable } from './state-table.ts';

export const commandsTable = `
  CREATE TABLE commands (
    object TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (object, name)
  ) STRICT;
  INSERT INTO commands SELECT substr(name, 12), 'resolve', value FROM meta WHERE name GLOB 'resolution:*';
  DELETE FROM meta WHERE name GLOB 'resolution:*';`;

/** As the annotations are called that hold the same in a cluster. */
type Name = 'command' | 'resolve';

/** Leaves an operator command for the process that manages the state, now or next. */
export function leaveCommand(file: string, key: ObjectKey, text: string): void {
  withStateFile(file, (database) => {
    if (!hasTable(database)) {
      throw new UserError(
        `the state file ${file} was written by an earlier version of fleetkeeper, which knows no commands`,
        'stop that version, and run `fleetkeeper apply` or `fleetkeeper run` of this one',
      );
    }
    leave(database, key, 'command', text);
  });
}

export function withStateFile(file: string, use: (database: Sqlite) => void): void {
  if (!hasStateFile(file)) throw new UserError(`there is no state file ${file}`, 'name it with --state');
  const database = new Sqlite(file, { table: stateTable });
  try {
    use(database);
  } finally {
    database.close();
  }
}

export function hasTable(database: Sqlite): boolean {
  return database.get("SELECT 1 FROM sqlite_master WHERE name = 'commands'") !== undefined;
}

export function leave(database: Sqlite, object: ObjectKey, name: Name, text: string): void {
  database.run('INSERT OR REPLACE INTO commands VALUES ($object, $name, $text)', { object, name, text });
}

export function findLeft(database: Sqlite, object: ObjectKey, name: Name): string | undefined {
  const row = database.get('SELECT text FROM commands WHERE object = $object AND name = $name', {
    object,
    name,
  });
  return row && String(row['text']);
}

/** `text`: only if it is still that one. */
export function dropLeft(database: Sqlite, object: ObjectKey, name: Name, text?: string): void {
  database.run(
    'DELETE FROM commands WHERE object = $object AND name = $name AND ($text IS NULL OR text = $text)',
    { object, name, text: text ?? null },
  );
}

/** All operator commands that were left. */
export function leftCommands(database: Sqlite): Map<ObjectKey, string> {
  const rows = database.all("SELECT object, text FROM commands WHERE name = 'command'");
  return new Map(rows.map((row) => [row['object'] as ObjectKey, String(row['text'])]));
}

/** Changes with each commit of another connection. */
export function commitsOfOthers(database: Sqlite): number {
  return Number(database.get('PRAGMA data_version')?.['data_version']);
}
