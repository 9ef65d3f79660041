/**
 * The manager: wires source, state, accounts and engine together, and starts and stops them in order.
 *
 * Start: source (first snapshot) → accounts (first reads under way) → workers. Nothing is planned for an account
 * before its first read. Stop: no new passes → the mutations under way finish and are recorded → reads end →
 * connections close. Nothing is deleted or released by stopping.
 */
import type { Clock, Random } from '../base/index.ts';
import type { DesiredObject, DesiredSnapshot, DesiredSource } from '../desired/index.ts';
import { ownerId } from '../plan/index.ts';
import { Admission, Controller, Fleet, Reconciler, type PassResult } from '../reconcile/index.ts';
import { annotations, type ObjectKey } from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { AccountRegistry, type EnvironmentAccount } from './accounts.ts';

export interface ManagerOptions {
  readonly source: DesiredSource;
  readonly store: StateStore;
  readonly environment: EnvironmentAccount;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** How long a request with an unknown outcome may still take effect. */
  readonly settleMs: number;
  /** How long an object must be missing from the source before it is taken as gone. */
  readonly graceMs: number;
  /** A person has said that a mass change is wanted. */
  readonly allowMassChange: boolean;
  /** `preview`: plan only. */
  readonly mode: 'manage' | 'preview';
  readonly onPass?: (key: ObjectKey, result: PassResult) => void;
  readonly onSource?: (snapshot: DesiredSnapshot) => void;
}

const workers = 16;

export class Manager {
  readonly #options: ManagerOptions;
  readonly #accounts: AccountRegistry;
  readonly #passed = new Set<ObjectKey>();
  readonly #accountsOf = new WeakMap<DesiredSnapshot, readonly DesiredObject[]>();
  #fleet: Fleet | undefined;
  #stopping = false;
  #controller: Controller | undefined;

  constructor(options: ManagerOptions) {
    this.#options = options;
    const { environment, clock, random, logger, metrics } = options;
    this.#accounts = new AccountRegistry({
      environment,
      clock,
      random,
      logger,
      metrics,
      onSnapshot: (handle, change) => this.#controller?.onSnapshot(handle, change),
      onFailure: (handle, failure) => this.#controller?.onFailure(handle, failure),
      onReplaced: (handle) => this.#controller?.onAccountChanged(handle),
    });
  }

  get store(): StateStore {
    return this.#options.store;
  }

  get accounts(): AccountRegistry {
    return this.#accounts;
  }

  /** The source as last read. */
  get snapshot(): DesiredSnapshot | undefined {
    return this.#fleet?.snapshot;
  }

  /** Objects that have had a pass since the start: only their status is this process's word. */
  get passed(): ReadonlySet<ObjectKey> {
    return this.#passed;
  }

  /** Every account in use has been read, and the source too. */
  get ready(): boolean {
    const handles = [...this.#accounts.handles()];
    return this.#controller !== undefined && handles.every(({ informer }) => informer.current !== undefined);
  }

  /** Rejects with a `UserError` when the source can't be read at all. */
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
    await this.#accept(early.at(-1) ?? snapshot);
    controller.start();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#options.source.stop();
    this.#accounts.closeDoors();
    await this.#controller?.stop();
    await this.#accounts.stop();
  }

  #accept(snapshot: DesiredSnapshot): Promise<void> | undefined {
    this.#accounts.update(snapshot);
    return this.#controller?.acceptDesired(snapshot);
  }

  #wire(snapshot: DesiredSnapshot): Controller {
    const { store, clock, random, logger, metrics, settleMs, graceMs, mode, onPass } = this.#options;
    const owner = { id: ownerId(store.ownerName), digestKey: store.digestKey };
    const fleet = new Fleet(store, owner, snapshot, (account) => this.#massChangeAllowed(account));
    this.#fleet = fleet;
    const shared = { store, fleet, clock, random, logger, metrics, accounts: this.#accounts };
    const admission = new Admission({
      store,
      clock,
      graceMs,
      massChangeAllowed: (next) => this.#massChangeAllowed(undefined, next),
    });
    return new Controller({
      ...shared,
      admission,
      reconciler: new Reconciler({ ...shared, owner, settleMs, mode, stopping: () => this.#stopping }),
      workers,
      onPass: (key, result) => {
        if (result.removed) this.#passed.delete(key);
        else this.#passed.add(key);
        onPass?.(key, result);
      },
    });
  }

  /** By a flag, or by the annotation on the Account (on any one, when the source as a whole is meant). */
  #massChangeAllowed(account: string | undefined, snapshot = this.#fleet?.snapshot): boolean {
    if (this.#options.allowMassChange) return true;
    const nowMs = this.#options.clock.wallMs();
    return this.#accountObjects(snapshot).some(({ namespace, name, annotations: given }) => {
      if (account !== undefined && account !== `${namespace}/${name}`) return false;
      return Date.parse(given[annotations.allowMassChangeUntil] ?? '') > nowMs;
    });
  }

  /** Asked in every pass: the few Accounts among the many objects are looked for once. */
  #accountObjects(snapshot: DesiredSnapshot | undefined): readonly DesiredObject[] {
    if (!snapshot) return [];
    const known =
      this.#accountsOf.get(snapshot) ??
      [...snapshot.objects.values()].filter(({ kind }) => kind === 'Account');
    this.#accountsOf.set(snapshot, known);
    return known;
  }
}
