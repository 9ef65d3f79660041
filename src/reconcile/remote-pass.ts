/** What the passes of everything at the provider share: finding the remote object, and reading it before it is acted upon. */
import { describeOutcome, type Outcome, type wire } from '../api/index.ts';
import { canonicalId, invariant, type Clock } from '../base/index.ts';
import type { Target } from '../execute/index.ts';
import type { AccountSnapshot, Readiness } from '../observed/index.ts';
import {
  catalogGate,
  describedDuplicate,
  holdFor,
  recheckMs,
  unusableReason,
  waitFor,
  type DescribedDuplicate,
  type Difference,
  type DriftBrake,
  type Gate,
  type Gates,
  type Observation,
  type Placement,
  type Plan,
  type Pricing,
  type Step,
} from '../plan/index.ts';
import { annotations, parseObjectKey, type ObjectKey, type RemoteKind } from '../resources/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';
import type { AccountHandle, Accounts } from './accounts.ts';
import type { Fleet } from './fleet.ts';
import type { Money } from './money.ts';
import { giveUpAdvice, notObserved, type KindOptions } from './kind-pass.ts';
import { markedElsewhere, neverMade, usableSnapshot, type Absences, type Observed } from './observe.ts';

export const noGates: Gates = { creation: undefined, deletion: undefined, spending: undefined };

type AnyRemote = wire.Service | wire.Volume | wire.Template | wire.Registry;

export abstract class RemotePass<Remote extends AnyRemote> {
  abstract readonly kind: RemoteKind;
  readonly key: ObjectKey;
  readonly store: StateStore;
  readonly fleet: Fleet;
  protected readonly clock: Clock;
  protected readonly money: Money;
  protected readonly readiness: Readiness<ObjectKey>;
  readonly #accounts: Accounts;
  readonly #absences: Absences;
  readonly #driftWatch: KindOptions['driftWatch'];
  #isPeeking = false;
  protected seen: Observation<Remote> = notObserved;
  protected snapshot: AccountSnapshot | undefined;
  protected handle: AccountHandle | undefined;
  protected catalog: wire.Catalog | undefined;

  constructor(key: ObjectKey, options: KindOptions, absences: Absences) {
    const { store, fleet, accounts, clock, readiness, money, driftWatch } = options;
    this.#driftWatch = driftWatch;
    this.clock = clock;
    this.money = money;
    this.readiness = readiness;
    this.key = key;
    this.store = store;
    this.fleet = fleet;
    this.#accounts = accounts;
    this.#absences = absences;
  }

  /** `madeId`: a person says that this is what was made for the object. */
  protected abstract identify(snapshot: AccountSnapshot, madeId?: string): Observed<Remote>;
  protected abstract shown(snapshot: AccountSnapshot): ReadonlyMap<string, Remote>;
  /** Entries of the object's kind whose id could not be read. */
  protected abstract unidentified(snapshot: AccountSnapshot): readonly wire.Unidentified<Remote>[];
  /** Whether such an entry could be what a creation of ours made. */
  protected abstract couldBeMine(entry: Remote | wire.Unidentified<Remote>): boolean;
  protected abstract read(account: AccountHandle, id: string): Promise<Outcome<Remote>>;
  /** Others than what is recorded that carry the object's mark; a kind without marks has none. */
  protected marked(
    _identity: ReturnType<Fleet['identity']>,
    _snapshot: AccountSnapshot,
  ): readonly Parameters<typeof describedDuplicate>[0][] {
    return [];
  }
  /** The mark was made with this state's digest key. */
  protected abstract markedByKey(value: Remote): boolean;
  protected abstract bound(id: string, byMark: boolean): Partial<ObjectRecord>;
  abstract plan(): Plan;

  record(): ObjectRecord {
    const record = this.store.record(this.key);
    invariant(record, `no record of ${this.key} in its pass`);
    return record;
  }

  /** What differs in a snapshot, whatever becomes of it. */
  peek(account: AccountHandle, snapshot: AccountSnapshot): readonly Difference[] {
    this.#isPeeking = true;
    this.handle = account;
    this.snapshot = snapshot;
    this.seen = this.identify(snapshot).observation;
    return this.seen.kind === 'present' ? this.plan().differences : [];
  }

  /** `key`: of another object than this one, that is looked at for its sake. */
  protected driftBrake(key = this.key): DriftBrake {
    return (difference) =>
      this.handle && !this.#isPeeking ? this.#driftWatch.brake(key, this.handle, difference) : undefined;
  }

  observation(): Observation<Remote> {
    return this.seen;
  }

  account(): { handle: AccountHandle | undefined; problem: Plan | undefined } {
    const { namespace } = parseObjectKey(this.key);
    const record = this.record();
    const { accountRef } = this.fleet.planned(record).spec;
    const path = ['spec', 'accountRef', 'name'];
    const resolved = this.#accounts.resolve(namespace, accountRef.name);
    if (resolved.kind === 'problem') {
      const left =
        record.externalId === undefined ? '' : `; ${record.externalId} is left as it is until then`;
      const message = `${resolved.message}${left}${giveUpAdvice(record)}`;
      return { handle: undefined, problem: holdFor(resolved.reason, message, { path }) };
    }
    const { handle } = resolved;
    if (record.externalId !== undefined && record.account !== undefined && record.account !== handle.name) {
      const message = `${record.externalId} lives in the account ${record.account} and can't move to ${handle.name}; take the change back`;
      return { handle, problem: holdFor('ImmutableFieldChanged', message, { path }) };
    }
    return { handle, problem: undefined };
  }

  released(): boolean {
    const { deletionRequestedAt, externalId, creationInDoubt, distrusted } = this.record();
    if (deletionRequestedAt === undefined || this.store.openIntent(this.key)) return false;
    const isNothing = externalId === undefined && !creationInDoubt && distrusted === undefined;
    return isNothing || this.isGivenUp();
  }

  isGivenUp(): boolean {
    const record = this.record();
    if (record.deletionRequestedAt === undefined || this.store.openIntent(this.key)) return false;
    return this.fleet.planned(record).spec.deletionPolicy === 'Retain';
  }

  async observe(account: AccountHandle, notBeforeMs: number): Promise<void> {
    await this.#look(account, notBeforeMs);
    const creates = this.seen.kind === 'absent' || this.replaces();
    const leaves = this.record().deletionRequestedAt !== undefined;
    // What exists is not questioned by the catalog.
    if (creates && !leaves && this.placement()) this.catalog = await account.catalog.get();
  }

  async #look(account: AccountHandle, notBeforeMs: number): Promise<void> {
    this.handle = account;
    const usable = usableSnapshot(account, notBeforeMs);
    if ('pending' in usable) {
      this.seen = { kind: 'pending', message: usable.pending };
      return;
    }
    this.snapshot = usable.snapshot;
    const observed = this.identify(usable.snapshot);
    const { observation, found, byMark, elsewhere = [] } = observed;
    this.seen = observation;
    if (found !== undefined && observation.kind === 'present') {
      await this.#bind(account, found, byMark, observation.value);
    }
    if (observation.kind === 'present') this.#absences.forget(this.key);
    if (this.record().distrusted && this.#isProven(observed, account)) {
      // What it was made with is seen in it again.
      await this.store.save({ ...this.record(), distrusted: undefined, madeVolumeId: undefined });
    }
    const record = this.record();
    const isLeaving = record.deletionRequestedAt !== undefined;
    if (observation.kind !== 'absent') return;
    const hidden = this.#mayBeHidden(usable.snapshot);
    if (hidden !== undefined) {
      this.seen = { kind: 'pending', message: hidden };
      return;
    }
    if (record.externalId !== undefined) {
      const read = await this.read(account, record.externalId);
      this.seen = this.#absences.confirm(record, account, usable.snapshot, read);
      const isConfirmed = 'confirmed' in this.seen && this.seen.confirmed;
      // What is to take the place of what we deleted may have been made already, as may what has no id yet.
      if (isConfirmed && elsewhere.length > 0 && !isLeaving) {
        return this.#takeAdopted(account, usable.snapshot, elsewhere);
      }
      if (!isConfirmed || !record.deletedByUs) return;
    }
    if (this.#absences.takesOneLook) return;
    const look = (before: AccountSnapshot) => this.identify(before).observation;
    const fromMs = Math.max(notBeforeMs, this.#absences.left.shownByMs(record));
    this.seen = neverMade(account.informer.previous, fromMs, look);
    account.informer.wantSecond();
  }

  async #bind(account: AccountHandle, found: string, byMark: boolean, value: Remote): Promise<void> {
    const unproven = byMark && !this.#madeHere(value);
    await this.store.save({
      ...this.record(),
      ...this.bound(found, byMark),
      unproven,
      account: account.name,
    });
  }

  /** What is recorded is gone, and others carry our mark: the one that the document adopts is taken, and else none. */
  async #takeAdopted(
    account: AccountHandle,
    snapshot: AccountSnapshot,
    elsewhere: readonly string[],
  ): Promise<void> {
    const record = this.record();
    const { adopt } = this.fleet.planned(record).spec;
    const isAdopted = adopt !== undefined && elsewhere.includes(canonicalId(adopt.id));
    const { observation, found, byMark } = isAdopted
      ? this.identify(snapshot, adopt.id)
      : markedElsewhere(record, elsewhere);
    this.seen = observation;
    if (found === undefined || observation.kind !== 'present') return;
    await this.#bind(account, found, byMark, observation.value);
  }

  /** Something in the account may be this object without showing it: then its absence is not concluded. */
  #mayBeHidden(snapshot: AccountSnapshot): string | undefined {
    const { externalId } = this.record();
    const entry = this.unidentified(snapshot).find(
      (one) => externalId !== undefined || this.couldBeMine(one),
    );
    const problem = entry?.unreadable?.[0];
    if (problem) {
      const { field, expected, found } = problem;
      return `the account shows an entry that can't be identified (${field}: expected ${expected}, found ${found}), and it may be this object; nothing is concluded until it can`;
    }
    if (externalId !== undefined) return undefined;
    const unusable = [...this.shown(snapshot).values()].find(
      (value) =>
        unusableReason(value) !== undefined &&
        this.store.recordOf(value.id) === undefined &&
        this.couldBeMine(value),
    );
    const reason = unusable && unusableReason(unusable);
    return reason && `${reason}; it may be this object`;
  }

  /** What nobody has signed is so all the same: the thing shows it, its author says it, or a person. */
  #isProven({ observation, isMarked }: Observed<Remote>, account: AccountHandle): boolean {
    const record = this.record();
    if (this.fleet.acceptsBookkeeping(record, account)) return true;
    if (observation.kind !== 'present') return false;
    const { id } = observation.value;
    const isAdopted = this.fleet.identity(record).adoptId === id;
    const others = () => this.store.recordsWithId(id).some(({ key }) => key !== this.key);
    return isMarked === true || (isAdopted && !others());
  }

  /** Whether a mark is this state's own work; the owner's name alone may be another fleet's, too. */
  #madeHere(value: Remote): boolean {
    return this.store.ownerConfirmed || this.markedByKey(value);
  }

  async refresh(account: AccountHandle): Promise<Plan | undefined> {
    if (this.seen.kind !== 'present') return undefined;
    const outcome = await this.read(account, this.seen.value.id);
    if (outcome.kind === 'applied') {
      this.seen = { kind: 'present', value: outcome.value };
      return undefined;
    }
    const advice = giveUpAdvice(this.record());
    if (outcome.kind === 'refused' && outcome.status === 404) {
      return waitFor(
        'ReadsDisagree',
        `the account shows ${this.seen.value.id}, and reading it by its id: ${describeOutcome(outcome)}${advice}`,
      );
    }
    return waitFor(
      'Unreadable',
      `reading ${this.seen.value.id} before changing it: ${describeOutcome(outcome)}${advice}`,
      {
        recheckAfterMs: recheckMs.progress * 2,
      },
    );
  }

  /** Of the latest snapshot; while a creation is awaited, what carries our mark may be what it made. */
  duplicates(): readonly DescribedDuplicate[] {
    const record = this.record();
    const snapshot = this.handle?.informer.current;
    if (!snapshot || record.externalId === undefined) return [];
    const identity = this.fleet.identity(record);
    if (identity.awaits) return [];
    return this.marked(identity, snapshot).map((item) => describedDuplicate(item, identity.owner.id));
  }

  unmarked(snapshot = this.snapshot): readonly string[] {
    if (!snapshot) return [];
    return [...this.shown(snapshot).values()]
      .filter((value) => this.hidesMarks(value) && this.store.recordOf(value.id) === undefined)
      .map(({ id }) => id);
  }

  showsOther(id: string, snapshot: AccountSnapshot): boolean {
    const value = this.shown(snapshot).get(canonicalId(id));
    return value !== undefined && !this.markedByKey(value);
  }

  claim(id: string): string | undefined {
    if (!this.snapshot) return 'the account has not been read yet';
    const { observation } = this.identify(this.snapshot, id);
    if (observation.kind === 'conflict') return observation.message;
    const isIt = observation.kind === 'present' && observation.value.id === canonicalId(id);
    return isIt ? undefined : `there is nothing with the id ${id} in the account`;
  }

  /** Whether it may carry our mark without showing it. */
  protected hidesMarks(_value: Remote): boolean {
    return false;
  }

  /** What the catalog has to offer for the object to be created; undefined when it needs nothing of it. */
  protected placement(): Placement | undefined {
    return undefined;
  }

  /** What exists may be deleted, to be created anew. */
  protected replaces(): boolean {
    return false;
  }

  protected gates(): Gates {
    // Whatever the pass began with: what a request that had to wait may cost is asked when its turn comes.
    const latest = this.handle?.informer.current ?? this.snapshot;
    if (!this.handle || !latest) return noGates;
    const gates = this.fleet.gates(this.handle, latest);
    const placement = this.placement();
    const creation = gates.creation ?? (placement && catalogGate(placement, this.catalog));
    return { ...gates, creation, increase: (step) => this.#increaseGate(step) };
  }

  /** What a step costs, before and after it. */
  pricing(_step: Step): Pricing | undefined {
    return undefined;
  }

  #increaseGate(step: Step): Gate | undefined {
    return this.handle && this.money.gate(this.handle, this.key, this.pricing(step));
  }

  protected targetOf(
    digests: Readonly<Record<string, string>>,
    restartToken: string | undefined,
    shownIn?: (value: Remote) => Readonly<Record<string, string>>,
  ): Target {
    const { seen } = this;
    const value = seen.kind === 'present' ? seen.value : undefined;
    return {
      record: { ...this.record(), ...(this.handle ? { account: this.handle.name } : {}) },
      revision: value?.revision,
      state: value === undefined ? undefined : ((value.state ?? value.status) as string | undefined),
      digests,
      restartToken,
      ...(shownIn && {
        shownBefore: value === undefined ? {} : shownIn(value),
        shownIn: (answer) => shownIn(answer as Remote),
      }),
    };
  }

  /** For status, what was last seen is told also while a newer observation is waited for. */
  protected lastSeen(): Observation<Remote> {
    const { externalId } = this.record();
    const snapshot = this.handle?.informer.current;
    if (this.seen.kind !== 'pending' || externalId === undefined || !snapshot) return this.seen;
    const value = this.shown(snapshot).get(externalId);
    return value ? { kind: 'present', value } : this.seen;
  }

  protected reconcileAt(): string | undefined {
    return this.fleet.planned(this.record()).annotations[annotations.reconcileAt];
  }
}
