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
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { parse } from 'yaml';
import { z } from 'zod';
import { messageOf, type Clock } from '../../base/index.ts';
import type { Reader } from '../fleet/reader.ts';
import { invalid, missing, tokenIn, unavailable, type Access } from './access.ts';
import { WatchedFile } from './watched-file.ts';

export interface OidcOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly accessFile: string;
  readonly clock: Clock;
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
const pauseMs = 10_000;
const longestToken = 16_384;

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
  // An address that nobody has verified may be anybody's.
  if (claim === 'email' && claims['email_verified'] !== true) return false;
  const found = claims[claim];
  return Array.isArray(found) ? found.includes(value) : found === value;
}

export class OidcAccess implements Access {
  readonly #options: OidcOptions;
  readonly #access: WatchedFile<readonly Entry[]>;
  #keys: JWTVerifyGetKey | undefined;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: OidcOptions) {
    this.#options = options;
    this.#access = new WatchedFile(options.accessFile, parseAccess, options.clock);
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
    const keys = await this.#keySet();
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms,
        requiredClaims: ['exp'],
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(clock.wallMs()),
      });
      return payload;
    } catch (error) {
      // Not about the token: the keys could not be read.
      const isElsewhere =
        !(error instanceof errors.JOSEError) ||
        error instanceof errors.JWKSTimeout ||
        error.code === 'ERR_JOSE_GENERIC';
      if (isElsewhere) throw unavailable('the identity provider can not be asked for its keys; try again');
      throw invalid();
    }
  }

  /** Read once. jose reads the keys again when a token names one that it does not know. */
  async #keySet(): Promise<JWTVerifyGetKey> {
    if (this.#keys) return this.#keys;
    const { issuer, clock } = this.#options;
    const problem = () => unavailable('the identity provider can not be asked; try again');
    if (clock.monotonicMs() - this.#failedAtMs < pauseMs) throw problem();
    try {
      const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
      const answer = await fetch(address, { redirect: 'error', signal: AbortSignal.timeout(requestMs) });
      const { issuer: shown, jwks_uri: keysUrl } = (await answer.json()) as Record<string, unknown>;
      if (shown !== issuer || typeof keysUrl !== 'string') throw new Error('it is not of this issuer');
      this.#keys = createRemoteJWKSet(new URL(keysUrl), { timeoutDuration: requestMs });
      return this.#keys;
    } catch {
      this.#failedAtMs = clock.monotonicMs();
      throw problem();
    }
  }
}
