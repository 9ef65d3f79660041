/**
 * What requests add to the cost of an hour, until it can be seen (S15).
 *
 *     (none) ── take: before the intent is written ──> open ── refused, not sent, not applied ──> (none)
 *                                                      │  └── outcome unknown, restart: still open
 *                                    answered, or settled as applied
 *                                                      v
 *                       awaiting its price ── a snapshot begun after that shows it with a price ──> (none)
 *                                          ── settled in a state, and no price shown ──> (none), and the book learns that
 *                                          ── absent for certain, or taken back ──> (none)
 *
 * All objects of an account share the sum: two workers can't pass the same gap. So do all Accounts that draw on one balance (shared-balances.ts). A process that starts has what the newest intents of the
 * objects say: those that are open, and those that were applied, of which its first read tells whether they show.
 *
 * A price may become known, or rise, while nothing shows what was asked for: then that counts, never less than before.
 *
 * Whatever goes wrong at the provider (it never shows what it made, or never a price), an answered request is given up after `patienceMs`.
 */
import type { wire } from '../../api/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import { clampedMicros, increaseMicros, mayShowSamePrice, priceOf, type Cost } from '../plan/index.ts';
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
  /** Monotonic milliseconds since which it is known to have happened. */
  readonly heardAtMs: number | undefined;
  /** Of the object's request before, which was answered and not shown yet; its amount is in `micros`. */
  readonly before: Reservation | undefined;
  /** What `micros` without those of `before` is the price of. */
  readonly asked: Asked | undefined;
  /** Room that others of an exchange count on (exchanges.ts): it stays when the deletion does not come to be. */
  readonly isPromised?: boolean;
}

/** A snapshot has ended it. */
export interface Ended {
  readonly unknown: readonly string[];
  /** It is there, and shows no price. */
  readonly isUnpriced: boolean;
}

const patienceMs = 600_000;
/** In others a price may still come. */
const settledStates: ReadonlySet<string | undefined> = new Set([
  'running',
  'error',
  'paused',
  'sleeping',
  'ready',
]);
const none: ReadonlyMap<ObjectKey, Reservation> = new Map();

export class Reservations {
  readonly #store: StateStore;
  readonly #startedAtMs: number;
  /** By account. */
  readonly #open = new Map<string, Map<ObjectKey, Reservation>>();
  readonly #accounts = new Map<ObjectKey, string>();
  readonly #sums = new Map<string, bigint>();
  #isRebuilt = false;

  /** `startedAtMs`: monotonic, of this process. */
  constructor(store: StateStore, startedAtMs: number) {
    this.#store = store;
    this.#startedAtMs = startedAtMs;
  }

  /** Synchronous, so that nothing comes between the gate and this. What it stands for is to be written with the intent. */
  take(key: ObjectKey, account: string, cost: Cost, of?: 'creation-to-follow'): IntentEstimate {
    const known = this.#of(key);
    // Room that was made for a creation is taken by it; what is not shown yet is paid as well.
    const before = known?.of === 'creation-to-follow' || known?.heardAtMs === undefined ? undefined : known;
    const micros = (before?.micros ?? 0n) + increaseMicros(cost);
    const { basis, asked } = cost;
    // What is not shown yet goes on to be what finds out the price.
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

  /** Room for a creation that follows a deletion which is still to be asked for; nothing where the object has a reservation. */
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

  /** What another request of the object is to carry on, so that its intent does not hide what is not shown yet. */
  carried(key: ObjectKey): IntentEstimate | undefined {
    const before = this.#of(key);
    if (!before || before.of === 'creation-to-follow') return undefined;
    const { micros, basis, unknown } = before;
    return { estimateMicros: clampedMicros(micros), basis, unknown, of: 'earlier', ...unpriced(before) };
  }

  /** By newer prices; `newMicros`: what it costs more in an hour. */
  reprice(account: string, newMicros: (asked: Asked) => bigint): void {
    this.#rebuild();
    for (const reservation of Array.from((this.#open.get(account) ?? none).values())) {
      const now = repriced(reservation, newMicros);
      if (now.micros !== reservation.micros) this.#put(now);
    }
  }

  /** It has happened; from then on a snapshot may show it. */
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
  }

  /** The request for which it was taken last has not come to be. */
  endUnheard(key: ObjectKey): void {
    const reservation = this.#of(key);
    if (!reservation || reservation.heardAtMs !== undefined || reservation.isPromised) return;
    if (reservation.before) this.#put(reservation.before);
    else this.end(key);
  }

  /** What it stands for is not there, for certain. */
  absent(key: ObjectKey): void {
    if (this.#of(key)?.of !== 'creation-to-follow') this.end(key);
  }

  /** Nothing is to follow a deletion any more. */
  endRoom(key: ObjectKey): void {
    if (this.#of(key)?.of === 'creation-to-follow') this.end(key);
  }

  /**
   * Of the whole account, but for the request of `except` that is asked about. Who has made room for itself does not wait for the room of
   * others, which is asked for by nobody yet: they would wait for each other.
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

  /** Those that have something open. */
  accounts(): Iterable<string> {
    this.#rebuild();
    return [...this.#open].filter(([, open]) => open.size > 0).map(([account]) => account);
  }

  #roomMicros(account: string): bigint {
    const rooms = [...(this.#open.get(account) ?? none).values()].filter(
      ({ of }) => of === 'creation-to-follow',
    );
    return rooms.reduce((sum, { micros }) => sum + micros, 0n);
  }

  /** Whether somebody else is about to find out the price. */
  asks(account: string, unknown: string, except: ObjectKey): boolean {
    this.#rebuild();
    return [...(this.#open.get(account) ?? none).values()].some(
      (each) => each.key !== except && each.unknown.some((asked) => mayShowSamePrice(asked, unknown)),
    );
  }

  /** Ends what a snapshot shows. */
  observe(account: string, snapshot: AccountSnapshot, nowMs: number): Ended[] {
    this.#rebuild();
    const ended: Ended[] = [];
    for (const reservation of Array.from((this.#open.get(account) ?? none).values())) {
      const { key, heardAtMs = Number.POSITIVE_INFINITY } = reservation;
      if (heardAtMs > snapshot.startedAtMs) continue;
      const shown = this.#shown(reservation, snapshot);
      if (shown === 'not yet' && nowMs - heardAtMs < patienceMs) continue;
      this.end(key);
      ended.push({ unknown: reservation.unknown, isUnpriced: shown === 'unpriced' });
    }
    return ended;
  }

  #shown(
    { key, of }: Reservation,
    { services, volumes }: AccountSnapshot,
  ): 'priced' | 'unpriced' | 'not yet' {
    const record = this.#store.record(key);
    const id = record?.externalId ?? '';
    const thing: wire.Service | wire.Volume | undefined = services.get(id) ?? volumes.get(id);
    if (!thing || of === 'creation-to-follow' || isOlder(thing, record)) return 'not yet';
    if (priceOf(thing.hourlyMicros) !== undefined) return 'priced';
    return settledStates.has((thing['state'] ?? thing['status']) as string | undefined)
      ? 'unpriced'
      : 'not yet';
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
  }

  /** Once: all that happens later is told. */
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

/** Never less than before. */
function repriced(reservation: Reservation, newMicros: (asked: Asked) => bigint): Reservation {
  const { asked, micros } = reservation;
  const before = reservation.before && repriced(reservation.before, newMicros);
  const own = micros - (reservation.before?.micros ?? 0n);
  const now = asked ? newMicros(asked) : 0n;
  return { ...reservation, before, micros: (before?.micros ?? 0n) + (now > own ? now : own) };
}

/** Only what nobody could price is written down to be priced again. */
function unpriced({ basis, asked }: Pick<Cost, 'basis' | 'asked'>): Pick<IntentEstimate, 'asked'> {
  return basis === 'unknown' && asked ? { asked } : {};
}

/** What an intent of an earlier process reserves. */
function reservationOf(
  record: ObjectRecord,
  { estimate, outcome }: Intent,
  startedAtMs: number,
): Reservation | undefined {
  const { key, account, deletionRequestedAt } = record;
  if (!estimate || account === undefined) return undefined;
  const { estimateMicros, basis, unknown, of } = estimate;
  const isOpen = outcome === 'pending' || outcome === 'unknown';
  if (!isOpen && outcome !== 'applied' && of !== 'earlier') return undefined;
  if (of === 'creation-to-follow' && deletionRequestedAt !== undefined) return undefined;
  // What lies in the status of an object may have been edited.
  const micros = Number.isSafeInteger(estimateMicros) && estimateMicros > 0 ? BigInt(estimateMicros) : 0n;
  const heardAtMs = isOpen && of !== 'earlier' ? undefined : startedAtMs;
  const demands = Array.isArray(unknown) ? unknown : [];
  const asked = readAsked(estimate.asked);
  return { key, account, micros, basis, unknown: demands, of, heardAtMs, before: undefined, asked };
}

/** From before what we know to have happened to it. */
function isOlder(
  { id, revision }: Pick<wire.Service, 'id' | 'revision'>,
  record: ObjectRecord | undefined,
): boolean {
  const { seen } = record ?? {};
  return revision !== undefined && seen?.id === id && seen.revision !== undefined && revision < seen.revision;
}
