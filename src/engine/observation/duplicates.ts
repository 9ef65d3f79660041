/**
 * What carries an object's mark and is not what is recorded for it: somebody copied it with its environment, or a creation took effect after
 * all. A mark on another id is never enough to change or delete it (S5): an operator decides.
 */
import type { ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

interface Shown {
  readonly id: string;
}

/** `marked`: all that carry the object's mark. `holderOf`: who is recorded as standing for an id. */
export function duplicatesAmong<Item extends Shown>(
  { key, externalId }: Pick<ObjectRecord, 'key' | 'externalId'>,
  marked: readonly Item[],
  holderOf: (id: string) => ObjectKey | undefined,
): Item[] {
  const isForeign = (id: string) => (holderOf(id) ?? key) !== key;
  return marked.filter(({ id }) => id !== externalId && !isForeign(id));
}
