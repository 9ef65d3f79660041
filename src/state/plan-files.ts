/**
 * What a state remembers of plan files that were applied: each by its digest. A file that was completed is not applied again, and one
 * that was begun may continue.
 *
 *     (none) ── recorded before its first request ──> started ── nothing is left of it ──> completed
 */
import type { Sqlite } from '../base/index.ts';

export interface PlanFileRecord {
  readonly digest: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly completedAt?: number;
  /** Steps, and replicas of fleets, when `apply` ended last or began. */
  readonly done: number;
  readonly left: number;
  /** How its last `apply` ended. Undefined: it is under way, or was interrupted. */
  readonly outcome?: PlanFileOutcome;
}

export const planFileOutcomes = ['completed', 'continued', 'refused', 'timeout'] as const;
export type PlanFileOutcome = (typeof planFileOutcomes)[number];

/** So many are remembered; a file expires after at most a week. */
export const keptPlanFiles = 1000;

export const planFilesTable = `
  CREATE TABLE plan_files (
    digest TEXT PRIMARY KEY,
    started_at INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT;`;

export function writePlanFile(database: Sqlite, record: PlanFileRecord): void {
  database.run('INSERT OR REPLACE INTO plan_files VALUES ($digest, $started, $record)', {
    digest: record.digest,
    started: record.startedAt,
    record: JSON.stringify(record),
  });
  database.run(
    `DELETE FROM plan_files WHERE digest NOT IN (
       SELECT digest FROM plan_files ORDER BY started_at DESC, digest LIMIT $kept)`,
    { kept: keptPlanFiles },
  );
}

/** The oldest first. */
export function readPlanFiles(database: Sqlite): PlanFileRecord[] {
  const rows = database.all('SELECT record FROM plan_files ORDER BY started_at, digest');
  return rows.map((row) => JSON.parse(String(row['record'])) as PlanFileRecord);
}
