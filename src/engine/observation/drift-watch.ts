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
} from '../plan/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import type { AccountHandle } from '../accounts.ts';
import { massChangeAdvice } from '../fleet/advice.ts';
import type { Fleet } from '../fleet/fleet.ts';

export interface DriftWatchOptions {
  readonly store: StateStore;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
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
  /** The accounts and signatures for which the brake has been logged. */
  readonly #engaged = new Set<string>();

  constructor(options: DriftWatchOptions) {
    this.#options = options;
  }

  /** Why a drift must not be corrected. */
  brake(key: ObjectKey, account: AccountHandle, difference: Difference): MassDrift | undefined {
    const { fleet, logger, metrics } = this.#options;
    const snapshot = account.informer.current;
    if (!difference.drift || !snapshot || fleet.allowsMassChange(account.name)) return undefined;
    const signature = driftSignature(parseObjectKey(key).kind, difference);
    const { alike, objects } = this.#count(account, snapshot);
    const all = new Set([...(alike.get(signature) ?? []), ...this.#lately(account, signature), key]);
    const limit = massChangeLimit(objects);
    const name = `${account.name} ${signature}`;
    if (all.size <= limit) {
      this.#engaged.delete(name);
      metrics.brakeEngaged.set({ cause: 'drift' }, this.#engaged.size > 0 ? 1 : 0);
      return undefined;
    }
    if (!this.#engaged.has(name)) {
      this.#engaged.add(name);
      metrics.brakeEngaged.set({ cause: 'drift' }, 1);
      logger.error(
        { account: account.name, drift: signature, objects: all.size, of: objects },
        'drift brake engaged',
      );
    }
    const advice = massChangeAdvice(fleet.snapshot, account.name);
    return { objects: all.size, of: objects, limit, account: account.name, advice };
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
