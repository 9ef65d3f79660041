/** The accounts that a budget is about. */
import type { AccountHandle, Accounts } from '../accounts.ts';
import { burnMicrosPerHour } from '../plan/index.ts';
import type { Budget } from './budget.ts';

export class BudgetAccounts {
  readonly #accounts: Accounts;
  readonly #burns = new WeakMap<object, bigint>();

  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  /** Of a budget of one account. */
  ownOf({ namespace, terms: { scope } }: Budget): AccountHandle | undefined {
    if (scope.of !== 'account') return undefined;
    const resolved = this.#accounts.resolve(namespace, scope.name);
    return resolved.kind === 'usable' ? resolved.handle : undefined;
  }

  allOf(budget: Budget): AccountHandle[] {
    if (budget.terms.scope.of === 'account') {
      const own = this.ownOf(budget);
      return own ? [own] : [];
    }
    return [...this.#accounts.handles()].filter(({ name }) => budget.accounts.has(name));
  }

  /** Accounts (`namespace/name`) that can't be read now. What they cost meanwhile is only estimated. */
  unreadableOf(budget: Budget): string[] {
    const { scope } = budget.terms;
    // Its document is gone, or can't be used.
    if (scope.of === 'account' && !this.ownOf(budget)) return [`${budget.namespace}/${scope.name}`];
    const unreadable = this.allOf(budget).filter(({ informer }) => !informer.current || informer.failure);
    return unreadable.map(({ name }) => name);
  }

  /** Of everything in the account. */
  burnOf(handle: AccountHandle | undefined): bigint {
    const snapshot = handle?.informer.current;
    if (!snapshot) return 0n;
    const known = this.#burns.get(snapshot);
    if (known !== undefined) return known;
    const burn = burnMicrosPerHour(snapshot.services.values(), snapshot.volumes.values());
    this.#burns.set(snapshot, burn);
    return burn;
  }

  /** How many things are in the account of the budget. */
  countIn(budget: Budget): number {
    const snapshot = this.ownOf(budget)?.informer.current;
    return snapshot ? snapshot.services.size + snapshot.volumes.size : 0;
  }
}
