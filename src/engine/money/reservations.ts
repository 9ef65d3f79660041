/**
 * What requests add to the hourly cost, until a snapshot shows it (S15).
 *
 *     (none) ── take: before the intent is saved ──> open ── refused, not sent, not applied ──> (none)
 *                                                     │  ├── the same of a creation that may still take effect (creations.ts): still open
 *                                                     │  └── outcome unknown, restart: still open
 *                                   answered, or settled as applied
 *                                                     v
 *                      awaiting its price ── a later snapshot shows it with a price ──> shown
 *                                         ── in a steady state without a price ──> shown, and the book learns that
 *                                         ── certainly absent, or reverted ──> (none)
 *                      shown ── each Account of the balance has a snapshot that is not older ──> (none)
 *
 * All objects of an account share the sum, so two workers can't spend the same money. So do all Accounts that draw on one balance
 * (shared-balances.ts): a budget of one of them counts what its own snapshot shows, which may be older. A new process restores reservations from the
 * newest intents: those that are open, and those that were applied. Its first read shows whether the latter have ended.
 *
 * A price may become known or rise meanwhile. Then the reservation rises, but never falls.
 *
 * An answered request whose price never appears is given up after `patienceMs`, unless its thing is shown as being made, with a price of 0.
 * For an Account that can't be read, it stays no longer either.
 */
import { isCreation } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import {
  clampedMicros,
  holdsCompute,
  increaseMicros,
  mayShowSamePrice,
  priceOf,
  type Cost,
} from '../plan/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import {
  readAsked,
  type Asked,
  type Intent,
  type IntentEstimate,
  type ObjectRecord,
  type StateStore,
} from '../../state/index.ts';

export interface Reservation {
  readonly key: ObjectKey;
  readonly account: string;
  readonly micros: bigint;
  readonly basis: IntentEstimate['basis'];
  readonly unknown: readonly string[];
  readonly of: IntentEstimate['of'];
  /** Monotonic milliseconds at which it became known that the request took effect. */
  readonly heardAtMs: number | undefined;
  /** The object's earlier request, which was answered but is not shown yet. Its amount is included in `micros`. */
  readonly before: Reservation | undefined;
  /** What the part of `micros` without `before` is the price of. */
  readonly asked: Asked | undefined;
  /** When the read of its own account began that shows it (monotonic). Undefined: none does. */
  readonly shownAtMs?: number;
  /** Room that others of an exchange rely on (exchanges.ts). It stays even if the deletion is not made. */
  readonly isPromised?: boolean;
}

/** What a snapshot shows of a reservation for the first time. */
export interface Shown {
  readonly unknown: readonly string[];
  /** The thing exists and shows no price. */
  readonly isUnpriced: boolean;
}

const patienceMs = 600_000;
/** In other states, a price may still appear. */
const settledStates: ReadonlySet<string | undefined> = new Set(['running', 'error', 'ready']);
const none: ReadonlyMap<ObjectKey, Reservation> = new Map();

export class Reservations {
  readonly #store: StateStore;
  readonly #startedAtMs: number;
  /** By account. */
  readonly #open = new Map<string, Map<ObjectKey, Reservation>>();
  readonly #accounts = new Map<ObjectKey, string>();
  readonly #sums = new Map<string, bigint>();
  /** By account: when its newest read began (monotonic). */
  readonly #readAtMs = new Map<string, number>();
  #isRebuilt = false;
  #onMoved: (key: ObjectKey) => void = () => {};

  /** `startedAtMs`: monotonic, of this process. */
  constructor(store: StateStore, startedAtMs: number) {
    this.#store = store;
    this.#startedAtMs = startedAtMs;
  }

  /** From now on, `onMoved` is called for each object whose reservation is made, changed or ended. */
  listen(onMoved: (key: ObjectKey) => void): void {
    this.#onMoved = onMoved;
  }

  /** What is reserved for the object, and the part of it that its next request replaces. */
  microsOf(key: ObjectKey): { readonly micros: bigint; readonly askedMicros: bigint } {
    const own = this.#of(key);
    if (!own) return { micros: 0n, askedMicros: 0n };
    const { micros, of, heardAtMs, before } = own;
    if (of === 'creation-to-follow') return { micros, askedMicros: micros };
    return { micros, askedMicros: heardAtMs === undefined ? micros - (before?.micros ?? 0n) : 0n };
  }

  /**
   * Synchronous, so nothing happens between the gate and the reservation. The result is to be recorded with
   * the intent.
   */
  take(key: ObjectKey, account: string, cost: Cost, of?: 'creation-to-follow'): IntentEstimate {
    const known = this.#of(key);
    // The creation uses the room that was made for it. What is not shown yet is added.
    const before = known?.of === 'creation-to-follow' || known?.heardAtMs === undefined ? undefined : known;
    const micros = (before?.micros ?? 0n) + increaseMicros(cost);
    const { basis, asked } = cost;
    // Its unknown demands still wait for the same prices.
    const unknown = [...new Set([...(before?.unknown ?? []), ...cost.unknown])];
    const isPromised = of !== undefined && known?.isPromised === true;
    this.#put({ key, account, micros, basis, unknown, of, heardAtMs: undefined, before, asked, isPromised });
    return {
      estimateMicros: clampedMicros(micros),
      basis,
      unknown,
      ...(of ? { of } : {}),
      ...unpriced(cost),
    };
  }

  /**
   * Reserves room for a creation after a deletion that has not been requested yet. Does nothing if the object
   * has a reservation.
   */
  promise(key: ObjectKey, account: string, cost: Cost): void {
    if (this.#of(key)) return;
    const { basis, unknown, asked } = cost;
    const room = {
      of: 'creation-to-follow',
      heardAtMs: undefined,
      before: undefined,
      isPromised: true,
    } as const;
    this.#put({ key, account, micros: increaseMicros(cost), basis, unknown, asked, ...room });
  }

  hasRoom(key: ObjectKey): boolean {
    return this.#of(key)?.of === 'creation-to-follow';
  }

  /** What the object's next request has to include, so that its intent does not hide what is not shown yet. */
  carried(key: ObjectKey): IntentEstimate | undefined {
    const before = this.#of(key);
    if (!before || before.of === 'creation-to-follow') return undefined;
    const { micros, basis, unknown } = before;
    return { estimateMicros: clampedMicros(micros), basis, unknown, of: 'earlier', ...unpriced(before) };
  }

  /** Applies newer prices. `newMicros`: what a request adds to the hourly cost. */
  reprice(account: string, newMicros: (asked: Asked) => bigint): void {
    this.#rebuild();
    for (const reservation of this.#openIn(account)) {
      const now = repriced(reservation, newMicros);
      if (now.micros !== reservation.micros) this.#put(now);
    }
  }

  /** The request took effect. From now on, a snapshot may show that. */
  heard(key: ObjectKey, atMs: number): void {
    const reservation = this.#of(key);
    if (reservation && reservation.heardAtMs === undefined) this.#put({ ...reservation, heardAtMs: atMs });
  }

  end(key: ObjectKey): void {
    this.#rebuild();
    const account = this.#accounts.get(key);
    if (account === undefined) return;
    const open = this.#open.get(account);
    const micros = open?.get(key)?.micros ?? 0n;
    this.#sums.set(account, (this.#sums.get(account) ?? 0n) - micros);
    open?.delete(key);
    this.#accounts.delete(key);
    this.#onMoved(key);
  }

  /** Ends the last reservation, whose request was not made. */
  endUnheard(key: ObjectKey): void {
    const reservation = this.#of(key);
    if (!reservation || reservation.heardAtMs !== undefined || reservation.isPromised) return;
    if (reservation.before) this.#put(reservation.before);
    else this.end(key);
  }

  /** The thing is certainly absent. */
  absent(key: ObjectKey): void {
    if (this.#of(key)?.of !== 'creation-to-follow') this.end(key);
  }

  /** No creation will follow the deletion any more. */
  endRoom(key: ObjectKey): void {
    if (this.#of(key)?.of === 'creation-to-follow') this.end(key);
  }

  /**
   * The sum of the whole account, without the request of `except`. An object that has made room for itself
   * ignores the promised room of others. Otherwise they would wait for each other.
   */
  openMicros(account: string, except?: ObjectKey): bigint {
    this.#rebuild();
    const sum = this.#sums.get(account) ?? 0n;
    const own = except === undefined ? undefined : this.#of(except);
    if (own?.account !== account) return sum;
    if (own.of === 'creation-to-follow') return sum - this.#roomMicros(account);
    const isAsked = own.heardAtMs === undefined;
    return isAsked ? sum - own.micros + (own.before?.micros ?? 0n) : sum;
  }

  /** Accounts with reservations, or that had some. */
  accounts(): Iterable<string> {
    this.#rebuild();
    return this.#open.keys();
  }

  #roomMicros(account: string): bigint {
    const rooms = this.#openIn(account).filter(({ of }) => of === 'creation-to-follow');
    return rooms.reduce((sum, { micros }) => sum + micros, 0n);
  }

  /** Whether another object's request will reveal the price. */
  asks(account: string, unknown: string, except: ObjectKey): boolean {
    this.#rebuild();
    return this.#openIn(account).some(
      (each) => each.key !== except && each.unknown.some((asked) => mayShowSamePrice(asked, unknown)),
    );
  }

  /** Ends the reservations that a snapshot shows, once those of `others` do: Accounts of the same balance. */
  observe(
    account: string,
    snapshot: AccountSnapshot,
    nowMs: number,
    others: readonly string[] = [],
  ): Shown[] {
    this.#rebuild();
    this.#readAtMs.set(account, snapshot.startedAtMs);
    const found: Shown[] = [];
    for (const reservation of this.#openIn(account)) {
      const { heardAtMs = Number.POSITIVE_INFINITY, unknown, shownAtMs: before } = reservation;
      if (before !== undefined || heardAtMs > snapshot.startedAtMs) continue;
      const shown = this.#shown(reservation, snapshot);
      if (shown === 'being made') continue;
      if (shown === 'not yet' && nowMs - heardAtMs < patienceMs) continue;
      // What is given up is not awaited elsewhere either.
      const shownAtMs = shown === 'not yet' ? Number.NEGATIVE_INFINITY : snapshot.startedAtMs;
      this.#put({ ...reservation, unknown: [], shownAtMs });
      found.push({ unknown, isUnpriced: shown === 'unpriced' });
    }
    const all = [account, ...others];
    for (const { key, shownAtMs } of all.flatMap((each) => this.#openIn(each))) {
      if (shownAtMs === undefined) continue;
      const isRead = (each: string) => (this.#readAtMs.get(each) ?? Number.NEGATIVE_INFINITY) >= shownAtMs;
      if (nowMs - shownAtMs >= patienceMs || all.every(isRead)) this.end(key);
    }
    return found;
  }

  /** A copy, so that some may end meanwhile. */
  #openIn(account: string): Reservation[] {
    return [...(this.#open.get(account) ?? none).values()];
  }

  #shown(
    { key, of, micros }: Reservation,
    { services, volumes }: AccountSnapshot,
  ): 'priced' | 'unpriced' | 'being made' | 'not yet' {
    const record = this.#store.record(key);
    const id = record?.externalId ?? '';
    const thing: wire.Service | wire.Volume | undefined = services.get(id) ?? volumes.get(id);
    if (!thing || of === 'creation-to-follow' || isOlder(thing, record)) return 'not yet';
    const price = priceOf(thing.hourlyMicros);
    const state = (thing['state'] ?? thing['status']) as string | undefined;
    if (settledStates.has(state)) return price === undefined ? 'unpriced' : 'priced';
    // Less than was reserved may be the price of a part, and 0 that of a thing that is not in use yet.
    if (price !== undefined && price > 0n && price >= micros) return 'priced';
    return price === 0n && holdsCompute({ state }) ? 'being made' : 'not yet';
  }

  #of(key: ObjectKey): Reservation | undefined {
    this.#rebuild();
    const account = this.#accounts.get(key);
    return account === undefined ? undefined : this.#open.get(account)?.get(key);
  }

  #put(reservation: Reservation): void {
    const { key, account, micros } = reservation;
    this.end(key);
    const open = this.#open.get(account) ?? new Map<ObjectKey, Reservation>();
    this.#open.set(account, open.set(key, reservation));
    this.#accounts.set(key, account);
    this.#sums.set(account, (this.#sums.get(account) ?? 0n) + micros);
    this.#onMoved(key);
  }

  /** Runs once. Later changes are reported by calls. */
  #rebuild(): void {
    if (this.#isRebuilt) return;
    this.#isRebuilt = true;
    for (const key of this.#store.everyKey()) {
      const [record, intent] = [this.#store.record(key), this.#store.lastIntent(key)];
      const reservation = record && intent && reservationOf(record, intent, this.#startedAtMs);
      if (reservation) this.#put(reservation);
    }
  }
}

/** A reservation never falls. */
function repriced(reservation: Reservation, newMicros: (asked: Asked) => bigint): Reservation {
  const { asked, micros } = reservation;
  const before = reservation.before && repriced(reservation.before, newMicros);
  const own = micros - (reservation.before?.micros ?? 0n);
  const now = asked ? newMicros(asked) : 0n;
  return { ...reservation, before, micros: (before?.micros ?? 0n) + (now > own ? now : own) };
}

/** Only unknown prices are recorded for later pricing. */
function unpriced({ basis, asked }: Pick<Cost, 'basis' | 'asked'>): Pick<IntentEstimate, 'asked'> {
  return basis === 'unknown' && asked ? { asked } : {};
}

/** The reservation of an intent of an earlier process. */
function reservationOf(
  record: ObjectRecord,
  { estimate, outcome, action }: Intent,
  startedAtMs: number,
): Reservation | undefined {
  const { key, account, deletionRequestedAt, creationInDoubt } = record;
  if (!estimate || account === undefined) return undefined;
  const { estimateMicros, basis, unknown, of } = estimate;
  const mayAppear = creationInDoubt !== undefined && isCreation(action);
  const isOpen = outcome === 'pending' || outcome === 'unknown' || mayAppear;
  if (!isOpen && outcome !== 'applied' && of !== 'earlier') return undefined;
  if (of === 'creation-to-follow' && deletionRequestedAt !== undefined) return undefined;
  // Somebody may have edited the status that holds it.
  const micros = Number.isSafeInteger(estimateMicros) && estimateMicros > 0 ? BigInt(estimateMicros) : 0n;
  const heardAtMs = isOpen && of !== 'earlier' ? undefined : startedAtMs;
  const demands = Array.isArray(unknown) ? unknown : [];
  const asked = readAsked(estimate.asked);
  return { key, account, micros, basis, unknown: demands, of, heardAtMs, before: undefined, asked };
}

/** Read before the last known change of the thing. */
function isOlder(
  { id, revision }: Pick<wire.Service, 'id' | 'revision'>,
  record: ObjectRecord | undefined,
): boolean {
  const { seen } = record ?? {};
  return revision !== undefined && seen?.id === id && seen.revision !== undefined && revision < seen.revision;
}
