/**
 * The manager: it connects source, state, accounts and engine, and starts and stops them in order.
 *
 * Start: source (first snapshot) → accounts (first reads begin) → workers. Nothing is planned for an account before its
 * first read. Stop: no new passes → mutations under way finish and are recorded → reads end → connections close. Stopping
 * deletes and releases nothing.
 */
import { HeartbeatLoop } from '../activities/index.ts';
import { createEndpointProbe } from '../api/index.ts';
import type { Timer } from '../base/index.ts';
import { accountsIn, type DesiredSnapshot } from '../desired/index.ts';
import { kinds } from '../kinds/index.ts';
import {
  ReadinessWatch,
  noMeasurements,
  noReadiness,
  type Lists,
  type MeasurementWatch,
} from '../observed/index.ts';
import { clampedMicros, ownerId } from '../engine/plan/index.ts';
import {
  Admission,
  Budgets,
  CapacityMemory,
  Controller,
  DerivedObjects,
  Fleet,
  Money,
  Reconciler,
  hasOpenWork,
  listsOf,
  noNotices,
  type AccountHandle,
  type EngagedBrake,
  type PassResult,
} from '../engine/index.ts';
import { annotations, accountKey, type ObjectKey } from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import type { BrakeCause } from '../telemetry/index.ts';
import { AccountRegistry } from './accounts.ts';
import { accountChecks, livenessChecks, sourceChecks, stateChecks, type HealthCheck } from './health.ts';
import { Impairments, type Impairment } from './impairments.ts';
import type { ManagerOptions } from './manager-options.ts';
import { createMeasurements } from './measurements.ts';
import { Announcer } from './notices/announcer.ts';
import { ReadyLog } from './ready-log.ts';
import { transportsOfProcess } from './transports.ts';

const passesAtOnce = 16;
/** Between two looks for commands that were left in the state file. */
const commandsMs = 1000;

export class Manager {
  readonly #options: ManagerOptions;
  readonly #accounts: AccountRegistry;
  readonly #readiness: ReadinessWatch<ObjectKey>;
  readonly #measurements: MeasurementWatch<ObjectKey>;
  readonly #heartbeats: HeartbeatLoop<ObjectKey>;
  readonly #announcer: Announcer | undefined;
  readonly #impairments: Impairments;
  readonly #passed = new Set<ObjectKey>();
  #fleet: Fleet | undefined;
  #money: Money | undefined;
  #capacity: CapacityMemory | undefined;
  #stopping = false;
  #commandTimer: Timer | undefined;
  #controller: Controller | undefined;
  #reconciler: Reconciler | undefined;

  constructor(options: ManagerOptions) {
    this.#options = options;
    const { environment, clock, random, logger, metrics, settleMs } = options;
    const onChange = (key: ObjectKey) => this.#controller?.recheck(key);
    const { mayAct, maySendHeartbeats, isSelected } = options;
    this.#heartbeats = new HeartbeatLoop({
      clock,
      random,
      logger,
      metrics,
      settleMs,
      mayAct,
      maySendHeartbeats,
      onChange,
    });
    this.#readiness = new ReadinessWatch({
      probe: (options.createEndpointProbe ?? createEndpointProbe)(clock),
      clock,
      random,
      onChange,
      isOneShot: options.isOneShot,
    });
    this.#measurements = createMeasurements(options, onChange);
    const { notices } = options;
    const snapshot = () => this.snapshot;
    this.#impairments = new Impairments({ ...options, snapshot });
    this.#announcer =
      notices &&
      new Announcer({
        ...options,
        ...notices,
        snapshot,
        recheck: onChange,
        impairments: () => this.impairments.length,
      });
    this.#accounts = new AccountRegistry({
      environment,
      store: options.store,
      acceptedIdentity: options.acceptedIdentity,
      mayAct,
      createTransport: options.createTransport ?? transportsOfProcess(),
      clock,
      random,
      logger,
      metrics,
      isNeeded: (account) => isSelected?.(accountKey(account)) ?? true,
      lists: (account) => this.#lists(account),
      hasOpenWork: (account) => this.#hasOpenWork(account),
      hasHeartbeats: (account) => this.#heartbeats.needsRequests(account),
      onSnapshot: (handle, change) => {
        this.#capacity?.observe(handle, change);
        this.#controller?.onSnapshot(handle, change);
      },
      onFailure: (handle, failure) => this.#controller?.onFailure(handle, failure),
      onReplaced: (handle) => this.#controller?.onAccountChanged(handle),
      onLost: (handle) => this.#controller?.onAccountLost(handle),
    });
  }

  get store(): StateStore {
    return this.#options.store;
  }

  get accounts(): AccountRegistry {
    return this.#accounts;
  }

  /** The last snapshot of the source. */
  get snapshot(): DesiredSnapshot | undefined {
    return this.#fleet?.snapshot;
  }

  /** Objects that have had a pass since the start. Only their status is current. */
  get passed(): ReadonlySet<ObjectKey> {
    return this.#passed;
  }

  /** Checks whose failure calls for a restart. */
  get liveness(): readonly HealthCheck[] {
    return livenessChecks(this.#controller);
  }

  /** Checks whose failure means that it can't serve yet. */
  get readiness(): readonly HealthCheck[] {
    const state = stateChecks(this.impairments);
    return [...this.sourceReadiness, ...state, ...accountChecks(this.#accounts.handles())];
  }

  /**
   * Without the accounts. In a cluster they belong to many users, and a mistake is reported in the conditions
   * of that Account.
   */
  get sourceReadiness(): readonly HealthCheck[] {
    return sourceChecks(this.#controller, this.impairments, this.snapshot);
  }

  /** What keeps it from working on all of its fleet now. */
  get impairments(): readonly Impairment[] {
    return this.#impairments.examine();
  }

  /** Resolves when every account has been read once more, and what has changed in it has had its passes. */
  async readAgain(): Promise<void> {
    await Promise.all(Array.from(this.#accounts.handles(), ({ informer }) => informer.fresh()));
    await this.#controller?.idle();
  }

  /** Something else that matters for the object has changed. */
  recheck(key: ObjectKey): void {
    this.#controller?.recheck(key);
  }

  /** Ends the suspension. */
  resume(): void {
    this.#controller?.resume();
  }

  /** Requested in an account but not shown with a price yet, in micro-USD per hour. */
  reservedMicros(account: string): number {
    return clampedMicros(this.#money?.reservations.openMicros(account) ?? 0n);
  }

  /** All budgets, as they are now. */
  budgets(): ReturnType<Money['budgets']> {
    return this.#money?.budgets() ?? [];
  }

  /** The mass-change brakes that are engaged. */
  brakes(): readonly EngagedBrake[] {
    return this.#fleet?.engagedBrakes(this.#accounts.handles()) ?? [];
  }

  /** What the brakes that are engaged now have seen. */
  brakeCauses(): ReadonlySet<BrakeCause> {
    const causes = this.brakes().map(({ account }) => (account === undefined ? 'source' : 'account'));
    const isDrift = this.#reconciler?.driftWatch.isEngaged([...this.#accounts.handles()]) === true;
    return new Set<BrakeCause>(isDrift ? [...causes, 'drift'] : causes);
  }

  /** When heartbeats of activity registrations were accepted, in Unix milliseconds by the key of the task; of at most 1,000. */
  heartbeatTimes(): Record<string, number> | undefined {
    return this.#heartbeats.heartbeatTimes(1000);
  }

  /** Sets the metrics of work in progress. */
  setWorkMetrics(): void {
    this.#controller?.setWorkMetrics();
    this.#heartbeats.setMetrics();
    this.#announcer?.setMetrics();
  }

  /** Rejects with a `UserError` if the source can't be read at all. */
  async start(): Promise<void> {
    const { source, onSource } = this.#options;
    const early: DesiredSnapshot[] = [];
    const snapshot = await source.start((next) => {
      onSource?.(next);
      if (this.#controller) void this.#accept(next);
      else early.push(next);
    });
    onSource?.(snapshot);
    const controller = this.#wire(snapshot);
    this.#controller = controller;
    this.#options.jobs?.listen((namespace, name) => controller.onJobChanged(namespace, name));
    await this.#accept(early.at(-1) ?? snapshot);
    controller.start();
    this.#announcer?.start();
    this.#impairments.start();
    if (this.#options.mode === 'manage') this.#watchCommands();
  }

  /** Commands that other processes leave for the objects. */
  #watchCommands(): void {
    const { store, clock } = this.#options;
    for (const key of store.newCommands()) this.recheck(key);
    this.#commandTimer = clock.after(commandsMs, () => this.#watchCommands());
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#impairments.stop();
    this.#commandTimer?.cancel();
    await this.#options.source.stop();
    this.#accounts.closeClients();
    await this.#controller?.stop();
    await this.#announcer?.stop();
    const others = [this.#readiness, this.#measurements, this.#heartbeats];
    await Promise.all([this.#accounts, ...others].map((part) => part.stop()));
  }

  #accept(snapshot: DesiredSnapshot): Promise<void> | undefined {
    const { store, logger } = this.#options;
    for (const { key: object, fields } of store.newlyCounted())
      logger.error(
        { object, fields, advice: 'compare with the ledger of the account (fleetkeeper ledger)' },
        'stored amounts of an object could not be read: they are counted anew from now on',
      );
    this.#accounts.update(snapshot);
    return this.#controller?.acceptDesired(snapshot);
  }

  #wire(snapshot: DesiredSnapshot): Controller {
    const { store, clock, random, logger, metrics, settleMs, mode, onPass } = this.#options;
    const owner = { id: ownerId(store.ownerName), digestKey: store.digestKey };
    const fleet = new Fleet(
      store,
      owner,
      snapshot,
      (account) => this.#massChangeAllowed({ account }),
      () => clock.wallMs(),
    );
    this.#fleet = fleet;
    const { jobs, isSelected } = this.#options;
    fleet.jobs = jobs && ((namespace, name) => jobs.answer(namespace, name));
    const parts = { accounts: this.#accounts, registrations: this.#heartbeats, mode, ...this.#observers() };
    const money = this.#createMoney(fleet);
    const capacity = new CapacityMemory({ store, clock, random, logger, metrics });
    this.#capacity = capacity;
    const shared = {
      kinds,
      store,
      fleet,
      money,
      capacity,
      clock,
      random,
      logger,
      metrics,
      ...parts,
    };
    const derived = new DerivedObjects({ store, kinds });
    const selects =
      isSelected && ((key: ObjectKey) => isSelected(key) || isSelected(derived.ownerOf(key) ?? key));
    const readyLog = mode === 'preview' ? undefined : new ReadyLog({ store, logger });
    const reconciler = new Reconciler({
      ...shared,
      owner,
      ownedResources: this.#options.ownedResources?.(derived),
      settleMs,
      policy: this.#options.policy,
      guard: this.#options.guard,
      isSelected,
      foresees: this.#options.foresees ?? true,
      isOneShot: this.#options.isOneShot ?? false,
      stopping: () => this.#stopping,
      commandFlags: this.#options.commandFlags,
    });
    this.#reconciler = reconciler;
    return new Controller({
      ...shared,
      admission: this.#createAdmission(selects),
      derived,
      readSource: this.#options.source.readNow?.bind(this.#options.source),
      reconciler,
      passesAtOnce,
      isSuspended: this.#options.isSuspended ?? (() => false),
      isSelected: selects,
      onFailedPass: this.#options.onFailedPass,
      onPass: (key, result, durationMs) => {
        readyLog?.passed(key);
        this.#afterPass(key, result);
        onPass?.(key, result, durationMs);
      },
    });
  }

  #afterPass(key: ObjectKey, result: PassResult): void {
    if (result.removed) this.#passed.delete(key);
    else this.#passed.add(key);
    this.#announcer?.passed(key, result);
  }

  #createAdmission(isSelected: ManagerOptions['isSelected']): Admission {
    const { store, clock, grace } = this.#options;
    return new Admission({
      store,
      clock,
      grace,
      massChangeAllowed: (next, namespace) =>
        this.#options.allowRemovals ?? this.#massChangeAllowed({ namespace }, next),
      isSelected,
    });
  }

  #createMoney(fleet: Fleet): Money {
    const { store, clock, logger, mode, onAccountNews: onNews } = this.#options;
    const money = new Money({ store, clock, logger, mode, onNews });
    money.useBudgets(new Budgets({ store, fleet, accounts: this.#accounts, clock, money, kinds }));
    this.#money = money;
    return money;
  }

  /** A preview probes and measures nothing. */
  #observers() {
    return this.#options.mode === 'preview'
      ? { readiness: noReadiness, measurements: noMeasurements, notices: noNotices }
      : {
          readiness: this.#readiness,
          measurements: this.#measurements,
          notices: this.#announcer ?? noNotices,
        };
  }

  #lists(account: AccountHandle): Lists {
    return this.#fleet
      ? listsOf(this.#fleet, this.#accounts, account)
      : { templates: false, registries: false };
  }

  #hasOpenWork(account: AccountHandle): boolean {
    const { store } = this.#options;
    return !this.#fleet || hasOpenWork({ store, fleet: this.#fleet, accounts: this.#accounts }, account);
  }

  /** Confirmed by a flag, or by the annotation of a concerned Account: a given one, one of a namespace, or any. */
  #massChangeAllowed(
    { account, namespace }: { readonly account?: string; readonly namespace?: string | undefined },
    snapshot = this.#fleet?.snapshot,
  ): boolean {
    if (this.#options.allowMassChange) return true;
    if (!snapshot) return false;
    const nowMs = this.#options.clock.wallMs();
    const { objects } = snapshot;
    const one = account === undefined ? undefined : [objects.get(accountKey(account))];
    return (one ?? accountsIn(objects, namespace)).some(
      (object) => Date.parse(object?.annotations[annotations.allowMassChangeUntil] ?? '') > nowMs,
    );
  }
}
