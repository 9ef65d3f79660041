/** What every answer is made of. All answers are functions of it, and of the query. */
import type { FleetIndex } from '../fleet/fleet-index.ts';
import type { Reader } from '../fleet/reader.ts';
import type { FleetSource } from '../fleet/source.ts';

export interface AnswerContext {
  readonly index: FleetIndex;
  readonly source: FleetSource;
  readonly reader: Reader;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** What it is asked for is not there, or not for this reader. Nobody can tell one from the other. */
export const absent = Symbol('absent');
export type Absent = typeof absent;
