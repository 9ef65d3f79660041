/**
 * Budgets: what their members cost, and whether there is room for more. The sums are kept up to date, so a question costs
 * nothing that depends on the number of members.
 *
 *     document, record, reservation or thing of an object changed ──> its part of the sums is computed anew when somebody asks
 *
 * A member's part is what its things cost, and of two amounts the greater one: what is reserved for it, and what is kept for it. Kept is
 * what it cost within the last hour, while it is lost or paused without a change of its document. So its repair finds its room.
 *
 * | an object is a member of  | if                                                               |
 * |---------------------------|------------------------------------------------------------------|
 * | a budget of labels        | its own labels, or those of its template, are selected           |
 * | a budget of a namespace   | it is in it                                                      |
 * | a budget of an account    | it lives in the account; all else in the account counts as well  |
 *
 * Failure cases. A lost answer: the reservation stays until it is settled. A restart: reservations are rebuilt from the intents, the tally from the
 * record, and what was kept for lost things is forgotten. Until all accounts were read, no less is spent than before. An invalid document: what was a member waits, if the budget was valid before and not
 * `Report`. A budget that is deleted holds nothing any more. What members leave at the provider: left-things.ts. The clock: plan/tally.ts.
 */
import { sameValue, type Clock } from '../../base/index.ts';
import { changedKeys, type DesiredSnapshot } from '../../desired/index.ts';
import type { SnapshotChange } from '../../observed/index.ts';
import {
  longestPollSeconds,
  parseObjectKey,
  traitsOf,
  type ObjectKey,
  type StoredShedding,
} from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { AccountHandle, Accounts } from '../accounts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Kinds } from '../kind.ts';
import {
  countingRules,
  readTally,
  type BudgetFigures,
  type Cost,
  type Course,
  type Gate,
  type SheddingInputs,
} from '../plan/index.ts';
import { Budget } from './budget.ts';
import { BudgetAccounts } from './budget-accounts.ts';
import { figuresOf } from './budget-figures.ts';
import { viewOf, type BudgetNow, type BudgetView } from './budget-view.ts';
import { budgetGate, type BudgetGateOptions } from './budget-gate.ts';
import { objectCosts } from './budget-objects.ts';
import { CountedBudgets } from './counted-budgets.ts';
import {
  isUnseen,
  heldFor,
  noPart,
  ownedMicros,
  partOf,
  unmadeClaim,
  wantedMicros,
  type Part,
  type PartSources,
} from './budget-part.ts';
import { Extras } from './extras.ts';
import { Forecasts } from './forecasts.ts';
import { LeftThings, type Counted } from './left-things.ts';
import type { Money } from './money.ts';
import { Shedding, type ShedFor } from './shedding.ts';

export interface BudgetsOptions {
  readonly store: StateStore;
  readonly fleet: Fleet;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly money: Money;
  readonly kinds: Kinds;
}

const noMember: Counted = { budgets: [], part: noPart };

export class Budgets {
  readonly #options: BudgetsOptions;
  readonly #budgets = new Map<ObjectKey, Budget>();
  readonly #counted = new CountedBudgets(({ key }) => this.#woken.add(key));
  readonly #members = new Map<ObjectKey, Counted>();
  readonly #extras = new Extras();
  readonly #moved = new Set<ObjectKey>();
  readonly #about: BudgetAccounts;
  readonly #shedding: Shedding;
  readonly #left: LeftThings;
  readonly #woken = new Set<ObjectKey>();
  /** Objects of which it is known what they need. */
  readonly #asked = new Set<ObjectKey>();
  /** Objects for which something is kept, which ends by itself. */
  readonly #sparing = new Set<ObjectKey>();
  readonly #forecasts: Forecasts;
  readonly #gateOptions: BudgetGateOptions;
  #snapshot: DesiredSnapshot | undefined;

  constructor(options: BudgetsOptions) {
    this.#options = options;
    const { store, money, fleet, clock } = options;
    const wouldCost = (owner: ObjectRecord) => ownedMicros(owner, this.#sources());
    this.#forecasts = new Forecasts({ store, fleet, nowMs: () => clock.wallMs(), wouldCost });
    this.#about = new BudgetAccounts(options);
    this.#gateOptions = { ...options, budgets: this, about: this.#about };
    const wake = (key: ObjectKey) => void this.#woken.add(key);
    const sources = () => this.#sources();
    this.#left = new LeftThings({ ...options, extras: this.#extras, sources, wake });
    this.#shedding = new Shedding(options, {
      near: (namespace) => this.#counted.in(namespace),
      budgetsOf: (record) => this.#budgetsOf(record),
      partOf: (key) => this.#members.get(key)?.part ?? noPart,
      costOf: (record) => wantedMicros(record, this.#sources()),
      wake,
    });
    const moved = (key: ObjectKey) => void this.#moved.add(key);
    for (const key of store.everyKey()) moved(key);
    store.listen(moved);
    money.reservations.listen(moved);
  }

  limits(key: ObjectKey): boolean {
    return this.gatingOf(key).length > 0;
  }

  /**
   * Why the object has to wait for a budget. `cost`: of a step that costs more. `replaces`: what exists is given up
   * before.
   */
  gate(key: ObjectKey, cost: Cost, replaces = false): Gate | undefined {
    return budgetGate(this.#gateOptions, key, cost, replaces);
  }

  /** What the object made is to stay at the provider without it: why it may not be forgotten yet. */
  leaveGate(record: ObjectRecord): Gate | undefined {
    return this.#left.gate(record, this.#memberOf(record.key));
  }

  leave(record: ObjectRecord): Promise<void> {
    return this.#left.leave(record, () => this.#memberOf(record.key));
  }

  removing(key: ObjectKey, remove: () => Promise<void>): Promise<void> {
    return this.#left.removing(key, () => remove().then(() => this.#refresh()));
  }

  /** The budgets of the object that make it wait, when they are exceeded or not valid. */
  gatingOf(key: ObjectKey): readonly Budget[] {
    const { budgets } = this.#memberOf(key);
    return budgets.every(({ gates }) => gates) ? budgets : budgets.filter(({ gates }) => gates);
  }

  /** What counts for the object now. */
  partOf(key: ObjectKey): Part {
    return this.#memberOf(key).part;
  }

  #memberOf(key: ObjectKey): Counted {
    this.#refresh();
    return this.#members.get(key) ?? noMember;
  }

  view(key: ObjectKey): BudgetView | undefined {
    this.#refresh();
    const budget = this.#budgets.get(key);
    if (!budget) return undefined;
    return viewOf(budget, {
      figures: this.figures(budget),
      about: this.#about,
      left: this.#left,
      courses: () => this.coursesOf(budget),
      isBeyond: this.#counted.isBeyond(budget),
      nowMs: this.#options.clock.wallMs(),
    });
  }

  /** The order of a budget to stop the object, or to have fewer replicas of it. The strictest of several. */
  shedFor(key: ObjectKey): ShedFor | undefined {
    this.#refresh();
    return this.#shedding.orderFor(key);
  }

  /** What decides about stops for a budget with `mode: Shed`. Undefined for another one. */
  shedding(key: ObjectKey, before: StoredShedding | undefined): SheddingInputs | undefined {
    this.#refresh();
    const budget = this.#budgets.get(key);
    if (budget?.terms.mode !== 'Shed') return undefined;
    const isKnown = budget.unseen === 0 && !budget.isBroken && this.#about.unreadableOf(budget).length === 0;
    return this.#shedding.inputs(budget, isKnown ? this.figures(budget) : undefined, before);
  }

  /** All of them, as they are now. `counts`: an object, or those that it owns. */
  all(): readonly BudgetNow[] {
    this.#refresh();
    const part = (key: ObjectKey) => this.#members.get(key)?.part;
    return Array.from(this.#budgets.values(), (budget) => {
      const { key, terms } = budget;
      const counts = (each: ObjectKey) => this.#shedding.counts(budget, each);
      const objects = objectCosts(budget, part, counts, this.#sources());
      const isAwaitedBy = (each: ObjectKey) => budget.isAwaitedBy(each);
      return { key, terms, figures: this.figures(budget), counts, objects, isAwaitedBy };
    });
  }

  coursesOf(budget: Budget): readonly Course[] {
    return this.#forecasts.of(budget, (owner) => this.#shedding.counts(budget, owner));
  }

  figures(budget: Budget, now = this.#options.clock.wallMs()): BudgetFigures {
    return figuresOf(budget, this.#about, this.#options.money, now);
  }

  /** See `Shedding`. */
  hasLeast(owner: ObjectKey): boolean {
    return this.#shedding.hasLeast(owner);
  }

  /** An account was read. */
  observe(handle: AccountHandle, { snapshot, changedIds }: SnapshotChange): void {
    for (const id of changedIds) {
      const key = this.#options.store.recordOf(id)?.key ?? this.#extras.memberWith(id);
      if (key) this.#moved.add(key);
    }
    for (const key of this.#sparing) this.#moved.add(key);
    this.#left.observed();
    this.#refresh();
    const rules = countingRules(longestPollSeconds(handle.spec), this.#snapshot?.cluster !== undefined);
    for (const budget of this.#budgets.values()) {
      if (this.#counted.isBeyond(budget)) continue;
      const { scope, timeZone } = budget.terms;
      if (scope.of === 'account' && this.#about.ownOf(budget)?.name !== handle.name) continue;
      const { burnMicros, balanceMicros } = this.figures(budget);
      const read = { at: Math.floor(snapshot.receivedAt), burnMicros, balanceMicros };
      const isPartial = budget.lacksBurn || this.#about.unreadableOf(budget).length > 0;
      budget.reads(read, { timeZone, ...rules }, isPartial);
      this.#wake(budget);
    }
  }

  /** Objects to check again: those that have more room, and budgets whose state has changed. */
  wakes(): readonly ObjectKey[] {
    this.#refresh();
    const woken = [...this.#woken];
    this.#woken.clear();
    return woken;
  }

  forget(key: ObjectKey): void {
    this.#asked.delete(key);
    this.#moved.add(key);
  }

  /** The object's pass has ended, so it is known what it needs, and whether it waits for a budget. */
  concluded(key: ObjectKey, waitsForBudget: boolean): void {
    this.#asked.add(key);
    for (const budget of this.#members.get(key)?.budgets ?? []) {
      const wasUnknown = budget.wasAsked(key);
      const hasLeft = !waitsForBudget && budget.leaves(key);
      if (wasUnknown || hasLeft || waitsForBudget) this.#wake(budget);
    }
  }

  #wake(budget: Budget): void {
    const figures = this.figures(budget);
    budget.isMissing(this.#about.pricesMissingIn(budget).unknown);
    if (budget.hasMoved(figures)) this.#woken.add(budget.key);
    for (const key of budget.toWake(figures)) this.#woken.add(key);
  }

  #refresh(): void {
    const { fleet } = this.#options;
    if (fleet.snapshot !== this.#snapshot) this.#take(fleet.snapshot);
    if (this.#moved.size === 0) return;
    const moved = new Set(this.#moved);
    this.#moved.clear();
    const touched = new Set<Budget>();
    const again: string[] = [];
    for (const key of moved) {
      this.#forecasts.moved(key);
      if (traitsOf(parseObjectKey(key).kind).budget) again.push(...this.#placeBudget(key));
    }
    for (const { key } of again.length > 0 ? this.#counted.limit() : []) {
      again.push(parseObjectKey(key).namespace);
      this.#woken.add(key);
    }
    for (const namespace of new Set(again))
      for (const { key } of this.#options.store.recordsIn(namespace)) moved.add(key);
    const sources = this.#sources();
    for (const key of moved) {
      if (traitsOf(parseObjectKey(key).kind).asks)
        for (const budget of this.#place(key, sources)) touched.add(budget);
      else this.#shedding.claimOwned(key);
    }
    for (const budget of this.#left.moved(moved, this.#extras.takeMoved())) touched.add(budget);
    for (const budget of touched) this.#wake(budget);
  }

  #take(snapshot: DesiredSnapshot): void {
    const changed = changedKeys(snapshot, this.#snapshot);
    this.#snapshot = snapshot;
    const keys =
      changed === 'all' ? [...this.#options.store.everyKey(), ...snapshot.objects.keys()] : changed;
    for (const key of keys) this.#moved.add(key);
  }

  /** Returns the namespace if other objects belong to it from now on. */
  #placeBudget(key: ObjectKey): string[] {
    const { store, fleet } = this.#options;
    const { kind, namespace } = parseObjectKey(key);
    const record = store.record(key);
    const before = this.#budgets.get(key);
    if (!record || record.deletionRequestedAt !== undefined) {
      if (!before) return [];
      for (const waiting of before.everyone()) this.#woken.add(waiting);
      this.#orders(before);
      this.#left.forget(before);
      this.#budgets.delete(key);
      this.#counted.take(before);
      return [namespace];
    }
    const isBroken = fleet.snapshot.unusable.has(key);
    const spec = fleet.specOf(record);
    const { terms, tally, shedding, left = [] } = (spec && traitsOf(kind).budget?.(spec, record.kind)) ?? {};
    if (!terms) return [];
    if (before && sameValue(before.terms.scope, terms.scope)) {
      if (before.terms.mode !== terms.mode) this.#orders(before);
      before.become(terms, isBroken);
      this.#left.take(before, left);
      this.#orders(before, shedding);
      this.#wake(before);
      return [];
    }
    const budget = new Budget(key, terms, isBroken, record.createdAt ?? 0);
    budget.tally = before?.tally ?? (tally && readTally(tally));
    this.#budgets.set(key, budget);
    this.#counted.put(budget);
    if (before) this.#left.forget(before);
    this.#left.take(budget, left);
    this.#orders(budget, shedding);
    return [namespace];
  }

  #orders(budget: Budget, shedding?: StoredShedding): void {
    budget.returning = shedding?.returning?.object;
    for (const key of budget.takes(shedding?.orders ?? [])) {
      this.#moved.add(key);
      this.#woken.add(key);
    }
  }

  /** Returns the budgets whose sums have changed. Where there is no budget, nothing is placed, and nothing is kept for later ones. */
  #place(key: ObjectKey, sources: PartSources): readonly Budget[] {
    const before = this.#members.get(key);
    const record = this.#options.store.record(key);
    for (const budget of before?.budgets ?? []) budget.subtract(key, before?.part ?? noPart);
    if (!record || this.#counted.in(parseObjectKey(key).namespace).length === 0) {
      this.#members.delete(key);
      this.#extras.put(key, before?.part.extras ?? [], []);
      this.#sparing.delete(key);
      this.#counted.forget(key);
      for (const budget of before?.budgets ?? []) budget.leaves(key);
      if (!record && before) this.#left.vanished(key, before);
      return before?.budgets ?? [];
    }
    const budgets = this.#budgetsOf(record);
    if (!before && budgets.length === 0 && isUnseen(record, sources)) return [];
    const part = partOf(record, sources, before?.part);
    this.#members.set(key, { budgets, part });
    for (const budget of before?.budgets ?? []) if (!budgets.includes(budget)) budget.leaves(key);
    const unmade = this.#asked.has(key) ? undefined : unmadeClaim(record, part, this.#options);
    for (const budget of budgets)
      budget.add(key, part, { unmade, shed: this.#shedding.claim(budget, record) });
    if (part.spare > 0n) this.#sparing.add(key);
    else this.#sparing.delete(key);
    this.#extras.put(key, before?.part.extras ?? [], part.extras);
    const passesAsBefore = before?.part.passesUntil === part.passesUntil;
    if (!passesAsBefore) for (const budget of budgets) budget.passes();
    const holdsAsBefore = before && heldFor(before.part) === heldFor(part);
    const isSame = passesAsBefore && holdsAsBefore && before.budgets.length === budgets.length;
    return isSame ? [] : [...(before?.budgets ?? []), ...budgets];
  }

  #budgetsOf(record: ObjectRecord): readonly Budget[] {
    const { namespace } = parseObjectKey(record.key);
    if (this.#counted.in(namespace).length === 0) return [];
    const { fleet } = this.#options;
    const labels = fleet.snapshot.objects.get(record.key)?.labels ?? record.manifest.labels;
    const account = fleet.accountOf(record)?.name;
    return this.#counted.about(record.key, namespace, labels, account);
  }

  #sources(): PartSources {
    const { store, fleet, money, accounts, clock } = this.#options;
    const isShed = (key: ObjectKey) => this.#shedding.orderFor(key) !== undefined;
    return { store, fleet, money, accounts, nowMs: clock.monotonicMs(), isShed };
  }
}
