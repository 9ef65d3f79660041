/**
 * The budgets that count, by namespace, the oldest first. In a process these are the 1,000 oldest. The youngest ones beyond count for nothing,
 * until others are gone. Equally old ones are ordered by their keys.
 */
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { Budget } from './budget.ts';
import { byAge } from './budget-scope.ts';

const mostBudgets = 1000;

export class CountedBudgets {
  readonly #all: ReadonlyMap<ObjectKey, Budget>;
  readonly #byNamespace = new Map<string, readonly Budget[]>();
  #beyond: ReadonlySet<Budget> = new Set();

  constructor(all: ReadonlyMap<ObjectKey, Budget>) {
    this.#all = all;
  }

  in(namespace: string): readonly Budget[] {
    return this.#byNamespace.get(namespace) ?? [];
  }

  isBeyond(budget: Budget): boolean {
    return this.#beyond.has(budget);
  }

  /** Budgets of the namespace have come or gone. */
  place(namespace: string): void {
    const found = [...this.#all.values()].filter(
      (budget) => parseObjectKey(budget.key).namespace === namespace && !this.#beyond.has(budget),
    );
    this.#byNamespace.set(namespace, found.toSorted(byAge));
    for (const budget of found) budget.isCrowded = false;
  }

  /** Budgets have come or gone. Returns those that begin or cease to count. */
  limit(): readonly Budget[] {
    if (this.#all.size <= mostBudgets && this.#beyond.size === 0) return [];
    const before = this.#beyond;
    const beyond = new Set([...this.#all.values()].toSorted(byAge).slice(mostBudgets));
    this.#beyond = beyond;
    const changed = [...before, ...beyond].filter((budget) => !before.has(budget) || !beyond.has(budget));
    for (const namespace of new Set(changed.map(({ key }) => parseObjectKey(key).namespace)))
      this.place(namespace);
    return changed;
  }
}
