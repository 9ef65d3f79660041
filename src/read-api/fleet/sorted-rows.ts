/**
 * Rows in an order, kept sorted while they change. A change is only noted. It has its place when somebody reads the order: a few changes by a
 * search and a move in memory each, many by one sort. So an order that nobody reads costs almost nothing.
 */
import type { IndexedRow } from './row.ts';
import { healths } from '../schemas/parts.ts';

export const sorts = ['worst', 'name', 'kind', 'since', 'newest', 'cost'] as const;
export type Sort = (typeof sorts)[number];

/** Where a row stands in an order: by the first value, then by the second. It outlives the row, so a cursor may point at it. */
export type Position = readonly [first: number | string, key: string];

const ranks = new Map<string, number>(healths.map((each, at) => [each, at]));
const severities = { critical: 0, warning: 1, info: 2 } as const;

const firsts: Readonly<Record<Sort, (indexed: IndexedRow) => number | string>> = {
  worst: ({ row }) => severities[row.severity] * healths.length + (ranks.get(row.health) ?? 0),
  name: ({ row }) => `${row.namespace}/${row.name}`,
  kind: ({ row }) => row.kind,
  since: ({ sinceMs }) => (sinceMs === 0 ? Number.MAX_SAFE_INTEGER : sinceMs),
  newest: ({ sinceMs }) => -sinceMs,
  cost: ({ row }) => -(row.hourlyMicros ?? -1),
};

export function positionOf(indexed: IndexedRow, sort: Sort): Position {
  return [firsts[sort](indexed), indexed.row.key];
}

export function comparePositions([left, leftKey]: Position, [right, rightKey]: Position): number {
  if (left < right) return -1;
  if (left > right) return 1;
  return leftKey < rightKey ? -1 : leftKey > rightKey ? 1 : 0;
}

interface Placed {
  readonly position: Position;
  readonly indexed: IndexedRow;
}

interface Noted {
  /** As it is in the order; undefined: it is not there. */
  readonly before: IndexedRow | undefined;
  readonly after: IndexedRow | undefined;
}

/** A move costs by the number of rows, too. So a sort of `n` rows costs about as much as this many times √n searches and moves. */
const movesForSort = 8;
/** Somebody may never read it. */
const mostNoted = 10_000;

export class SortedRows {
  readonly #sort: Sort;
  #placed: Placed[];
  readonly #noted = new Map<string, Noted>();

  constructor(sort: Sort, rows: Iterable<IndexedRow>) {
    this.#sort = sort;
    this.#placed = this.#sorted(rows);
  }

  get size(): number {
    this.#settle();
    return this.#placed.length;
  }

  /** Undefined: the row is new, or gone. */
  change(before: IndexedRow | undefined, after: IndexedRow | undefined): void {
    const key = (after ?? before)?.row.key;
    if (key === undefined) return;
    const noted = this.#noted.get(key);
    const known = noted ? noted.before : before;
    if (known === undefined && after === undefined) this.#noted.delete(key);
    else this.#noted.set(key, { before: known, after });
    if (this.#noted.size > this.#placed.length + mostNoted) this.#settle();
  }

  #settle(): void {
    if (this.#noted.size === 0) return;
    if (this.#noted.size < movesForSort * Math.sqrt(this.#placed.length)) {
      for (const { before, after } of this.#noted.values()) this.#place(before, after);
    } else {
      const unchanged = this.#placed.filter(({ indexed }) => !this.#noted.has(indexed.row.key));
      const changed = [...this.#noted.values()].flatMap(({ after }) => (after ? [after] : []));
      this.#placed = this.#sorted([...unchanged.map(({ indexed }) => indexed), ...changed]);
    }
    this.#noted.clear();
  }

  #sorted(rows: Iterable<IndexedRow>): Placed[] {
    return Array.from(rows, (indexed) => ({ position: positionOf(indexed, this.#sort), indexed })).sort(
      (left, right) => comparePositions(left.position, right.position),
    );
  }

  /** Most changes leave a row where it is. */
  #place(before: IndexedRow | undefined, after: IndexedRow | undefined): void {
    const from = before && positionOf(before, this.#sort);
    const to = after && positionOf(after, this.#sort);
    const at = from && this.#from(from);
    const isThere = at !== undefined && this.#placed[at]?.indexed.row.key === before?.row.key;
    if (isThere && after && from && to && comparePositions(from, to) === 0) {
      this.#placed[at] = { position: to, indexed: after };
      return;
    }
    if (isThere) this.#placed.splice(at, 1);
    if (after && to) this.#placed.splice(this.#from(to), 0, { position: to, indexed: after });
  }

  /** The rows behind a position, in order. */
  *after(position: Position | undefined): Generator<IndexedRow> {
    this.#settle();
    let at = position === undefined ? 0 : this.#from(position);
    if (position !== undefined && at < this.#placed.length) {
      const here = this.#placed[at];
      if (here && comparePositions(here.position, position) === 0) at += 1;
    }
    for (; at < this.#placed.length; at++) {
      const placed = this.#placed[at];
      if (placed) yield placed.indexed;
    }
  }

  /** At most `count` rows behind a position. */
  window(position: Position | undefined, count: number): IndexedRow[] {
    const rows: IndexedRow[] = [];
    for (const row of this.after(position)) {
      if (rows.length === count) break;
      rows.push(row);
    }
    return rows;
  }

  /** Those that are selected, for somebody who keeps them from now on. They are in order already, so this costs no sort. */
  select(isSelected: (indexed: IndexedRow) => boolean): SortedRows {
    this.#settle();
    const selected = new SortedRows(this.#sort, []);
    for (const placed of this.#placed) if (isSelected(placed.indexed)) selected.#placed.push(placed);
    return selected;
  }

  /** The first index that is not before the position. */
  #from(position: Position): number {
    let low = 0;
    let high = this.#placed.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const placed = this.#placed[middle];
      if (placed && comparePositions(placed.position, position) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
