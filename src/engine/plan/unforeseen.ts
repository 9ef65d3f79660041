import { entryOf } from '../../reasons/index.ts';
import type { Wait } from './types.ts';

/** Not all that follows the wait is known, nor what it costs. */
export function isUnforeseen({ unforeseen, reason }: Pick<Wait, 'unforeseen' | 'reason'>): boolean {
  return unforeseen === true || entryOf(reason).unforeseen === true;
}
