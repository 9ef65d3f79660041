/**
 * The budgets that count, by namespace, the oldest first. In a process these are the 1,000 oldest. The youngest ones beyond count for nothing,
 * until others are gone. For an object, no more than its eight oldest ones count. Equally old ones are ordered by their keys. A namespace is
 * sorted when somebody asks for it, so a thousand budgets that come at once are sorted once.
 */
import type { ObjectKey } from '../../resources/index.ts';
import type { Budget } from './budget.ts';
import { byAge, isAbout } from './budget-scope.ts';

const mostBudgets = 1000;
const mostPerObject = 8;
const none: ReadonlyMap<ObjectKey, Budget> = new Map();

export class CountedBudgets {
  readonly #all = new Map<string, Map<ObjectKey, Budget>>();
  /** Those of a namespace that count, as long as none has come or gone. */
  readonly #sorted = new Map<string, readonly Budget[]>();
  #beyond: ReadonlySet<Budget> = new Set();
  /** By object: those that are too many for it. */
  readonly #crowded = new Map<ObjectKey, readonly Budget[]>();
  readonly #onCrowded: (budget: Budget) => void;
  #size = 0;

  /** `onCrowded`: whether the budget is one too many for an object has changed. */
  constructor(onCrowded: (budget: Budget) => void) {
    this.#onCrowded = onCrowded;
  }

  /** Those that count for the object. `account`: its name in the namespace. */
  about(
    key: ObjectKey,
    namespace: string,
    labels: Readonly<Record<string, string>>,
    account: string | undefined,
  ): readonly Budget[] {
    const found = this.in(namespace).filter(({ terms }) => isAbout(terms.scope, labels, account));
    this.#crowd(key, found.slice(mostPerObject));
    return found.slice(0, mostPerObject);
  }

  /** The object is gone. */
  forget(key: ObjectKey): void {
    this.#crowd(key, []);
  }

  /** Do not change them. */
  in(namespace: string): readonly Budget[] {
    const known = this.#sorted.get(namespace);
    if (known) return known;
    const found = [...(this.#all.get(namespace) ?? none).values()];
    const counted = found.filter((budget) => !this.#beyond.has(budget)).toSorted(byAge);
    this.#sorted.set(namespace, counted);
    return counted;
  }

  isBeyond(budget: Budget): boolean {
    return this.#beyond.has(budget);
  }

  /** In place of an earlier one of the same key. */
  put(budget: Budget): void {
    this.take(budget);
    const { key, namespace } = budget;
    const all = this.#all.get(namespace) ?? new Map<ObjectKey, Budget>();
    this.#all.set(namespace, all.set(key, budget));
    this.#size += 1;
  }

  take({ key, namespace }: Pick<Budget, 'key' | 'namespace'>): void {
    const all = this.#all.get(namespace);
    if (all?.delete(key)) this.#size -= 1;
    if (all?.size === 0) this.#all.delete(namespace);
    this.#sorted.delete(namespace);
  }

  /** Budgets have come or gone. Returns those that begin or cease to count. */
  limit(): readonly Budget[] {
    if (this.#size <= mostBudgets && this.#beyond.size === 0) return [];
    const before = this.#beyond;
    const all: Budget[] = [];
    for (const budgets of this.#all.values()) all.push(...budgets.values());
    const beyond = new Set(all.toSorted(byAge).slice(mostBudgets));
    this.#beyond = beyond;
    const changed = [...before, ...beyond].filter((budget) => !before.has(budget) || !beyond.has(budget));
    for (const namespace of new Set(changed.map((budget) => budget.namespace)))
      this.#sorted.delete(namespace);
    return changed;
  }

  #crowd(key: ObjectKey, budgets: readonly Budget[]): void {
    const before = this.#crowded.get(key) ?? [];
    if (before.length === 0 && budgets.length === 0) return;
    if (budgets.length === 0) this.#crowded.delete(key);
    else this.#crowded.set(key, budgets);
    for (const budget of new Set([...before, ...budgets]))
      if (budget.isTooMany(key, budgets.includes(budget))) this.#onCrowded(budget);
  }
}
