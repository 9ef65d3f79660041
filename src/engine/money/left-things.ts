/**
 * What objects left at the provider (`deletionPolicy: Retain`). For a budget of labels or of a namespace it would cost nothing once its object is
 * gone, and the next object could take its room, again and again. So the record of each budget that counted the object remembers the id, and is
 * durable before the object is forgotten: a restart changes nothing, and neither does another leader. A budget of an account counts all of that in
 * any case.
 *
 *     (a member) ── its object is about to be forgotten ──> counted ── another object has it ──────────> forgotten
 *          │                                                  ^   ├── reads do not show it for an hour ─> forgotten
 *          └── its object vanishes without a cleanup ─────────┘   └── another owner has it for an hour ─> forgotten
 *
 * Counted means: what its account shows of it now, unless it has the mark of another owner, or a member counts it with itself: a volume that its
 * service uses. The record has the time since which reads lack an id, so also processes that live for minutes forget it. While its account has not
 * been read, nobody knows what is left of the budget. Reservations end with their object, so nothing is left before a read shows what was requested
 * for it. A budget remembers at most 300 ids. For another one, it first forgets what the last read lacks. As long as it has no place, the object
 * stays, and counts. What vanishes without a cleanup is remembered with the next pass of the budget.
 */
import { sameValue, type Clock } from '../../base/index.ts';
import {
  accountKey,
  parseObjectKey,
  traitsOf,
  type ObjectKey,
  type StoredLeft,
} from '../../resources/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { Kinds } from '../kind.ts';
import { leftIds, withLeft, withoutLeft, type Gate } from '../plan/index.ts';
import { noPart, partOfThing, type Part, type PartSources } from './budget-part.ts';
import type { Budget } from './budget.ts';
import type { Extras } from './extras.ts';
import { isForeign } from './foreign-things.ts';

/** An id has 36 characters, and a status less than 32 KiB. */
const mostLeft = 300;
const missingMs = 3_600_000;
/** For so long it is awaited that a read shows what was requested. Reservations have the same patience. */
const patienceMs = 600_000;
const none: readonly Budget[] = [];

/** No read shows it, or with the mark of another owner only. */
interface Missing {
  /** Since when, in Unix milliseconds, and monotonic: when the first of these reads began. */
  readonly since: number;
  readonly sinceMs: number;
  /** When the last one began. Undefined: this process has none yet. */
  readonly untilMs: number | undefined;
}

export interface LeftThingsOptions {
  readonly clock: Clock;
  readonly kinds: Kinds;
  readonly extras: Extras;
  readonly sources: () => PartSources;
  /** The budget has something to save. */
  readonly wake: (budget: ObjectKey) => void;
}

/** How an object was counted until now. */
export interface Counted {
  readonly budgets: readonly Budget[];
  readonly part: Part;
}

export class LeftThings {
  readonly #options: LeftThingsOptions;
  readonly #holders = new Set<Budget>();
  /** By id, and by object that has it now: the budgets that remember it. */
  readonly #concerned = new Map<string, Set<Budget>>();
  readonly #missing = new Map<string, Missing>();
  /** Objects whose removal is concluded: what they leave is known. */
  readonly #removing = new Set<ObjectKey>();
  /** Objects that wait to be forgotten, and since when (monotonic). */
  readonly #leavingSinceMs = new Map<ObjectKey, number>();

  constructor(options: LeftThingsOptions) {
    this.#options = options;
  }

  /** What the record of the budget has. */
  take(budget: Budget, left: readonly StoredLeft[]): void {
    if (sameValue(left, budget.left)) return;
    this.#release(budget);
    budget.left = left;
    budget.unsaved = [];
    for (const { missing = {} } of left)
      for (const [id, since] of Object.entries(missing)) this.#isMissingSince(id, since);
    this.#hold(budget);
    this.#tidy();
  }

  /** Another process has noticed it. */
  #isMissingSince(id: string, since: number): void {
    if (this.#missing.has(id)) return;
    const { clock } = this.#options;
    const forMs = Math.max(0, clock.wallMs() - since);
    this.#missing.set(id, { since, sinceMs: clock.monotonicMs() - forMs, untilMs: undefined });
  }

  /** `remove`: of the record of an object whose removal is concluded. It does not vanish. */
  async removing(key: ObjectKey, remove: () => Promise<void>): Promise<void> {
    this.#removing.add(key);
    try {
      await remove();
    } finally {
      this.#removing.delete(key);
    }
  }

  /** The object was forgotten. In a cluster, somebody may have removed its finalizer: then what it made is still there. */
  vanished(key: ObjectKey, { budgets, part: { id, account, extras } }: Counted): void {
    if (this.#removing.has(key)) return;
    const sources = this.#options.sources();
    const handle = account === undefined ? undefined : sources.accounts.handle(account);
    if (id === undefined || account === undefined || !handle || sources.store.recordOf(id)) return;
    const { services, volumes } = handle.informer.current ?? {};
    const state = services?.get(id)?.state ?? volumes?.get(id)?.status;
    if (state === undefined || state === 'deleting') return;
    for (const budget of budgets.filter(isOfObjects)) {
      const all = withLeft(allOf(budget), account, [id, ...extras]);
      if (!all || !this.#fitting(all)) continue;
      budget.unsaved = withLeft(budget.unsaved, account, [id, ...extras]) ?? budget.unsaved;
      this.#hold(budget);
      this.#options.wake(budget.key);
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
    this.#release(budget);
    this.#tidy();
  }

  #release(budget: Budget): void {
    this.#holders.delete(budget);
    for (const [about, budgets] of this.#concerned)
      if (budgets.delete(budget) && budgets.size === 0) this.#concerned.delete(about);
  }

  #tidy(): void {
    for (const id of this.#missing.keys()) if (!this.#concerned.has(id)) this.#missing.delete(id);
  }

  /** Undefined: so many can't be remembered, also without those that reads lack. */
  #fitting(all: readonly StoredLeft[]): readonly StoredLeft[] | undefined {
    const rest = withoutLeft(all, this.#forRoom(all));
    return leftIds(rest).length > mostLeft ? undefined : rest;
  }

  /** As many as necessary for room of those that the last read lacks, first what has been missing longest. */
  #forRoom(all: readonly StoredLeft[]): ReadonlySet<string> {
    const ids = leftIds(all);
    if (ids.length <= mostLeft) return new Set();
    const missing = ids.flatMap((id) => {
      const { sinceMs, untilMs } = this.#missing.get(id) ?? {};
      return sinceMs === undefined || untilMs === undefined ? [] : [{ id, sinceMs }];
    });
    const first = missing.toSorted((one, other) => one.sinceMs - other.sinceMs);
    return new Set(first.slice(0, ids.length - mostLeft).map(({ id }) => id));
  }

  /** Why the object may not be forgotten yet, though what it made is to stay. */
  gate({ key, externalId: id, account = '' }: ObjectRecord, { budgets, part }: Counted): Gate | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    const counting = budgets.filter(isOfObjects);
    if (id === undefined || counting.length === 0) return undefined;
    const sinceMs = this.#leavingSinceMs.get(key) ?? nowMs;
    this.#leavingSinceMs.set(key, sinceMs);
    const handle = this.#options.sources().accounts.handle(account);
    const isReadable = handle !== undefined && handle.informer.failure === undefined;
    if (isReadable && part.reserved > part.asked && nowMs - sinceMs < patienceMs) {
      const message = `${id} is left at the provider when a read of the account shows what was requested for it: ${counting[0]?.noun} counts it`;
      return { kind: 'wait', reason: 'AwaitingObservation', message, recheckAfterMs: 5000 };
    }
    const full = counting.find(({ gates, left }) => {
      const all = gates ? withLeft(left, account, [id, ...part.extras]) : undefined;
      return all && !this.#fitting(all);
    });
    if (!full) return undefined;
    const message = `${full.noun} counts ${leftIds(full.left).length} things that were left at the provider (\`deletionPolicy: Retain\`), and can't remember more; delete there what nobody needs, or use a Budget with \`accountRef\` instead, which need not remember them`;
    return { kind: 'wait', reason: 'BudgetExceeded', message, recheckAfterMs: 60_000 };
  }

  /**
   * The object is about to be forgotten, and what it made stays. Resolves when the budgets that counted it remember that durably. `counted`: how it
   * is counted at the moment.
   */
  async leave({ key, externalId, account = '' }: ObjectRecord, counted: () => Counted): Promise<void> {
    this.#leavingSinceMs.delete(key);
    if (externalId === undefined) return;
    const { store } = this.#options.sources();
    for (const budget of counted().budgets.filter(isOfObjects)) {
      // Another object may have left something while the one before was saved.
      const { extras } = counted().part;
      const record = store.record(budget.key);
      const traits = traitsOf(parseObjectKey(budget.key).kind);
      const all = withLeft(budget.left, account, [externalId, ...extras]);
      const left = all && (this.#fitting(all) ?? (budget.gates ? all : undefined));
      const kind = record && left ? traits.withLeft?.(record.kind, left) : undefined;
      if (record && kind) await store.save({ ...record, kind });
      // After a write that failed, memory may be ahead.
      else await store.flush(budget.key);
    }
  }

  /**
   * The records of these objects have changed, and members count these ids with themselves, or don't any more. Returns the budgets that may
   * count something else now.
   */
  moved(keys: Iterable<ObjectKey>, extras: Iterable<string>): ReadonlySet<Budget> {
    const touched = new Set<Budget>();
    if (this.#holders.size === 0) return touched;
    const { store } = this.#options.sources();
    for (const id of extras) for (const budget of this.#concerned.get(id) ?? none) touched.add(budget);
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
  overIn(budget: Budget): ReadonlySet<string> {
    const { store } = this.#options.sources();
    const all = allOf(budget);
    const isTaken = (id: string) =>
      store.recordsWithId(id).some((record) => record.deletionRequestedAt === undefined);
    const isLost = (id: string) => {
      const { sinceMs, untilMs } = this.#missing.get(id) ?? {};
      return sinceMs !== undefined && untilMs !== undefined && untilMs - sinceMs >= missingMs;
    };
    const over = new Set(leftIds(all).filter((id) => isTaken(id) || isLost(id)));
    return new Set([...over, ...this.#forRoom(withoutLeft(all, over))]);
  }

  /** Since when reads lack what it remembers (Unix milliseconds). */
  missingIn(budget: Budget): ReadonlyMap<string, number> {
    return new Map(
      leftIds(allOf(budget)).flatMap((id) => {
        const missing = this.#missing.get(id);
        return missing ? [[id, missing.since] as const] : [];
      }),
    );
  }

  #count(budget: Budget): void {
    const sources = this.#options.sources();
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
      this.#missing.delete(id);
      return undefined;
    }
    const { extras, kinds, clock } = this.#options;
    const member = extras.memberWith(id);
    if (member !== undefined && budget.members.has(member)) {
      this.#missing.delete(id);
      return undefined;
    }
    const handle = accounts.handle(account);
    const { current } = handle?.informer ?? {};
    const isThere = handle !== undefined || store.record(accountKey(account)) !== undefined;
    if (isThere && !current) return { ...noPart, account, isUnseen: true };
    // Without its Account, another one may be the same account at the provider.
    const handles = handle ? [handle] : Array.from(accounts.handles());
    const isOther = (read: AccountSnapshot) => isForeign(id, read, kinds, sources.fleet.owner);
    const ours = handles.filter(({ informer }) => informer.current && !isOther(informer.current));
    const part = partOfThing(id, ours, sources);
    if (part) this.#missing.delete(id);
    else if (current) {
      const { startedAtMs } = current;
      const begun = { since: clock.wallMs(), sinceMs: startedAtMs };
      this.#missing.set(id, { ...(this.#missing.get(id) ?? begun), untilMs: startedAtMs });
    }
    return part;
  }

  #concern(about: string, budget: Budget): void {
    const known = this.#concerned.get(about);
    if (known) known.add(budget);
    else this.#concerned.set(about, new Set([budget]));
  }
}

/** With what its record does not have yet. */
function allOf({ left, unsaved }: Budget): readonly StoredLeft[] {
  return unsaved.reduce((sum, { account, ids }) => withLeft(sum, account, ids) ?? sum, left);
}

/** One of an account counts all of it in any case. */
function isOfObjects({ terms: { scope } }: Budget): boolean {
  return scope.of !== 'account';
}
