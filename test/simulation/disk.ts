/**
 * The state file of folder mode, simulated. Writes become durable in their order, each a moment after it was asked for, and are
 * acknowledged then; each of them is atomic, as a transaction of SQLite is. A crash keeps some of the writes that were on
 * their way, from the first on, and loses the others. What is on the disk is text: nothing survives a crash by being shared.
 */
import {
  MemoryStore,
  type CapacityEntry,
  type IdentityPin,
  type Intent,
  type ObjectRecord,
  type OwnerRevision,
  type Resolution,
  type StateStore,
} from '../../src/state/index.ts';
import { sameValue } from '../../src/base/index.ts';
import type { ObjectKey } from '../../src/resources/index.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Life } from './scheduler.ts';
import type { DurableState, StateOwner, Write } from './state.ts';

/** What survives. `onDurable` is called before a write is made: it still sees what was there before. */
export class Disk implements DurableState {
  readonly owner: StateOwner;
  readonly #records = new Map<ObjectKey, ObjectRecord>();
  readonly #intents = new Map<ObjectKey, Intent>();
  readonly #pins = new Map<string, IdentityPin>();
  readonly #left = new Map<string, number>();
  readonly #revisions = new Map<ObjectKey, readonly OwnerRevision[]>();
  /** What was learned of capacity, which is on the disk at once. */
  readonly capacity = new Map<string, readonly CapacityEntry[]>();
  onDurable: (write: Write) => void = () => {};
  epoch: string | undefined;
  /** What people have left, as with `fleetkeeper resolve`. */
  readonly resolutions = new Map<ObjectKey, Resolution>();
  /** Until then there is no room for another write. */
  fullUntilMs = 0;

  constructor(owner: StateOwner) {
    this.owner = owner;
  }

  record(key: ObjectKey): ObjectRecord | undefined {
    return this.#records.get(key);
  }

  records(): ObjectRecord[] {
    return [...this.#records.values()];
  }

  intents(): Intent[] {
    return [...this.#intents.values()];
  }

  intent(key: ObjectKey): Intent | undefined {
    return this.#intents.get(key);
  }

  left(): ReadonlyMap<string, number> {
    return new Map(this.#left);
  }

  revisions(): ReadonlyMap<ObjectKey, readonly OwnerRevision[]> {
    return new Map(this.#revisions);
  }

  pins(): ReadonlyMap<string, IdentityPin> {
    return new Map(this.#pins);
  }

  /** Tests of the checker change what a process finds when it starts. */
  replace(record: ObjectRecord): void {
    this.#records.set(record.key, record);
  }

  /** All of it; the name of the owner and the key are kept elsewhere, too. */
  lose(): void {
    const all = [this.#records, this.#intents, this.#pins, this.#left, this.#revisions, this.capacity];
    for (const kept of all) kept.clear();
    this.epoch = undefined;
  }

  write(write: Write): void {
    this.onDurable(write);
    if (write.kind === 'remove') {
      this.#records.delete(write.key);
      this.#intents.delete(write.key);
      this.#revisions.delete(write.key);
      this.epoch = write.epoch;
      const { uid, until } = write.left ?? {};
      if (uid !== undefined && until !== undefined) this.#left.set(uid, until);
      else if (uid !== undefined) this.#left.delete(uid);
    } else if (write.kind === 'pin') {
      if (write.pin) this.#pins.set(write.account, write.pin);
      else this.#pins.delete(write.account);
    } else if (write.kind === 'revisions') {
      const { revisions } = JSON.parse(write.text) as { revisions: OwnerRevision[] };
      this.#revisions.set(write.key, revisions);
    } else {
      const { records, intent } = JSON.parse(write.text) as { records: ObjectRecord[]; intent?: Intent };
      for (const record of records) this.#records.set(record.key, record);
      if (intent) this.#intents.set(intent.object, { ...emptyIntent, ...intent });
    }
  }
}

/** JSON drops what is undefined. */
const emptyIntent = {
  targetId: undefined,
  baseRevision: undefined,
  baseState: undefined,
  restartToken: undefined,
  finishedAt: undefined,
  note: undefined,
};

interface Pending {
  readonly write: Write;
  readonly done: () => void;
}

export interface DiskAccess {
  readonly disk: Disk;
  readonly life: Life;
  readonly random: SeededRandom;
  readonly nowMs: () => number;
}

const longestWriteMs = 12;

/** The store of one life of the manager. */
export class SimulatedStore extends MemoryStore implements StateStore {
  readonly #access: DiskAccess;
  readonly #pending: Pending[] = [];
  /** An intent is on its way to the disk. */
  onIntent: () => void = () => {};

  constructor(access: DiskAccess) {
    const { disk } = access;
    super(
      { ...disk.owner, epoch: disk.epoch },
      disk.records(),
      disk.intents(),
      disk.pins(),
      new Map(),
      disk.left(),
      new Map(disk.capacity),
      disk.revisions(),
    );
    this.#access = access;
  }

  override async saveAll(records: readonly ObjectRecord[]): Promise<void> {
    this.#requireRoom();
    await super.saveAll(records);
    const askedAtMs = this.#access.nowMs();
    await this.#enqueue({ kind: 'save', records, askedAtMs, text: JSON.stringify({ records }) });
  }

  override async saveIntent(intent: Intent, record: ObjectRecord): Promise<void> {
    this.#requireRoom();
    await super.saveIntent(intent, record);
    const text = JSON.stringify({ records: [record], intent });
    const askedAtMs = this.#access.nowMs();
    this.onIntent();
    await this.#enqueue({ kind: 'save', records: [record], intent, askedAtMs, text });
  }

  override async remove(key: ObjectKey, leftUntil?: number): Promise<void> {
    this.#requireRoom();
    const uid = this.record(key)?.uid;
    await super.remove(key, leftUntil);
    const left = uid === undefined ? undefined : { uid, until: leftUntil };
    await this.#enqueue({ kind: 'remove', key, epoch: this.epoch, left });
  }

  override async saveRevisions(key: ObjectKey, revisions: readonly OwnerRevision[]): Promise<void> {
    this.#requireRoom();
    await super.saveRevisions(key, revisions);
    await this.#enqueue({ kind: 'revisions', key, text: JSON.stringify({ revisions }) });
  }

  override resolution(key: ObjectKey): Resolution | undefined {
    return this.#access.disk.resolutions.get(key);
  }

  override identityPinIsDurable(account: string): boolean {
    return sameValue(this.#access.disk.pins().get(account), this.identityPin(account));
  }

  override async saveIdentityPin(account: string, pin: IdentityPin | undefined): Promise<void> {
    this.#requireRoom();
    await super.saveIdentityPin(account, pin);
    await this.#enqueue({ kind: 'pin', account, pin });
  }

  override async saveCapacity(account: string, entries: readonly CapacityEntry[], at: number): Promise<void> {
    this.#requireRoom();
    await super.saveCapacity(account, entries, at);
    this.#access.disk.capacity.set(account, structuredClone(entries));
  }

  /** The process is no more: what was on its way is written as far as the seed says. */
  crash(): void {
    const { disk, random } = this.#access;
    const kept = random.between(0, this.#pending.length);
    for (const { write } of this.#pending.splice(0).slice(0, kept)) disk.write(write);
  }

  #requireRoom(): void {
    const { disk, nowMs } = this.#access;
    if (nowMs() < disk.fullUntilMs) throw new Error('database or disk is full');
  }

  #enqueue(write: Write): Promise<void> {
    const { life, random } = this.#access;
    return new Promise((resolve) => {
      this.#pending.push({ write, done: resolve });
      life.after(random.between(0, longestWriteMs), () => this.#finishOne());
    });
  }

  /** Each write has a moment at which one more is done: the first one that is not. */
  #finishOne(): void {
    const first = this.#pending.shift();
    if (!first) return;
    this.#access.disk.write(first.write);
    first.done();
  }
}
