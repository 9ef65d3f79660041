import type { DigestKey } from '../base/index.ts';
import type { ManagedKind, ObjectKey } from '../resources/index.ts';
import type { CapacityEntry } from './capacity.ts';
import type { IdentityPin } from './identity-pin.ts';
import type { PlanFileRecord } from './plan-files.ts';
import type { ObservedPrice } from './prices.ts';
import type { CountedAnew } from './record-versions.ts';
import type { RecordGauges } from './record-indexes.ts';
import type { Intent, ObjectRecord, Resolution } from './records.ts';
import type { OwnerRevision } from './revisions.ts';

/** Stores records and intents. Reads are answered from memory. A write is durable when its promise resolves. */
export interface StateStore {
  /** For how long the disk has not answered, in milliseconds. Undefined: there is none. */
  readonly diskWaitMs?: number;
  /** Why the disk did not take the newest write. Undefined: it did, or there is none. */
  readonly diskFailure?: string | undefined;
  /** Its file was moved, deleted or replaced while in use. Undefined: it is where it was, or there is none. Looked up with each call. */
  readonly fileProblem?: string | undefined;
  /** The owner that the marks of this state carry. */
  readonly ownerName: string;
  /** An operator has confirmed the owner: what carries its mark is managed. */
  readonly ownerConfirmed: boolean;
  /** Digests made with this key are comparable with those stored here. */
  readonly digestKey: DigestKey;
  /**
   * Other states may have the same owner and digest key. Then the same creation has the same Idempotency-Key
   * in all of them.
   */
  readonly isKeyShared: boolean;
  /** Changes each time a state with a shared key forgets an object. */
  readonly epoch: string | undefined;
  /** For commands, which read everything once. Long-running code uses the indexes. */
  records(): Iterable<ObjectRecord>;
  /** For the rare case in which everything is checked again. */
  everyKey(): Iterable<ObjectKey>;
  /** Records with something in the account (`namespace/name`), now or earlier. */
  recordsOf(account: string): readonly ObjectRecord[];
  recordsIn(namespace: string): readonly ObjectRecord[];
  /** Two records may claim the same thing. `recordOf` returns the one that did so last. */
  recordsWithId(externalId: string): readonly ObjectRecord[];
  recordsOfKind(kind: ManagedKind): readonly ObjectRecord[];
  /** Number of `recordsOf` of that kind. */
  count(account: string, kind: ManagedKind): number;
  /** Gauges for metrics, updated whenever a record is saved. */
  readonly gauges: RecordGauges;
  record(key: ObjectKey): ObjectRecord | undefined;
  /** The object that manages the service or volume with this id. */
  recordOf(externalId: string): ObjectRecord | undefined;
  /** The intent of this object that is pending or unknown. There is at most one. */
  openIntent(key: ObjectKey): Intent | undefined;
  /** The newest intent of this object, whatever its outcome. */
  lastIntent(key: ObjectKey): Intent | undefined;
  save(record: ObjectRecord): Promise<void>;
  saveAll(records: readonly ObjectRecord[]): Promise<void>;
  /** Saves the intent and the record atomically. */
  saveIntent(intent: Intent, record: ObjectRecord): Promise<void>;
  /** Resolves when everything saved of the object is durable. Until then, an intent's outcome may be in memory only. */
  flush(key: ObjectKey): Promise<void>;
  /** Whether the next process will find the kind's part of the record, even if flushing the rest fails. */
  isKindStateDurable(key: ObjectKey): boolean;
  /**
   * From now on, `onMoved` is called for each record and each newest intent that is saved, removed, or rolled
   * back. That may be before the change is durable.
   */
  listen(onMoved: (key: ObjectKey) => void): void;
  /**
   * Forgets the object and its intents. `leftUntil`: it leaves something at the provider, and reads may lack that until
   * then (Unix milliseconds). Written with the removal.
   */
  remove(key: ObjectKey, leftUntil?: number): Promise<void>;
  /** Until when reads may lack what a forgotten object with this uid has left (Unix milliseconds). */
  leftUntil(uid: string): number | undefined;
  /** Of all forgotten objects that have left something. */
  leftUids(): Iterable<string>;
  /** Another process may have left it since the start. */
  resolution(key: ObjectKey): Resolution | undefined;
  /** The operator command that another process has left for the object. It is gone when it was decided on. */
  command(key: ObjectKey): string | undefined;
  /** Objects for which another process may have left a command since the last call. */
  newCommands(): readonly ObjectKey[];
  /** Objects of which amounts could not be read since the last call. These are counted anew; all else of them was read. */
  newlyCounted(): readonly CountedAnew[];
  /** Of an account (`namespace/name`). */
  identityPin(account: string): IdentityPin | undefined;
  /** Whether the next process will find the pin. False if writing it failed and it is in memory only. */
  identityPinIsDurable(account: string): boolean;
  /** Undefined forgets it. */
  saveIdentityPin(account: string, pin: IdentityPin | undefined): Promise<void>;
  /** Observed prices in an account (`namespace/name`), in the order in which they were saved. */
  prices(account: string): readonly ObservedPrice[];
  savePrices(account: string, prices: readonly ObservedPrice[]): Promise<void>;
  /** Of an object that owns others, by their numbers. The same array until they change. */
  revisions(key: ObjectKey): readonly OwnerRevision[];
  /** Replaces all of the object's revisions. They are forgotten with the object. */
  saveRevisions(key: ObjectKey, revisions: readonly OwnerRevision[]): Promise<void>;
  /**
   * The record of an object that owns others, with its revisions if they change. What the others are to be follows from it, so they
   * see it when it is durable. `follow` is called then; in a folder, in the same unit of work.
   */
  saveOwner(
    record: ObjectRecord,
    revisions: readonly OwnerRevision[] | undefined,
    follow: () => Promise<void>,
  ): Promise<void>;
  /** What was learned of the provider's capacity in an account (`namespace/name`), newest first. */
  capacity(account: string): readonly CapacityEntry[];
  /** `at`: Unix milliseconds. What other accounts learned, and did not use for long before that, is forgotten. */
  saveCapacity(account: string, entries: readonly CapacityEntry[], at: number): Promise<void>;
  /** The plan files that were applied, the oldest first. */
  planFiles(): readonly PlanFileRecord[];
  /** Replaces what is known of the file with this digest. */
  savePlanFile(record: PlanFileRecord): Promise<void>;
}
