import { systemRandom, type Sqlite } from '../../../src/base/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import {
  newRecord,
  openState,
  type Intent,
  type ObjectRecord,
  type OpenState,
} from '../../../src/state/index.ts';

export const owner = { default: 'laptop', explicit: undefined };

export function open(file: string, explicit?: string): OpenState & Disposable {
  const state = openState(file, systemRandom, { default: 'laptop', explicit });
  return { ...state, [Symbol.dispose]: () => state.close() };
}

/** As a version that kept decisions in `meta`, and knew no operator commands. */
export function withoutCommands(database: Sqlite): void {
  database.run('ALTER TABLE intents DROP COLUMN why');
  database.run('DROP TABLE commands');
  database.run('DROP TABLE plan_files');
  database.run('PRAGMA user_version = 6');
}

/** As a version that remembered capacity in the records alone. */
export function withoutLaterTables(database: Sqlite): void {
  withoutCommands(database);
  database.run('ALTER TABLE intents DROP COLUMN demand');
  database.run('DROP TABLE capacity');
  database.run('DROP TABLE revisions');
}

export const trainer: ObjectKey = 'ContainerService/default/trainer';

export function recordOf(key: ObjectKey, more: Partial<ObjectRecord> = {}): ObjectRecord {
  return {
    ...newRecord(key, `uid of ${key}`),
    manifest: { annotations: {}, labels: { team: 'a' }, spec: { image: 'b' } },
    file: 'a.yaml',
    line: 1,
    account: 'default/default',
    applied: { image: 'digest' },
    ...more,
  };
}

export function intentOf(object: ObjectKey, idempotencyKey: string, more: Partial<Intent> = {}): Intent {
  return {
    idempotencyKey,
    object,
    action: 'patch-service',
    targetId: 'id',
    bodyDigest: 'body',
    baseRevision: 3,
    baseState: 'running',
    generation: 1,
    restartToken: undefined,
    digests: undefined,
    createdAt: 1000,
    finishedAt: undefined,
    outcome: 'pending',
    note: undefined,
    ...more,
  };
}
