/** Counts equal drift in an account, for the brake for corrections (engine/plan/drift-brake.ts). */
import type { Clock } from '../../base/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import {
  driftSignature,
  massChangeLimit,
  massDriftReason,
  massDriftWindowMs,
  type Difference,
  type MassDrift,
  type Plan,
} from '../plan/index.ts';
import { entryOf } from '../../reasons/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { AccountHandle } from '../accounts.ts';
import { massChangeAdvice } from '../fleet/advice.ts';
import type { Fleet } from '../fleet/fleet.ts';

export interface DriftWatchOptions {
  readonly store: StateStore;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The differences of an object in an account read, without a request. */
  readonly peek: (key: ObjectKey, account: AccountHandle, snapshot: AccountSnapshot) => readonly Difference[];
}

/** Objects with equal drift, by its signature. */
type Alike = ReadonlyMap<string, ReadonlySet<ObjectKey>>;

export class DriftWatch {
  readonly #options: DriftWatchOptions;
  readonly #counted = new WeakMap<AccountSnapshot, { readonly alike: Alike; readonly objects: number }>();
  /** Corrections of the last minutes, by account and signature. They count, too. */
  readonly #corrected = new Map<string, Map<ObjectKey, number>>();
  /** By account and signature, the objects whose last pass met the brake. It has been logged. */
  readonly #engaged = new Map<string, { readonly account: string; readonly keys: Set<ObjectKey> }>();
  /** Of passes under way: what they have met so far. */
  readonly #asked = new Map<ObjectKey, Set<string>>();

  constructor(options: DriftWatchOptions) {
    this.#options = options;
  }

  /** Why a drift must not be corrected. `asker`: the object whose pass asks. */
  brake(
    key: ObjectKey,
    account: AccountHandle,
    difference: Difference,
    asker: ObjectKey = key,
  ): MassDrift | undefined {
    const snapshot = account.informer.current;
    if (!difference.drift || !snapshot) return undefined;
    const signature = driftSignature(parseObjectKey(key).kind, difference);
    const mass = this.#massDrift(key, account, snapshot, signature);
    // What another object makes of the drift is shown by that one.
    if (asker === key) this.#note(key, account.name, signature, mass);
    return mass;
  }

  #massDrift(
    key: ObjectKey,
    account: AccountHandle,
    snapshot: AccountSnapshot,
    signature: string,
  ): MassDrift | undefined {
    const { fleet } = this.#options;
    if (fleet.allowsMassChange(account.name)) return undefined;
    const { alike, objects } = this.#count(account, snapshot);
    const all = new Set([...(alike.get(signature) ?? []), ...this.#lately(account, signature), key]);
    const limit = massChangeLimit(objects);
    if (all.size <= limit) return undefined;
    const advice = massChangeAdvice(fleet.snapshot, account.name);
    return { objects: all.size, of: objects, limit, account: account.name, advice };
  }

  #note(key: ObjectKey, account: string, signature: string, mass: MassDrift | undefined): void {
    const name = `${account} ${signature}`;
    const asked = this.#asked.get(key) ?? new Set<string>();
    this.#asked.set(key, asked);
    if (!mass) {
      asked.delete(name);
      return;
    }
    asked.add(name);
    const engaged = this.#engaged.get(name);
    if (engaged) {
      engaged.keys.add(key);
      return;
    }
    this.#engaged.set(name, { account, keys: new Set([key]) });
    const { objects, of } = mass;
    this.#options.logger.error({ account, drift: signature, objects, of }, 'drift brake engaged');
  }

  /** A pass has ended. What it did not meet holds the object no longer, unless the account could not be read. */
  concluded(key: ObjectKey, plan: Plan): void {
    const asked = this.#asked.get(key);
    this.#asked.delete(key);
    if ((plan.kind === 'wait' || plan.kind === 'hold') && entryOf(plan.reason).accountUnread) return;
    this.#release(key, asked);
  }

  /** The object is gone. */
  forget(key: ObjectKey): void {
    this.#asked.delete(key);
    this.#release(key, undefined);
  }

  #release(key: ObjectKey, except: ReadonlySet<string> | undefined): void {
    for (const [name, { keys }] of this.#engaged) {
      if (except?.has(name)) continue;
      keys.delete(key);
      if (keys.size === 0) this.#engaged.delete(name);
    }
  }

  /** Whether it keeps drift from being corrected now, in one of these accounts. */
  isEngaged(accounts: readonly Pick<AccountHandle, 'name'>[]): boolean {
    const known = new Set(accounts.map(({ name }) => name));
    return [...this.#engaged.values()].some(
      ({ account }) => known.has(account) && !this.#options.fleet.allowsMassChange(account),
    );
  }

  /** A correction of these has been sent. */
  corrected(key: ObjectKey, account: AccountHandle, differences: readonly Difference[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const difference of differences) {
      if (!difference.drift) continue;
      const name = `${account.name} ${driftSignature(parseObjectKey(key).kind, difference)}`;
      const objects = this.#corrected.get(name) ?? new Map<ObjectKey, number>();
      this.#corrected.set(name, objects.set(key, nowMs));
    }
  }

  #lately({ name: account }: AccountHandle, signature: string): ObjectKey[] {
    const name = `${account} ${signature}`;
    const objects = this.#corrected.get(name);
    if (!objects) return [];
    const sinceMs = this.#options.clock.monotonicMs() - massDriftWindowMs;
    for (const [key, atMs] of objects) if (atMs < sinceMs) objects.delete(key);
    if (objects.size === 0) this.#corrected.delete(name);
    return [...objects.keys()];
  }

  /** Counts all objects once for each read, and only when something has to be corrected. */
  #count(account: AccountHandle, snapshot: AccountSnapshot) {
    const known = this.#counted.get(snapshot);
    if (known) return known;
    const { store, peek } = this.#options;
    const alike = new Map<string, Set<ObjectKey>>();
    let objects = 0;
    for (const record of store.recordsOf(account.name)) {
      if (record.externalId === undefined) continue;
      objects += 1;
      if (record.deletionRequestedAt !== undefined) continue;
      for (const difference of peek(record.key, account, snapshot)) {
        if (!difference.drift || !this.#isNew(record, difference)) continue;
        const signature = driftSignature(parseObjectKey(record.key).kind, difference);
        alike.set(signature, (alike.get(signature) ?? new Set()).add(record.key));
      }
    }
    const counted = { alike, objects };
    this.#counted.set(snapshot, counted);
    return counted;
  }

  /** Or it is held for that already: an engaged brake is not released by itself. */
  #isNew({ report }: ObjectRecord, { path }: Difference): boolean {
    const before = report?.drift.find((entry) => entry.path === path);
    if (!before || report?.pending?.reason === massDriftReason) return true;
    return this.#options.clock.wallMs() - before.since <= massDriftWindowMs;
  }
}
