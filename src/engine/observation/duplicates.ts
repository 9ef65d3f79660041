/**
 * Things that carry an object's mark but are not the recorded one. Somebody copied a service with its
 * environment, or a creation took effect late. A mark is never enough to change or delete a thing with
 * another id (S5): an operator decides.
 */
import type { ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

interface Shown {
  readonly id: string;
}

/** `marked`: all things that carry the object's mark. `holderOf`: the object that an id is recorded for. */
export function duplicatesAmong<Item extends Shown>(
  { key, externalId }: Pick<ObjectRecord, 'key' | 'externalId'>,
  marked: readonly Item[],
  holderOf: (id: string) => ObjectKey | undefined,
): Item[] {
  const isForeign = (id: string) => (holderOf(id) ?? key) !== key;
  return marked.filter(({ id }) => id !== externalId && !isForeign(id));
}
