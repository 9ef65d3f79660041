/**
 * The table of `status`. On a terminal it fits its width: the message is cut first, then the endpoint and other long
 * columns. Where that would leave too little of each, cost, age, endpoint, namespace, state and message are left out, in
 * this order; `-o wide` leaves out nothing. Elsewhere nothing is cut. A message that concerns many objects stands once,
 * below the table.
 */
import stringWidth from 'string-width';
import { cut, padded, wrapped } from '../output/fit.ts';
import { usd, type Palette } from '../output/render.ts';
import { age, oneLine } from '../output/terminal-text.ts';
import { conditionOf, stateOf, textOf, type StatusEntry } from '../../shown/entries.ts';
import { budgetState } from './budget-text.ts';
import { readyOfDesired, revisionState } from './fleet-text.ts';

export interface TableView {
  readonly colours: Palette;
  /** Of the terminal; undefined elsewhere. */
  readonly columns: number | undefined;
  readonly isWide: boolean;
  readonly nowMs: number;
}

interface Column {
  readonly head: string;
  readonly cell: (entry: StatusEntry) => string;
  readonly paint?: (entry: StatusEntry) => (text: string) => string;
  /** To which width it may be cut, and in which order: 1 first. */
  readonly least?: { readonly width: number; readonly order: number };
  /** Left out where there is too little room, in this order: 1 first. */
  readonly leave?: number;
  /** Of an object that is not there any more; default: a dash. */
  readonly gone?: (entry: StatusEntry) => string;
}

/** `head` and rows as wide as those that it was made for. */
export interface Table {
  readonly head: string;
  row(this: void, entry: StatusEntry): string;
  /** Of an object that is not there any more. */
  goneRow(this: void, entry: StatusEntry): string;
}

export function statusTable(entries: readonly StatusEntry[], view: TableView): string {
  if (entries.length === 0) return 'No objects.';
  const shared = sharedMessages(entries);
  const { head, row } = createTable(entries, view, shared);
  return [head, ...entries.map(row), ...sharedLines(shared, view)].join('\n');
}

/** `shared`: messages that stand below the table. */
export function createTable(
  entries: readonly StatusEntry[],
  view: TableView,
  shared: SharedMessages = new Map(),
): Table {
  const widthOf = ({ head, cell }: Column) =>
    entries.reduce((widest, entry) => Math.max(widest, stringWidth(cell(entry))), head.length);
  const measured = columnsOf(view, shared).map((column) => Object.assign(column, { width: widthOf(column) }));
  const columns = roomFor(measured, view);
  const widths = columns.map(({ width }) => width);
  const fitted = view.columns === undefined ? widths : fit(widths, columns, view.columns);
  const cellAt = (text: string, at: number) => {
    const width = fitted[at] ?? 0;
    const short = view.columns === undefined ? text : cut(text, width);
    return at === columns.length - 1 ? short : padded(short, width);
  };
  const line = (cells: readonly string[]) => cells.map(cellAt).join(gap).trimEnd();
  return {
    head: line(columns.map(({ head }) => head)),
    row: (entry) =>
      columns
        .map(({ cell, paint = () => same }, at) => paint(entry)(cellAt(cell(entry), at)))
        .join(gap)
        .trimEnd(),
    goneRow: (entry) => line(columns.map(({ gone }) => gone?.(entry) ?? '-')),
  };
}

const gap = '   ';
const same = (text: string) => text;

type Measured = Column & { readonly width: number };

/** Those that fit at their least widths. */
function roomFor(all: readonly Measured[], { columns: total, isWide }: TableView): readonly Measured[] {
  if (total === undefined || isWide) return all;
  const leastOf = ({ width, least }: Measured) => Math.min(width, least?.width ?? width);
  const needed = (columns: readonly Measured[]) =>
    columns.reduce((sum, column) => sum + leastOf(column) + gap.length, -gap.length);
  const inOrder = all.filter(({ leave }) => leave !== undefined);
  inOrder.sort((left, right) => (left.leave ?? 0) - (right.leave ?? 0));
  return inOrder.reduce<readonly Measured[]>(
    (kept, column) => (needed(kept) > total ? kept.filter((each) => each !== column) : kept),
    all,
  );
}

/** Long columns are cut in their order, and then all from the right, until the line fits. */
function fit(widths: readonly number[], columns: readonly Column[], total: number): number[] {
  const fitted = [...widths];
  const reduce = (at: number, least: number) => {
    const over = fitted.reduce((sum, width) => sum + width + gap.length, -gap.length) - total;
    const width = fitted[at] ?? 0;
    if (over > 0) fitted[at] = Math.max(Math.min(width, least), width - over);
  };
  const ordered = columns
    .flatMap(({ least }, at) => (least ? [{ at, ...least }] : []))
    .sort((left, right) => left.order - right.order);
  for (const { at, width } of ordered) reduce(at, width);
  for (let at = fitted.length - 1; at >= 0; at--) reduce(at, 1);
  return fitted;
}

function is(entry: StatusEntry, type: string): boolean {
  return conditionOf(entry, type)?.status === 'True';
}

function identifying(head: string, cell: (entry: StatusEntry) => string): Column {
  return { head, cell, gone: cell };
}

/** A field of the status. */
function field(head: string, name: string): Column {
  return { head, cell: ({ record }) => shown(textOf(record.status?.[name])) };
}

/** Without `isWide`, and off a terminal: those of version 0.1.0, which programs may read. */
function columnsOf({ colours, columns, isWide, nowMs }: TableView, shared: SharedMessages): Column[] {
  const isMore = isWide || columns !== undefined;
  return [
    identifying('KIND', ({ kind }) => kind),
    { ...identifying('NAMESPACE', ({ namespace }) => namespace), leave: 4, least: { width: 9, order: 5 } },
    { ...identifying('NAME', ({ name }) => name), least: { width: 12, order: 4 } },
    {
      head: 'STATE',
      cell: (entry) => shown(stateOf(entry) ?? readyOfDesired(entry)),
      gone: () => 'Deleted',
      leave: 5,
      least: { width: 8, order: 6 },
    },
    {
      head: 'READY',
      cell: (entry) => conditionOf(entry, 'Ready')?.status ?? 'Unknown',
      paint: (entry) =>
        is(entry, 'Ready') ? colours.good : is(entry, 'Stalled') ? colours.bad : colours.busy,
    },
    ...(isMore
      ? [
          { head: 'COST/H', cell: costOf, leave: 1 },
          {
            head: 'AGE',
            leave: 2,
            cell: ({ createdAt }: StatusEntry) => (createdAt === undefined ? '-' : age(createdAt, nowMs)),
          },
        ]
      : []),
    { ...field('ENDPOINT', 'endpoint'), leave: 3, least: { width: 12, order: 2 } },
    ...(isWide
      ? [
          {
            head: 'ACCOUNT',
            cell: ({ record }: StatusEntry) => shown(record.account),
            least: { width: 8, order: 3 },
          },
          { ...field('ID', 'id'), least: { width: 8, order: 3 } },
        ]
      : []),
    {
      head: 'MESSAGE',
      cell: (entry) => messageCell(entry, shared),
      paint: (entry) => (is(entry, 'Ready') ? colours.dim : same),
      leave: 6,
      least: { width: 16, order: 1 },
    },
  ];
}

function shown(text: string | undefined): string {
  return text === undefined ? '-' : oneLine(text);
}

/** What it costs in an hour now. */
function costOf({ record }: StatusEntry): string {
  const micros = record.status?.['hourlyMicros'];
  return typeof micros === 'number' ? usd(micros) : '-';
}

function messageCell(entry: StatusEntry, shared: SharedMessages): string {
  const more = revisionState(entry) ?? budgetState(entry);
  const message = readyText(entry, shared);
  const duplicated = is(entry, 'Duplicated') ? '; duplicated' : '';
  return `${message}${more === undefined ? '' : `; ${oneLine(more)}`}${duplicated}`;
}

function readyText(entry: StatusEntry, shared: SharedMessages): string {
  const ready = conditionOf(entry, 'Ready');
  const reason = ready?.reason ?? 'NotLookedAt';
  if (ready?.status === 'True' || !ready?.message) return reason;
  const number = shared.get(messageOf(entry))?.number;
  return number === undefined ? `${reason}: ${oneLine(ready.message)}` : `${reason} (${number})`;
}

interface SharedMessage {
  readonly number: number;
  readonly entries: readonly StatusEntry[];
}

type SharedMessages = ReadonlyMap<string, SharedMessage>;

/** A message of so many objects is printed once. */
const manyObjects = 3;
/** So many of them are named. */
const namesShown = 20;

function messageOf(entry: StatusEntry): string {
  const ready = conditionOf(entry, 'Ready');
  return ready === undefined || ready.status === 'True' || !ready.message
    ? ''
    : `${ready.reason}: ${ready.message}`;
}

function sharedMessages(entries: readonly StatusEntry[]): SharedMessages {
  const many = [...Map.groupBy(entries, messageOf)].filter(
    ([message, alike]) => message !== '' && alike.length >= manyObjects,
  );
  return new Map(many.map(([message, alike], at) => [message, { number: at + 1, entries: alike }]));
}

function sharedLines(shared: SharedMessages, { columns, colours }: TableView): string[] {
  const width = columns ?? Number.POSITIVE_INFINITY;
  return [...shared].flatMap(([message, { number, entries }]) => {
    const mark = `(${number}) `;
    const names = entries
      .slice(0, namesShown)
      .map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
    const more = entries.length > namesShown ? [`and ${entries.length - namesShown} more`] : [];
    const concerned = `concerns ${entries.length} objects: ${[...names, ...more].join(', ')}`;
    const indented = (text: string) =>
      wrapped(text, width - mark.length).map((line, at) =>
        at === 0 ? line : `${' '.repeat(mark.length)}${line}`,
      );
    return [
      '',
      mark + indented(oneLine(message)).join('\n'),
      colours.dim(' '.repeat(mark.length) + indented(concerned).join('\n')),
    ];
  });
}
