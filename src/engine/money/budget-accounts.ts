/** The accounts that a budget is about, and what all in them costs. */
import { parseObjectKey, traitsOf, type Asked } from '../../resources/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import type { StateStore } from '../../state/index.ts';
import type { AccountHandle, Accounts } from '../accounts.ts';
import { serviceBurn, volumeBurn } from '../plan/index.ts';
import type { Budget } from './budget.ts';
import type { PriceBooks } from './price-books.ts';
import { serviceCost, volumeCost, type UnshownCost } from './unshown-costs.ts';

interface BudgetAccountsOptions {
  readonly accounts: Accounts;
  readonly store: Pick<StateStore, 'recordOf'>;
  readonly money: { readonly books: Pick<PriceBooks, 'book' | 'edition'> };
}

/** Of everything in an account, managed or not. */
export interface AccountCosts {
  /** Micro-USD per hour. What shows no price counts with its estimate (§2 promises none). */
  readonly micros: bigint;
  /** Things that cost something and show no price. */
  readonly unpriced: number;
  /** Those of them that have no estimate either: they are missing in `micros`. */
  readonly unknown: number;
}

const nothing: AccountCosts = { micros: 0n, unpriced: 0, unknown: 0 };

export class BudgetAccounts {
  readonly #options: BudgetAccountsOptions;
  readonly #costs = new WeakMap<
    AccountSnapshot,
    { readonly edition: readonly unknown[]; readonly costs: AccountCosts }
  >();

  constructor(options: BudgetAccountsOptions) {
    this.#options = options;
  }

  /** Of a budget of one account. */
  ownOf({ namespace, terms: { scope } }: Budget): AccountHandle | undefined {
    if (scope.of !== 'account') return undefined;
    const resolved = this.#options.accounts.resolve(namespace, scope.name);
    return resolved.kind === 'usable' ? resolved.handle : undefined;
  }

  allOf(budget: Budget): AccountHandle[] {
    if (budget.terms.scope.of === 'account') {
      const own = this.ownOf(budget);
      return own ? [own] : [];
    }
    return [...this.#options.accounts.handles()].filter(({ name }) => budget.accounts.has(name));
  }

  /** Accounts (`namespace/name`) that can't be read now. What they cost meanwhile is only estimated. */
  unreadableOf(budget: Budget): string[] {
    const { scope } = budget.terms;
    // Its document is gone, or can't be used.
    if (scope.of === 'account' && !this.ownOf(budget)) return [`${budget.namespace}/${scope.name}`];
    const unreadable = this.allOf(budget).filter(({ informer }) => !informer.current || informer.failure);
    return unreadable.map(({ name }) => name);
  }

  /** Accounts (`namespace/name`) of members that this process has not read yet. */
  unreadOf({ accounts }: Budget): string[] {
    const read = [...this.#options.accounts.handles()].filter(({ informer }) => informer.current);
    const names = new Set(read.map(({ name }) => name));
    return [...accounts.keys()].filter((name) => !names.has(name));
  }

  /** How many things that the budget counts show no price, and for how many of these there is no estimate either. */
  pricesMissingIn(budget: Budget): Pick<AccountCosts, 'unpriced' | 'unknown'> {
    const { unpriced, unknown } =
      budget.terms.scope.of === 'account' ? this.costsOf(this.ownOf(budget)) : budget;
    return { unpriced, unknown };
  }

  /** As the newest read shows it. It is added up once for a read, and again with other prices. */
  costsOf(handle: AccountHandle | undefined): AccountCosts {
    const snapshot = handle?.informer.current;
    if (!snapshot) return nothing;
    const edition = this.#options.money.books.edition(handle);
    const known = this.#costs.get(snapshot);
    if (known && edition.every((each, index) => each === known.edition[index])) return known.costs;
    const costs = this.#sum(handle, snapshot);
    this.#costs.set(snapshot, { edition, costs });
    return costs;
  }

  #sum(handle: AccountHandle, { services, volumes }: AccountSnapshot): AccountCosts {
    const book = this.#options.money.books.book(handle);
    let { micros, unpriced, unknown } = nothing;
    const add = (shown: bigint | undefined, guess: () => UnshownCost): void => {
      micros += shown ?? 0n;
      if (shown !== undefined) return;
      const guessed = guess();
      micros += guessed.micros;
      unpriced += 1;
      if (guessed.isUnknown) unknown += 1;
    };
    for (const service of services.values())
      add(serviceBurn(service), () => serviceCost(service, this.#askedOf(service.id), book));
    for (const volume of volumes.values())
      add(volumeBurn(volume), () => volumeCost(volume, this.#askedOf(volume.id), book));
    return { micros, unpriced, unknown };
  }

  #askedOf(id: string): Asked | undefined {
    const record = this.#options.store.recordOf(id);
    return record && traitsOf(parseObjectKey(record.key).kind).asks?.(record.manifest.spec, record.kind);
  }

  /** How many things are in the account of the budget. */
  countIn(budget: Budget): number {
    const snapshot = this.ownOf(budget)?.informer.current;
    return snapshot ? snapshot.services.size + snapshot.volumes.size : 0;
  }
}
