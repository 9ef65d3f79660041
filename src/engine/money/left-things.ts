/**
 * What objects left at the provider (`deletionPolicy: Retain`). For a budget of labels or of a namespace it would cost nothing once its object is
 * gone, and the next object could take its room, again and again. So the record of each budget that counted the object remembers the id, and is
 * durable before the object is forgotten: a restart changes nothing, and neither does another leader. A budget of an account counts all of that in
 * any case.
 *
 *     (a member) ── its object is about to be forgotten ──> counted ── another object has it ──────────> forgotten
 *          │                                                  ^   └── reads do not show it for an hour ─> forgotten
 *          └── its object vanishes without a cleanup ─────────┘
 *
 * Counted means: what its account shows of it now. While its account has not been read, nobody knows what is left of the budget. Reservations end
 * with their object, so nothing is left before a read shows what was requested for it. A budget remembers at most 300 ids, and as long as it has no
 * place for another one, the object stays, and counts. What vanishes without a cleanup is remembered with the next pass of the budget.
 */
import { sameValue, type Clock } from '../../base/index.ts';
import {
  accountKey,
  parseObjectKey,
  traitsOf,
  type ObjectKey,
  type StoredLeft,
} from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { leftIds, withLeft, type Gate } from '../plan/index.ts';
import { noPart, partOfThing, type Part, type PartSources } from './budget-part.ts';
import type { Budget } from './budget.ts';

/** An id has 36 characters, and a status less than 32 KiB. */
const mostLeft = 300;
const missingMs = 3_600_000;
/** For so long it is awaited that a read shows what was requested. Reservations have the same patience. */
const patienceMs = 600_000;
const none: readonly Budget[] = [];

/** How an object was counted until now. */
export interface Counted {
  readonly budgets: readonly Budget[];
  readonly part: Part;
}

export class LeftThings {
  readonly #clock: Clock;
  readonly #sources: () => PartSources;
  readonly #wake: (budget: ObjectKey) => void;
  readonly #holders = new Set<Budget>();
  /** By id, and by object that has it now: the budgets that remember it. */
  readonly #concerned = new Map<string, Set<Budget>>();
  /** Ids that no read shows: when the first of these reads began, and the last one (monotonic). */
  readonly #missing = new Map<string, { readonly sinceMs: number; readonly untilMs: number }>();
  /** Objects that wait to be forgotten, and since when (monotonic). */
  readonly #leavingSinceMs = new Map<ObjectKey, number>();

  /** `wake`: the budget has something to save. */
  constructor(clock: Clock, sources: () => PartSources, wake: (budget: ObjectKey) => void) {
    this.#clock = clock;
    this.#sources = sources;
    this.#wake = wake;
  }

  /** What the record of the budget has. */
  take(budget: Budget, left: readonly StoredLeft[]): void {
    if (sameValue(left, budget.left)) return;
    this.forget(budget);
    budget.left = left;
    budget.unsaved = [];
    this.#hold(budget);
  }

  /** The object was forgotten. In a cluster, somebody may have removed its finalizer: then what it made is still there. */
  vanished({ budgets, part: { id, account, extras } }: Counted): void {
    const sources = this.#sources();
    const handle = account === undefined ? undefined : sources.accounts.handle(account);
    if (id === undefined || account === undefined || !handle || sources.store.recordOf(id)) return;
    const { services, volumes } = handle.informer.current ?? {};
    const state = services?.get(id)?.state ?? volumes?.get(id)?.status;
    if (state === undefined || state === 'deleting') return;
    for (const budget of budgets.filter(isOfObjects)) {
      const all = withLeft(budget.left, account, [id, ...extras]);
      if (!all || leftIds(all).length > mostLeft) continue;
      budget.unsaved = withLeft(budget.unsaved, account, [id, ...extras]) ?? budget.unsaved;
      this.#hold(budget);
      this.#wake(budget.key);
    }
  }

  #hold(budget: Budget): void {
    const all = [...budget.left, ...budget.unsaved];
    if (all.length > 0) this.#holders.add(budget);
    for (const { account, ids } of all)
      for (const about of [accountKey(account), ...ids]) this.#concern(about, budget);
    this.#count(budget);
  }

  /** The budget is gone. */
  forget(budget: Budget): void {
    this.#holders.delete(budget);
    for (const [about, budgets] of this.#concerned) {
      if (!budgets.delete(budget) || budgets.size > 0) continue;
      this.#concerned.delete(about);
      this.#missing.delete(about);
    }
  }

  /** Why the object may not be forgotten yet, though what it made is to stay. */
  gate({ key, externalId: id, account = '' }: ObjectRecord, { budgets, part }: Counted): Gate | undefined {
    const nowMs = this.#clock.monotonicMs();
    const counting = budgets.filter(isOfObjects);
    if (id === undefined || counting.length === 0) return undefined;
    const sinceMs = this.#leavingSinceMs.get(key) ?? nowMs;
    this.#leavingSinceMs.set(key, sinceMs);
    const handle = this.#sources().accounts.handle(account);
    const isReadable = handle !== undefined && handle.informer.failure === undefined;
    if (isReadable && part.reserved > part.asked && nowMs - sinceMs < patienceMs) {
      const message = `${id} is left at the provider when a read of the account shows what was requested for it: ${counting[0]?.noun} counts it`;
      return { kind: 'wait', reason: 'AwaitingObservation', message, recheckAfterMs: 5000 };
    }
    const full = counting.find(
      ({ gates, left }) =>
        gates && leftIds(withLeft(left, account, [id, ...part.extras]) ?? []).length > mostLeft,
    );
    if (!full) return undefined;
    const message = `${full.noun} counts ${leftIds(full.left).length} things that were left at the provider (\`deletionPolicy: Retain\`), and can't remember more; delete some of these there, or give this object \`deletionPolicy: Delete\``;
    return { kind: 'wait', reason: 'BudgetExceeded', message, recheckAfterMs: 60_000 };
  }

  /**
   * The object is about to be forgotten, and what it made stays. Resolves when the budgets that counted it remember that durably. `counted`: how it
   * is counted at the moment.
   */
  async leave({ key, externalId, account = '' }: ObjectRecord, counted: () => Counted): Promise<void> {
    this.#leavingSinceMs.delete(key);
    if (externalId === undefined) return;
    const { store } = this.#sources();
    for (const budget of counted().budgets.filter(isOfObjects)) {
      // Another object may have left something while the one before was saved.
      const { extras } = counted().part;
      const record = store.record(budget.key);
      const traits = traitsOf(parseObjectKey(budget.key).kind);
      const left = withLeft(budget.left, account, [externalId, ...extras]);
      const hasPlace = budget.gates || (left && leftIds(left).length <= mostLeft);
      const kind = record && left && hasPlace ? traits.withLeft?.(record.kind, left) : undefined;
      if (record && kind) await store.save({ ...record, kind });
      // After a write that failed, memory may be ahead.
      else await store.flush(budget.key);
    }
  }

  /** The records of these objects have changed. Returns the budgets that may count something else now. */
  moved(keys: Iterable<ObjectKey>): ReadonlySet<Budget> {
    const touched = new Set<Budget>();
    if (this.#holders.size === 0) return touched;
    const { store } = this.#sources();
    for (const key of keys) {
      const { externalId: id } = store.record(key) ?? {};
      const known = [this.#concerned.get(key), id === undefined ? undefined : this.#concerned.get(id)];
      for (const budgets of known) for (const budget of budgets ?? none) touched.add(budget);
    }
    for (const budget of touched) this.#count(budget);
    return touched;
  }

  /** An account was read. */
  observed(): void {
    for (const budget of this.#holders) this.#count(budget);
  }

  /** What the budget need not remember any more. */
  overIn({ left }: Budget): ReadonlySet<string> {
    const { store } = this.#sources();
    const isTaken = (id: string) =>
      store.recordsWithId(id).some((record) => record.deletionRequestedAt === undefined);
    const isLost = (id: string) => {
      const { sinceMs, untilMs } = this.#missing.get(id) ?? { sinceMs: 0, untilMs: 0 };
      return untilMs - sinceMs >= missingMs;
    };
    return new Set(leftIds(left).filter((id) => isTaken(id) || isLost(id)));
  }

  #count(budget: Budget): void {
    const sources = this.#sources();
    const parts = new Map<string, Part>();
    for (const { account, ids } of [...budget.left, ...budget.unsaved])
      for (const id of ids) {
        const part = this.#partOf(id, account, sources, budget);
        if (part) parts.set(id, part);
      }
    budget.countLeft(parts);
  }

  /** Undefined: it does not count. */
  #partOf(id: string, account: string, sources: PartSources, budget: Budget): Part | undefined {
    const { store, accounts } = sources;
    const [record] = store.recordsWithId(id);
    if (record) {
      // When that object leaves it, it counts again.
      this.#concern(record.key, budget);
      return undefined;
    }
    const handle = accounts.handle(account);
    const { current } = handle?.informer ?? {};
    const isThere = handle !== undefined || store.record(accountKey(account)) !== undefined;
    if (isThere && !current) return { ...noPart, account, isUnseen: true };
    // Without its Account, another one may be the same account at the provider.
    const part = partOfThing(id, handle ? [handle] : Array.from(accounts.handles()), sources);
    if (part) this.#missing.delete(id);
    else if (current) {
      const { startedAtMs } = current;
      this.#missing.set(id, { sinceMs: this.#missing.get(id)?.sinceMs ?? startedAtMs, untilMs: startedAtMs });
    }
    return part;
  }

  #concern(about: string, budget: Budget): void {
    const known = this.#concerned.get(about);
    if (known) known.add(budget);
    else this.#concerned.set(about, new Set([budget]));
  }
}

/** One of an account counts all of it in any case. */
function isOfObjects({ terms: { scope } }: Budget): boolean {
  return scope.of !== 'account';
}
