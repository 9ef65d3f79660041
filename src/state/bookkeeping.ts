/**
 * How a record and its newest intent lie in `status.bookkeeping` of an object in a cluster. Pure.
 *
 * What the object itself says is not repeated there: key, uid, generation, document, deletion. A status may be written by others than the
 * operator, so what it holds is signed with the key of the Secret `fleetkeeper-state`, over the object's key and uid and all of the content:
 *
 *     signature                                     standing    what is taken from it
 *     ours                                          signed      everything
 *     none, as 0.1.0 wrote it; or of another key    unsigned    everything that was made with our key; the id only as a claim (`distrusted`)
 *     wrong: edited, or copied from another object  forged      nothing; and nothing is created until it is clear what there is
 *     nothing of use, or of another uid             none        nothing
 *
 * An object with our finalizer, and older than the process, has had bookkeeping: the finalizer follows the first intent (cluster-store.ts). Where nothing
 * of it is left, or it is forged, something may have been created that no read shows yet; that is a creation in doubt (`lostCreation`).
 *
 * A claim is proven by the mark on the remote thing, or by `adopt` in the spec; until then the thing is not changed. An older bookkeeping
 * that is put back is signed, too: all that it can name is what was this very object's own.
 */
import { mergePatch, type DigestKey } from '../base/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import {
  intentOutcomes,
  lostCreation,
  newRecord,
  readRecord,
  type Intent,
  type ObjectRecord,
} from './records.ts';
import type { IdentityPin } from './identity-pin.ts';

export interface Bookkeeping {
  /** Of the object that it was written for. */
  readonly uid: string;
  /** Which key made the digests. */
  readonly digestKey: string;
  /** Grows with every write: who sees a higher one than its own knows that somebody else has written. */
  readonly sequence: number;
  /** Of all the rest, and of the object's key; none in what 0.1.0 has written. */
  readonly signature?: string;
  readonly record: Readonly<Record<string, unknown>>;
  readonly intent?: Omit<Intent, 'object'>;
  /** On an Account: whose key it had when it was first used. */
  readonly identity?: IdentityPin;
}

export interface Kept {
  readonly record: ObjectRecord;
  readonly intent: Intent | undefined;
  readonly identity: IdentityPin | undefined;
  readonly sequence: number;
}

export type Standing = 'signed' | 'unsigned' | 'forged' | 'none';

/** Fields of a record that the object itself tells. */
const toldByObject = [
  'key',
  'uid',
  'generation',
  'specDigest',
  'manifest',
  'file',
  'line',
  'deletionRequestedAt',
  'status',
] as const satisfies readonly (keyof ObjectRecord)[];

/** Fields that mean something only beside the key that made their digests. */
const madeWithKey = [
  'applied',
  'unconfirmed',
  'shownAs',
  'refusal',
  'repeated',
  'corrections',
  'template',
] as const satisfies readonly (keyof ObjectRecord)[];

export function bookkeepingOf(
  { record, intent, identity, sequence }: Kept,
  digestKey: DigestKey,
): Bookkeeping {
  const blank: Readonly<Record<string, unknown>> = { ...newRecord(record.key, record.uid) };
  const told: ReadonlySet<string> = new Set(toldByObject);
  const kept = Object.entries(record).filter(
    ([name, value]) => !told.has(name) && value !== undefined && !isBlank(value, blank[name]),
  );
  const content = {
    uid: record.uid,
    digestKey: digestKey.id,
    sequence,
    record: Object.fromEntries(kept),
    ...(intent ? { intent: withoutObject(intent) } : {}),
    ...(identity ? { identity } : {}),
  };
  return { ...content, signature: signatureOf(record.key, content, digestKey) };
}

function signatureOf(key: ObjectKey, content: Bookkeeping, digestKey: DigestKey): string {
  return digestKey.sign({ object: key, content: withoutNulls({ ...content, signature: undefined }) });
}

/** What a server that keeps no nulls makes of it. */
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
  return value.signature === signatureOf(key, value, digestKey) ? 'signed' : 'forged';
}

/**
 * What the status of the object `key` with this uid holds; a new record when it holds nothing of use. `isFinalized`: the object has our
 * finalizer.
 */
export function readBookkeeping(
  key: ObjectKey,
  uid: string,
  status: unknown,
  digestKey: DigestKey,
  isFinalized = false,
): Kept & { readonly standing: Standing } {
  const { bookkeeping, ...shown } = isMap(status) ? status : {};
  const standing = standingOf(key, uid, bookkeeping, digestKey);
  const isLost = isFinalized && createsThings(key);
  const nothing = {
    record: { ...newRecord(key, uid), creationInDoubt: isLost ? lostCreation(uid) : undefined },
    intent: undefined,
    identity: undefined,
    sequence: 0,
    standing,
  };
  if (standing === 'forged') {
    return { ...nothing, record: { ...nothing.record, distrusted: 'forged' }, identity: unknownOrigin };
  }
  if (standing === 'none' || !isBookkeeping(bookkeeping)) return nothing;
  const isReadable = bookkeeping.digestKey === digestKey.id;
  const stored: Partial<Record<string, unknown>> = { ...bookkeeping.record };
  if (!isReadable) for (const name of madeWithKey) delete stored[name];
  const hasStatus = Array.isArray(shown['conditions']);
  const read = readRecord({
    ...newRecord(key, uid),
    ...stored,
    ...(hasStatus ? { status: shown } : {}),
  } as ObjectRecord);
  const { intent, identity, sequence } = bookkeeping;
  const isIntent = intent !== undefined && intentOutcomes.includes(intent.outcome);
  return {
    record: standing === 'unsigned' ? claimed(read) : read,
    intent: isIntent ? { ...intent, ...absentIntentFields(intent, isReadable), object: key } : undefined,
    identity: standing === 'unsigned' ? withoutOrigin(isReadable ? identity : undefined) : identity,
    sequence,
    standing,
  };
}

/** What may be anybody's words. An activity is the object's own when it goes by its uid. */
function claimed(record: ObjectRecord): ObjectRecord {
  const { externalId, madeVolumeId, lease, uid } = record;
  const claims = externalId !== undefined || madeVolumeId !== undefined;
  return {
    ...record,
    distrusted: claims ? 'unsigned' : undefined,
    lease: lease?.activityId === uid ? lease : undefined,
  };
}

/** What was `attempted` is in the status. */
export function isWritten(attempted: Bookkeeping | undefined, status: unknown): boolean {
  const { bookkeeping } = (status ?? {}) as { readonly bookkeeping?: unknown };
  return attempted !== undefined && mergePatch(bookkeeping, attempted) === undefined;
}

/** The bookkeeping in `status` holds the pin, and nothing else in its place. */
export function isPinIn(status: unknown, pin: IdentityPin | undefined): boolean {
  const bookkeeping = isMap(status) ? status['bookkeeping'] : undefined;
  return mergePatch(isBookkeeping(bookkeeping) ? bookkeeping.identity : undefined, pin) === undefined;
}

/** 0.1.0 pinned none. */
function withoutOrigin(identity: IdentityPin | undefined): IdentityPin | undefined {
  return identity && { ...identity, origin: undefined };
}

/** Where the key was used is not known any more: a person has to say where it may go. */
const unknownOrigin: IdentityPin = { id: undefined, emailDigest: undefined, origin: 'an unknown origin' };

/** Accounts and tasks create nothing at the provider that could be lost. */
function createsThings(key: ObjectKey): boolean {
  const { kind } = parseObjectKey(key);
  return kind !== 'Account' && kind !== 'ProtectedTask';
}

/** JSON has no undefined: what is absent of an intent is put back as such. */
function absentIntentFields(intent: Omit<Intent, 'object'>, isReadable: boolean) {
  const { targetId, baseRevision, baseState, restartToken, estimate, finishedAt, note } = intent;
  const digests = isReadable ? intent.digests : undefined;
  return { targetId, baseRevision, baseState, restartToken, digests, estimate, finishedAt, note };
}

function withoutObject({ object: _object, ...intent }: Intent): Omit<Intent, 'object'> {
  return intent;
}

function isBookkeeping(value: unknown): value is Bookkeeping {
  return (
    isMap(value) &&
    typeof value['uid'] === 'string' &&
    typeof value['digestKey'] === 'string' &&
    Number.isSafeInteger(value['sequence']) &&
    isMap(value['record'])
  );
}

/** As in a record of an object that nothing has happened to. */
function isBlank(value: unknown, blank: unknown): boolean {
  if (value === blank) return true;
  if (Array.isArray(value)) return value.length === 0 && Array.isArray(blank);
  return isMap(value) && isMap(blank) && Object.keys(value).length === 0 && Object.keys(blank).length === 0;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
