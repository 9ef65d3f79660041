/**
 * `--page-oidc-issuer`, `--page-oidc-audience`, `--page-oidc-access`: ID tokens in the header `Authorization: Bearer`, as oauth2-proxy and similar
 * programs set it. The access file has who sees which namespaces:
 *
 *     access:
 *       - {claim: groups, value: team-a, namespaces: [a, shared]}
 *       - {claim: email, value: admin@example.com, namespaces: ['*']}
 *
 * All entries that match count. A token that matches none sees nothing.
 */
import { createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTPayload } from 'jose';
import { parse } from 'yaml';
import { z } from 'zod';
import { messageOf, type Clock, type Fetch } from '../../base/index.ts';
import type { Reader } from '../fleet/reader.ts';
import { invalid, missing, tokenIn, unavailable, type Access } from './access.ts';
import { WatchedFile } from './watched-file.ts';

export interface OidcOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly accessFile: string;
  readonly clock: Clock;
  readonly fetch: Fetch;
}

const accessSchema = z.strictObject({
  access: z
    .array(
      z.strictObject({
        claim: z.string().min(1).max(256),
        value: z.string().min(1).max(1024),
        namespaces: z.array(z.string().regex(/^(\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$/)).max(1000),
      }),
    )
    .max(1000),
});
type Entry = z.output<typeof accessSchema>['access'][number];

/** With public keys only: a token that anybody can sign is none. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const clockToleranceSeconds = 60;
const requestMs = 5000;
const keysMaxAgeMs = 600_000;
const pauseMs = 5000;
const mostBytes = 1024 * 1024;
const longestToken = 16_384;
/** Requests that wait for the keys of the issuer. */
const mostWaiting = 32;

export function parseAccess(text: string): readonly Entry[] {
  const read = accessSchema.safeParse(parse(text));
  if (read.success) return read.data.access;
  const [issue] = read.error.issues;
  throw new Error(`${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'it is not valid'}`);
}

export function readerOf(claims: JWTPayload, entries: readonly Entry[]): Reader {
  const namespaces = new Set(
    entries.filter((entry) => hasValue(claims, entry)).flatMap((entry) => entry.namespaces),
  );
  return { namespaces: namespaces.has('*') ? undefined : namespaces };
}

function hasValue(claims: JWTPayload, { claim, value }: Entry): boolean {
  if (!Object.hasOwn(claims, claim)) return false;
  const found = claims[claim];
  // An address that nobody has verified may be anybody's, and so may one of several.
  if (claim === 'email') return claims['email_verified'] === true && found === value;
  return Array.isArray(found) ? found.includes(value) : found === value;
}

type Keys = ReturnType<typeof createRemoteJWKSet>;

export class OidcAccess implements Access {
  readonly kinds = ['oidc'] as const;
  readonly #options: OidcOptions;
  readonly #access: WatchedFile<readonly Entry[]>;
  readonly #keys: Keys;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #waiting = 0;

  constructor(options: OidcOptions) {
    this.#options = options;
    this.#access = new WatchedFile(options.accessFile, parseAccess, options.clock);
    const address = `${options.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    // Read with the first token, when they are ten minutes old, and when a token names another one.
    this.#keys = createRemoteJWKSet(new URL(address), {
      timeoutDuration: requestMs,
      cacheMaxAge: keysMaxAgeMs,
      [customFetch]: async (url, { signal }) => this.#readKeys(url, signal),
    });
  }

  /** Throws when the access file can't be used now. */
  check(): void {
    void this.#access.content;
  }

  async reader(request: Parameters<Access['reader']>[0]): Promise<Reader> {
    const token = tokenIn(request);
    if (token === undefined) throw missing();
    if (token.length > longestToken) throw invalid();
    const claims = await this.#claimsOf(token);
    try {
      return readerOf(claims, this.#access.content);
    } catch (error) {
      throw unavailable(`the access file can't be used: ${messageOf(error)}`);
    }
  }

  async #claimsOf(token: string): Promise<JWTPayload> {
    const { issuer, audience, clock } = this.#options;
    try {
      const { payload } = await jwtVerify(token, (...asked) => this.#keyOf(...asked), {
        issuer,
        audience,
        algorithms,
        requiredClaims: ['exp'],
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(clock.wallMs()),
      });
      return payload;
    } catch (error) {
      throw isOfToken(error) ? invalid() : unavailable('the identity provider can not be asked; try again');
    }
  }

  /** Who has a key that is known waits for nobody. Of the others, few may wait: the issuer may be slow. */
  async #keyOf(...asked: Parameters<Keys>): ReturnType<Keys> {
    const isKnown = this.#keys.fresh && this.#keys.jwks()?.keys.some(({ kid }) => kid === asked[0]?.kid);
    if (isKnown) return this.#keys(...asked);
    if (this.#waiting >= mostWaiting) throw new Error('too many requests wait for the keys');
    this.#waiting += 1;
    try {
      return await this.#keys(...asked);
    } finally {
      this.#waiting -= 1;
    }
  }

  /** The document of the issuer names the address of its keys. */
  async #readKeys(url: string, signal: AbortSignal): Promise<Response> {
    const { issuer, clock, fetch } = this.#options;
    if (clock.monotonicMs() - this.#failedAtMs < pauseMs) throw new Error('it has just failed');
    try {
      const { issuer: shown, jwks_uri: keysUrl } = JSON.parse(await textAt(fetch, url, signal)) as Json;
      if (shown !== issuer || typeof keysUrl !== 'string') throw new Error('it is not of this issuer');
      if (new URL(keysUrl).protocol !== new URL(url).protocol) throw new Error('its keys are elsewhere');
      return new Response(await textAt(fetch, keysUrl, signal));
    } catch (error) {
      this.#failedAtMs = clock.monotonicMs();
      throw error;
    }
  }
}

type Json = Readonly<Record<string, unknown>>;

async function textAt(fetch: Fetch, url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal, redirect: 'error' });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > mostBytes) throw new Error(`${url} answers more than 1 MiB`);
  }
  return text;
}

/** Otherwise the keys could not be read. */
function isOfToken(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return false;
  return !(error instanceof errors.JWKSTimeout) && error.code !== errors.JOSEError.code;
}
