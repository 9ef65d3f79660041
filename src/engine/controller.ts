/**
 * Turns events into keys, and keys into passes. Events are: the source has changed, an account has been read or could not be read, time
 * has passed. No event carries a decision. It only names objects to recheck.
 */
import { backoffMs, messageOf, sameValue, type Clock, type Random } from '../base/index.ts';
import { changedKeys, referringTo, type DataId, type DesiredSnapshot } from '../desired/index.ts';
import { isKeyHold, type ReadFailure, type SnapshotChange } from '../observed/index.ts';
import {
  accountKey,
  accountNamed,
  annotations,
  managedKinds,
  parseObjectKey,
  type ObjectKey,
} from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { concernedBy, movedFirst } from './observation/concerned-by.ts';
import type { AccountHandle, Accounts } from './accounts.ts';
import type { Admission } from './admission/admission.ts';
import { alsoConcerned } from './admission/concerned.ts';
import type { Fleet } from './fleet/fleet.ts';
import { SpendingStops } from './money/funds.ts';
import type { DerivedObjects } from './fleet/derived.ts';
import { Intake } from './admission/intake.ts';
import type { Kinds } from './kind.ts';
import { storeLastCounts } from './last-counts.ts';
import { Members } from './fleet/members.ts';
import { ReadBrakeLog } from './fleet/read-brake-log.ts';
import type { Money } from './money/money.ts';
import { passResults, reasonOf } from './pass-labels.ts';
import { passedOver, type PassResult } from './decision.ts';
import type { Reconciler } from './reconciler.ts';
import { objectsOfJob } from './fleet/jobs.ts';
import { ValuesWatch } from './admission/values-watch.ts';
import { Workqueue, type QueueLane } from './workqueue.ts';
import { Dispatch, shareOfKey, shareOfRequests } from './dispatch.ts';
import { isTakenIn } from './fleet/taken-in.ts';
import { Sleepers } from './sleepers.ts';
import { handledToken } from './status/index.ts';

export interface ControllerOptions {
  readonly store: StateStore;
  readonly fleet: Fleet;
  readonly kinds: Kinds;
  readonly admission: Admission;
  readonly derived: DerivedObjects;
  /** A snapshot of the source from a reading that begins now or later. Undefined: the source is stopped. */
  readonly readSource?: (() => Promise<DesiredSnapshot | undefined>) | undefined;
  readonly reconciler: Reconciler;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly money: Money;
  /** Passes that may be under way at once for an account, at least. */
  readonly passesAtOnce: number;
  readonly mode: 'manage' | 'preview';
  /** Nothing can be saved or sent. Objects are rechecked when that ends (`resume`). */
  readonly isSuspended: () => boolean;
  readonly isSelected?: ((key: ObjectKey) => boolean) | undefined;
  readonly onPass: (key: ObjectKey, result: PassResult, durationMs: number) => void;
  readonly onFailedPass?: ((key: ObjectKey, error: unknown) => void) | undefined;
}

const crashBackoff = { firstMs: 1000, longestMs: 300_000 };
/** After this many failed reads of an account, everything in it becomes Unknown. */
const blindAfterPolls = 3;

export class Controller {
  readonly #options: ControllerOptions;
  readonly #queue: Workqueue<ObjectKey>;
  readonly #awaiting = new Sleepers();
  /** Until something changes in the account: a limit, a foreign mark, a read that does not count. */
  readonly #held = new Sleepers();
  readonly #crashes = new Map<ObjectKey, number>();
  readonly #synced = new Set<string>();
  /** Accounts that can't be read, with the reason that the objects in them report. */
  readonly #blind = new Map<string, ReadFailure['reason']>();
  readonly #spendingStops = new SpendingStops();
  readonly #readBrakes: ReadBrakeLog;
  /** Accounts that became unusable since the last admission. */
  readonly #lost = new Set<AccountHandle>();
  readonly #members: Members;
  readonly #values: ValuesWatch;
  readonly #intake: Intake;
  #hasAdmitted = false;
  readonly #dispatch: Dispatch<ObjectKey>;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#members = new Members(options);
    this.#readBrakes = new ReadBrakeLog(options.logger);
    this.#values = new ValuesWatch(options.store.digestKey);
    const shareOf = (key: ObjectKey) => shareOfKey(key, this.#members.accountOf(key), options);
    this.#queue = new Workqueue(options.clock, options.metrics, { shareOf });
    this.#dispatch = new Dispatch(this.#queue, (key) => this.#passOnce(key), options);
    this.#intake = new Intake({
      ...options,
      notice: (snapshot) => options.admission.notice(snapshot),
      admit: (snapshot) => this.#tryToAdmit(snapshot),
    });
    options.fleet.rederive = () => this.#rederive();
  }

  start(): void {
    const { passesAtOnce, metrics } = this.#options;
    for (const controller of managedKinds) metrics.workerLimit.set({ controller }, passesAtOnce);
    this.#dispatch.start();
  }

  /** No worker has been lost. */
  get alive(): boolean {
    return this.#dispatch.alive;
  }

  /** Sets the metrics of work in progress. */
  setWorkMetrics(): void {
    this.#queue.setWorkMetrics();
  }

  /** Lets passes under way finish, including their requests, and starts no others but those that store counts. */
  async stop(): Promise<void> {
    await this.#intake.stop();
    await this.#dispatch.stop();
    await storeLastCounts(this.#options, (key) => this.#passOnce(key));
  }

  /** Resolves when nothing is ready or in progress. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  /** Takes in a snapshot of the source, or a newer one that arrived meanwhile. */
  acceptDesired(snapshot: DesiredSnapshot): Promise<void> {
    return this.#intake.accept(snapshot);
  }

  /** Rechecks what changed, what uses that (an earlier read may have left it out), and what waited for a read. */
  onSnapshot(handle: AccountHandle, change: SnapshotChange): void {
    const { money, fleet, kinds, mode } = this.#options;
    const { snapshot } = change;
    // A preview shows it with the objects that it holds.
    if (mode === 'manage') this.#readBrakes.saw(handle.name, fleet.readBrake(handle, snapshot));
    const isLooser = money.observe(handle, change);
    // What a preview found of an account that could not be read is not final.
    const isReadAgain = this.#blind.delete(handle.name) && this.#options.mode === 'preview';
    if (!this.#synced.has(handle.name) || isReadAgain) {
      this.#synced.add(handle.name);
      const all = movedFirst(this.#members.of(handle), snapshot, this.#options);
      for (const [key, lane] of all) this.#enqueue(key, lane);
    }
    for (const id of change.changedIds) {
      const concerned = concernedBy(id, handle, snapshot, { kinds, fleet, members: this.#members });
      // Two Accounts may have keys of one account. What is in the other one waits for its own read.
      for (const [key, lane] of concerned) this.#enqueue(key, lane);
    }
    this.#recheckBuiltIns(handle, change);
    // What waits for a balance or a verified address.
    const { spending } = fleet.gates(handle, snapshot);
    if (this.#spendingStops.moved(handle.name, spending)) this.#recheckAll(handle);
    const forMoney = [...(isLooser ? money.waiting(handle.name) : []), ...money.wakes()];
    for (const key of forMoney) this.#enqueue(key, 'resync');
    const released = change.changedIds.size > 0 ? this.#held.wake(handle.name) : [];
    for (const key of [...this.#awaiting.wake(handle.name), ...released]) this.#queue.add(key, 'resync');
    this.#recheckAccount(handle);
  }

  onFailure(handle: AccountHandle, failure: ReadFailure): void {
    const first = !this.#synced.has(handle.name);
    const blindMs = blindAfterPolls * handle.spec.pollSeconds * 1000;
    const blind = isKeyHold(failure.reason) || this.#options.clock.monotonicMs() - failure.sinceMs >= blindMs;
    this.#synced.add(handle.name);
    // Whoever previews has to know whether to wait for another read.
    const isPreview = this.#options.mode === 'preview';
    if (first || isPreview || (blind && this.#blind.get(handle.name) !== failure.reason)) {
      this.#blind.set(handle.name, failure.reason);
      this.#recheckAll(handle);
    }
    this.#recheckAccount(handle);
  }

  /** Everything is rechecked, including what failed meanwhile. */
  resume(): void {
    this.#crashes.clear();
    void this.#intake.settled().then(() => this.#recheckAll(undefined));
  }

  /** Something else that matters for the object has changed. */
  recheck(key: ObjectKey): void {
    this.#enqueue(key, 'resync');
  }

  /** A Job of the cluster has begun, ended or been deleted. */
  onJobChanged(namespace: string, name: string): void {
    for (const key of objectsOfJob(this.#options.fleet.snapshot, namespace, name)) {
      if (this.#options.store.record(key)) this.#enqueue(key, 'edit');
    }
  }

  /** The address, credential or limits of an account have changed. Everything in it is rechecked. */
  onAccountChanged(handle: AccountHandle): void {
    this.#synced.delete(handle.name);
  }

  /** An account has become unusable, so no account read wakes the objects in it. */
  onAccountLost(handle: AccountHandle): void {
    this.#lost.add(handle);
  }

  async #tryToAdmit(snapshot: DesiredSnapshot): Promise<number | undefined> {
    const { fleet } = this.#options;
    try {
      const againAfterMs = await this.#admit(snapshot);
      this.#hasAdmitted = true;
      fleet.behind = undefined;
      return againAfterMs;
    } catch (error) {
      fleet.behind = this.#hasAdmitted ? 'newer' : 'first';
      throw error;
    }
  }

  /** A record changed from which owned objects follow. */
  async #rederive(): Promise<void> {
    const { source } = this.#options.derived;
    if (!source) return;
    try {
      await this.#tryToAdmit(source);
    } catch (error) {
      void this.#intake.accept(source);
      throw error;
    }
  }

  /** Resolves with the milliseconds after which to admit the same snapshot again. */
  async #admit(source: DesiredSnapshot): Promise<number | undefined> {
    const { admission, derived, fleet, logger } = this.#options;
    const before = fleet.source;
    const snapshot = derived.merge(source);
    const { admitted, durable } = admission.admit(snapshot);
    const brakeMoved = !sameValue([...admitted.brakes], [...before.brakes]);
    // Records and documents change together. A pass between the two would combine an old document with a new
    // record.
    fleet.take({ snapshot, ...admitted });
    try {
      await durable;
    } catch (error) {
      fleet.take(before);
      throw error;
    }
    for (const [part, { message }] of brakeMoved ? admitted.brakes : []) {
      logger.error({ part: part || 'all', note: message }, 'mass-change brake engaged');
    }
    for (const key of admitted.changed) this.#edited(key);
    const changed = changedKeys(snapshot, this.#hasAdmitted ? before.snapshot : undefined);
    for (const key of alsoConcerned(fleet.source, before, changed)) this.#enqueue(key, 'edit');
    const moved = this.#values.moved(snapshot);
    if (brakeMoved) this.#recheckAll(undefined);
    else for (const id of moved) this.#recheckUsersOf(id);
    this.#recheckHomeless(changed);
    return admitted.againAfterMs;
  }

  #edited(key: ObjectKey): void {
    const { store, fleet } = this.#options;
    const isMade = store.record(key)?.externalId !== undefined || store.openIntent(key) !== undefined;
    this.#enqueue(key, isMade || accountNamed(key) !== undefined ? 'edit' : 'new');
    for (const dependent of this.#members.dependentsOf(key)) this.#enqueue(dependent, 'edit');
    const account = accountNamed(key) !== undefined ? this.#members.accountOf(key) : undefined;
    if (account) this.#recheckAll(account);
    const asked = handledToken(fleet.snapshot.objects.get(key)?.annotations[annotations.reconcileAt]);
    if (asked !== undefined && asked !== store.record(key)?.report?.reconcileAt) {
      this.#members.accountOf(key)?.informer.want();
    }
  }

  /** Only keys whose account and document have been read: nothing is planned before the first full sync. */
  #enqueue(key: ObjectKey, lane: QueueLane): void {
    const { store, fleet } = this.#options;
    const record = store.record(key);
    if (record && !isTakenIn(record, fleet.snapshot)) return;
    const handle = this.#members.accountOf(key);
    // Heartbeats can't wait for the first read of an account that is slow to answer. A preview has none, and its first plan is the last.
    const { needsNoAccountRead = false } = this.#options.kinds[parseObjectKey(key).kind];
    const canWait = !needsNoAccountRead || this.#options.mode === 'preview';
    if (handle && canWait && !this.#synced.has(handle.name)) return;
    this.#queue.add(key, lane);
  }

  #recheckAll(handle: AccountHandle | undefined): void {
    if (handle) this.#queue.resize(shareOfRequests(handle, this.#options.passesAtOnce));
    const keys = handle ? this.#members.of(handle) : this.#options.store.everyKey();
    for (const key of keys) this.#enqueue(key, 'resync');
  }

  /** The value of a Secret or ConfigMap has changed. */
  #recheckUsersOf(id: DataId): void {
    for (const { key } of referringTo(this.#options.fleet.snapshot.objects, id)) {
      this.#enqueue(key, 'resync');
      const account = accountNamed(key) !== undefined ? this.#members.accountOf(key) : undefined;
      if (account) this.#recheckAll(account);
    }
  }

  /** Objects whose account can't be found. No account read wakes them. They can only change with an Account. */
  #recheckHomeless(changed: ReadonlySet<ObjectKey> | 'all'): void {
    const named = changed === 'all' ? [] : [...changed].flatMap((key) => accountNamed(key) ?? []);
    const accounts = changed === 'all' ? 'all' : [...this.#lost, ...named.map((name) => ({ name }))];
    this.#lost.clear();
    for (const key of this.#members.homeless(accounts)) this.#enqueue(key, 'resync');
  }

  #recheckAccount(handle: AccountHandle): void {
    const key = accountKey(handle.name);
    if (this.#options.store.record(key)) this.#queue.add(key, 'resync');
  }

  /** Services that use built-in templates, for which no objects exist. */
  #recheckBuiltIns(handle: AccountHandle, { snapshot, changedIds }: SnapshotChange): void {
    const { store } = this.#options;
    const { templates } = snapshot;
    if (templates.kind !== 'read') return;
    if (![...changedIds].some((id) => templates.items.has(id) && !store.recordOf(id))) return;
    for (const key of this.#members.usersOfBuiltIns(handle)) this.#enqueue(key, 'resync');
  }

  async #passOnce(key: ObjectKey): Promise<void> {
    const { store, kinds, reconciler, metrics, clock, logger, random, onPass, onFailedPass } = this.#options;
    const uid = store.record(key)?.uid;
    if (this.#options.isSelected?.(key) === false) return;
    const { kind } = parseObjectKey(key);
    // A task may end meanwhile.
    if (!kinds[kind].needsNoAccountRead && this.#options.isSuspended()) return;
    const startedAtMs = clock.monotonicMs();
    metrics.activeWorkers.inc({ controller: kind });
    const dependents = this.#members.dependentsOf(key);
    const sequence = this.#members.accountOf(key)?.informer.current?.sequence;
    try {
      const passed = reconciler.pass(key, this.#queue.laneOf(key));
      const result = await passed.catch((error: unknown) => passedOver(error, uid, store.record(key)));
      this.#crashes.delete(key);
      metrics.reconcileTotal.inc({ controller: kind, result: passResults[result.plan.kind] });
      metrics.plans.inc({ kind, answer: result.plan.kind, reason: reasonOf(result.plan) });
      this.#follow(key, result, dependents, sequence);
      onPass(key, result, clock.monotonicMs() - startedAtMs);
    } catch (error) {
      const failures = this.#crashes.get(key) ?? 0;
      this.#crashes.set(key, failures + 1);
      metrics.reconcileTotal.inc({ controller: kind, result: 'error' });
      metrics.reconcileErrors.inc({ controller: kind });
      const found = { object: key, failures, note: messageOf(error), stack: (error as Error).stack };
      logger.error(found, 'pass failed');
      onFailedPass?.(key, error);
      this.#queue.addAfter(key, backoffMs(failures, crashBackoff, random));
    }
    metrics.activeWorkers.dec({ controller: kind });
    metrics.reconcileSeconds.observe({ controller: kind }, (clock.monotonicMs() - startedAtMs) / 1000);
  }

  #follow(
    key: ObjectKey,
    result: PassResult,
    before: readonly ObjectKey[],
    sequence: number | undefined,
  ): void {
    const { wake, wakes = [], plan } = result;
    if (plan.kind !== 'in-sync') this.#members.accountOf(key)?.informer.attend();
    // A new object keeps its priority until its first change is sent, which needs several observations.
    if (plan.kind !== 'wait' || plan.reason !== 'AwaitingObservation') this.#queue.settled(key);
    for (const other of wakes) this.#enqueue(other, 'resync');
    if (result.statusChanged || result.removed) {
      for (const dependent of new Set([...before, ...this.#members.dependentsOf(key)])) {
        if (this.#options.store.record(dependent)) this.#enqueue(dependent, 'resync');
      }
    }
    switch (wake.kind) {
      case 'never':
        return;
      case 'now':
        this.#queue.add(key, 'resync');
        return;
      case 'after':
        this.#queue.addAfter(key, wake.delayMs);
        return;
      case 'change':
        // If a read arrived during the pass, no further event will come for it.
        if (wake.account.informer.current?.sequence === sequence) this.#held.add(wake.account.name, key);
        else this.#queue.add(key, 'resync');
        return;
      case 'observation':
        this.#awaiting.add(wake.account.name, key);
        wake.account.informer.want(plan.kind === 'act' ? 'mutation' : 'progress');
    }
  }
}
