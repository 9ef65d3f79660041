/** Text that others wrote, fit for a terminal: it shows what is there, and obeys nothing. */
import { terminalLines } from '../../base/index.ts';
import { printable } from '../../desired/index.ts';

export const longestLine = 2000;

/** One line without control characters. */
export function oneLine(text: string): string {
  return printable(text.trim(), longestLine);
}

/** Output of a container for this stream: as it is for programs, harmless on a terminal. */
export function forStream(stream: { isTTY?: boolean }, text: string): string {
  return stream.isTTY ? terminalLines(text) : text;
}

const agesMs = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** `3m`, `2h`, as kubectl shows ages. If the other clock is ahead of the local one: `0s`. */
export function age(fromMs: number, nowMs: number): string {
  const elapsedMs = Math.max(0, nowMs - fromMs);
  const [unit, unitMs] = agesMs.find(([, limitMs]) => elapsedMs >= limitMs) ?? ['s', 1000];
  return `${Math.floor(elapsedMs / unitMs)}${unit}`;
}

/** `2:05`, of a time that has passed. */
export function minutes(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
