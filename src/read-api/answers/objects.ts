/** `/api/v1/objects`: which rows a query selects, and their pages. Pure. */
import type { LabelPredicate } from '../../shown/label-selector.ts';
import type { IndexedRow } from '../fleet/row.ts';
import { sees, type Reader } from '../fleet/reader.ts';
import { positionOf, type Position, type Sort } from '../fleet/sorted-rows.ts';
import type { Health, Row } from '../schemas/parts.ts';
import { shownRow, type AnswerContext } from './context.ts';

export interface ObjectFilter {
  readonly kinds: ReadonlySet<string> | undefined;
  readonly namespace: string | undefined;
  readonly reason: string | undefined;
  readonly health: Health | undefined;
  readonly account: string | undefined;
  /** The key of the object that owns them. */
  readonly fleet: string | undefined;
  readonly label: LabelPredicate | undefined;
  /** In lower case. */
  readonly searched: string | undefined;
}

export interface ObjectsQuery {
  readonly filter: ObjectFilter;
  readonly sort: Sort;
  readonly limit: number;
}

export function selects(filter: ObjectFilter, reader: Reader): (indexed: IndexedRow) => boolean {
  const { kinds, namespace, reason, health, account, fleet, label, searched } = filter;
  return ({ row, labels, searched: text }) =>
    sees(reader, row.namespace) &&
    (kinds === undefined || kinds.has(row.kind)) &&
    (namespace === undefined || row.namespace === namespace) &&
    (reason === undefined || row.reason === reason) &&
    (health === undefined || row.health === health) &&
    (account === undefined || row.account === account) &&
    (fleet === undefined || row.fleet === fleet) &&
    (label === undefined || label(labels)) &&
    (searched === undefined || text.includes(searched));
}

export interface ObjectsPage {
  readonly items: readonly Row[];
  readonly total: number;
  /** Of the last row, if there are more. */
  readonly last: Position | undefined;
}

/** `after`: the position of the last row of the page before. That row may be gone. */
export function objectsPage(
  context: Pick<AnswerContext, 'index' | 'reader'>,
  { filter, sort, limit }: ObjectsQuery,
  after: Position | undefined,
): ObjectsPage {
  const { index, reader } = context;
  const isSelected = selects(filter, reader);
  const order = index.order(sort);
  const found: IndexedRow[] = [];
  for (const indexed of order.after(after)) {
    if (!isSelected(indexed)) continue;
    found.push(indexed);
    if (found.length > limit) break;
  }
  const shown = found.slice(0, limit);
  const last = found.length > limit ? shown.at(-1) : undefined;
  return {
    items: shown.map((indexed) => shownRow(context, indexed)),
    total: totalOf(index.rows.values(), isSelected),
    last: last && positionOf(last, sort),
  };
}

function totalOf(rows: Iterable<IndexedRow>, isSelected: (indexed: IndexedRow) => boolean): number {
  let total = 0;
  for (const indexed of rows) if (isSelected(indexed)) total += 1;
  return total;
}
