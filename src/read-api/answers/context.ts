/** What every answer is made of. All answers are functions of it, and of the query. */
import type { ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { eventWithoutAmounts, withoutAmounts } from '../../engine/index.ts';
import type { FleetIndex } from '../fleet/fleet-index.ts';
import { sees, seesAccount, type Reader } from '../fleet/reader.ts';
import type { IndexedRow } from '../fleet/row.ts';
import type { FleetSource, Gap } from '../fleet/source.ts';
import type { Row } from '../schemas/parts.ts';

export interface AnswerContext {
  readonly index: FleetIndex;
  readonly source: FleetSource;
  readonly reader: Reader;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

type Parts = Pick<AnswerContext, 'index' | 'reader'>;

/** With the amounts of its account, for who sees that (fleet/amounts.ts). */
export function shownRow(context: Parts, indexed: IndexedRow): Row {
  return indexed.full && seesAccountOf(context, indexed.row) ? indexed.full : indexed.row;
}

/** The same of a record. */
export function shownRecord(context: Parts, record: ObjectRecord): ObjectRecord {
  const { row, full } = context.index.rows.get(record.key) ?? {};
  const isAll = row && (!full || seesAccountOf(context, row));
  return isAll ? record : (withoutAmounts(record) ?? record);
}

/** The same of a message that was written about an object. */
export function shownMessage(
  context: Pick<AnswerContext, 'index' | 'reader' | 'source'>,
  key: ObjectKey,
  event: { readonly reason: string; readonly message: string },
): string {
  const row = context.index.rows.get(key)?.row;
  const isAll = row ? seesAccountOf(context, row) : context.reader.namespaces === undefined;
  return isAll ? event.message : eventWithoutAmounts(key, context.source.store.record(key), event);
}

/** Of an account that is not known, nobody knows whether it is shared. */
function seesAccountOf({ index, reader }: Parts, { account }: Row): boolean {
  if (reader.namespaces === undefined) return true;
  const known = index.accounts.find(({ name }) => name === account);
  return known !== undefined && seesAccount(reader, known);
}

/** What is not known now of namespaces that the reader may see. */
export function gapsOf({ source, reader }: Pick<AnswerContext, 'source' | 'reader'>): Gap[] {
  return (source.gaps ?? []).filter(({ namespace }) => sees(reader, namespace));
}

/** What it is asked for is not there, or not for this reader. Nobody can tell one from the other. */
export const absent = Symbol('absent');
export type Absent = typeof absent;
