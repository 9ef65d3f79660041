/**
 * How a record and its newest intent lie in `status.bookkeeping` of an object in a cluster. Pure.
 *
 * What the object itself says is not repeated there: key, uid, generation, document, deletion. Nothing in a status is
 * trusted blindly: it may have been copied from another object (then `uid` differs, and all of it is ignored), made with
 * another digest key (then its digests say nothing, and are ignored), edited or wiped (then ownership is
 * found again by the mark that the remote thing carries).
 */
import type { ObjectKey } from '../resources/index.ts';
import { intentOutcomes, newRecord, readRecord, type Intent, type ObjectRecord } from './records.ts';
import type { IdentityPin } from './identity-pin.ts';

export interface Bookkeeping {
  /** Of the object that it was written for. */
  readonly uid: string;
  /** Which key made the digests. */
  readonly digestKey: string;
  /** Grows with every write: who sees a higher one than its own knows that somebody else has written. */
  readonly sequence: number;
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
  'template',
] as const satisfies readonly (keyof ObjectRecord)[];

export function bookkeepingOf(
  { record, intent, identity, sequence }: Kept,
  digestKeyId: string,
): Bookkeeping {
  const blank: Readonly<Record<string, unknown>> = { ...newRecord(record.key, record.uid) };
  const told: ReadonlySet<string> = new Set(toldByObject);
  const kept = Object.entries(record).filter(
    ([name, value]) => !told.has(name) && value !== undefined && !isBlank(value, blank[name]),
  );
  return {
    uid: record.uid,
    digestKey: digestKeyId,
    sequence,
    record: Object.fromEntries(kept),
    ...(intent ? { intent: withoutObject(intent) } : {}),
    ...(identity ? { identity } : {}),
  };
}

/** What the status of the object `key` with this uid holds; a new record when it holds nothing of use. */
export function readBookkeeping(key: ObjectKey, uid: string, status: unknown, digestKeyId: string): Kept {
  const { bookkeeping, ...shown } = isMap(status) ? status : {};
  const nothing: Kept = { record: newRecord(key, uid), intent: undefined, identity: undefined, sequence: 0 };
  if (!isBookkeeping(bookkeeping) || bookkeeping.uid !== uid) return nothing;
  const isReadable = bookkeeping.digestKey === digestKeyId;
  const stored: Partial<Record<string, unknown>> = { ...bookkeeping.record };
  if (!isReadable) for (const name of madeWithKey) delete stored[name];
  const hasStatus = Array.isArray(shown['conditions']);
  const record = readRecord({
    ...newRecord(key, uid),
    ...stored,
    ...(hasStatus ? { status: shown } : {}),
  } as ObjectRecord);
  const { intent, identity, sequence } = bookkeeping;
  const isIntent = intent !== undefined && intentOutcomes.includes(intent.outcome);
  return {
    record,
    intent: isIntent ? { ...intent, ...absentIntentFields(intent, isReadable), object: key } : undefined,
    identity: isReadable ? identity : undefined,
    sequence,
  };
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
