/**
 * Versions of stored records. `ObjectRecord` is always that of today.
 *
 * | version | written by       | form                                                                            |
 * |---------|------------------|---------------------------------------------------------------------------------|
 * | 1       | 0.1.0            | fields of the kind stand beside those of the engine; a task has `lease`          |
 * | 2       | 0.2.0            | `kind` has the kind's part; `report` has what was read back out of the status before |
 *
 * A state file has one version for all of its records, and is migrated when its writer opens it (sqlite-store.ts). In a
 * cluster each object has its own, and gets the new one with its next write. For the time of a rolling upgrade, the fields
 * of version 1 are written there as well (bookkeeping.ts).
 */
import { readKindState, stateTraitsOf, type ObjectKey } from '../resources/index.ts';
import { lastReport } from './last-report.ts';
import { newRecord, type ObjectRecord, type ObjectStatus } from './records.ts';

export const recordVersion = 2;

export type Stored = Readonly<Record<string, unknown>>;

/** Names of the fields of all kinds in version 1. */
const namesIn1 = ['lease', 'releasedAt', 'pausedFor', 'madeVolumeId', 'remediation', 'template'] as const;

function earlierName(key: ObjectKey, name: string): string {
  return stateTraitsOf(key).earlierNames?.[name] ?? name;
}

/** A stored record of version 1 as version 2. `status`: what it reported last. */
export function upgradedFrom1(key: ObjectKey, stored: Stored, status: ObjectStatus | undefined): Stored {
  const { schema } = stateTraitsOf(key);
  const kind: Record<string, unknown> = {};
  const rest = { ...stored };
  for (const earlier of namesIn1) delete rest[earlier];
  for (const name of Object.keys(schema.shape)) {
    const value = stored[earlierName(key, name)];
    if (value !== undefined && value !== null) kind[name] = value;
  }
  return { ...rest, kind, ...(status ? { report: lastReport(status) } : {}) };
}

/** The fields of the kind as version 1 stored them. */
export function kindFieldsIn1({ key, kind }: ObjectRecord): Stored {
  const names: ReadonlySet<string> = new Set(namesIn1);
  return Object.fromEntries(
    Object.entries(kind)
      .map(([name, value]) => [earlierName(key, name), value] as const)
      .filter(([name, value]) => names.has(name) && value !== undefined),
  );
}

/** Without the fields of version 1 that version 2 repeats for earlier processes. */
export function withoutKindFieldsIn1(stored: Stored): Stored {
  const names: ReadonlySet<string> = new Set(namesIn1);
  return Object.fromEntries(Object.entries(stored).filter(([name]) => !names.has(name)));
}

export interface ReadRecord {
  readonly record: ObjectRecord;
  /** Fields of the kind's part with amounts that can't be read. They are counted anew. */
  readonly anew: readonly string[];
}

/** Amounts of an object that could not be read when its record was. */
export interface CountedAnew {
  readonly key: ObjectKey;
  readonly fields: readonly string[];
}

/**
 * A stored record of version 2. Fields that it lacks, because a later version added them, get the values of a new record.
 * Undefined if the kind's part is not readable.
 */
export function readRecord(key: ObjectKey, uid: string, stored: Stored): ReadRecord | undefined {
  const read = readKindState(key, isMap(stored['kind']) ? stored['kind'] : {});
  return (
    read && { record: { ...newRecord(key, uid), ...stored, key, uid, kind: read.kind }, anew: read.anew }
  );
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
