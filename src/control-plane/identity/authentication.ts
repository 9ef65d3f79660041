/**
 * Who calls (§5). Either of two credentials authenticates a request:
 *
 * 1. an API key, as `Authorization: Bearer KEY`. A value that is a known key is one, whatever it looks like;
 * 2. an ID token, in the same place or in the header of the configuration. It stands for the account with the
 *    email that it vouches for. As the email is all that ties the two together, it must be verified.
 *
 * What is missing or bad is 401. The answer doesn't say what was wrong with it, nor which emails have accounts.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Accounts } from './accounts.ts';
import { ApiError } from '../domain/errors.ts';
import type { IdTokens } from './id-tokens.ts';
import type { AccountRecord } from '../store/records.ts';

/** Where tokens are, and who verifies them. */
export interface TokenSource {
  readonly header: string;
  readonly tokens: IdTokens;
}

export class Authentication {
  readonly #accounts: Accounts;
  readonly #source: TokenSource | undefined;

  /** Without a `source`, only keys authenticate. */
  constructor(accounts: Accounts, source: TokenSource | undefined) {
    this.#accounts = accounts;
    this.#source = source;
  }

  /** Refuses with 401, and with 503 when a token can't be verified now. */
  async caller(headers: IncomingHttpHeaders): Promise<AccountRecord> {
    const account = this.holderOfKey(headers) ?? (await this.#holderOfToken(headers));
    if (account) return account;
    throw this.#isPresent(headers) ? badCredentials() : missingCredentials();
  }

  holderOfKey({ authorization }: IncomingHttpHeaders): AccountRecord | undefined {
    const key = bearer(authorization);
    return key === undefined ? undefined : this.#accounts.withKey(key);
  }

  async #holderOfToken(headers: IncomingHttpHeaders): Promise<AccountRecord | undefined> {
    const token = this.#tokenIn(headers);
    if (!this.#source || token === undefined) return undefined;
    const email = await this.#source.tokens.emailOf(token);
    return email === undefined ? undefined : this.#accounts.withEmail(email);
  }

  #tokenIn(headers: IncomingHttpHeaders): string | undefined {
    const { header = 'authorization' } = this.#source ?? {};
    const value = headers[header];
    if (typeof value !== 'string') return undefined;
    const token = header === 'authorization' ? bearer(value) : (bearer(value) ?? value.trim());
    return token !== undefined && /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token) ? token : undefined;
  }

  #isPresent(headers: IncomingHttpHeaders): boolean {
    return Boolean(headers.authorization) || Boolean(this.#source && headers[this.#source.header]);
  }
}

export function missingCredentials(): ApiError {
  return new ApiError(
    401,
    'unauthenticated',
    'this needs credentials: an API key as "Authorization: Bearer KEY", or an ID token where these are offered',
  );
}

function badCredentials(): ApiError {
  return new ApiError(
    401,
    'unauthenticated',
    'the credentials are not valid here: an API key must be known, and an ID token of the configured provider, unexpired, and of a verified email that has an account',
  );
}

function bearer(header: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1];
}
