/**
 * Why a thing is not an object's, although it carries the object's mark, or the object's document adopts it. The author of a document chooses
 * its name, and in a folder the mark follows from that, as it does for what a fleet owns.
 *
 * | the thing                                                            | the object                                   |
 * |----------------------------------------------------------------------|----------------------------------------------|
 * | is recorded for another object                                       | is held (`AdoptedTwice`)                     |
 * | is adopted by another document, which comes first (adopters.ts)      | the same                                     |
 * | carries the mark of another object of this fleet, which has nothing else | is held, whatever its document adopts      |
 * | has a short mark, made with this state's digest key for this object  | has it                                       |
 * | has a short mark, made with another key, as after a lost state:      |                                              |
 * | - another object has the same one                                    | is held (`OwnershipUnproven`): one of the two adopts it |
 * | - in a cluster                                                       | the same, until an operator accepts its bookkeeping: the key outlasts objects there |
 * | - in a folder                                                        | has it, when the owner is confirmed (`--owner`) |
 */
import { annotations, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { MarkOf } from '../fleet/mark-holders.ts';
import type { Marks, MarkHolder } from '../fleet/marks.ts';

export interface Claimant extends MarkHolder {
  readonly record: ObjectRecord;
  /** The object that manages a thing. */
  readonly holderOf: (id: string) => ObjectKey | undefined;
  /** Other objects of the kind that have the mark (mark-holders.ts). */
  readonly others: (mark: string, markOf: MarkOf) => readonly ObjectRecord[];
  /** A thing with a short mark has to prove that this state's key made it. */
  readonly needsKey: boolean;
  /** Who reads the object's messages may not read the objects of other namespaces. */
  readonly inCluster: boolean;
}

export interface Refusal {
  readonly reason: 'AdoptedTwice' | 'OwnershipUnproven';
  readonly message: string;
}

interface Remote {
  readonly id: string;
}

/** Of a thing that was found by the object's mark. */
export function whyNotFound<Item extends Remote>(
  claimant: Claimant,
  item: Item,
  marks: Marks<Item>,
): Refusal | undefined {
  const { record, owner, holderOf, needsKey } = claimant;
  const holder = holderOf(item.id);
  if (holder !== undefined && holder !== record.key) return managedAs(claimant, item.id, holder);
  if (!marks.isShort || marks.byKey(item, claimant)) return undefined;
  const [rival] = claimant.others(marks.own(claimant), (other) => marks.own({ owner, record: other }));
  const unproven = `${item.id} carries the mark of this object, and it was made with another digest key`;
  if (rival) {
    const message = `${unproven}. It may as well be that of ${shownTo(claimant, rival.key)}. Add \`adopt: {id: ${item.id}}\` to the document that it belongs to, or choose another name for one of them`;
    return { reason: 'OwnershipUnproven', message };
  }
  if (!needsKey) return undefined;
  const message = `${unproven}. If the key of this operator was lost, confirm that it is this object's: annotate the object or its Account with ${annotations.acceptBookkeepingUntil}`;
  return { reason: 'OwnershipUnproven', message };
}

/** Of a thing that the object's document adopts, and that is recorded for no other object. */
export function whyNotAdopted<Item extends Remote>(
  claimant: Claimant,
  item: Item,
  marks: Marks<Item>,
): Refusal | undefined {
  const { owner } = claimant;
  const carried = new Set(marks.of(item));
  if (carried.size === 0 || carried.has(marks.own(claimant))) return undefined;
  const markOf = (record: ObjectRecord) => marks.own({ owner, record });
  const other = [...carried]
    .flatMap((mark) => claimant.others(mark, markOf))
    .find(({ externalId }) => externalId === undefined || externalId === item.id);
  return other && managedAs(claimant, item.id, other.key);
}

type Reader = Pick<Claimant, 'record' | 'inCluster'>;

export function managedAs(reader: Reader, id: string, key: ObjectKey): Refusal {
  const message = isSeenBy(reader, key)
    ? `${id} is already managed as ${key}; two documents can't manage one thing: remove one of them`
    : `${id} is already managed by an object of another namespace, and two can't manage one thing: remove this document, or the \`adopt\` in it`;
  return { reason: 'AdoptedTwice', message };
}

/** The other object, as the reader of this one's messages may know it. */
export function shownTo(reader: Reader, key: ObjectKey): string {
  return isSeenBy(reader, key) ? key : 'an object of another namespace';
}

function isSeenBy({ record, inCluster }: Reader, key: ObjectKey): boolean {
  return !inCluster || parseObjectKey(key).namespace === parseObjectKey(record.key).namespace;
}

export function adoptedAs(reader: Reader, id: string, key: ObjectKey): Refusal {
  return {
    reason: 'AdoptedTwice',
    message: `${id} is adopted by ${shownTo(reader, key)}, too, which comes first; two documents can't manage one thing: remove one of them`,
  };
}
