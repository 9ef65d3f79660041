/**
 * What accounts have learned of the provider's capacity, and who is asking. engine/plan/capacity.ts has the rules; this keeps
 * what they are applied to. Each account (`namespace/name`) learns for itself.
 *
 *     #send ── obstacle ──> in line ── its turn ──> ask: under way ── answered ──> learned, and the next are woken
 *                                                       └── outcome unknown: under way until settled
 *
 * - Between `obstacle` and `ask` nothing else runs, so two workers can't take the same turn.
 * - A request that waited in the limiter is asked about again just before it is sent (`mayStill`).
 * - What is under way survives a restart, since the open intent has the demand. So does what was refused: in a folder in
 *   the table `capacity`, in a cluster in the status of the Account. The record of the refused object has the refusal,
 *   too, and is saved earlier. What it has and the account lacks is taken from there (`recall`). That is also how refusals
 *   are taken over that an earlier version has recorded.
 * - An Account with another address is another provider: everything is forgotten. If its rules for refusals change, what
 *   is no refusal for capacity any more is forgotten.
 */
import type { Outcome, Refused } from '../../api/index.ts';
import { messageOf, rfc3339, type Clock, type Random } from '../../base/index.ts';
import type { SnapshotChange } from '../../observed/index.ts';
import { accountKey, type ObjectKey } from '../../resources/index.ts';
import {
  keptCapacityMs,
  readDemand,
  type CapacityDemand,
  type CapacityEntry,
  type CapacityRefusal,
  type ObjectRecord,
  type StateStore,
} from '../../state/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import type { AccountHandle } from '../accounts.ts';
import {
  askedBy,
  byDemand,
  emptyBook,
  isForCapacity,
  isNews,
  keptEntries,
  type Book,
} from './capacity-book.ts';
import { ownScarcity, type IfRefused, type Receipt, type Refusals } from '../mutation/index.ts';
import {
  afterGrant,
  afterRefusal,
  afterSighting,
  capacityPauseMs,
  demandKey,
  firstsOf,
  nextInLine,
  turnOf,
  turnText,
  waitFor,
  type Asking,
  type Plan,
  type Step,
  type Turn,
  type Waiting,
} from '../plan/index.ts';

export interface CapacityMemoryOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Of a provider's message. */
const longestMessage = 300;
/** A change is awaited; this is for the case that nothing reports one. */
const longestWaitMs = 60_000;
/** Woken at once. Each pass wakes others. */
const mostWoken = 64;

export class CapacityMemory {
  readonly #options: CapacityMemoryOptions;
  readonly #books = new Map<string, Book>();
  /** Accounts of objects that wait or ask. */
  readonly #accounts = new Map<ObjectKey, string>();
  readonly #ifRefused = new Map<ObjectKey, IfRefused>();
  /** The order in which objects asked last. */
  readonly #asked = new Map<ObjectKey, number>();
  /** Accounts in which others may be able to ask now, and those whose status is out of date. */
  readonly #news = new Set<string>();
  readonly #unshown = new Set<string>();
  #isRebuilt = false;
  #number = 0;

  constructor(options: CapacityMemoryOptions) {
    this.#options = options;
  }

  /** Newest first, as last saved. */
  entries(handle: AccountHandle): readonly CapacityEntry[] {
    return this.#bookOf(handle).saved;
  }

  /** Why the step is not sent now. From then on the object is in line. */
  obstacle(
    handle: AccountHandle,
    record: ObjectRecord,
    step: Step,
    demand: CapacityDemand | undefined,
  ): Plan | undefined {
    if (!demand) return undefined;
    const { key } = record;
    const book = this.#bookOf(handle);
    this.#recall(book, record, step, demand);
    const turn = turnOf(book, { key, demand }, this.#now());
    if (turn.kind === 'ask') return undefined;
    const known = book.line.find((each) => each.key === key);
    if (!known || demandKey(known.demand) !== demandKey(demand)) {
      this.#leave(key);
      const asked = this.#asked.get(key) ?? 0;
      book.line.push({ key, demand, asked, since: known?.since ?? this.#next() });
      this.#accounts.set(key, book.name);
    }
    return this.#wait(book, turn, { key, demand }, step);
  }

  #wait(
    book: Book,
    turn: Extract<Turn, { kind: 'wait' }>,
    asker: Pick<Waiting, 'key' | 'demand'>,
    step: Step,
  ): Plan {
    const recheckAfterMs = Math.ceil(Math.min(turn.leftMs, turn.isAsking ? longestWaitMs : turn.leftMs)) + 1;
    return waitFor('CapacityUnavailable', turnText(turn, asker, book.isShared, rfc3339), {
      steps: [step],
      differences: step.differences,
      recheckAfterMs,
    });
  }

  /** The object is about to send its request. */
  ask(handle: AccountHandle, key: ObjectKey, demand: CapacityDemand | undefined): IfRefused | undefined {
    if (!demand) return undefined;
    const book = this.#bookOf(handle);
    const turn = turnOf(book, { key, demand }, this.#now(), true);
    const isProbe = turn.kind === 'ask' && turn.isProbe;
    const failures = (turn.kind === 'ask' ? turn.failures : 0) + 1;
    let drawn: Refusals | undefined;
    const ifRefused = () => {
      drawn ??= { failures, pauseMs: capacityPauseMs(failures, this.#options.random) };
      return drawn;
    };
    this.#leave(key);
    this.#start(book, { key, demand, isProbe, at: this.#now().wallMs, monotonicMs: this.#now().monotonicMs });
    this.#asked.set(key, this.#next());
    this.#ifRefused.set(key, ifRefused);
    return ifRefused;
  }

  /** Whether the request may be sent, although time has passed since `ask`. */
  mayStill(key: ObjectKey): boolean {
    const [book, asking] = this.#askingOf(key);
    return !book || !asking || turnOf(book, asking, this.#now(), true).kind === 'ask';
  }

  /** An unknown outcome stays under way until it is settled. */
  answered(key: ObjectKey, outcome: Outcome<Receipt>): void {
    const [book, asking] = this.#askingOf(key);
    if (!book || !asking) return;
    const isScarce = outcome.kind === 'refused' && outcome.meaning === 'CapacityUnavailable';
    if (asking.isProbe) this.#count(book.name, isScarce ? 'refused' : labels[outcome.kind]);
    if (outcome.kind === 'unknown') return;
    this.#end(book, key);
    if (outcome.kind === 'applied') this.#grant(book, asking);
    if (isScarce) this.#refuse(book, asking, outcome);
  }

  /** What became of a request is known from evidence, or from an operator. */
  settled(key: ObjectKey, isApplied: boolean): void {
    this.#rebuild();
    const [book, asking] = this.#askingOf(key);
    if (!book || !asking) return;
    this.#end(book, key);
    if (isApplied) this.#grant(book, asking);
  }

  /** Who is not waiting for capacity any more is not in line. */
  concluded(key: ObjectKey, plan: Plan): void {
    if (plan.kind === 'wait' && plan.reason === 'CapacityUnavailable') return;
    if (this.#leave(key)) this.#news.add(this.#accounts.get(key) ?? '');
    if (plan.kind === 'in-sync') this.#asked.delete(key);
  }

  /** The object is gone. */
  forget(key: ObjectKey): void {
    const [book] = this.#askingOf(key);
    if (book) this.#end(book, key);
    this.#leave(key);
    const account = this.#accounts.get(key);
    if (account !== undefined) this.#news.add(account);
    this.#accounts.delete(key);
    this.#asked.delete(key);
  }

  /**
   * Objects to recheck since the last call: those that may ask now, those that are next, so that they do it in time, and
   * Accounts whose status is out of date.
   */
  wakes(): ObjectKey[] {
    const [accounts, unshown] = [[...this.#news], [...this.#unshown].map(accountKey)];
    this.#news.clear();
    this.#unshown.clear();
    const shown = unshown.filter((key) => this.#options.store.record(key));
    return [...accounts.flatMap((name) => this.#wakesOf(name)), ...shown];
  }

  #wakesOf(name: string): ObjectKey[] {
    const book = this.#books.get(name);
    if (!book) return [];
    const firsts = firstsOf(book.line).map(({ key }) => key);
    const next = new Set(nextInLine(book, this.#now(), mostWoken));
    for (const key of firsts.slice(0, mostWoken)) next.add(key);
    return [...next];
  }

  /** What runs shows that there was capacity for it. */
  observe(handle: AccountHandle, { snapshot, changedIds }: SnapshotChange): void {
    const { store } = this.#options;
    const book = this.#bookOf(handle);
    for (const id of changedIds) {
      if (snapshot.services.get(id)?.state !== 'running') continue;
      const record = store.recordOf(id);
      const demand = record && askedBy(record);
      const entry = demand && afterSighting(book, demand, this.#now().wallMs);
      if (entry) this.#learn(book, [entry]);
    }
  }

  #grant(book: Book, { demand, at: sentAt }: Asking): void {
    const { changed, window } = afterGrant(book, demand, { sentAt, at: this.#now().wallMs });
    if (window !== undefined) book.windows.set(demandKey(demand), window);
    this.#learn(book, changed);
  }

  #refuse(book: Book, { key, demand }: Asking, refused: Refused): void {
    const counted = this.#ifRefused.get(key)?.();
    if (!counted) return;
    const { failures, pauseMs } = counted;
    const next = {
      failures,
      pauseMs: Math.max(pauseMs, refused.retryAfterMs ?? 0),
      at: this.#now().wallMs,
    };
    this.#takeRefusal(book, demand, refused, next);
  }

  #takeRefusal(
    book: Book,
    demand: CapacityDemand,
    { status, code, message }: CapacityRefusal,
    next: Refusals & { readonly at: number },
  ): void {
    const before = book.entries.get(demandKey(demand));
    const refusal = { status, code, message: message.slice(0, longestMessage) };
    book.windows.delete(demandKey(demand));
    this.#learn(book, [afterRefusal(before, demand, refusal, next)]);
  }

  /** The object was refused, and the account does not know of it. */
  #recall(book: Book, record: ObjectRecord, { action }: Step, demand: CapacityDemand): void {
    const { refusal } = record;
    const scarcity = ownScarcity(record, action, this.#options.store.digestKey, this.#now().wallMs);
    if (!refusal || scarcity?.reason !== 'CapacityUnavailable') return;
    const { at } = refusal;
    const known = book.entries.get(demandKey(demand));
    const isOld = known !== undefined && known.at <= this.#now().wallMs && known.at >= at;
    if (isOld || at < book.since || !isForCapacity(refusal, book.rules)) return;
    const { failures, retryAt } = scarcity;
    this.#takeRefusal(book, demand, refusal, { failures, pauseMs: Math.max(0, retryAt - at), at });
  }

  #learn(book: Book, changed: readonly CapacityEntry[]): void {
    const { store, logger } = this.#options;
    const { wallMs } = this.#now();
    if (changed.length === 0) return;
    for (const entry of changed) book.entries.set(demandKey(entry.demand), entry);
    this.#news.add(book.name);
    const saved = byDemand(book.saved);
    if (!changed.some((entry) => isNews(saved.get(demandKey(entry.demand)), entry))) return;
    const kept = keptEntries(book, wallMs);
    book.entries = byDemand(kept);
    book.saved = kept;
    this.#unshown.add(book.name);
    this.#gauge(book);
    for (const key of book.windows.keys()) if (!book.entries.has(key)) book.windows.delete(key);
    store.saveCapacity(book.name, kept, wallMs).catch((error: unknown) => {
      logger.warn({ account: book.name, note: messageOf(error) }, 'capacity could not be recorded');
    });
  }

  #bookOf({ name, spec, isShared = false }: AccountHandle): Book {
    this.#rebuild();
    const known = this.#books.get(name);
    if (known && known.url === spec.url && known.rules === spec.refusals) return known;
    const isElsewhere = known !== undefined && known.url !== '' && known.url !== spec.url;
    const entries = isElsewhere ? [] : (known?.saved ?? this.#options.store.capacity(name));
    const kept = entries.filter(({ at }) => at >= this.#now().wallMs - keptCapacityMs);
    const saved = kept.filter(({ refusal }) => !refusal || isForCapacity(refusal, spec.refusals));
    const { asking = [], line = [] } = known ?? {};
    const book = {
      name,
      isShared,
      url: spec.url,
      rules: spec.refusals,
      entries: byDemand(saved),
      windows: new Map<string, number>(),
      asking,
      line,
      since: isElsewhere ? this.#now().wallMs : (known?.since ?? Number.NEGATIVE_INFINITY),
      saved,
    };
    this.#books.set(name, book);
    if (entries.length > 0) this.#gauge(book);
    return book;
  }

  /** Runs once: the requests of earlier processes that are still open. */
  #rebuild(): void {
    if (this.#isRebuilt) return;
    this.#isRebuilt = true;
    const { store, clock } = this.#options;
    for (const key of store.everyKey()) {
      const intent = store.openIntent(key);
      const demand = readDemand(intent?.demand);
      const account = store.record(key)?.account;
      if (!intent || !demand || account === undefined) continue;
      const book = this.#books.get(account) ?? emptyBook(account, store.capacity(account));
      this.#books.set(account, book);
      const asking = { key, demand, isProbe: true, at: intent.createdAt, monotonicMs: clock.monotonicMs() };
      this.#start(book, asking);
    }
  }

  #start(book: Book, asking: Asking): void {
    book.asking = [...book.asking.filter(({ key }) => key !== asking.key), asking];
    this.#accounts.set(asking.key, book.name);
  }

  #end(book: Book, key: ObjectKey): void {
    book.asking = book.asking.filter((each) => each.key !== key);
    this.#news.add(book.name);
  }

  #askingOf(key: ObjectKey): readonly [Book | undefined, Asking | undefined] {
    const book = this.#books.get(this.#accounts.get(key) ?? '');
    return [book, book?.asking.find((each) => each.key === key)];
  }

  /** True if it was in line. */
  #leave(key: ObjectKey): boolean {
    const book = this.#books.get(this.#accounts.get(key) ?? '');
    const index = book?.line.findIndex((each) => each.key === key) ?? -1;
    if (index >= 0) book?.line.splice(index, 1);
    return index >= 0;
  }

  #gauge({ name, saved }: Book): void {
    const scarce = saved.filter(({ state }) => state === 'Scarce');
    this.#options.metrics.capacityScarce.set({ account: name }, scarce.length);
  }

  #count(account: string, outcome: string): void {
    this.#options.metrics.capacityProbes.inc({ account, outcome });
  }

  #now() {
    const { clock } = this.#options;
    return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
  }

  #next(): number {
    this.#number += 1;
    return this.#number;
  }
}

/** In the labels of metrics. */
const labels = { applied: 'granted', refused: 'other', 'not-sent': 'not-sent', unknown: 'unknown' } as const;
