/** Progress as a table that fits the terminal. Pure: everything shown is passed in. */
import stringWidth from 'string-width';
import type { Palette } from '../output/render.ts';
import { cut, padded, wrapped } from '../output/fit.ts';
import type { Canvas } from '../output/live-area.ts';
import { age, minutes, oneLine } from '../output/terminal-text.ts';
import type { Progress, ProgressRow, ProgressView } from './view.ts';

/** Who needs a person comes first, and what is Ready last; among equals, who has waited longest. */
const order: readonly Progress[] = ['held', 'sending', 'waiting', 'checking', 'ready', 'gone'];
const marks: Readonly<Record<Progress, string>> = {
  held: '✘',
  sending: '→',
  waiting: '·',
  checking: '◌',
  ready: '✔',
  gone: ' ',
};
/** A message has so many lines of its own where there is room. */
const mostMessageLines = 3;
const ageColumns = 4;
const indent = '    ';

export function drawProgress(view: ProgressView, canvas: Canvas): string {
  const rows = view.rows.toSorted(
    (left, right) =>
      order.indexOf(left.progress) - order.indexOf(right.progress) ||
      left.sinceMs - right.sinceMs ||
      (left.object < right.object ? -1 : 1),
  );
  const unready = rows.filter(({ progress }) => progress !== 'ready');
  const room = Math.max(1, canvas.lines - 2);
  const layouts = [
    () => linesOf(rows, view, canvas, mostMessageLines),
    () => linesOf(unready, view, canvas, mostMessageLines),
    () => linesOf(unready, view, canvas, 0),
  ];
  // Rows have a line at least, so what can't fit is not laid out.
  const counts = [rows.length, unready.length, unready.length];
  const fitting = layouts.find((layout, at) => (counts[at] ?? 0) <= room && layout().length <= room);
  const lines = fitting?.() ?? beginning(unready, view, canvas, room);
  return [header(view, canvas), ...lines].join('\n');
}

/** `12 ready, 2 waiting, 1 held`. */
export function summary(counts: Readonly<Record<Progress, number>>): string {
  const { ready, sending, waiting, checking, held } = counts;
  const parts = [
    `${ready} ready`,
    ...(checking > 0 ? [`${checking} to be checked again`] : []),
    ...(sending + waiting > 0 ? [`${sending + waiting} waiting`] : []),
    ...(held > 0 ? [`${held} held`] : []),
  ];
  return parts.join(', ');
}

function header({ counts, elapsedMs }: ProgressView, { columns, colours }: Canvas): string {
  const text = cut(`${summary(counts)}  (${minutes(elapsedMs)})`, columns - 1);
  return counts.held > 0 ? colours.bad(text) : colours.strong(text);
}

function beginning(rows: readonly ProgressRow[], view: ProgressView, canvas: Canvas, room: number): string[] {
  const shown = rows.slice(0, room - 1);
  return [
    ...linesOf(shown, view, canvas, 0),
    canvas.colours.dim(cut(`  … and ${rows.length - shown.length} more`, canvas.columns - 1)),
  ];
}

function linesOf(
  rows: readonly ProgressRow[],
  { nowMs }: ProgressView,
  { columns, colours }: Canvas,
  messageLines: number,
): string[] {
  const width = columns - 1;
  const widest = rows.reduce((most, { object }) => Math.max(most, stringWidth(object)), 0);
  const objectColumns = Math.min(widest, Math.floor(width / 2));
  const left = width - objectColumns - ageColumns - 6;
  return rows.flatMap((row) => {
    const paint = paintOf(row.progress, colours);
    const object = padded(cut(row.object, objectColumns), objectColumns);
    const since = padded(row.progress === 'ready' ? '' : age(row.sinceMs, nowMs), ageColumns);
    const start = `${paint(marks[row.progress])} ${object}  ${colours.dim(since)}  `;
    const state = stateOf(row);
    const message = oneLine(row.message);
    const whole = message === '' ? state : `${state}: ${message}`;
    if (messageLines === 0 || stringWidth(whole) <= left) return [start + paint(cut(whole, left))];
    const below = wrapped(message, width - indent.length, messageLines);
    return [start + paint(cut(state, left)), ...below.map((line) => indent + line)];
  });
}

function stateOf({ progress, doing, reason }: ProgressRow): string {
  if (progress === 'sending' && doing !== undefined) return `${doing} (${reason})`;
  return progress === 'checking' ? `${reason}, will be read again` : reason;
}

function paintOf(progress: Progress, { good, bad, busy }: Palette): (text: string) => string {
  if (progress === 'ready') return good;
  return progress === 'held' ? bad : busy;
}
