/**
 * How the record of an object in a cluster and its newest intent are stored in `status.bookkeeping`. Pure.
 *
 * The key, uid, generation, document and deletion are left out, since the object itself has them. Others may write a
 * status, too. So the bookkeeping is signed with the key in the Secret `fleetkeeper-state`. The signature covers the key
 * and uid of the object, and all of the content:
 *
 *     signature                                     standing    what is read
 *     valid                                         signed      everything
 *     none (0.1.0), or made with another key        unsigned    what was made with this key; the id only as a claim (`distrusted`)
 *     wrong: edited, or copied from another object  forged      nothing; creations wait until it is clear what exists
 *     valid, of a later version                     newer       nothing; it is not overwritten either (cluster-store.ts)
 *     unreadable, or of another uid                 none        nothing
 *
 * The finalizer follows the first intent (cluster-store.ts). So an object that has the finalizer, and is older than this
 * process, once had bookkeeping. If that is gone or forged, a creation may have been sent that no read shows yet. The
 * record then has a creation with an unknown outcome (`lostCreation`).
 *
 * A claim is proven by the mark on the remote thing, or by `adopt` in the spec. Until then the thing is not changed.
 * An old copy of the bookkeeping that somebody restores is signed as well. It can only name what belonged to this object.
 */
import { mergePatch, type DigestKey } from '../base/index.ts';
import { parseObjectKey, stateTraitsOf, traitsOf, type ObjectKey } from '../resources/index.ts';
import {
  kindFieldsIn1,
  readRecord,
  recordVersion,
  upgradedFrom1,
  withoutKindFieldsIn1,
  type Stored,
} from './record-versions.ts';
import {
  intentOutcomes,
  lostCreation,
  newRecord,
  type Intent,
  type ObjectRecord,
  type ObjectStatus,
} from './records.ts';
import type { IdentityPin } from './identity-pin.ts';
import type { OwnerRevision } from './revisions.ts';
import { readWhy } from './why.ts';

export interface Bookkeeping {
  /** The uid of the object that it was written for. */
  readonly uid: string;
  /** The id of the key that made the digests. */
  readonly digestKey: string;
  /**
   * Grows by one with every write. A replica that reads a higher number than its own knows that another one
   * has written.
   */
  readonly sequence: number;
  /** Of the record. Absent in version 1. */
  readonly version?: number;
  /** Covers the other fields and the object's key. Absent in bookkeeping of 0.1.0. */
  readonly signature?: string;
  /** In version 2 without the kind's part, but with the fields that version 1 had for it. */
  readonly record: Stored;
  /** The kind's part of the record. Absent in version 1. */
  readonly kind?: Stored;
  readonly intent?: Omit<Intent, 'object'>;
  /** Of an object that owns others: its revisions, but for what they contain (cluster-revisions.ts). */
  readonly revisions?: readonly RevisionMark[];
  /** On an Account: the provider account that its key belonged to when it was first used. */
  readonly identity?: IdentityPin;
}

export interface Kept {
  readonly record: ObjectRecord;
  readonly intent: Intent | undefined;
  readonly identity: IdentityPin | undefined;
  readonly revisions: readonly RevisionMark[];
  readonly sequence: number;
}

export interface ReadBookkeeping extends Kept {
  readonly standing: Standing;
  /** See `ReadRecord`. */
  readonly anew: readonly string[];
}

/** A revision without its content, which is too large for a status. `contentDigest` proves it. */
export interface RevisionMark extends Omit<OwnerRevision, 'content' | 'data'> {
  readonly contentDigest: string;
}

export type Standing = 'signed' | 'unsigned' | 'forged' | 'newer' | 'none';

/** Fields of a record that are read from the object itself. */
const readFromObject = [
  'key',
  'uid',
  'generation',
  'specDigest',
  'manifest',
  'file',
  'line',
  'deletionRequestedAt',
  'kind',
  'status',
] as const satisfies readonly (keyof ObjectRecord)[];

/** Fields that contain digests. They are useless with another digest key. */
const madeWithKey = [
  'applied',
  'unconfirmed',
  'shownAs',
  'refusal',
  'repeated',
  'corrections',
] as const satisfies readonly (keyof ObjectRecord)[];

export function bookkeepingOf(
  { record, intent, identity, revisions, sequence }: Kept,
  digestKey: DigestKey,
): Bookkeeping {
  const blank: Readonly<Record<string, unknown>> = { ...newRecord(record.key, record.uid) };
  const omitted: ReadonlySet<string> = new Set(readFromObject);
  const kept = Object.entries(record).filter(
    ([name, value]) => !omitted.has(name) && value !== undefined && !isBlank(value, blank[name]),
  );
  const content = {
    version: recordVersion,
    uid: record.uid,
    digestKey: digestKey.id,
    sequence,
    record: { ...Object.fromEntries(kept), ...kindFieldsIn1(record) },
    kind: Object.fromEntries(Object.entries(record.kind).filter(([, value]) => value !== undefined)),
    ...(intent ? { intent: withoutObject(intent) } : {}),
    ...(revisions.length > 0 ? { revisions } : {}),
    ...(identity ? { identity } : {}),
  };
  return { ...content, signature: signatureOf(record.key, content, digestKey) };
}

function signatureOf(key: ObjectKey, content: Bookkeeping, digestKey: DigestKey): string {
  return digestKey.sign({ object: key, content: withoutNulls({ ...content, signature: undefined }) });
}

/** Removes nulls, as the API server does when it stores an object. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isMap(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}

function standingOf(key: ObjectKey, uid: string, value: unknown, digestKey: DigestKey): Standing {
  if (!isBookkeeping(value)) return 'none';
  if (value.uid !== uid) return 'none';
  if (value.signature === undefined || value.digestKey !== digestKey.id) return 'unsigned';
  if (value.signature !== signatureOf(key, value, digestKey)) return 'forged';
  return (value.version ?? 1) > recordVersion ? 'newer' : 'signed';
}

/**
 * Reads the status of the object. Without usable bookkeeping, the result has a new record. `isFinalized`: the
 * object has Fleetkeeper's finalizer.
 */
export function readBookkeeping(
  key: ObjectKey,
  uid: string,
  status: unknown,
  digestKey: DigestKey,
  isFinalized = false,
): ReadBookkeeping {
  const { bookkeeping, ...shown } = isMap(status) ? status : {};
  const standing = standingOf(key, uid, bookkeeping, digestKey);
  const isLost = isFinalized && createsThings(key);
  const nothing = {
    record: { ...newRecord(key, uid), creationInDoubt: isLost ? lostCreation(uid) : undefined },
    anew: [],
    intent: undefined,
    identity: undefined,
    revisions: [],
    sequence: 0,
    standing,
  };
  const record = { ...nothing.record, distrusted: 'forged' as const };
  const forged = { ...nothing, record, identity: unknownOrigin, standing: 'forged' as const };
  if (standing === 'forged') return forged;
  if (standing === 'none' || standing === 'newer' || !isBookkeeping(bookkeeping)) return nothing;
  const isReadable = bookkeeping.digestKey === digestKey.id;
  const hasStatus = Array.isArray(shown['conditions']);
  const stored = storedRecord(key, bookkeeping, hasStatus ? (shown as unknown as ObjectStatus) : undefined);
  const read = readRecord(key, uid, isReadable ? stored : withoutDigests(key, stored));
  if (!read) return forged;
  const { intent, identity, revisions = [], sequence } = bookkeeping;
  const isIntent = intent !== undefined && intentOutcomes.includes(intent.outcome);
  return {
    record: standing === 'unsigned' ? claimed(read.record) : read.record,
    anew: read.anew,
    intent: isIntent ? { ...intent, ...absentIntentFields(intent, isReadable), object: key } : undefined,
    identity: standing === 'unsigned' ? withoutOrigin(isReadable ? identity : undefined) : identity,
    // Their digests say nothing with another key.
    revisions: standing === 'signed' ? revisions : [],
    sequence,
    standing,
  };
}

/** The record in bookkeeping of any version, as version 2. */
export function storedRecord(
  key: ObjectKey,
  { version = 1, record, kind = {} }: Bookkeeping,
  status: ObjectStatus | undefined,
): Stored {
  const stored =
    version === 1 ? upgradedFrom1(key, record, status) : { ...withoutKindFieldsIn1(record), kind };
  return status ? { ...stored, status } : stored;
}

function withoutDigests(key: ObjectKey, stored: Stored): Stored {
  const { madeWithKey: ofKind = [] } = stateTraitsOf(key);
  return { ...without(stored, madeWithKey), kind: without(stored['kind'] as object, ofKind) };
}

function without(fields: object, names: readonly string[]): Stored {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** Anybody may have written this record. */
function claimed(record: ObjectRecord): ObjectRecord {
  const { key, externalId, kind, uid } = record;
  const state = stateTraitsOf(key);
  const claims = externalId !== undefined || state.hasClaims?.(kind) === true;
  return {
    ...record,
    markedAs: undefined,
    distrusted: claims ? 'unsigned' : undefined,
    kind: state.unsigned?.(kind, uid) ?? kind,
  };
}

/** Whether the status contains everything that `attempted` has. */
export function isWritten(attempted: Bookkeeping | undefined, status: unknown): boolean {
  const { bookkeeping } = (status ?? {}) as { readonly bookkeeping?: unknown };
  return attempted !== undefined && mergePatch(bookkeeping, attempted) === undefined;
}

/** Whether an object with this `status` can't be taken in without its revisions. */
export function hasRevisions(status: unknown): boolean {
  const bookkeeping = isMap(status) ? status['bookkeeping'] : undefined;
  return isBookkeeping(bookkeeping) && (bookkeeping.revisions ?? []).length > 0;
}

/** Whether the bookkeeping in `status` has exactly this pin. */
export function isPinIn(status: unknown, pin: IdentityPin | undefined): boolean {
  const bookkeeping = isMap(status) ? status['bookkeeping'] : undefined;
  return mergePatch(isBookkeeping(bookkeeping) ? bookkeeping.identity : undefined, pin) === undefined;
}

/** 0.1.0 pinned no origin. So one in unsigned bookkeeping proves nothing. */
function withoutOrigin(identity: IdentityPin | undefined): IdentityPin | undefined {
  return identity && { ...identity, origin: undefined };
}

/** It is no longer known where the key was used first. An operator has to confirm where it may be used. */
const unknownOrigin: IdentityPin = { id: undefined, emailDigest: undefined, origin: 'an unknown origin' };

/** Accounts and tasks make no creation that could be lost. */
function createsThings(key: ObjectKey): boolean {
  return traitsOf(parseObjectKey(key).kind).list !== undefined;
}

/** Adds the keys that JSON leaves out because their value is undefined. */
function absentIntentFields(intent: Omit<Intent, 'object'>, isReadable: boolean) {
  const { targetId, baseRevision, baseState, restartToken, estimate, finishedAt, note } = intent;
  const digests = isReadable ? intent.digests : undefined;
  const why = readWhy(intent.why);
  return { targetId, baseRevision, baseState, restartToken, digests, estimate, why, finishedAt, note };
}

function withoutObject({ object: _object, ...intent }: Intent): Omit<Intent, 'object'> {
  return intent;
}

export function isBookkeeping(value: unknown): value is Bookkeeping {
  return (
    isMap(value) &&
    typeof value['uid'] === 'string' &&
    typeof value['digestKey'] === 'string' &&
    Number.isSafeInteger(value['sequence']) &&
    isMap(value['record'])
  );
}

/** Whether the value is the one that a new record has. */
function isBlank(value: unknown, blank: unknown): boolean {
  if (value === blank) return true;
  if (Array.isArray(value)) return value.length === 0 && Array.isArray(blank);
  return isMap(value) && isMap(blank) && Object.keys(value).length === 0 && Object.keys(blank).length === 0;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
