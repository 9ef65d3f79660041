/**
 * Who may call. Accounts come from a YAML file and are synced into the database by name at each start: a new
 * one is opened with its balance, one that exists keeps its balance and takes over keys and email. An account
 * that has left the file loses its keys, and ID tokens of its email, so nobody can call as it; what it owns
 * stays, and is charged. API keys are kept and compared as SHA-256 hashes only, and the file may give them as such
 * (`sha256:HEX`).
 */
import { hash as digestOf } from 'node:crypto';
import { z } from 'zod';
import type { Random } from '../../base/random.ts';
import { accountQuota } from '../config/config-file.ts';
import { credit, type Credits } from '../domain/credits.ts';
import type { Ledger } from '../domain/ledger.ts';
import type { PlatformClock } from '../domain/platform-clock.ts';
import type { AccountRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { ApiError } from '../domain/errors.ts';
import { parseYamlFile, type Mistake } from '../config/yaml-file.ts';

/** So that nobody finds one by trying. A key that is made for the purpose has 32 and more. */
const shortestKey = 8;
const digestForm = /^sha256:[0-9a-f]{64}$/i;

/** A key, in visible ASCII, which is what a header can carry; or its digest, so that the file holds no key. */
const apiKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,512}$/, 'must be at most 512 visible ASCII characters')
  .refine((key) => key.length >= shortestKey, `must have at least ${shortestKey} characters`)
  .refine(
    (key) => !key.startsWith('sha256:') || digestForm.test(key),
    'after "sha256:" must come the 64 hex digits of the digest of the key',
  );

const accountEntry = z.strictObject({
  name: z.string().min(1),
  email: z.string().min(3),
  emailVerified: z.boolean().default(true),
  balanceMicros: z.int().default(100_000_000),
  apiKeys: z.array(apiKey).default([]),
  quota: accountQuota.optional(),
  /** Each is booked once, by its id. */
  credits: z.array(credit).optional(),
});
const accountsFile = z.strictObject({ accounts: z.array(accountEntry).min(1) });
export type AccountsFile = z.infer<typeof accountsFile>;

/** Which credentials there are: where ID tokens count, an account needs no key. */
type Credentials = 'keys' | 'keys and tokens';

/** Throws a `UserError` with file, line and path. Keys don't occur in its message. */
export function parseAccounts(text: string, file: string, credentials: Credentials = 'keys'): AccountsFile {
  return parseYamlFile(text, file, {
    schema: accountsFile,
    mistakeIn: (value) => repetitionIn(value) ?? (credentials === 'keys' ? keylessIn(value) : undefined),
    remedy: 'accounts: [{name, email, emailVerified, balanceMicros, apiKeys: [KEY]}]',
  });
}

interface Money {
  readonly ledger: Ledger;
  readonly credits: Credits;
}

export class Accounts {
  readonly #store: Store;
  readonly #idByKeyHash = new Map<string, string>();
  readonly #idByEmail = new Map<string, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Call it in a transaction. */
  sync(file: AccountsFile, money: Money, platform: PlatformClock, random: Random): void {
    const byName = new Map(Array.from(this.#store.accounts.all(), (account) => [account.name, account]));
    this.#store.database.run('DELETE FROM api_keys');
    for (const { name, email, emailVerified, balanceMicros, apiKeys, credits = [] } of file.accounts) {
      const existing = byName.get(name);
      const account = existing
        ? this.#store.accounts.put({ ...existing, email, emailVerified })
        : money.ledger.book(
            emptyAccount(random.uuid(), { name, email, emailVerified }, platform),
            balanceMicros,
            'opening balance',
          );
      for (const one of credits) money.credits.book(this.latest(account), one);
      this.#idByEmail.set(lowerCase(email), account.id);
      for (const key of apiKeys) {
        const hash = digestIn(key);
        this.#store.database.run('INSERT INTO api_keys (hash, account_id) VALUES ($hash, $id)', {
          hash,
          id: account.id,
        });
        this.#idByKeyHash.set(hash, account.id);
      }
    }
  }

  /** Refuses with 403 whoever has far more than the server can hold for one account. */
  requireActive(account: AccountRecord): void {
    if (!this.#store.suspended.has(account.id)) return;
    throw new ApiError(
      403,
      'account_suspended',
      'this account has far more stored than its quota; whoever runs this control plane has to raise it, or to tidy up',
    );
  }

  /** The same account as it is now. */
  latest(account: AccountRecord): AccountRecord {
    return this.#store.accounts.get(account.id) ?? account;
  }

  withKey(key: string): AccountRecord | undefined {
    return this.#find(this.#idByKeyHash.get(hashOf(key)));
  }

  withEmail(email: string): AccountRecord | undefined {
    return this.#find(this.#idByEmail.get(lowerCase(email)));
  }

  #find(id: string | undefined): AccountRecord | undefined {
    return id === undefined ? undefined : this.#store.accounts.get(id);
  }
}

function emptyAccount(
  id: string,
  identity: Pick<AccountRecord, 'name' | 'email' | 'emailVerified'>,
  platform: PlatformClock,
): AccountRecord {
  return {
    id,
    accountId: id,
    ...identity,
    balanceMicros: 0,
    ledgerCount: 0,
    hourlyMicros: 0,
    accruedMicros: 0,
    accruedRemainder: 0,
    accruedAtMs: platform.nowMs(),
  };
}

/** Of a key as the file has it. */
function digestIn(key: string): string {
  return digestForm.test(key) ? key.slice('sha256:'.length).toLowerCase() : hashOf(key);
}

function hashOf(key: string): string {
  return digestOf('sha256', key);
}

/** Only A to Z: other alphabets have letters that fold into these. */
function lowerCase(email: string): string {
  return email.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function repetitionIn(file: AccountsFile): Mistake | undefined {
  const names = new Set<string>();
  const emails = new Set<string>();
  const keys = new Set<string>();
  for (const [index, { name, email, apiKeys, credits = [] }] of file.accounts.entries()) {
    if (names.has(name)) return { path: ['accounts', index, 'name'], message: `"${name}" occurs twice` };
    names.add(name);
    for (const [place, key] of apiKeys.entries()) {
      if (keys.has(digestIn(key))) {
        return { path: ['accounts', index, 'apiKeys', place], message: 'this key occurs twice' };
      }
      keys.add(digestIn(key));
    }
    if (emails.has(lowerCase(email))) {
      return { path: ['accounts', index, 'email'], message: `"${email}" occurs twice` };
    }
    emails.add(lowerCase(email));
    const twice = credits.findIndex(({ id }, place) => credits.findIndex((one) => one.id === id) < place);
    if (twice >= 0) {
      return { path: ['accounts', index, 'credits', twice, 'id'], message: 'this id occurs twice' };
    }
  }
  return undefined;
}

function keylessIn(file: AccountsFile): Mistake | undefined {
  const index = file.accounts.findIndex(({ apiKeys }) => apiKeys.length === 0);
  if (index < 0) return undefined;
  const message = 'at least one key is needed: no identity provider is configured, so nobody could call';
  return { path: ['accounts', index, 'apiKeys'], message };
}
