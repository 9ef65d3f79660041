/**
 * Several Accounts may have keys of one account at the provider, such as one in each namespace. Each read shows all that is in there, and it is
 * paid once. Pure.
 */
import { balanceOf } from '../engine/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Holding } from './survey.ts';

/** What an Account shows. */
export interface Held {
  /** `namespace/name`. */
  readonly account: string;
  /** Scheme, host and port of its API: ids are those of one provider. */
  readonly origin: string;
  readonly holdings: readonly Holding[];
}

/** Each thing in the first Account that shows it. */
export function onceEach(accounts: readonly Held[]): Held[] {
  const seen = new Set<string>();
  const isFirst = (thing: string) => !seen.has(thing) && seen.add(thing) !== undefined;
  return accounts.map(({ account, origin, holdings }) => ({
    account,
    origin,
    holdings: holdings.filter(({ kind, id }) => isFirst(JSON.stringify([origin, kind, id]))),
  }));
}

/** By Account: the first one that is known to draw on the same balance, which may be itself. */
export function firstOfBalance(
  accounts: readonly string[],
  store: Pick<StateStore, 'identityPin'> | undefined,
): ReadonlyMap<string, string> {
  const first = new Map<string, string>();
  return new Map(
    accounts.map((account) => {
      const balance = store ? balanceOf(store, account) : account;
      const known = first.get(balance) ?? account;
      first.set(balance, known);
      return [account, known];
    }),
  );
}
