/** Progress where it is not redrawn: a line for each change. Their beginning, up to the reason or action, is a contract. */
import { oneLine } from '../output/terminal-text.ts';
import type { ProgressRow } from './view.ts';

export function progressLine({ object, action, reason, message }: ProgressRow): string {
  const start = action === undefined ? `${object}: ${reason}` : `${object}: ${action}: ${reason}`;
  return oneLine(message === '' ? start : `${start}: ${message}`);
}
