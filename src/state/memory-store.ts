/** Records and intents in memory. The durable stores read from it, and a preview needs nothing else. */
import { canonicalId, type DigestKey } from '../base/index.ts';
import { stateTraitsOf, type ManagedKind, type ObjectKey } from '../resources/index.ts';
import type { CapacityEntry } from './capacity.ts';
import type { IdentityPin } from './identity-pin.ts';
import type { PlanFileRecord } from './plan-files.ts';
import type { ObservedPrice } from './prices.ts';
import type { CountedAnew } from './record-versions.ts';
import { SharedConditions } from './shared-conditions.ts';
import { RecordIndexes, type RecordGauges } from './record-indexes.ts';
import type { Intent, ObjectRecord, Resolution } from './records.ts';
import type { OwnerRevision } from './revisions.ts';
import type { StateStore } from './state-store.ts';

/** How a state marks what it manages. */
export interface StateIdentity {
  readonly digestKey: DigestKey;
  readonly ownerName: string;
  readonly ownerConfirmed?: boolean;
  readonly isKeyShared?: boolean;
  readonly epoch?: string | undefined;
}

/** What was left is forgotten that long before the newest of it. Until then, no fleet takes it for a replica of its own. */
export const keptLeftMs = 366 * 86_400_000;

const none: readonly OwnerRevision[] = [];

export class MemoryStore implements StateStore {
  readonly digestKey: DigestKey;
  readonly ownerName: string;
  readonly ownerConfirmed: boolean;
  readonly isKeyShared: boolean;
  #epoch: string | undefined;
  readonly #records: Map<ObjectKey, ObjectRecord>;
  readonly #sharedConditions = new SharedConditions();
  readonly #intents: Map<ObjectKey, Intent>;
  readonly #byExternalId = new Map<string, ObjectKey>();
  readonly #indexes = new RecordIndexes();
  readonly #pins: Map<string, IdentityPin>;
  readonly #prices: Map<string, readonly ObservedPrice[]>;
  readonly #left: Map<string, number>;
  readonly #capacity: Map<string, readonly CapacityEntry[]>;
  readonly #revisions: Map<ObjectKey, readonly OwnerRevision[]>;
  #commands: ReadonlyMap<ObjectKey, string> = new Map();
  readonly #countedAnew: CountedAnew[] = [];
  #planFiles: readonly PlanFileRecord[] = [];
  readonly #listeners: ((key: ObjectKey) => void)[] = [];

  /** `intents`: the newest one of each object. */
  constructor(
    identity: StateIdentity,
    records: readonly ObjectRecord[],
    intents: readonly Intent[],
    pins: ReadonlyMap<string, IdentityPin> = new Map(),
    prices: ReadonlyMap<string, readonly ObservedPrice[]> = new Map(),
    left: ReadonlyMap<string, number> = new Map(),
    capacity: ReadonlyMap<string, readonly CapacityEntry[]> = new Map(),
    revisions: ReadonlyMap<ObjectKey, readonly OwnerRevision[]> = new Map(),
  ) {
    this.#revisions = new Map(revisions);
    this.#capacity = new Map(capacity);
    this.#left = new Map(left);
    this.#pins = new Map(pins);
    this.#prices = new Map(prices);
    this.digestKey = identity.digestKey;
    this.ownerName = identity.ownerName;
    this.ownerConfirmed = identity.ownerConfirmed ?? false;
    this.isKeyShared = identity.isKeyShared ?? false;
    this.#epoch = identity.epoch;
    this.#records = new Map(
      records.map((record) => [record.key, this.#sharedConditions.of(withCanonicalIds(record))]),
    );
    this.#intents = new Map(intents.map((intent) => [intent.object, intent]));
    for (const record of this.#records.values()) {
      this.#index(record);
      this.#indexes.move(undefined, record);
    }
    for (const intent of this.#intents.values()) this.#indexes.moveIntent(intent.object, intent);
  }

  get epoch(): string | undefined {
    return this.#epoch;
  }

  records(): Iterable<ObjectRecord> {
    return this.#records.values();
  }

  everyKey(): Iterable<ObjectKey> {
    return this.#records.keys();
  }

  recordsOf(account: string): ObjectRecord[] {
    return this.#recordsAt(this.#indexes.ofAccount(account));
  }

  recordsIn(namespace: string): ObjectRecord[] {
    return this.#recordsAt(this.#indexes.inNamespace(namespace));
  }

  recordsOfKind(kind: ManagedKind): ObjectRecord[] {
    return this.#recordsAt(this.#indexes.ofKind(kind));
  }

  recordsWithId(externalId: string): ObjectRecord[] {
    return this.#recordsAt(this.#indexes.withId(canonicalId(externalId)));
  }

  count(account: string, kind: ManagedKind): number {
    return this.#indexes.count(account, kind);
  }

  get gauges(): RecordGauges {
    return this.#indexes.gauges;
  }

  record(key: ObjectKey): ObjectRecord | undefined {
    return this.#records.get(key);
  }

  recordOf(externalId: string): ObjectRecord | undefined {
    const key = this.#byExternalId.get(canonicalId(externalId));
    return key === undefined ? undefined : this.#records.get(key);
  }

  lastIntent(key: ObjectKey): Intent | undefined {
    return this.#intents.get(key);
  }

  openIntent(key: ObjectKey): Intent | undefined {
    const intent = this.#intents.get(key);
    return intent?.outcome === 'pending' || intent?.outcome === 'unknown' ? intent : undefined;
  }

  resolution(_key: ObjectKey): Resolution | undefined {
    return undefined;
  }

  command(key: ObjectKey): string | undefined {
    return this.#commands.get(key);
  }

  newCommands(): readonly ObjectKey[] {
    return [];
  }

  /** What was left in the state file, for those that only read. */
  takeCommands(commands: ReadonlyMap<ObjectKey, string>): this {
    this.#commands = commands;
    return this;
  }

  save(record: ObjectRecord): Promise<void> {
    return this.saveAll([record]);
  }

  async saveAll(records: readonly ObjectRecord[]): Promise<void> {
    for (const record of records) this.keep(record);
  }

  async saveIntent(intent: Intent, record: ObjectRecord): Promise<void> {
    this.keep(record, intent);
  }

  async flush(_key: ObjectKey): Promise<void> {
    // Memory is as durable as this store gets.
  }

  isKindStateDurable(_key: ObjectKey): boolean {
    return true;
  }

  listen(onMoved: (key: ObjectKey) => void): void {
    this.#listeners.push(onMoved);
  }

  async remove(key: ObjectKey, leftUntil?: number): Promise<void> {
    if (this.isKeyShared) this.keepEpoch(this.epochWithout(key));
    const uid = this.record(key)?.uid;
    if (uid !== undefined) this.keepLeft(uid, leftUntil);
    this.keepRevisions(key, []);
    this.drop(key);
  }

  leftUntil(uid: string): number | undefined {
    return this.#left.get(uid);
  }

  leftUids(): Iterable<string> {
    return this.#left.keys();
  }

  identityPin(account: string): IdentityPin | undefined {
    return this.#pins.get(account);
  }

  identityPinIsDurable(_account: string): boolean {
    return true;
  }

  async saveIdentityPin(account: string, pin: IdentityPin | undefined): Promise<void> {
    this.keepPin(account, pin);
  }

  prices(account: string): readonly ObservedPrice[] {
    return this.#prices.get(account) ?? [];
  }

  async savePrices(account: string, prices: readonly ObservedPrice[]): Promise<void> {
    this.keepPrices(account, prices);
  }

  revisions(key: ObjectKey): readonly OwnerRevision[] {
    return this.#revisions.get(key) ?? none;
  }

  async saveRevisions(key: ObjectKey, revisions: readonly OwnerRevision[]): Promise<void> {
    this.keepRevisions(key, revisions);
  }

  async saveOwner(
    record: ObjectRecord,
    revisions: readonly OwnerRevision[] | undefined,
    follow: () => Promise<void>,
  ): Promise<void> {
    // In the same turn of the event loop: the records of owned objects are saved in the same commit.
    await Promise.all([revisions && this.saveRevisions(record.key, revisions), this.save(record), follow()]);
  }

  capacity(account: string): readonly CapacityEntry[] {
    return this.#capacity.get(account) ?? [];
  }

  async saveCapacity(account: string, entries: readonly CapacityEntry[], _at: number): Promise<void> {
    this.keepCapacity(account, entries);
  }

  planFiles(): readonly PlanFileRecord[] {
    return this.#planFiles;
  }

  async savePlanFile(record: PlanFileRecord): Promise<void> {
    this.keepPlanFiles([...this.#planFiles.filter(({ digest }) => digest !== record.digest), record]);
  }

  /** Those that were read or written. */
  keepPlanFiles(planFiles: readonly PlanFileRecord[]): this {
    this.#planFiles = planFiles;
    return this;
  }

  newlyCounted(): readonly CountedAnew[] {
    return this.#countedAnew.splice(0);
  }

  /** Objects of which amounts could not be read. */
  keepCountedAnew(objects: readonly CountedAnew[]): this {
    this.#countedAnew.push(...objects);
    return this;
  }

  protected keep(given: ObjectRecord, intent?: Intent): void {
    const record = this.#sharedConditions.of(withCanonicalIds(given));
    const before = this.#records.get(record.key);
    if (before?.externalId !== record.externalId) this.#unindex(record.key, before?.externalId);
    this.#records.set(record.key, record);
    this.#index(record);
    this.#indexes.move(before, record);
    if (intent) {
      this.#intents.set(intent.object, intent);
      this.#indexes.moveIntent(intent.object, intent);
    }
    this.#moved(record.key);
  }

  protected drop(key: ObjectKey): void {
    const before = this.#records.get(key);
    this.#unindex(key, before?.externalId);
    this.#records.delete(key);
    this.#intents.delete(key);
    this.#indexes.move(before, undefined);
    this.#indexes.moveIntent(key, undefined);
    this.#moved(key);
  }

  /** The epoch that begins when the object is forgotten. */
  protected epochWithout(key: ObjectKey): string {
    const forgotten = [
      this.#records.get(key)?.externalId ?? null,
      this.#intents.get(key)?.idempotencyKey ?? null,
    ];
    return this.digestKey.digest({ after: this.#epoch ?? null, key, forgotten });
  }

  protected keepEpoch(epoch: string | undefined): void {
    this.#epoch = epoch;
  }

  protected keepPin(account: string, pin: IdentityPin | undefined): void {
    if (pin) this.#pins.set(account, pin);
    else this.#pins.delete(account);
  }

  protected keepLeft(uid: string, until: number | undefined): void {
    if (until === undefined) this.#left.delete(uid);
    else {
      for (const [each, time] of this.#left) if (time < until - keptLeftMs) this.#left.delete(each);
      this.#left.set(uid, until);
    }
  }

  protected keepPrices(account: string, prices: readonly ObservedPrice[]): void {
    this.#prices.set(account, prices);
  }

  protected keepCapacity(account: string, entries: readonly CapacityEntry[]): void {
    this.#capacity.set(account, entries);
  }

  protected keepRevisions(key: ObjectKey, revisions: readonly OwnerRevision[]): void {
    if (revisions.length === 0) this.#revisions.delete(key);
    else this.#revisions.set(key, revisions);
  }

  #moved(key: ObjectKey): void {
    for (const onMoved of this.#listeners) onMoved(key);
  }

  #recordsAt(keys: ReadonlySet<ObjectKey>): ObjectRecord[] {
    return [...keys].flatMap((key) => this.#records.get(key) ?? []);
  }

  #unindex(key: ObjectKey, externalId: string | undefined): void {
    if (externalId !== undefined && this.#byExternalId.get(externalId) === key) {
      this.#byExternalId.delete(externalId);
    }
  }

  #index({ key, externalId }: ObjectRecord): void {
    if (externalId !== undefined) this.#byExternalId.set(externalId, key);
  }
}

/** 0.1.0 stored ids as the API wrote them, which may be in upper case. */
function withCanonicalIds(record: ObjectRecord): ObjectRecord {
  const { key, externalId, seen, baseline } = record;
  let isCanonical = true;
  const canonical = (id: string) => {
    const found = canonicalId(id);
    isCanonical &&= found === id;
    return found;
  };
  const kind = stateTraitsOf(key).withIds?.(record.kind, canonical) ?? record.kind;
  for (const id of [externalId, seen?.id, baseline?.id]) if (id !== undefined) canonical(id);
  if (isCanonical) return record;
  return {
    ...record,
    externalId: externalId && canonicalId(externalId),
    kind,
    seen: seen && { ...seen, id: canonicalId(seen.id) },
    baseline: baseline && { ...baseline, id: canonicalId(baseline.id) },
  };
}
