/**
 * Finds Accounts that draw on one balance. For example, one Account in each namespace may have a key of the
 * same provider account. They are identified by origin and pinned identity. If the API shows no identity,
 * origin and key identify them.
 */
import { identityName, identifies } from '../plan/index.ts';
import { originOf } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';

export class SharedBalances {
  readonly #store: Pick<StateStore, 'identityPin'>;
  /** By account: origin, and digest of the key. */
  readonly #keys = new Map<string, string>();
  /** What an account drew on when it was seen last, and all that did. */
  readonly #seen = new Map<string, string>();
  readonly #drawing = new Map<string, Set<string>>();

  constructor(store: Pick<StateStore, 'identityPin'>) {
    this.#store = store;
  }

  saw({ name, spec, keyDigest }: Pick<AccountHandle, 'name' | 'spec' | 'keyDigest'>): void {
    const digest = keyDigest();
    if (digest !== undefined) this.#keys.set(name, `${originOf(spec.url)} key ${digest}`);
    this.#place(name, this.#balanceOf(name));
  }

  #place(name: string, balance: string): void {
    const before = this.#seen.get(name);
    if (before === balance) return;
    const others = before === undefined ? undefined : this.#drawing.get(before);
    others?.delete(name);
    if (before !== undefined && others?.size === 0) this.#drawing.delete(before);
    this.#seen.set(name, balance);
    this.#drawing.set(balance, (this.#drawing.get(balance) ?? new Set()).add(name));
  }

  /** Others that were seen and share the balance of `name`: at most `most`. Those that are not there any more are forgotten. */
  sharing(name: string, isThere: (other: string) => boolean, most: number): string[] {
    const found: string[] = [];
    for (const other of this.#drawing.get(this.#seen.get(name) ?? '') ?? []) {
      if (found.length === most) break;
      if (other === name) continue;
      if (isThere(other)) found.push(other);
      else this.#forget(other);
    }
    return found;
  }

  #forget(name: string): void {
    this.#drawing.get(this.#seen.get(name) ?? '')?.delete(name);
    this.#seen.delete(name);
    this.#keys.delete(name);
  }

  /** The accounts among `accounts` that share the balance of `name`, without itself. */
  others(name: string, accounts: Iterable<string>): string[] {
    const all = [...accounts].filter((other) => other !== name);
    if (all.length === 0) return all;
    const balance = this.#balanceOf(name);
    return all.filter((other) => this.#balanceOf(other) === balance);
  }

  #balanceOf(name: string): string {
    return knownBalance(this.#store, name) ?? this.#keys.get(name) ?? `account ${name}`;
  }
}

/** Equal for Accounts that are known to draw on one balance. */
export function balanceOf(store: Pick<StateStore, 'identityPin'>, name: string): string {
  return knownBalance(store, name) ?? `account ${name}`;
}

function knownBalance(store: Pick<StateStore, 'identityPin'>, name: string): string | undefined {
  const pin = store.identityPin(name);
  return pin && identifies(pin) ? `${pin.origin} identity ${identityName(pin)}` : undefined;
}
