/**
 * Finds the remote thing of an object, and what is known of it. There are three ways: the recorded id, the id that the spec
 * adopts, and the object's mark in the account (after a lost response or a lost state file). Nothing is found by its name.
 *
 * - A snapshot counts only if it began after the last mutation of the object.
 * - If a recorded id is missing from such a snapshot, the thing is read by its id. It is gone if both reads lack it. Unless its
 *   deletion was accepted, both have to lack it again one settle window later.
 * - A thing that the account lacks, and that its id shows as deleted, counts as missing from both.
 * - A service that no read shows is not gone while it accepts heartbeats, or lists an activity that is not released. That holds for
 *   `visibilitySeconds`, and not after an accepted deletion.
 * - An object without an id has no thing if two account reads in a row lack its mark.
 */
import { describeOutcome, type Outcome, type wire } from '../../api/index.ts';
import type { Clock } from '../../base/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import type { Observation } from '../plan/index.ts';
import type { ReasonOf } from '../../reasons/index.ts';
import { annotations, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { ActivityRegistrations } from '../activity-registrations.ts';
import { longestMs } from '../outcomes/creation-times.ts';
import type { Creations } from '../outcomes/creations.ts';
import { adoptedAs, managedAs, whyNotAdopted, whyNotFound, type Claimant, type Refusal } from './claims.ts';
import { duplicatesAmong } from './duplicates.ts';
import { LeftBehind } from './left-behind.ts';
import type { Rival } from '../fleet/adopters.ts';
import type { Marks } from '../fleet/marks.ts';

export interface Observed<Value> {
  readonly observation: Observation<Value>;
  /** Found without being recorded: this id has to be bound to the object. */
  readonly found: string | undefined;
  /** Found by a mark, and not by an id. */
  readonly byMark: boolean;
  /** It carries the object's own mark, however it was found. */
  readonly isMarked?: boolean;
  /** Ids of other things that carry the object's mark, if the recorded thing is missing. */
  readonly elsewhere?: readonly string[];
}

export interface Identity extends Claimant {
  readonly adoptId: string | undefined;
  readonly adoptFrom: string | undefined;
  /** Another object that already manages `adoptId`. */
  readonly takenBy: ObjectKey | undefined;
  /** Other objects that adopt it, and come before this one. Absent: none. */
  readonly rivals?: () => readonly Rival[];
  /** A creation may have made the thing with the object's mark. */
  readonly awaits: boolean;
}

interface Remote {
  readonly id: string;
}

/** Finds the object's thing among `items`, which are of one kind and one snapshot. */
export function identify<Item extends Remote>(
  identity: Identity,
  items: ReadonlyMap<string, Item>,
  marks: Marks<Item>,
): Observed<Item> {
  const { record, adoptId } = identity;
  if (record.externalId !== undefined) {
    const item = items.get(record.externalId);
    // If an adopted thing was created again, the object manages its successor, and the adoption is over.
    if (item && adoptId !== undefined && adoptId !== record.externalId && items.has(adoptId)) {
      return conflict(
        'AdoptionChanged',
        `the object already manages ${record.externalId}; to adopt ${adoptId}, remove this document (with deletionPolicy: Retain) and add it again`,
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
    // A mark is stronger evidence than an unsigned id.
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
    return refused(managedAs(identity, adoptId, identity.takenBy));
  }
  if (adoptId !== undefined) {
    const item = items.get(adoptId);
    if (!item)
      return conflict('AdoptNotFound', `there is nothing with the id ${adoptId} in the account to adopt`);
    const refusal = whyNotAdopted(identity, item, marks) ?? whyNotFirst(identity, item, marks);
    if (refusal) return refused(refusal);
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
  // A mark is not enough to delete a thing that was never recorded.
  return isLeaving && marked.found !== undefined ? markedElsewhere(record, [marked.found]) : marked;
}

/** Things other than the recorded one that carry the object's mark. */
export function duplicatesOf<Item extends Remote>(
  identity: Pick<Identity, 'record' | 'owner' | 'holderOf'>,
  items: ReadonlyMap<string, Item>,
  marks: Marks<Item>,
): Item[] {
  const marked = markIndex(items, marks).get(marks.own(identity)) ?? [];
  return duplicatesAmong(identity.record, marked, identity.holderOf);
}

/** The recorded thing is missing, and something else carries the object's mark. */
export function markedElsewhere({ externalId }: ObjectRecord, ids: readonly string[]): Observed<never> {
  const recorded = externalId === undefined ? 'nothing is recorded for the object' : `${externalId} is gone`;
  const which = ids.join(', ');
  return conflict(
    'MarkedElsewhere',
    `${recorded}, and ${which} carries its mark: a copy, or the thing that it should manage. It is not changed, and nothing else is created.  ` +
      `Delete it at the provider, or add \`adopt: {id: ${ids[0]}}\` to this document to manage it (and to delete it with the document)`,
  );
}

/**
 * Finds the thing by the object's mark: after a lost state file, or after a create whose response was lost.
 * That create may have been a replacement of the recorded thing.
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
      `${ours.length} things in the account carry this object's mark: ${ours.map(({ id }) => id).join(', ')}; delete all but one, or choose one with \`adopt\``,
    );
  }
  if (!item) return { observation: { kind: 'absent', ...absence }, found: undefined, byMark: false };
  const refusal = whyNotFound(identity, item, marks);
  if (refusal) return refused(refusal);
  return { observation: { kind: 'present', value: item }, found: item.id, byMark: true, isMarked: true };
}

/** Each snapshot is indexed by marks once, for all objects without an id. */
const indexes = new WeakMap<object, ReadonlyMap<string, readonly unknown[]>>();

export function markIndex<Item>(
  items: ReadonlyMap<string, Item>,
  marks: Marks<Item>,
): ReadonlyMap<string, readonly Item[]> {
  const known = indexes.get(items);
  if (known) return known as ReadonlyMap<string, readonly Item[]>;
  const index = new Map<string, Item[]>();
  for (const item of items.values()) {
    for (const mark of new Set(marks.of(item))) {
      const others = index.get(mark);
      // A list that grows has room for 16 more, and of most marks there is one.
      index.set(mark, others ? [...others, item] : [item]);
    }
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
  if (carried.includes(marks.own(identity))) return undefined;
  const foreign = carried.map((mark) => marks.ownerIn(mark)).find((owner) => owner !== identity.adoptFrom);
  if (foreign === undefined) return undefined;
  return conflict(
    'OwnedByAnother',
    `${item.id} carries the mark of another owner or object (${foreign}); remove it there first.  ` +
      `If nobody manages it any more, confirm that with the annotation ${annotations.adoptFrom}: "${foreign}" and \`adopt: {id: ${item.id}}\``,
  );
}

/** Of a thing that other documents adopt as well. */
function whyNotFirst<Item extends Remote>(
  identity: Identity,
  item: Item,
  marks: Marks<Item>,
): Refusal | undefined {
  if (marks.of(item).includes(marks.own(identity))) return undefined;
  const rivals = identity.rivals?.() ?? [];
  const first = rivals.find(({ adoptFrom }) => !foreignMark({ ...identity, adoptFrom }, item, marks));
  return first && adoptedAs(identity, item.id, first.key);
}

function refused({ reason, message }: Refusal): Observed<never> {
  return conflict(reason, message);
}

export function conflict(reason: ReasonOf<'held'>, message: string): Observed<never> {
  return { observation: { kind: 'conflict', reason, message }, found: undefined, byMark: false };
}

/**
 * For an object without an id whose mark is missing from one account read. A read may have left it out, and
 * creating it would make a second one. So the read before has to agree, and has to be recent enough for a
 * decision.
 */
export function neverMade<Value>(
  before: AccountSnapshot | undefined,
  notBeforeMs: number,
  observeIn: (snapshot: AccountSnapshot) => Observation<Value>,
): Observation<Value> {
  const isUsable = before !== undefined && before.startedAtMs >= notBeforeMs;
  if (isUsable && observeIn(before).kind === 'absent') return { kind: 'absent', confirmed: true };
  return { kind: 'pending', message: 'one account read does not show it; waiting for another one' };
}

export interface AbsenceProofsOptions {
  readonly clock: Clock;
  /** 0 in a preview. */
  readonly settleMs: number;
  readonly creations: Pick<Creations, 'absenceRule'>;
  readonly store: Pick<StateStore, 'leftUntil'>;
  readonly registrations: Pick<ActivityRegistrations, 'evidenceOf'>;
}

/** Undefined for a kind without activities. */
type ActivitiesRead = () => Promise<Outcome<readonly wire.Activity[]>> | undefined;

/** Absences that are being confirmed. After a restart, the confirmation begins again. */
export class AbsenceProofs {
  readonly left: LeftBehind;
  readonly #sinceMs = new Map<ObjectKey, number>();
  readonly #options: AbsenceProofsOptions;

  constructor(options: AbsenceProofsOptions) {
    this.left = new LeftBehind(options.clock, options.settleMs, options.store);
    this.#options = options;
  }

  /** The object leaves its thing at the provider, and is about to be forgotten. See `LeftBehind.leave`. */
  leave(record: ObjectRecord, account: AccountHandle | undefined): number {
    return this.left.leave(record, account && this.#options.creations.absenceRule(record, account));
  }

  /** A preview sends nothing, so one observation is sufficient. */
  get needsOneObservation(): boolean {
    return this.#options.settleMs === 0;
  }

  forget(key: ObjectKey): void {
    this.#sinceMs.delete(key);
  }

  /**
   * Decides about a recorded id that the snapshot lacks, given a new read by id: it is present after all,
   * certainly absent, or undecided.
   */
  async confirm<Value>(
    record: ObjectRecord,
    account: AccountHandle,
    snapshot: AccountSnapshot,
    read: Outcome<Value>,
    activities: ActivitiesRead,
  ): Promise<Observation<Value>> {
    const { key } = record;
    const { clock, settleMs, creations } = this.#options;
    if (read.kind === 'applied' && !isShownAsDeleted(read.value)) {
      this.#sinceMs.delete(key);
      return { kind: 'present', value: read.value };
    }
    if (!reportsAbsence(read, record.deletedByUs)) {
      return {
        kind: 'pending',
        message: `${record.externalId} is not in the account, and could not be read by its id`,
      };
    }
    const rule = creations.absenceRule(record, account);
    if (rule.isDeleted) return { kind: 'absent', confirmed: true };
    const nowMs = clock.monotonicMs();
    const sinceMs = this.#sinceMs.get(key) ?? nowMs;
    this.#sinceMs.set(key, sinceMs);
    const earliestMs = Math.max(sinceMs + settleMs, rule.notBeforeMs);
    const isOld = this.needsOneObservation ? rule.notBeforeMs <= nowMs : snapshot.startedAtMs >= earliestMs;
    if (isOld && nowMs >= earliestMs) {
      const message = await this.#activeStill(record, account, sinceMs, activities);
      return message === undefined ? { kind: 'absent', confirmed: true } : { kind: 'pending', message };
    }
    const isYoung = nowMs < rule.notBeforeMs;
    return { kind: 'absent', confirmed: false, ...(isYoung ? { message: rule.message } : {}) };
  }

  /** Why a service that no read shows since `sinceMs` may be there all the same. */
  async #activeStill(
    { externalId = '' }: ObjectRecord,
    account: AccountHandle,
    sinceMs: number,
    activities: ActivitiesRead,
  ): Promise<string | undefined> {
    const { clock, settleMs, registrations } = this.#options;
    const longest = longestMs(account, settleMs);
    if (clock.monotonicMs() >= sinceMs + longest) return undefined;
    const own = registrations.evidenceOf(externalId, sinceMs);
    const read = own === undefined ? await activities() : undefined;
    const sign = own === undefined ? read && signIn(read) : signOf[own];
    return (
      sign &&
      `no read shows ${externalId}, but ${sign}: reads may lag behind. It counts as gone when that ends, or after ${longest / 1000} s (visibilitySeconds of the Account)`
    );
  }
}

/** What this process's own heartbeats show. */
const signOf = {
  accepted: 'a heartbeat of its task was accepted',
  awaited: 'the next heartbeat of its task has no answer yet',
  gone: undefined,
} as const;

/** What its list of activities shows. */
function signIn(read: Outcome<readonly wire.Activity[]>): string | undefined {
  if (read.kind !== 'applied') {
    return reportsAbsence(read, false)
      ? undefined
      : `its activities could not be read (${describeOutcome(read)})`;
  }
  return read.value.some(({ released }) => released !== true) ? 'an activity is registered in it' : undefined;
}

/** The status and code for a missing id are not documented (§7): 404, or a text like these. */
const goneWords =
  /not.?found|no.?such|does.?n.t.?exist|does.?not.?exist|unknown.?(id|service|volume|resource)|\bgone\b|was.?deleted|is.?deleted/i;
/** Texts with these terms report an unknown credential, not an unknown thing. */
const otherWords = /key|token|credential|account|user/i;
const refusingStatuses: ReadonlySet<number> = new Set([400, 403, 404, 409, 410]);

/**
 * For a read by id of a thing that an account read lacks. After our own deletion, any refusal means that it
 * is gone.
 */
function reportsAbsence(read: Outcome<unknown>, deletedByUs: boolean): boolean {
  if (read.kind === 'applied') return isShownAsDeleted(read.value);
  if (read.kind !== 'refused' || !refusingStatuses.has(read.status)) return false;
  if (read.status === 404 || deletedByUs) return true;
  const words = `${read.code} ${read.message}`;
  return goneWords.test(words) && !otherWords.test(words);
}

/** The account excludes what is deleted (§2); a read by id may show it, with a state of its own. */
function isShownAsDeleted(value: unknown): boolean {
  const { state, status } = value as { readonly state?: string; readonly status?: string };
  return /^(deleted|destroyed|removed|terminated)$/i.test(state ?? status ?? '');
}

/** The snapshot to decide from, or why there is none. It has to have begun after `notBeforeMs`. */
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
