/**
 * Money that the operator gives to an account (or takes back, when it is negative), from the accounts file or the
 * administrative listener. Each credit has an id, and is booked once for its account, however often it comes.
 */
import { z } from 'zod';
import { conflict, notFound } from './errors.ts';
import type { Ledger } from './ledger.ts';
import type { AccountRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';

/** So that the balance stays an integer that JSON can hold (§2 "Account object"). */
const largestMicros = 1_000_000_000_000_000;

export const credit = z.strictObject({
  id: z
    .string()
    .regex(/^[\w.:-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, colons, dashes and underscores'),
  amountMicros: z
    .int()
    .min(-largestMicros)
    .max(largestMicros)
    .refine((amount) => amount !== 0, 'must not be 0'),
  description: z.string().min(1).max(200).default('credit'),
});
export type Credit = z.infer<typeof credit>;

export class Credits {
  readonly #store: Store;
  readonly #ledger: Ledger;

  constructor(store: Store, ledger: Ledger) {
    this.#store = store;
    this.#ledger = ledger;
  }

  /** Call it in a transaction. Returns whether it was booked now; refuses another amount under the same id. */
  book(account: AccountRecord, { id, amountMicros, description }: Credit): boolean {
    const { database } = this.#store;
    const parameters = { accountId: account.id, id };
    const row = database.get(
      'SELECT amount_micros FROM credits WHERE account_id = $accountId AND id = $id',
      parameters,
    );
    if (row) {
      if (Number(row['amount_micros']) === amountMicros) return false;
      throw conflict(
        'credit_exists',
        `account ${account.name} has a credit ${id} of ${String(row['amount_micros'])} micro-USD; another one needs another id`,
      );
    }
    if (!Number.isSafeInteger(account.balanceMicros + amountMicros)) {
      throw conflict('limit_reached', `the balance of account ${account.name} would be out of range`);
    }
    database.run(
      'INSERT INTO credits (account_id, id, amount_micros) VALUES ($accountId, $id, $amountMicros)',
      {
        ...parameters,
        amountMicros,
      },
    );
    this.#ledger.book(account, amountMicros, description);
    return true;
  }

  /** As `book`, durable when it returns. */
  bookFor(accountName: string, one: Credit): { isNew: boolean; balanceMicros: number } {
    return this.#store.unit.run(() => {
      const account = this.#named(accountName);
      const isNew = this.book(account, one);
      return { isNew, balanceMicros: this.#ledger.balanceMicros(this.#named(accountName)) };
    });
  }

  /** For the operator. */
  accounts(): object[] {
    return Array.from(this.#store.accounts.all(), (account) => ({
      name: account.name,
      balanceMicros: this.#ledger.balanceMicros(account),
      hourlyMicros: account.hourlyMicros,
      services: this.#store.services.count(account.id),
      storedBytes: this.#store.bytes.of(account.id),
      suspended: this.#store.suspended.has(account.id),
    }));
  }

  #named(name: string): AccountRecord {
    for (const account of this.#store.accounts.all()) if (account.name === name) return account;
    throw notFound('account', name);
  }
}
