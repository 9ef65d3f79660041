/** The demo's picture as lines of text that fit the terminal. Pure: everything shown is passed in. */
import type { DemoEvent, DemoRow } from './fleet.ts';
import { cut, padded, wrapped } from '../output/fit.ts';
import type { Palette } from '../output/render.ts';
import { minutes } from '../output/terminal-text.ts';

export interface DemoPicture {
  /** E.g. `2/6`, and what happens in it. */
  readonly act: readonly [number: string, title: string];
  readonly elapsedMs: number;
  /** Its address. */
  readonly page?: string;
  readonly balanceMicros: number | undefined;
  readonly requests: { readonly reads: number; readonly changes: number };
  readonly rows: readonly DemoRow[];
  readonly events: readonly TimedEvent[];
}

export interface TimedEvent extends DemoEvent {
  readonly elapsedMs: number;
}

export interface Canvas {
  readonly columns: number;
  readonly lines: number;
  readonly colours: Palette;
}

const spinner = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const spinnerMs = 100;
/** From here on the endpoint has a column of its own. */
const wideColumns = 128;
const endpointWidth = 60;
/** Above and below the rows of the table. */
const linesAround = 7;
const fewestEvents = 3;
const mostEvents = 8;

export function drawPicture(picture: DemoPicture, canvas: Canvas): string {
  const rows = mostTelling(picture.rows, canvas.lines - linesAround - fewestEvents);
  const top = [...header(picture, canvas), '', ...table({ ...picture, rows }, canvas), ''];
  const room = Math.max(fewestEvents, Math.min(mostEvents, canvas.lines - top.length - 1));
  return [...top, ...newestEvents(picture.events, room, canvas)].join('\n');
}

const isQuiet = ({ ready, doing }: DemoRow) => ready === 'yes' && doing === '';

/** On a small terminal: first of all those that are under way, and the first ones of the others. */
function mostTelling(rows: readonly DemoRow[], room: number): readonly DemoRow[] {
  const left = Math.max(0, room - rows.filter((row) => !isQuiet(row)).length);
  const shown = new Set(rows.filter(isQuiet).slice(0, left));
  return rows.filter((row) => !isQuiet(row) || shown.has(row));
}

/** As many as there is room for, each whole; the newest in any case. */
function newestEvents(events: readonly TimedEvent[], room: number, canvas: Canvas): string[] {
  const lines: string[] = [];
  for (const event of events.toReversed()) {
    const more = eventLines(event, canvas);
    if (lines.length > 0 && lines.length + more.length > room) break;
    lines.unshift(...more);
  }
  return lines;
}

function header({ act, elapsedMs, page, balanceMicros, requests }: DemoPicture, canvas: Canvas): string[] {
  const { strong, good, dim } = canvas.colours;
  const [number, title] = act;
  const start = number === '' ? 'fleetkeeper demo  ' : `fleetkeeper demo  ${number}  `;
  const balance = balanceMicros === undefined ? '' : `balance $${(balanceMicros / 1e6).toFixed(4)}   `;
  const counts = `API requests ${requests.reads + requests.changes}: ${requests.reads} reads, ${requests.changes} changes`;
  return [
    strong(start) + good(cut(title, canvas.columns - start.length - 1)),
    dim(cut(`${minutes(elapsedMs)}   ${balance}${counts}`, canvas.columns - 1)),
    ...(page === undefined ? [] : [dim(cut(`page: ${page}`, canvas.columns - 1))]),
  ];
}

function table({ rows, elapsedMs }: DemoPicture, { columns, colours }: Canvas): string[] {
  const isWide = columns >= wideColumns;
  const nameWidth = Math.min(24, Math.max(4, ...rows.map(({ name }) => name.length)));
  const fixed = [8, nameWidth, 12, 5];
  const left = Math.max(12, columns - 1 - fixed.reduce((sum, width) => sum + width + 2, 0));
  const nowWidth = Math.max(24, Math.min(34, left - endpointWidth - 2));
  const widths = isWide ? [...fixed, nowWidth, Math.max(0, left - nowWidth - 2)] : [...fixed, left];
  const line = (cells: readonly string[], paint: readonly ((text: string) => string)[]) =>
    widths
      .map((width, index) => {
        const text = padded(cut(cells[index] ?? '', width), width);
        return paint[index]?.(text) ?? text;
      })
      .join('  ')
      .trimEnd();
  const { dim, good, bad, busy } = colours;
  const titles = ['KIND', 'NAME', 'STATE', 'READY', ...(isWide ? ['NOW', 'ENDPOINT'] : ['NOW / ENDPOINT'])];
  const turn = spinner[Math.floor(elapsedMs / spinnerMs) % spinner.length] ?? '…';
  return [
    line(
      titles,
      titles.map(() => dim),
    ),
    ...rows.map((row) => {
      const paint = row.goneAtMs === undefined ? { yes: good, no: busy, held: bad }[row.ready] : dim;
      const mark = row.goneAtMs === undefined ? { yes: '✔', no: turn, held: '✘' }[row.ready] : ' ';
      const last = isWide ? [row.doing, row.detail] : [row.doing || row.detail];
      const lastPaint = isWide ? [paint, dim] : [row.doing ? paint : dim];
      const name = row.goneAtMs === undefined ? plain : dim;
      return line([row.kind, row.name, row.state, mark, ...last], [dim, name, paint, paint, ...lastPaint]);
    }),
  ];
}

function plain(text: string): string {
  return text;
}

function eventLines({ tone, subject, text, elapsedMs }: TimedEvent, { columns, colours }: Canvas): string[] {
  const { good, bad, busy, strong, dim } = colours;
  const paint = { actor: strong, step: dim, good, drift: busy, bad }[tone];
  const start = `${minutes(elapsedMs)}  `;
  const said = `${subject}  ${text}`;
  const width = Math.max(20, columns - 1 - start.length);
  // What is well is in the table, too.
  const lines = tone === 'good' ? [cut(said, width)] : wrapped(said, width);
  return lines.map((line, index) =>
    index === 0 ? dim(start) + paint(line) : ' '.repeat(start.length) + paint(line),
  );
}
