/**
 * Who may call. Accounts come from a YAML file and are synced into the database by name at each start: a new
 * one is opened with its balance, one that exists keeps its balance and takes over keys and email. An account
 * that has left the file loses its keys, so nobody can call as it; what it owns stays, and is charged.
 * API keys are kept and compared as SHA-256 hashes only.
 */
import { createHash } from 'node:crypto';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import type { Random } from '../base/random.ts';
import { UserError, messageOf } from '../base/user-error.ts';
import type { Ledger } from './ledger.ts';
import type { PlatformClock } from './platform-clock.ts';
import type { AccountRecord } from './records.ts';
import type { Store } from './store.ts';

const accountEntry = z.strictObject({
  name: z.string().min(1),
  email: z.string().min(3),
  emailVerified: z.boolean().default(true),
  balanceMicros: z.int().default(100_000_000),
  /** Visible ASCII: what a header can carry. */
  apiKeys: z
    .array(z.string().regex(/^[\x21-\x7e]{1,512}$/, 'must be 1 to 512 visible ASCII characters'))
    .min(1),
});
const accountsFile = z.strictObject({ accounts: z.array(accountEntry).min(1) });
export type AccountsFile = z.infer<typeof accountsFile>;

/** Throws a `UserError` with file, line and path. Keys don't occur in its message. */
export function parseAccounts(text: string, file: string): AccountsFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [syntax] = document.errors;
  if (syntax) {
    const { line, col } = lines.linePos(syntax.pos[0]);
    throw new UserError(`${file}:${line}:${col}: not valid YAML: ${syntax.message}`);
  }
  const parsed = accountsFile.safeParse(valueOf(document, file));
  const problem = parsed.success ? duplicateIn(parsed.data) : parsed.error.issues[0];
  if (parsed.success && !problem) return parsed.data;
  const path = (problem?.path ?? []).map((part) => (typeof part === 'number' ? part : String(part)));
  throw new UserError(
    `${file}:${lineOf(document, lines, path)}: ${pathText(path)}: ${problem?.message}`,
    'accounts: [{name, email, emailVerified, balanceMicros, apiKeys: [KEY]}]',
  );
}

function valueOf(document: ReturnType<typeof parseDocument>, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new UserError(`${file}: can't be read: ${messageOf(error)}`, undefined, error);
  }
}

export class Accounts {
  readonly #store: Store;
  readonly #idByKeyHash = new Map<string, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Call it in a transaction. */
  sync(file: AccountsFile, ledger: Ledger, platform: PlatformClock, random: Random): void {
    const byName = new Map(Array.from(this.#store.accounts.all(), (account) => [account.name, account]));
    this.#store.database.run('DELETE FROM api_keys');
    for (const { name, email, emailVerified, balanceMicros, apiKeys } of file.accounts) {
      const existing = byName.get(name);
      const account = existing
        ? this.#store.accounts.put({ ...existing, email, emailVerified })
        : ledger.book(
            emptyAccount(random.uuid(), { name, email, emailVerified }, platform),
            balanceMicros,
            'opening balance',
          );
      for (const key of apiKeys) {
        const hash = hashOf(key);
        this.#store.database.run('INSERT INTO api_keys (hash, account_id) VALUES ($hash, $id)', {
          hash,
          id: account.id,
        });
        this.#idByKeyHash.set(hash, account.id);
      }
    }
  }

  /** The same account as it is now. */
  latest(account: AccountRecord): AccountRecord {
    return this.#store.accounts.get(account.id) ?? account;
  }

  /** The account whose key the header `Authorization: Bearer KEY` holds. */
  authenticate(authorization: string | undefined): AccountRecord | undefined {
    const key = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    const id = key === undefined ? undefined : this.#idByKeyHash.get(hashOf(key));
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

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function duplicateIn(file: AccountsFile): { path: (string | number)[]; message: string } | undefined {
  const names = new Set<string>();
  const keys = new Set<string>();
  for (const [index, account] of file.accounts.entries()) {
    if (names.has(account.name)) {
      return { path: ['accounts', index, 'name'], message: `"${account.name}" occurs twice` };
    }
    names.add(account.name);
    for (const [place, key] of account.apiKeys.entries()) {
      if (keys.has(key)) {
        return { path: ['accounts', index, 'apiKeys', place], message: 'this key occurs twice' };
      }
      keys.add(key);
    }
  }
  return undefined;
}

function pathText(path: readonly (string | number)[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  return text.replace(/^\./, '') || 'the document';
}

/** Of the deepest node on the path that exists. */
function lineOf(
  document: ReturnType<typeof parseDocument>,
  lines: LineCounter,
  path: readonly (string | number)[],
): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)) {
      return lines.linePos(Number(node.range[0])).line;
    }
  }
  return 1;
}
