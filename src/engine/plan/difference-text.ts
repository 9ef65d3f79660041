/**
 * Differences as text. One form for plans, drift, Events and the demo: what is there, an arrow, what is declared.
 *
 * A long value is cut where it is equal, not where it differs: `… 680 characters …` stands for what is left out. If it differs in more than
 * there is room for, its first and its last differing characters are shown.
 */
import type { Difference } from './types.ts';

/** `image: "app:2" → "app:1"`: observed → declared. In UTF-16 units, `longest` of 300 and more is not exceeded. */
export function differenceText(
  { path, desired, observed }: Pick<Difference, 'path' | 'desired' | 'observed'>,
  longest = Number.POSITIVE_INFINITY,
): string {
  const name = shortened(path, longest / 4);
  const before = valueText(observed);
  const after = valueText(desired);
  const room = longest - name.length - ': '.length - arrow.length;
  if (before.length + after.length <= room) return `${name}: ${before}${arrow}${after}`;
  const start = commonStart(before, after);
  const end = commonEnd(before, after, start);
  const half = Math.floor(room / 2);
  const forBefore = Math.max(half, room - after.length);
  const forAfter = Math.max(half, room - before.length);
  return `${name}: ${around(before, start, before.length - end, forBefore)}${arrow}${around(after, start, after.length - end, forAfter)}`;
}

/** `image: "app:1"`, of what is not there yet. */
export function additionText(
  { path, desired }: Pick<Difference, 'path' | 'desired'>,
  longest = Number.POSITIVE_INFINITY,
): string {
  const name = shortened(path, longest / 4);
  const value = valueText(desired);
  return `${name}: ${around(value, 0, value.length, longest - name.length - ': '.length)}`;
}

/** As JSON; `(set)` and other notes in the place of values that are never shown are not quoted. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '(none)';
  return typeof value === 'string' && note.test(value) ? value : JSON.stringify(value);
}

export function shortened(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, Math.max(0, Math.floor(longest) - 1))}…`;
}

const note = /^\([A-Za-z ]+\)$/;
const arrow = ' → ';

function gap(count: number): string {
  return `… ${count} characters …`;
}

/** Of the longest value, and a bit: what is shorter is shown itself. */
const gapLength = gap(100_000_000).length;
/** Equal characters beside those that differ. */
const context = 20;

/** What is from `start` to `end` in a text, and little of the rest. */
function around(text: string, start: number, end: number, longest: number): string {
  if (text.length <= longest) return text;
  const room = Math.max(0, longest - 3 * gapLength);
  const first = Math.max(0, start - context);
  const last = Math.min(text.length, end + context);
  const isWhole = last - first <= room;
  const head = isWhole ? last : first + Math.ceil((room * 2) / 3);
  const tail = isWhole ? last : last - Math.floor(room / 3);
  return [
    leftOut(text, 0, first),
    text.slice(first, head),
    leftOut(text, head, tail),
    text.slice(tail, last),
    leftOut(text, last, text.length),
  ].join('');
}

function leftOut(text: string, start: number, end: number): string {
  return end - start <= gapLength ? text.slice(start, end) : gap(end - start);
}

function commonStart(left: string, right: string): number {
  const most = Math.min(left.length, right.length);
  let length = 0;
  while (length < most && left[length] === right[length]) length += 1;
  return length;
}

function commonEnd(left: string, right: string, start: number): number {
  const most = Math.min(left.length, right.length) - start;
  let length = 0;
  while (length < most && left.at(-1 - length) === right.at(-1 - length)) length += 1;
  return length;
}
