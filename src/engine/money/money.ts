/** The money of all accounts: prices (price-books.ts), and requested but unseen costs (reservations.ts). */
import type { Clock } from '../../base/index.ts';
import type { SnapshotChange } from '../../observed/index.ts';
import {
  askedMicros,
  costOf,
  demandText,
  increaseGate,
  increaseMicros,
  type Cost,
  type Gate,
  type Plan,
  type Pricing,
  type SheddingInputs,
  type Step,
} from '../plan/index.ts';
import { entryOf, type ReasonOf } from '../../reasons/index.ts';
import type { ObjectKey, StoredShedding } from '../../resources/index.ts';
import type { IntentEstimate, ObjectRecord, StateStore } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Pass } from '../pass.ts';
import type { BudgetView } from './budget-view.ts';
import type { Budgets } from './budgets.ts';
import { PriceBooks, type PriceMove } from './price-books.ts';
import { Reservations } from './reservations.ts';
import { SharedBalances } from './shared-balances.ts';
import type { ShedFor } from './shedding.ts';
import { stopAfterCreation, withCosts } from './step-costs.ts';

export interface MoneyOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mode: 'manage' | 'preview';
  /** Called with news about an account for its users. */
  readonly onNews?: ((account: string, news: ObjectNews) => void) | undefined;
}

export interface ObjectNews {
  readonly reason: ReasonOf<'event'>;
  readonly message: string;
}

export class Money {
  readonly #options: MoneyOptions;
  readonly books: PriceBooks;
  readonly reservations: Reservations;
  readonly #balances: SharedBalances;
  /** By account: objects that wait for money, or for a price. */
  readonly #waiting = new Map<string, Set<ObjectKey>>();
  /** By account: demands for which it was reported that no price is shown. */
  readonly #unpriced = new Set<string>();
  /** For a pair of accounts: the prices that the reservations of the second were last priced with. */
  readonly #editions = new Map<string, readonly unknown[]>();
  /** The spendable balance after the previous read. */
  readonly #left = new Map<string, bigint>();
  #budgets: Budgets | undefined;

  constructor(options: MoneyOptions) {
    this.#options = options;
    this.books = new PriceBooks(options);
    this.reservations = new Reservations(options.store, options.clock.monotonicMs());
    this.#balances = new SharedBalances(options.store);
  }

  /** Budgets are asked from now on, too. */
  useBudgets(budgets: Budgets): void {
    this.#budgets = budgets;
  }

  /** How things are with the budget of this key. Undefined: there is none. */
  budget(key: ObjectKey): BudgetView | undefined {
    return this.#budgets?.view(key);
  }

  /** What is to be stopped for the budget of this key, and what is. Undefined: nothing is for it. */
  shedding(key: ObjectKey, before: StoredShedding | undefined): SheddingInputs | undefined {
    return this.#budgets?.shedding(key, before);
  }

  /** The order of a budget to stop the object, or to have fewer replicas of it. */
  shedFor(key: ObjectKey): ShedFor | undefined {
    return this.#budgets?.shedFor(key);
  }

  /** All budgets, as they are now. */
  budgets(): ReturnType<Budgets['all']> {
    return this.#budgets?.all() ?? [];
  }

  /** What the object made is to stay at the provider without it: why it may not be forgotten yet. */
  leaveGate(record: ObjectRecord): Gate | undefined {
    return this.#budgets?.leaveGate(record);
  }

  /** The object is about to be forgotten. Resolves when its budgets remember durably what it leaves. */
  async leave(record: ObjectRecord): Promise<void> {
    await this.#budgets?.leave(record);
  }

  /** What the object leaves is known. `remove`: of its record. */
  async removing(key: ObjectKey, remove: () => Promise<void>): Promise<void> {
    await (this.#budgets?.removing(key, remove) ?? remove());
  }

  /** Before something is deleted to be made anew: why that has to wait for a budget. */
  replacementGate(handle: AccountHandle, pass: Pass, step: Step): Gate | undefined {
    const cost = this.replacementCost(handle, pass, step);
    return cost && this.#budgets?.gate(pass.key, cost, true);
  }

  /** Objects that may have more room in a budget now, and budgets whose state has changed. */
  wakes(): readonly ObjectKey[] {
    return this.#budgets?.wakes() ?? [];
  }

  /** Why the object has to wait with this cost, by the newest balance and its budgets. */
  gate(handle: AccountHandle, key: ObjectKey, pricing: Pricing | undefined): Gate | undefined {
    const cost = pricing && this.cost(handle, pricing);
    if (!cost) return undefined;
    if (isIncrease(cost)) return this.#balanceGate(handle, key, cost) ?? this.#budgets?.gate(key, cost);
    return isWithoutPrice(cost) ? this.#budgets?.gate(key, cost) : undefined;
  }

  #balanceGate(handle: AccountHandle, key: ObjectKey, cost: Cost): Gate | undefined {
    const { balanceMicros } = handle.informer;
    if (balanceMicros === undefined) return undefined;
    const { name, spec } = handle;
    const isLimited = this.#budgets?.limits(key) === true;
    this.#balances.saw(handle);
    const names = [name, ...this.#sharing(name)];
    this.#reprice(handle);
    const awaited = cost.unknown.find((demand) =>
      names.some((each) => this.reservations.asks(each, demand, key)),
    );
    const openMicros = this.#openMicros(name, key);
    const { minimumBalanceMicros } = spec;
    return increaseGate(
      name,
      { balanceMicros, minimumBalanceMicros },
      { micros: increaseMicros(cost), openMicros, awaited, isLimited },
    );
  }

  /**
   * Why the balance is not sufficient for all creations of an exchange, before its first deletion. Undefined
   * if it is. `others`: the cost of the other creations.
   */
  exchangeGate(
    handle: AccountHandle,
    key: ObjectKey,
    own: Cost,
    others: ReadonlyMap<ObjectKey, Cost>,
  ): Gate | undefined {
    const { reservations } = this;
    const { name, spec, informer } = handle;
    if (informer.balanceMicros === undefined || reservations.hasRoom(key)) return undefined;
    const unreserved = [...others].filter(([other]) => !reservations.hasRoom(other)).map(([, cost]) => cost);
    const micros = [own, ...unreserved].reduce((sum, cost) => sum + increaseMicros(cost), 0n);
    const { balanceMicros } = informer;
    const { minimumBalanceMicros } = spec;
    this.#reprice(handle);
    const openMicros = this.#openMicros(name, key);
    const increase = { micros, openMicros, awaited: undefined, isLimited: false };
    return increaseGate(name, { balanceMicros, minimumBalanceMicros }, increase);
  }

  /** The cost of the thing that replaces the object after this step has deleted it. Undefined for other steps. */
  replacementCost(handle: AccountHandle, pass: Pass, step: Step): Cost | undefined {
    const pricing = pass.roomFor(step);
    return pricing && this.cost(handle, pricing);
  }

  /** At most `most` other Accounts (`namespace/name`) that are the same account at the provider, of those that are there. */
  sharing(name: string, isThere: (other: string) => boolean, most: number): string[] {
    return this.#balances.sharing(name, isThere, most);
  }

  /** Other Accounts with open requests that draw on the same balance. */
  #sharing(name: string): string[] {
    return this.#balances.others(name, this.reservations.accounts());
  }

  /** An open request counts with its highest known cost. This includes all accounts that draw on the balance. */
  #reprice(handle: AccountHandle): void {
    const { books, reservations } = this;
    const edition = books.edition(handle);
    for (const name of [handle.name, ...this.#sharing(handle.name)]) {
      const known = this.#editions.get(`${handle.name} ${name}`);
      if (known && edition.every((each, index) => each === known[index])) continue;
      this.#editions.set(`${handle.name} ${name}`, edition);
      const book = books.book(handle);
      reservations.reprice(name, (asked) => askedMicros(asked, book));
    }
  }

  /** Requested in the account, and not shown with a price yet. This includes all accounts that draw on the balance. */
  openMicros(name: string | undefined): bigint {
    return name === undefined ? 0n : this.#openMicros(name);
  }

  #openMicros(name: string, except?: ObjectKey): bigint {
    return this.#sharing(name).reduce(
      (sum, other) => sum + this.reservations.openMicros(other),
      this.reservations.openMicros(name, except),
    );
  }

  cost(handle: AccountHandle, pricing: Pricing): Cost {
    return costOf(pricing, this.books.book(handle));
  }

  /** Whether no thing in the account shows the price of the plan's step, or of one that a preview shows. The catalog may show it. */
  lacksPrice(handle: AccountHandle, pass: Pass, plan: Plan): boolean {
    const isPreview = this.#options.mode === 'preview';
    const steps = plan.kind === 'act' ? [plan.step, ...(isPreview ? plan.later : [])] : [];
    const waiting = isPreview && (plan.kind === 'wait' || plan.kind === 'hold') ? plan.steps : [];
    return [...steps, ...waiting].some((step) => {
      const pricing = pass.pricing(step);
      return pricing !== undefined && this.cost(handle, pricing).unknown.length > 0;
    });
  }

  /** The same decision. In a preview, the catalog was read if nothing else has the price of what waits. */
  withPrices<D extends { readonly plan: Plan }>(
    handle: AccountHandle,
    pass: Pass,
    decision: D,
  ): D | Promise<D> {
    return this.lacksPrice(handle, pass, decision.plan)
      ? handle.catalog.get().then(() => decision)
      : decision;
  }

  /** Adds the costs of the steps, for previews. */
  priced(handle: AccountHandle | undefined, pass: Pass, plan: Plan): Plan {
    if (!handle || this.#options.mode !== 'preview') return plan;
    return withCosts(plan, pass, (pricing) => this.cost(handle, pricing));
  }

  /** What follows the plan of a preview and changes the cost. Nothing follows a plan that waits for more than other objects, or activities. */
  follows(handle: AccountHandle | undefined, pass: Pass, plan: Plan): readonly Step[] {
    const mayEnd = plan.kind === 'wait' && (plan.activities || entryOf(plan.reason).inPlan === 'change');
    const isDone = plan.kind === 'act' || mayEnd;
    const stop = handle && isDone && stopAfterCreation(plan, pass, (pricing) => this.cost(handle, pricing));
    return stop ? [stop] : [];
  }

  /** Reserves the cost of the next request. Undefined if it costs nothing more and nothing before it is open. */
  reserve(handle: AccountHandle, pass: Pass, step: Step): IntentEstimate | undefined {
    const { key } = pass.record();
    const room = pass.roomFor(step);
    const pricing = room ?? pass.pricing(step);
    const cost = pricing && this.cost(handle, pricing);
    return cost && isIncrease(cost)
      ? this.reservations.take(key, handle.name, cost, room && 'creation-to-follow')
      : this.reservations.carried(key);
  }

  /** The outcome of the request that the reservation was for. A creation that may still take effect may still cost money. */
  answered(key: ObjectKey, outcome: 'applied' | 'not-applied' | 'refused' | 'not-sent' | 'unknown'): void {
    const mayAppear = this.#options.store.record(key)?.creationInDoubt !== undefined;
    if (outcome === 'applied') this.reservations.heard(key, this.#options.clock.monotonicMs());
    else if (outcome !== 'unknown' && !mayAppear) this.reservations.endUnheard(key);
  }

  /** A thing that is certainly absent costs nothing. */
  observed(pass: Pass): void {
    const observation = pass.observation();
    const { key, creationInDoubt } = pass.record();
    const isAbsent = observation.kind === 'absent' && observation.confirmed;
    const mayAppear = creationInDoubt !== undefined || this.#options.store.openIntent(key) !== undefined;
    if (isAbsent && !mayAppear) this.reservations.absent(key);
  }

  /** Records which objects wait for money. */
  concluded(key: ObjectKey, account: string | undefined, plan: Plan): void {
    for (const waiting of this.#waiting.values()) waiting.delete(key);
    if (plan.kind === 'in-sync' || plan.kind === 'hold') this.reservations.endRoom(key);
    const reason = plan.kind === 'wait' ? entryOf(plan.reason) : undefined;
    // Of what waits for an observation, nobody knows yet what it needs.
    if (reason === undefined || reason.observed === 'yes')
      this.#budgets?.concluded(key, reason?.forBudget === true);
    if (account === undefined || plan.kind !== 'wait' || !entryOf(plan.reason).forMoney) return;
    this.#waiting.set(account, (this.#waiting.get(account) ?? new Set()).add(key));
  }

  /** The object is gone. */
  forget(key: ObjectKey): void {
    for (const waiting of this.#waiting.values()) waiting.delete(key);
    this.reservations.end(key);
    this.#budgets?.forget(key);
  }

  waiting(account: string): Iterable<ObjectKey> {
    return [...(this.#waiting.get(account) ?? [])];
  }

  /** Whether more can be spent than before, or an awaited price has become known. */
  observe(handle: AccountHandle, change: SnapshotChange): boolean {
    const { name } = handle;
    this.#balances.saw(handle);
    const moved = this.books.observe(handle, change);
    this.#reprice(handle);
    const others = this.#balances.sharing(name, () => true, Number.POSITIVE_INFINITY);
    const nowMs = this.#options.clock.monotonicMs();
    const shown = this.reservations.observe(name, change.snapshot, nowMs, others);
    const balance = change.snapshot.balanceMicros ?? 0;
    const left = BigInt(Math.floor(balance)) - this.#openMicros(name);
    const before = this.#left.get(name);
    this.#left.set(name, left);
    this.#budgets?.observe(handle, change);
    for (const move of moved) this.#report(name, { reason: 'PriceMoved', message: moveText(move) });
    for (const { isUnpriced, unknown } of shown) if (isUnpriced) this.#reportUnpriced(name, unknown);
    return (before !== undefined && left > before) || shown.length > 0;
  }

  #reportUnpriced(account: string, demands: readonly string[]): void {
    for (const demand of demands) {
      if (this.#unpriced.has(`${account} ${demand}`)) continue;
      this.#unpriced.add(`${account} ${demand}`);
      const message = `${demand} exists but shows no price: it counts as 0 when the balance is compared with the floor; \`prices\` of the Account can state it`;
      this.#report(account, { reason: 'PriceNotShown', message });
    }
  }

  #report(account: string, news: ObjectNews): void {
    const { logger, onNews } = this.#options;
    logger.warn({ account, reason: news.reason, note: news.message }, 'prices');
    onNews?.(account, news);
  }
}

function moveText({ price: { demand, region, geography, hourlyMicros }, beforeMicros }: PriceMove): string {
  const what = 'storageGb' in demand ? `${demand.storageGb} GB of ` : '';
  return `${what}${demandText(demand, { region, geography })} costs ${hourlyMicros} micro-USD an hour, and ${beforeMicros} before`;
}

/** An unknown price may have any value. */
/** It costs something that the API does not show, and nothing was paid before. */
function isWithoutPrice({ basis, beforeMicros, asked }: Cost): boolean {
  return basis === 'unknown' && asked !== undefined && beforeMicros === 0n;
}

function isIncrease({ beforeMicros, afterMicros, unknown }: Cost): boolean {
  return afterMicros > beforeMicros || unknown.length > 0;
}
