/** The marks that tell whose a thing at the provider is. */
import type { Owner } from '../plan/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** Whose mark it is. */
export interface MarkHolder {
  readonly owner: Owner;
  readonly record: ObjectRecord;
}

/** How a kind carries marks; a mark is text, so that the things of a snapshot can be looked up by it. */
export interface Marks<Item> {
  /** Those that a thing carries. */
  of(item: Item): readonly string[];
  /** The object's own. */
  own(identity: MarkHolder): string;
  /** What a person writes to name the owner of somebody else's. */
  ownerIn(mark: string): string;
  /** It carries the object's mark, made with this state's digest key. */
  byKey(item: Item, identity: MarkHolder): boolean;
}
