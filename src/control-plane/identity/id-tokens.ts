/**
 * ID tokens of an OpenID provider (§5 rule 1), verified with the keys that the provider publishes.
 *
 * The keys are fetched when the first token comes, again when they are 10 minutes old (so that a key which the
 * provider has withdrawn counts no longer than that), and when a token names a key that is not among them (so that
 * a new key counts at once), but for that reason at most every 30 s. Tokens wait for a fetch together. When it
 * fails, they are refused with 503, and the next fetch is tried 5 s later at the earliest.
 */
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
} from 'jose';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { Fetch } from '../../base/fetch.ts';
import type { IdentityConfig } from '../domain/config.ts';
import { isProviderUrl } from '../config/config-file.ts';
import { ApiError } from '../domain/errors.ts';

const keysMaxAgeMs = 10 * 60_000;
const cooldownMs = 30_000;
const pauseAfterFailureMs = 5_000;
const documentBytes = 1024 * 1024;
const clockToleranceSeconds = 30;

interface IdTokensParts {
  readonly clock: Clock;
  readonly fetch: Fetch;
  readonly logger: Logger;
  /** Of the discovery document and the keys together; default 5 s. */
  readonly fetchTimeoutMs?: number;
}

export class IdTokens {
  readonly #config: IdentityConfig;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #keys: ReturnType<typeof createRemoteJWKSet>;
  #fetchedAtMs = -Infinity;
  #failedAtMs = -Infinity;

  constructor(config: IdentityConfig, parts: IdTokensParts) {
    const { clock, fetch, logger, fetchTimeoutMs = 5_000 } = parts;
    this.#config = config;
    this.#clock = clock;
    this.#logger = logger;
    // When to fetch is decided here, on the clock that was given.
    this.#keys = createRemoteJWKSet(new URL(config.jwksUri ?? discoveryUrl(config.issuer)), {
      timeoutDuration: fetchTimeoutMs,
      cooldownDuration: Infinity,
      cacheMaxAge: Infinity,
      [customFetch]: async (url, { signal }) => {
        const keysUrl = config.jwksUri ?? keysUrlIn(await read(fetch, url, signal), config.issuer);
        return new Response(await read(fetch, keysUrl, signal));
      },
    });
  }

  /**
   * The email that the provider vouches for; undefined when the token is not valid, or its email is not verified.
   * Refuses with 503 when that can't be known.
   */
  async emailOf(token: string): Promise<string | undefined> {
    try {
      const { payload } = await jwtVerify(token, this.#keyFor, {
        issuer: this.#config.issuer,
        audience: [...this.#config.audience],
        algorithms: [...this.#config.algorithms],
        requiredClaims: ['exp'],
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(this.#clock.wallMs()),
      });
      return verifiedEmail(payload);
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      this.#logger.debug({ reason: error.code }, 'ID token refused');
      return undefined;
    }
  }

  readonly #keyFor: JWTVerifyGetKey = async (header, token) => {
    if (this.#areKeysOlderThan(keysMaxAgeMs)) await this.#fetchKeys();
    try {
      return await this.#keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !this.#areKeysOlderThan(cooldownMs)) throw error;
      await this.#fetchKeys();
      return this.#keys(header, token);
    }
  };

  async #fetchKeys(): Promise<void> {
    const isPausing = this.#clock.monotonicMs() - this.#failedAtMs < pauseAfterFailureMs;
    if (isPausing) throw providerUnavailable();
    try {
      await this.#keys.reload();
      this.#fetchedAtMs = this.#clock.monotonicMs();
    } catch (error) {
      this.#failedAtMs = this.#clock.monotonicMs();
      this.#logger.warn({ issuer: this.#config.issuer, err: error }, "identity provider's keys not fetched");
      throw providerUnavailable();
    }
  }

  #areKeysOlderThan(ageMs: number): boolean {
    return this.#clock.monotonicMs() - this.#fetchedAtMs >= ageMs;
  }
}

/** OpenID Connect Discovery 1.0, section 4. */
function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

function keysUrlIn(discoveryDocument: string, issuer: string): string {
  const document = z
    .object({ issuer: z.literal(issuer), jwks_uri: z.string().refine(isProviderUrl) })
    .parse(JSON.parse(discoveryDocument));
  return document.jwks_uri;
}

async function read(fetch: Fetch, url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error', signal });
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > documentBytes) throw new Error(`${url} answered more than ${documentBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Some providers write the boolean as a string. */
function verifiedEmail({ email, email_verified: isVerified }: JWTPayload): string | undefined {
  return typeof email === 'string' && (isVerified === true || isVerified === 'true') ? email : undefined;
}

function providerUnavailable(): ApiError {
  return new ApiError(
    503,
    'identity_unavailable',
    'the identity provider can not be reached, so ID tokens can not be verified; try again later, or use an API key',
  );
}
