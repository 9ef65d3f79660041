import type { DigestKey } from '../base/index.ts';
import type { ManagedKind, ObjectKey } from '../resources/index.ts';
import type { IdentityPin } from './identity-pin.ts';
import type { ObservedPrice } from './prices.ts';
import type { RecordGauges } from './record-indexes.ts';
import type { Intent, ObjectRecord, Resolution } from './records.ts';

/**
 * Where records and intents are kept. Reads are answered from memory; a write has been made durable when
 * its promise resolves.
 */
export interface StateStore {
  /** The name under which this state marks what it owns. */
  readonly ownerName: string;
  /** A person has named the owner: what carries its mark is ours. */
  readonly ownerConfirmed: boolean;
  /** Digests made with this key are comparable with those stored here. */
  readonly digestKey: DigestKey;
  /** Other states may have the same owner and digest key: the same creation has the same Idempotency-Key in all of them. */
  readonly isKeyShared: boolean;
  /** Of a state that shares its key: another one after each object that it has forgotten. */
  readonly epoch: string | undefined;
  /** For commands, which look at everything once. What runs for long asks for less. */
  records(): Iterable<ObjectRecord>;
  /** For the rare moment in which everything is looked at again. */
  everyKey(): Iterable<ObjectKey>;
  /** Those that stand, or stood, for something in an account (`namespace/name`). */
  recordsOf(account: string): readonly ObjectRecord[];
  recordsIn(namespace: string): readonly ObjectRecord[];
  /** Two may claim the same thing; `recordOf` has the one that did so last. */
  recordsWithId(externalId: string): readonly ObjectRecord[];
  recordsOfKind(kind: ManagedKind): readonly ObjectRecord[];
  /** How many of `recordsOf` are of that kind. */
  count(account: string, kind: ManagedKind): number;
  /** What metrics show of all records, counted when a record is saved. */
  readonly gauges: RecordGauges;
  record(key: ObjectKey): ObjectRecord | undefined;
  /** The object that stands for a service or volume with this id. */
  recordOf(externalId: string): ObjectRecord | undefined;
  /** The intent of this object that is pending or unknown: at most one. */
  openIntent(key: ObjectKey): Intent | undefined;
  /** The newest intent of this object, whatever became of it. */
  lastIntent(key: ObjectKey): Intent | undefined;
  save(record: ObjectRecord): Promise<void>;
  saveAll(records: readonly ObjectRecord[]): Promise<void>;
  /** Writes the intent and the record in one step. */
  saveIntent(intent: Intent, record: ObjectRecord): Promise<void>;
  /** Resolves when everything that was saved of the object is durable; an intent's outcome may not be before. */
  flush(key: ObjectKey): Promise<void>;
  /** Whether the activity registration of the object is where the next process finds it, also when a flush of all else fails. */
  isLeaseDurable(key: ObjectKey): boolean;
  /**
   * From now on, `onMoved` hears of each record and each newest intent that is saved, removed, or put back because it could not be saved. It hears
   * of it when memory says so, which may be before it is durable.
   */
  listen(onMoved: (key: ObjectKey) => void): void;
  /** Forgets the object and its intents. */
  remove(key: ObjectKey): Promise<void>;
  /** Another process may have left it since the start. */
  resolution(key: ObjectKey): Resolution | undefined;
  /** Of an account (`namespace/name`). */
  identityPin(account: string): IdentityPin | undefined;
  /** Whether the pin is where the next process finds it, and not only in memory since a write of it failed. */
  identityPinIsDurable(account: string): boolean;
  /** Undefined forgets it. */
  saveIdentityPin(account: string, pin: IdentityPin | undefined): Promise<void>;
  /** What things were seen to cost in an account (`namespace/name`), in the order in which they were saved. */
  prices(account: string): readonly ObservedPrice[];
  savePrices(account: string, prices: readonly ObservedPrice[]): Promise<void>;
}
