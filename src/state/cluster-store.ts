/**
 * The state of operator mode. What the engine knows about an object is in the object's status (`bookkeeping.ts`). So it
 * survives a crash, a move to another node and a new leader, and is deleted with the object.
 *
 *     source ── observe ──> in memory ── save, saveIntent(pending) ──> status patched ── resolves
 *                              └── saveIntent(finished): in memory, and with the next save or flush
 *
 * - An intent is durable on the API server before its request is sent. The outcome is written together with the status at
 *   the end of the pass. After a crash between the two, the intent is still pending, and evidence settles it.
 * - A patch carries uid and resourceVersion. After a conflict the object is read again, and the patch is repeated.
 *   Signed bookkeeping with a higher sequence is different: another manager wrote it, or this process did and lost the
 *   response. In the first case its record is adopted, and the write fails.
 * - A replica without the Lease writes nothing, because the leader may have written something newer.
 * - What could not be written stays in memory, and the next flush writes it. The same is done when somebody wipes a status.
 * - The finalizer is added before a request that needs a cleanup, and removed with the record. It follows the first
 *   intent. So an object that has the finalizer but no bookkeeping has lost its status.
 * - If an object vanishes although it had the finalizer, its record is forgotten. What it managed stays as it is.
 */
import PQueue from 'p-queue';
import { backoffMs, invariant, mergePatch, sameValue, sleep } from '../base/index.ts';
import { KubernetesError, newerVersion, type KubernetesObject, type Patch } from '../kubernetes/index.ts';
import { accountKey, accountNamed, cleanupFinalizer, type ObjectKey } from '../resources/index.ts';
import { bookkeepingOf, isPinIn, isWritten, readBookkeeping, type Bookkeeping } from './bookkeeping.ts';
import { ClusterRevisions } from './cluster-revisions.ts';
import {
  LeftObjects,
  ObjectGone,
  OlderObjects,
  Turns,
  attempts,
  conflictBackoff,
  mayHaveHappened,
  needsCleanup,
  unlessGone,
  writtenByLaterVersion,
  type ClusterStoreOptions,
  type Known,
  type Planned,
} from './cluster-writes.ts';
import type { IdentityPin } from './identity-pin.ts';
import { MemoryStore } from './memory-store.ts';
import type { OwnerRevision } from './revisions.ts';
import { factsOf, targetOf, type Noticed, type StoredObject } from './stored-object.ts';
import { withEngineFields, type Intent, type ObjectRecord, type Resolution } from './records.ts';
import { readCapacity, type CapacityEntry } from './capacity.ts';
import { readPrices, type ObservedPrice } from './prices.ts';
import { readResolution } from './resolution-annotation.ts';

/** Of all passes together, so that a slow server is not given ever more of them. */
const patchesAtOnce = 32;

export class ClusterStore extends MemoryStore {
  readonly #options: ClusterStoreOptions;
  readonly #patches = new PQueue({ concurrency: patchesAtOnce });
  readonly #known = new Map<ObjectKey, Known>();
  readonly #identities = new Map<ObjectKey, IdentityPin>();
  readonly #turns = new Turns();
  readonly #revisions: ClusterRevisions;
  readonly #unwritten = new Set<ObjectKey>();
  readonly #vanished: ObjectRecord[] = [];
  /** Their sequence is higher than expected. They are rechecked, since our own write may be the reason. */
  readonly #ahead = new Set<ObjectKey>();
  readonly #older = new OlderObjects();
  readonly #left = new LeftObjects();

  constructor(options: ClusterStoreOptions) {
    super({ ...options.identity, ownerConfirmed: true }, [], []);
    this.#options = options;
    this.#revisions = new ClusterRevisions({ ...options, digestKey: options.identity.digestKey });
  }

  /** Takes in a snapshot: `objects` are all that exist. Of those in `unusable`, nothing more is known. */
  async observe(
    objects: Iterable<StoredObject>,
    unusable: ReadonlySet<ObjectKey>,
    unread?: ReadonlySet<string>,
  ): Promise<Noticed> {
    const shown = new Map(Array.from(objects, (object) => [object.key, object]));
    const shownOf = (key: ObjectKey) => shown.get(key) ?? (unusable.has(key) ? 'unusable' : undefined);
    const noticed = await this.observeChanges([...shown.keys(), ...this.#known.keys()], shownOf, unread);
    this.#older.begin(unusable);
    return noticed;
  }

  /** The same for a snapshot in which only these objects have changed. After a KubernetesError it may be called again, with the same. */
  async observeChanges(
    changed: Iterable<ObjectKey>,
    shownOf: (key: ObjectKey) => StoredObject | 'unusable' | undefined,
    unread?: ReadonlySet<string>,
  ): Promise<Noticed> {
    const shown = { shownOf, unread, known: this.#known };
    const noticed = await this.#left.observe([...changed, ...this.#ahead], shown, this.#see);
    this.#older.unread = unread;
    return { ...noticed, vanished: this.#vanished.splice(0) };
  }

  /** For sources that publish no snapshot for a status alone. True: somebody else edited the bookkeeping. */
  notice(object: StoredObject): boolean {
    const known = this.#known.get(object.key);
    if (known?.uid !== object.uid || !newerVersion(object.resourceVersion, known.resourceVersion))
      return false;
    return this.#follow(known, object);
  }

  // `saveAll` stays in memory: what it saves comes from the source, and need not be written there. So does `saveRevisions`:
  // revisions are written with their owner.

  /** Passes of the owned objects follow what is in memory, so that has to be durable first. */
  override async saveOwner(
    record: ObjectRecord,
    revisions: readonly OwnerRevision[] | undefined,
    follow: () => Promise<void>,
  ): Promise<void> {
    const { key } = record;
    const intent = this.lastIntent(key);
    await this.#write(key, { record: this.#current(record), intent, revisions, isAnnounced: true });
    if (revisions) this.keepRevisions(key, revisions);
    await super.save(this.#current(record));
    await follow();
  }

  override async save(record: ObjectRecord): Promise<void> {
    await super.save(this.#current(record));
    await this.#writeOwn(record.key);
  }

  override async flush(key: ObjectKey): Promise<void> {
    if (this.#unwritten.has(key)) await this.#write(key);
  }

  override isKindStateDurable(key: ObjectKey): boolean {
    const { uid = '', status } = this.#known.get(key) ?? {};
    const { record: written, standing } = readBookkeeping(key, uid, status, this.digestKey);
    return standing === 'signed' && sameValue(written.kind, this.record(key)?.kind);
  }

  override async saveIntent(intent: Intent, record: ObjectRecord): Promise<void> {
    const { key } = record;
    if (intent.outcome === 'pending') await this.#write(key, { intent, record, isAnnounced: false });
    await super.saveIntent(intent, this.#current(record));
    if (intent.outcome !== 'pending') this.#unwritten.add(key);
  }

  /** Removes the finalizer. Kubernetes then deletes the object, or keeps it unmanaged. */
  override async remove(key: ObjectKey): Promise<void> {
    const uid = this.#known.get(key)?.uid;
    if (this.#options.api && uid !== undefined) await this.#turns.take(key, () => this.#unfinalize(key, uid));
    // An object with the same name may have been created meanwhile.
    const current = this.#known.get(key);
    if (current === undefined || current.uid === uid) await this.#drop(key);
  }

  /** An operator leaves it as an annotation. */
  override resolution(key: ObjectKey): Resolution | undefined {
    return readResolution(this.record(key)?.manifest.annotations ?? {});
  }

  /** The status has them. The account of the environment has no status. */
  override prices(account: string): readonly ObservedPrice[] {
    const known = super.prices(account);
    return known.length > 0 ? known : readPrices(account, this.#statusOf(account), this.digestKey);
  }

  override capacity(account: string): readonly CapacityEntry[] {
    const known = super.capacity(account);
    return known.length > 0 ? known : readCapacity(account, this.#statusOf(account), this.digestKey);
  }

  override async saveIdentityPin(account: string, pin: IdentityPin | undefined): Promise<void> {
    await super.saveIdentityPin(account, pin);
    const key = accountKey(account);
    if (pin) this.#identities.set(key, pin);
    else this.#identities.delete(key);
    // The account of the environment has no object. Its pin lives as long as this process.
    if (this.#known.has(key)) await this.#writeOwn(key);
  }

  override identityPinIsDurable(account: string): boolean {
    const known = this.#known.get(accountKey(account));
    return !known || !this.#options.api || isPinIn(known.status, this.identityPin(account));
  }

  #statusOf = (account: string) => this.record(accountKey(account))?.status;

  /** True if its status is not as it was last written. */
  #see = async (key: ObjectKey, object: StoredObject | undefined): Promise<boolean> => {
    this.#ahead.delete(key);
    const known = this.#known.get(key);
    // It is being deleted and needs no cleanup, or somebody removed the finalizer.
    const leaves = object?.deletionRequestedAt !== undefined && !object.finalizers.includes(cleanupFinalizer);
    if (known && (leaves || known.uid !== object?.uid)) await this.#forget(key);
    if (!object || leaves) return false;
    if (known?.uid !== object.uid) await this.#load(object);
    else if (newerVersion(object.resourceVersion, known.resourceVersion)) return this.#follow(known, object);
    return false;
  };

  async #load(object: StoredObject): Promise<void> {
    const { key, uid, status, finalizers } = object;
    // A new object has no owner yet. If it has the finalizer, it was copied together with it.
    const isFinalized = this.#older.mayHave(key) && finalizers.includes(cleanupFinalizer);
    const kept = readBookkeeping(key, uid, status, this.digestKey, isFinalized);
    if (kept.standing === 'newer') throw writtenByLaterVersion(key);
    // First: a fleet that is known without its revisions would take its template for a new one.
    const revisions =
      kept.revisions.length > 0 ? await this.#revisions.read(key, uid, kept.revisions) : undefined;
    this.#known.set(key, { ...object, sequence: kept.sequence });
    if (kept.anew.length > 0) this.keepCountedAnew([{ key, fields: kept.anew }]);
    await super.saveAll([kept.record]);
    if (kept.intent) await super.saveIntent(kept.intent, kept.record);
    if (revisions) this.keepRevisions(key, revisions);
    const account = accountNamed(key);
    if (!kept.identity || account === undefined) return;
    this.#identities.set(key, kept.identity);
    await super.saveIdentityPin(account, kept.identity);
  }

  /** Takes in the current object. True if its status is not as it was last written. */
  #follow({ sequence, attempted, status: before }: Known, object: StoredObject): boolean {
    const { key, uid, status } = object;
    const { sequence: found, standing } = readBookkeeping(key, uid, status, this.digestKey);
    // The next write finds out who wrote it, because that write has a conflict.
    if (standing === 'newer' || (found > sequence && standing === 'signed')) {
      this.#ahead.add(key);
      return false;
    }
    this.#known.set(key, { ...object, sequence, attempted });
    const isTampered = found !== sequence || standing === 'forged' || !sameValue(before, status);
    if (isTampered) this.#unwritten.add(key);
    return isTampered;
  }

  /** For an object that vanished without `remove`. */
  async #forget(key: ObjectKey): Promise<void> {
    const record = this.record(key);
    if (record) this.#vanished.push(record);
    await this.#drop(key);
  }

  async #drop(key: ObjectKey): Promise<void> {
    this.#revisions.forget(key);
    this.#known.delete(key);
    this.#unwritten.delete(key);
    this.#identities.delete(key);
    await super.remove(key);
  }

  /** The document may have been edited during the pass. */
  #current(record: ObjectRecord): ObjectRecord {
    const current = this.record(record.key);
    return current ? withEngineFields(current, record) : record;
  }

  /** Writes what is in memory. After a failure, the next flush tries again. */
  async #writeOwn(key: ObjectKey): Promise<void> {
    this.#unwritten.add(key);
    await this.#write(key);
  }

  /** Makes what is in memory durable, or `planned` instead if it is given. */
  async #write(key: ObjectKey, planned?: Planned): Promise<void> {
    if (!this.#options.api) return;
    const uid = (planned?.record ?? this.record(key))?.uid;
    if (uid === undefined) return;
    await this.#turns.take(key, () =>
      this.#untilAccepted(key, uid, async (known) => {
        const record = planned?.record ?? this.record(key);
        if (record?.uid !== uid) return;
        const intent = planned?.intent ?? this.lastIntent(key);
        const needsFinalizer = needsCleanup(record, intent);
        const revisions = planned?.revisions ?? this.revisions(key);
        await this.#revisions.create(key, uid, revisions);
        const isFirst = needsFinalizer && planned?.isAnnounced !== false;
        const before = isFirst ? await this.#withFinalizer(known) : known;
        const identity = this.#identities.get(key);
        const kept = { record, intent, identity, revisions: this.#revisions.marksOf(revisions) };
        const written = await this.#writeStatus(before, (sequence) => ({
          ...record.status,
          bookkeeping: bookkeepingOf({ ...kept, sequence }, this.digestKey),
        }));
        // If that fails, nothing is sent, and the next flush overwrites the intent.
        if (planned) this.#unwritten.add(key);
        if (needsFinalizer) await this.#withFinalizer(written);
        await this.#revisions.removeOthers(key, revisions);
        this.#unwritten.delete(key);
      }),
    );
  }

  async #writeStatus(
    known: Known,
    statusAt: (sequence: number) => { readonly bookkeeping: Bookkeeping },
  ): Promise<Known> {
    const before = known.status ?? {};
    // The server does not store nulls: a difference of null and absent is no reason to write.
    if (mergePatch(before, statusAt(known.sequence)) === undefined) return known;
    const sequence = known.sequence + 1;
    const after = statusAt(sequence);
    try {
      const answer = await this.#patch(known, { status: mergePatch(before, after) }, 'status');
      return this.#learn(known, { ...factsOf(known.key, answer), sequence, attempted: undefined });
    } catch (error) {
      if (mayHaveHappened(error)) this.#learn(known, { attempted: after.bookkeeping });
      throw error;
    }
  }

  /** Another object may have taken the name during the request. Then that one stays known. */
  #learn(known: Known, news: Partial<Known>): Known {
    const now = this.#known.get(known.key);
    if (now?.uid === known.uid) this.#known.set(known.key, { ...now, ...news });
    return { ...known, ...news };
  }

  async #unfinalize(key: ObjectKey, uid: string): Promise<void> {
    const removed = this.#untilAccepted(key, uid, async (known) => {
      const finalizers = known.finalizers.filter((name) => name !== cleanupFinalizer);
      if (finalizers.length < known.finalizers.length) await this.#setFinalizers(known, finalizers);
    });
    await removed.catch(unlessGone);
  }

  async #withFinalizer(known: Known): Promise<Known> {
    if (known.finalizers.includes(cleanupFinalizer)) return known;
    return this.#setFinalizers(known, [...known.finalizers, cleanupFinalizer]);
  }

  async #setFinalizers(known: Known, finalizers: readonly string[]): Promise<Known> {
    const answer = await this.#patch(known, { metadata: { finalizers } });
    return this.#learn(known, factsOf(known.key, answer));
  }

  async #patch(
    known: Known,
    change: { metadata?: object; status?: unknown },
    subresource?: 'status',
  ): Promise<KubernetesObject> {
    const { uid, resourceVersion, key } = known;
    const body = { ...change, metadata: { ...change.metadata, uid, resourceVersion } };
    const patch: Patch = { kind: 'merge', body, ...(subresource ? { subresource } : {}) };
    return this.#patches.add(() => {
      if (this.#options.mayAct?.() === false)
        throw new Error(`${key} is not written: this process does not lead`);
      return this.#api().patch(targetOf(key), patch);
    });
  }

  /** Runs `work` with the current object, and again after each conflict, while the object has this uid. */
  async #untilAccepted(key: ObjectKey, uid: string, work: (known: Known) => Promise<void>): Promise<void> {
    const { clock, random } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      const known = this.#known.get(key);
      if (known?.uid !== uid) throw new ObjectGone(key);
      try {
        await work(known);
        return;
      } catch (error) {
        const isConflict = error instanceof KubernetesError && (error.status === 409 || error.status === 404);
        if (!isConflict || attempt === attempts - 1) throw error;
        await this.#readAgain(known);
        if (attempt > 0) await sleep(clock, backoffMs(attempt, conflictBackoff, random));
      }
    }
  }

  async #readAgain(known: Known): Promise<void> {
    const { key, uid } = known;
    const object = await this.#api().get(targetOf(key));
    const isStill = this.#known.get(key)?.uid === uid;
    if (!isStill || object?.metadata.uid !== uid) {
      if (isStill) await this.#forget(key);
      throw new ObjectGone(key);
    }
    const facts = factsOf(key, object);
    const found = readBookkeeping(key, uid, facts.status, this.digestKey);
    if (found.standing === 'newer') throw writtenByLaterVersion(key);
    // Only a manager signs. An unsigned sequence means nothing.
    const sequence = found.standing === 'signed' ? found.sequence : 0;
    const { attempted } = this.#known.get(key) ?? known;
    if (sequence <= known.sequence || isWritten(attempted, facts.status)) {
      this.#follow({ ...known, attempted, sequence: Math.max(sequence, known.sequence) }, facts);
      return;
    }
    const before = this.record(key);
    await this.#load(facts);
    const loaded = this.record(key);
    invariant(loaded, `the record of ${key} was just read`);
    if (before) await super.saveAll([withEngineFields(before, loaded)]);
    throw new Error(
      `${key}: another manager has written to it (${sequence} follows ${known.sequence}); only one may act for an object: is a second operator running?`,
    );
  }

  #api(): NonNullable<ClusterStoreOptions['api']> {
    const { api } = this.#options;
    invariant(api, 'a store without an API writes nothing');
    return api;
  }
}
