/** Differences as text. One form for plans, drift, Events and the demo: what is there, an arrow, what is declared. */
import type { Difference } from './types.ts';

/** `image: "app:2" → "app:1"`: observed → declared. */
export function differenceText({
  path,
  desired,
  observed,
}: Pick<Difference, 'path' | 'desired' | 'observed'>): string {
  return `${path}: ${valueText(observed)} → ${valueText(desired)}`;
}

/** As JSON; `(set)` and other notes in the place of values that are never shown are not quoted. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '(none)';
  return typeof value === 'string' && note.test(value) ? value : JSON.stringify(value);
}

const note = /^\([A-Za-z ]+\)$/;
