/**
 * Which remote object is this one's, and what is known of it. Three ways lead to it: the id that was
 * recorded, the id that the spec adopts, and our mark in the account (found after a lost answer or a lost state
 * file). Nothing is ever taken by its name.
 *
 * Only a snapshot that began after our last mutation of the object counts. A recorded id that is not in such a
 * snapshot is read by itself; it is gone when both reads say so, and, unless our deletion of it was accepted, still say so a
 * settle window later. What has no id was never made when two account reads in a row lack its mark.
 */
import type { Outcome } from '../../api/index.ts';
import type { Clock } from '../../base/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import type { Observation, Owner } from '../plan/index.ts';
import type { ReasonOf } from '../../reasons/index.ts';
import { annotations, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Creations } from '../outcomes/creations.ts';
import { duplicatesAmong } from './duplicates.ts';
import { LeftBehind } from './left-behind.ts';
import type { Marks } from '../fleet/marks.ts';

export interface Observed<Value> {
  readonly observation: Observation<Value>;
  /** Found without being recorded: to be bound to the object. */
  readonly found: string | undefined;
  /** Found by a mark, and not by an id. */
  readonly byMark: boolean;
  /** It carries the object's own mark, however it was found. */
  readonly isMarked?: boolean;
  /** Ids of others that carry the object's mark, when what is recorded is not there. */
  readonly elsewhere?: readonly string[];
}

export interface Identity {
  readonly record: ObjectRecord;
  readonly owner: Owner;
  readonly adoptId: string | undefined;
  readonly adoptFrom: string | undefined;
  /** Another object that already stands for `adoptId`. */
  readonly takenBy: ObjectKey | undefined;
  /** A creation of ours may have made what carries our mark. */
  readonly awaits: boolean;
  /** The object that stands for a thing. */
  readonly holderOf: (id: string) => ObjectKey | undefined;
}

interface Remote {
  readonly id: string;
}

/** Finds the object among `items`, all of one kind of one snapshot. */
export function identify<Item extends Remote>(
  identity: Identity,
  items: ReadonlyMap<string, Item>,
  marks: Marks<Item>,
): Observed<Item> {
  const { record, adoptId } = identity;
  if (record.externalId !== undefined) {
    const item = items.get(record.externalId);
    // An adopted object that was created anew stands for its successor: the adoption is spent.
    if (item && adoptId !== undefined && adoptId !== record.externalId && items.has(adoptId)) {
      return conflict(
        'AdoptionChanged',
        `the object already stands for ${record.externalId}; to adopt ${adoptId}, take this document out (with deletionPolicy: Retain) and add it anew`,
      );
    }
    const trusts = !identity.awaits && record.distrusted === undefined;
    if (!item && !trusts) return findMarked(identity, items, marks, { confirmed: false });
    if (!item) {
      const elsewhere = duplicatesOf(identity, items, marks).map(({ id }) => id);
      const observation = { kind: 'absent', confirmed: false } as const;
      return { observation, found: undefined, byMark: false, elsewhere };
    }
    const isMarked = marks.of(item).includes(marks.own(identity));
    // A mark is worth more than an id that nobody has signed.
    const marked = record.distrusted && !isMarked && findMarked(identity, items, marks, { confirmed: false });
    if (marked && marked.observation.kind === 'present') return marked;
    return (
      foreignMark(identity, item, marks) ?? {
        observation: { kind: 'present', value: item },
        found: undefined,
        byMark: false,
        isMarked,
      }
    );
  }
  if (adoptId !== undefined && identity.takenBy !== undefined) {
    return conflict(
      'AdoptedTwice',
      `${adoptId} is already managed as ${identity.takenBy}; one thing can't be kept as two documents say: remove one of them`,
    );
  }
  if (adoptId !== undefined) {
    const item = items.get(adoptId);
    if (!item)
      return conflict('AdoptNotFound', `there is nothing with the id ${adoptId} in the account to adopt`);
    return (
      foreignMark(identity, item, marks) ?? {
        observation: { kind: 'present', value: item },
        found: item.id,
        byMark: false,
      }
    );
  }
  const marked = findMarked(identity, items, marks, { confirmed: true });
  const isSure = !identity.awaits && record.distrusted === undefined;
  const isLeaving = record.deletionRequestedAt !== undefined && isSure;
  // A mark is not enough to delete what was never recorded.
  return isLeaving && marked.found !== undefined ? markedElsewhere(record, [marked.found]) : marked;
}

/** Others than what is recorded that carry the object's mark. */
export function duplicatesOf<Item extends Remote>(
  identity: Pick<Identity, 'record' | 'owner' | 'holderOf'>,
  items: ReadonlyMap<string, Item>,
  marks: Marks<Item>,
): Item[] {
  const marked = markIndex(items, marks).get(marks.own(identity)) ?? [];
  return duplicatesAmong(identity.record, marked, identity.holderOf);
}

/** What is recorded is not there, and something else carries the object's mark. */
export function markedElsewhere({ externalId }: ObjectRecord, ids: readonly string[]): Observed<never> {
  const recorded = externalId === undefined ? 'nothing is recorded for the object' : `${externalId} is gone`;
  const which = ids.join(', ');
  return conflict(
    'MarkedElsewhere',
    `${recorded}, and ${which} carries its mark: a copy, or what it should stand for. It is not touched, and nothing is created beside it. ` +
      `Delete it at the provider, or say \`adopt: {id: ${ids[0]}}\` in this document to manage it (and to delete it with the document)`,
  );
}

/**
 * By our mark: after a lost state file, or after a create whose answer was lost, also when that was to replace
 * the one that is recorded.
 */
function findMarked<Item extends Remote>(
  identity: Identity,
  items: ReadonlyMap<string, Item>,
  marks: Marks<Item>,
  absence: { readonly confirmed: boolean },
): Observed<Item> {
  const ours = markIndex(items, marks).get(marks.own(identity)) ?? [];
  const [item] = ours;
  if (ours.length > 1) {
    return conflict(
      'MarkedTwice',
      `${ours.length} things in the account carry this object's mark: ${ours.map(({ id }) => id).join(', ')}; delete all but one, or say which with \`adopt\``,
    );
  }
  if (!item) return { observation: { kind: 'absent', ...absence }, found: undefined, byMark: false };
  return { observation: { kind: 'present', value: item }, found: item.id, byMark: true, isMarked: true };
}

/** Every object without an id is looked for in the same snapshot: its marks are read once. */
const indexes = new WeakMap<object, ReadonlyMap<string, readonly unknown[]>>();

function markIndex<Item>(
  items: ReadonlyMap<string, Item>,
  marks: Marks<Item>,
): ReadonlyMap<string, readonly Item[]> {
  const known = indexes.get(items);
  if (known) return known as ReadonlyMap<string, readonly Item[]>;
  const index = new Map<string, Item[]>();
  for (const item of items.values()) {
    for (const mark of new Set(marks.of(item))) index.set(mark, [...(index.get(mark) ?? []), item]);
  }
  indexes.set(items, index);
  return index;
}

function foreignMark<Item extends Remote>(
  identity: Identity,
  item: Item,
  marks: Marks<Item>,
): Observed<Item> | undefined {
  const carried = marks.of(item);
  const [mark] = carried;
  if (mark === undefined || carried.includes(marks.own(identity))) return undefined;
  const foreign = marks.ownerIn(mark);
  if (foreign === identity.adoptFrom) return undefined;
  return conflict(
    'OwnedByAnother',
    `${item.id} carries the mark of another owner or object (${foreign}); take it out there first. ` +
      `If nobody manages it any more, say so with the annotation ${annotations.adoptFrom}: "${foreign}" and \`adopt: {id: ${item.id}}\``,
  );
}

export function conflict(reason: ReasonOf<'held'>, message: string): Observed<never> {
  return { observation: { kind: 'conflict', reason, message }, found: undefined, byMark: false };
}

/**
 * What to make of an object without an id whose mark one account read does not show. A read may have left it out, and
 * then creating it would make a second one: the read before has to say the same, and to be as new as a decision needs.
 */
export function neverMade<Value>(
  before: AccountSnapshot | undefined,
  notBeforeMs: number,
  look: (snapshot: AccountSnapshot) => Observation<Value>,
): Observation<Value> {
  const isUsable = before !== undefined && before.startedAtMs >= notBeforeMs;
  if (isUsable && look(before).kind === 'absent') return { kind: 'absent', confirmed: true };
  return { kind: 'pending', message: 'one account read does not show it; waiting for another one' };
}

/** Memory of absences that are being confirmed; lost at a restart, which only starts the window anew. */
export class AbsenceProofs {
  readonly left: LeftBehind;
  readonly #sinceMs = new Map<ObjectKey, number>();
  readonly #clock: Clock;
  readonly #settleMs: number;
  readonly #creations: Pick<Creations, 'absenceRule'>;

  constructor(
    clock: Clock,
    settleMs: number,
    creations: Pick<Creations, 'absenceRule'>,
    store: Pick<StateStore, 'leftUntil'>,
  ) {
    this.#clock = clock;
    this.left = new LeftBehind(clock, store);
    this.#settleMs = settleMs;
    this.#creations = creations;
  }

  /** The object leaves its thing at the provider, and is about to be forgotten. See `LeftBehind.leave`. */
  leave(record: ObjectRecord, account: AccountHandle | undefined): number | undefined {
    return account && this.left.leave(record, this.#creations.absenceRule(record, account));
  }

  /** A preview sends nothing, and takes one look for the truth. */
  get takesOneLook(): boolean {
    return this.#settleMs === 0;
  }

  forget(key: ObjectKey): void {
    this.#sinceMs.delete(key);
  }

  /**
   * What to make of a recorded id that the snapshot does not show, given a read of it by id that was made just
   * now: present after all, absent for certain, or not decided yet.
   */
  confirm<Value>(
    record: ObjectRecord,
    account: AccountHandle,
    snapshot: AccountSnapshot,
    read: Outcome<Value>,
  ): Observation<Value> {
    const { key } = record;
    if (read.kind === 'applied') {
      this.#sinceMs.delete(key);
      return { kind: 'present', value: read.value };
    }
    if (!saysGone(read, record.deletedByUs)) {
      return {
        kind: 'pending',
        message: `${record.externalId} is not in the account, and could not be read by its id`,
      };
    }
    const rule = this.#creations.absenceRule(record, account);
    if (rule.isDeleted) return { kind: 'absent', confirmed: true };
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#sinceMs.get(key) ?? nowMs;
    this.#sinceMs.set(key, sinceMs);
    const earliestMs = Math.max(sinceMs + this.#settleMs, rule.notBeforeMs);
    const isOld = this.takesOneLook ? rule.notBeforeMs <= nowMs : snapshot.startedAtMs >= earliestMs;
    if (isOld && nowMs >= earliestMs) return { kind: 'absent', confirmed: true };
    const isYoung = nowMs < rule.notBeforeMs;
    return { kind: 'absent', confirmed: false, ...(isYoung ? { message: rule.message } : {}) };
  }
}

/** Which status an id gets that is not there is not documented (§7), nor with which code: 404, or words that say so. */
const goneWords =
  /not.?found|no.?such|does.?n.t.?exist|does.?not.?exist|unknown.?(id|service|volume|resource)|\bgone\b|was.?deleted|is.?deleted/i;
/** Which say that what is asked with is not there, not what is asked for. */
const otherWords = /key|token|credential|account|user/i;
const refusingStatuses: ReadonlySet<number> = new Set([400, 403, 404, 409, 410]);

/** Of a read by id of what a whole account read does not show. What we deleted ourselves is refused in any words once it is gone. */
function saysGone(read: Outcome<unknown>, deletedByUs: boolean): boolean {
  if (read.kind !== 'refused' || !refusingStatuses.has(read.status)) return false;
  if (read.status === 404 || deletedByUs) return true;
  const words = `${read.code} ${read.message}`;
  return goneWords.test(words) && !otherWords.test(words);
}

/** The snapshot to decide from, or why there is none: it has to have begun after `notBeforeMs`. */
export function usableSnapshot(
  { informer }: AccountHandle,
  notBeforeMs: number,
): { snapshot: AccountSnapshot } | { pending: string } {
  const snapshot = informer.current;
  if (!snapshot) return { pending: 'the account has not been read yet' };
  if (snapshot.startedAtMs < notBeforeMs)
    return { pending: 'waiting for an account read after the last request' };
  return { snapshot };
}
