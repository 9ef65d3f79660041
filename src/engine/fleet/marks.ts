/** The marks that show the owner of a thing at the provider. */
import type { Owner } from '../plan/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** The object whose mark it is. */
export interface MarkHolder {
  readonly owner: Owner;
  readonly record: Pick<ObjectRecord, 'uid' | 'markedAs'>;
}

/** How a kind carries marks. A mark is text, so the things of a snapshot can be indexed by it. */
export interface Marks<Item> {
  /** The marks that a thing carries. */
  of(item: Item): readonly string[];
  /** The object's own mark. */
  own(identity: MarkHolder): string;
  /** What an operator writes to name the owner of a foreign mark. */
  ownerIn(mark: string): string;
  /** It carries the object's mark, made with this state's digest key. */
  byKey(item: Item, identity: MarkHolder): boolean;
  /** A mark is so short that somebody can find an object with the same one. Only the key's digits show whose it is (claims.ts). */
  readonly isShort?: true;
  /** Ids of the digest keys that its marks were made with, as far as the marks show them. */
  keyIds(item: Item): readonly string[];
}
