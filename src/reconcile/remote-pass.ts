/** What the passes of services and volumes share: finding the remote object, and reading it before it is acted upon. */
import { describeOutcome, type Outcome, type wire } from '../api/index.ts';
import { invariant } from '../base/index.ts';
import type { Target } from '../execute/index.ts';
import type { AccountSnapshot } from '../observed/index.ts';
import { holdFor, recheckMs, waitFor, type Gates, type Observation, type Plan } from '../plan/index.ts';
import { annotations, parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';
import type { AccountHandle, Accounts } from './accounts.ts';
import type { Fleet } from './fleet.ts';
import { notObserved, type KindOptions } from './kind-pass.ts';
import { usableSnapshot, type Absences, type Observed } from './observe.ts';

export const noGates: Gates = { creation: undefined, deletion: undefined, spending: undefined };

export abstract class RemotePass<Remote extends wire.Service | wire.Volume> {
  abstract readonly kind: 'ContainerService' | 'StorageVolume';
  readonly key: ObjectKey;
  readonly store: StateStore;
  readonly fleet: Fleet;
  readonly #accounts: Accounts;
  readonly #absences: Absences;
  protected seen: Observation<Remote> = notObserved;
  protected snapshot: AccountSnapshot | undefined;
  protected handle: AccountHandle | undefined;

  constructor(key: ObjectKey, { store, fleet, accounts }: KindOptions, absences: Absences) {
    this.key = key;
    this.store = store;
    this.fleet = fleet;
    this.#accounts = accounts;
    this.#absences = absences;
  }

  protected abstract identify(snapshot: AccountSnapshot): Observed<Remote>;
  protected abstract shown(snapshot: AccountSnapshot): ReadonlyMap<string, Remote>;
  protected abstract read(account: AccountHandle, id: string): Promise<Outcome<Remote>>;
  /** The mark was made with this state's digest key. */
  protected abstract markedByKey(value: Remote): boolean;
  protected abstract bound(id: string): Partial<ObjectRecord>;
  abstract plan(): Plan;

  record(): ObjectRecord {
    const record = this.store.record(this.key);
    invariant(record, `no record of ${this.key} in its pass`);
    return record;
  }

  observation(): Observation<Remote> {
    return this.seen;
  }

  account(): { handle: AccountHandle | undefined; problem: Plan | undefined } {
    const { namespace } = parseObjectKey(this.key);
    const record = this.record();
    const { accountRef } = this.fleet.planned<'ContainerService'>(record).spec;
    const path = ['spec', 'accountRef', 'name'];
    const resolved = this.#accounts.resolve(namespace, accountRef.name);
    if (resolved.kind === 'problem') {
      const left =
        record.externalId === undefined ? '' : `; ${record.externalId} is left as it is until then`;
      const message = `${resolved.message}${left}`;
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
    const record = this.record();
    if (record.deletionRequestedAt === undefined || this.store.openIntent(this.key)) return false;
    const { deletionPolicy } = this.fleet.planned<'ContainerService'>(record).spec;
    return record.externalId === undefined || deletionPolicy === 'Retain';
  }

  async observe(account: AccountHandle, notBeforeMs: number): Promise<void> {
    this.handle = account;
    const usable = usableSnapshot(account, notBeforeMs);
    if ('pending' in usable) {
      this.seen = { kind: 'pending', message: usable.pending };
      return;
    }
    this.snapshot = usable.snapshot;
    const { observation, found, byMark } = this.identify(usable.snapshot);
    this.seen = observation;
    if (found !== undefined && observation.kind === 'present') {
      const unproven = byMark && !this.#madeHere(observation.value);
      await this.store.save({ ...this.record(), ...this.bound(found), unproven, account: account.name });
    }
    if (observation.kind === 'present') this.#absences.forget(this.key);
    const record = this.record();
    if (observation.kind !== 'absent' || record.externalId === undefined) return;
    const read = await this.read(account, record.externalId);
    this.seen = this.#absences.confirm(record, usable.snapshot, read);
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
    if (outcome.kind === 'refused' && outcome.status === 404) {
      return waitFor(
        'AwaitingObservation',
        `${this.seen.value.id} was in the account a moment ago and is not found now`,
      );
    }
    return waitFor(
      'Unreadable',
      `reading ${this.seen.value.id} before changing it: ${describeOutcome(outcome)}`,
      {
        recheckAfterMs: recheckMs.progress * 2,
      },
    );
  }

  protected gates(): Gates {
    return this.handle && this.snapshot ? this.fleet.gates(this.handle, this.snapshot) : noGates;
  }

  protected targetOf(digests: Readonly<Record<string, string>>, restartToken: string | undefined): Target {
    const { seen } = this;
    const value = seen.kind === 'present' ? seen.value : undefined;
    return {
      record: { ...this.record(), ...(this.handle ? { account: this.handle.name } : {}) },
      revision: value?.revision,
      state: value === undefined ? undefined : ((value.state ?? value.status) as string | undefined),
      digests,
      restartToken,
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
    return this.fleet.planned<'ContainerService'>(this.record()).annotations[annotations.reconcileAt];
  }
}
