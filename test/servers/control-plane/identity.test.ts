import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, UnsecuredJWT, exportJWK, exportSPKI, generateKeyPair, type JWK } from 'jose';
import pino from 'pino';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { IdentityConfig } from '../../../src/control-plane/domain/config.ts';
import { IdTokens } from '../../../src/control-plane/identity/id-tokens.ts';
import { defaultConfig } from '../../../src/control-plane/main.ts';
import { clientOf } from '../api/support.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { accounts, key, startWorld, trainer, type World, type WorldOptions } from './support.ts';

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

/** An OpenID provider on a socket. */
class Provider {
  readonly #server: Server = createServer((request, response) => {
    this.requests.push(request.url ?? '');
    if (this.answers === 'nothing') return;
    const body = request.url?.startsWith('/.well-known/') ? this.discovery : { keys: this.keys };
    response.statusCode = this.answers === 'errors' ? 500 : 200;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  });
  readonly requests: string[] = [];
  keys: JWK[] = [];
  answers: 'documents' | 'errors' | 'nothing' = 'documents';
  issuer = '';
  discovery: object = {};

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    this.issuer = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    this.discovery = { issuer: this.issuer, jwks_uri: `${this.issuer}/keys` };
    return this;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

let first: KeyPair;
let second: KeyPair;
let onCurve: KeyPair;
let provider: Provider;
let clock: ManualClock;

beforeAll(async () => {
  const options = { extractable: true };
  first = await generateKeyPair('RS256', options);
  second = await generateKeyPair('RS256', options);
  onCurve = await generateKeyPair('ES256', options);
});

beforeEach(async () => {
  provider = await new Provider().listen();
  provider.keys = [await published(first, 'first'), await published(onCurve, 'curve')];
  clock = new ManualClock();
});

afterEach(() => provider.close());

async function published({ publicKey }: KeyPair, kid: string): Promise<JWK> {
  return { ...(await exportJWK(publicKey)), kid, use: 'sig' };
}

interface Claims {
  [claim: string]: unknown;
  /** Seconds from now. */
  expiresIn?: number;
  startsIn?: number;
}

const audience = 'control-plane';

function claimsOf({ expiresIn = 300, startsIn, ...changed }: Claims) {
  const now = Math.floor(clock.wallMs() / 1000);
  return {
    iss: provider.issuer,
    aud: audience,
    sub: '1',
    iat: now,
    exp: now + expiresIn,
    ...(startsIn !== undefined && { nbf: now + startsIn }),
    email: 'alice@example.com',
    email_verified: true,
    ...changed,
  };
}

function token(
  claims: Claims = {},
  signedWith = first,
  header: { alg: string; kid?: string } = rs256,
): Promise<string> {
  return new SignJWT(claimsOf(claims)).setProtectedHeader(header).sign(signedWith.privateKey);
}

const rs256 = { alg: 'RS256', kid: 'first' };

function identityOf({ issuer }: Provider): IdentityConfig {
  const algorithms = ['RS256', 'ES256'];
  return { issuer, audience: [audience], jwksUri: null, header: 'authorization', algorithms };
}

function world(changes: Partial<IdentityConfig> = {}, options: WorldOptions = {}): Promise<World> {
  const identity = { ...identityOf(provider), ...changes };
  return startWorld({ clock, config: { ...defaultConfig, identity }, ...options });
}

async function whoIs(plane: World, authorization: string | Promise<string>): Promise<string> {
  const bearer = `Bearer ${await authorization}`;
  const answer = await plane.call('GET', '/api/me', undefined, { headers: { authorization: bearer } });
  return answer.body?.name ?? `${answer.status} ${answer.body?.error?.code}`;
}

const refused = '401 unauthenticated';

describe('an ID token', () => {
  test('stands for the account of its verified email, with the keys that discovery leads to', async () => {
    await using plane = await world();
    expect(await whoIs(plane, token())).toBe('alice');
    expect(await whoIs(plane, token({ email: 'BOB@Example.com' }))).toBe('bob');
    expect(await whoIs(plane, token({}, onCurve, { alg: 'ES256', kid: 'curve' }))).toBe('alice');
    expect(await whoIs(plane, token({ email_verified: 'true', aud: ['other', audience] }))).toBe('alice');
    expect(provider.requests).toEqual(['/.well-known/openid-configuration', '/keys']);
    const bearer = { authorization: `Bearer ${await token()}` };
    const created = await plane.call('POST', '/api/services', trainer, { headers: bearer });
    expect([created.status, (await plane.ok('GET', '/api/account')).services[0].id]).toEqual([
      201,
      created.body.id,
    ]);
  });

  test('is verified with the keys of jwksUri, without discovery', async () => {
    await using plane = await world({ jwksUri: `${provider.issuer}/elsewhere` });
    expect(await whoIs(plane, token())).toBe('alice');
    expect(provider.requests).toEqual(['/elsewhere']);
  });

  test('is refused for whatever is wrong with it, in the same words', async () => {
    await using plane = await world();
    const publicKey = new TextEncoder().encode(await exportSPKI(first.publicKey));
    const wrong: Record<string, string> = {
      expired: await token({ expiresIn: -31 }),
      'not valid yet': await token({ startsIn: 31 }),
      'without expiry': await token({ exp: undefined }),
      'wrong audience': await token({ aud: 'somebody-else' }),
      'no audience': await token({ aud: undefined }),
      'wrong issuer': await token({ iss: 'https://login.example' }),
      'wrong key': await token({}, second),
      'unknown key': await token({}, second, { alg: 'RS256', kid: 'second' }),
      'another algorithm': await new SignJWT(claimsOf({}))
        .setProtectedHeader({ alg: 'PS256', kid: 'first' })
        .sign((await generateKeyPair('PS256')).privateKey),
      'alg none': new UnsecuredJWT(claimsOf({})).encode(),
      'HMAC with the public key': await new SignJWT(claimsOf({}))
        .setProtectedHeader({ alg: 'HS256', kid: 'first' })
        .sign(publicKey),
      'unknown email': await token({ email: 'nobody@example.com' }),
      'no email': await token({ email: undefined }),
      'email not verified': await token({ email_verified: false }),
      'email not said to be verified': await token({ email_verified: undefined }),
      tampered: (await token()).replace(
        /\.[^.]+\./,
        `.${btoa(JSON.stringify(claimsOf({ email: 'bob@example.com' }))).replaceAll('=', '')}.`,
      ),
      'no token': 'a.b.c',
    };
    const messages = new Set<string>();
    for (const [what, bearer] of Object.entries(wrong)) {
      const headers = { authorization: `Bearer ${bearer}` };
      const answer = await plane.call('GET', '/api/account', undefined, { headers });
      expect([what, answer.status, answer.body.error.code]).toEqual([what, 401, 'unauthenticated']);
      messages.add(answer.body.error.message);
      const mutation = await plane.call('POST', '/api/services', trainer, { headers });
      expect([what, mutation.status]).toEqual([what, 401]);
    }
    const unknownKey = await plane.call('GET', '/api/me', undefined, { as: 'unknown-key' });
    expect(new Set([...messages, unknownKey.body.error.message]).size).toBe(1);
    const missing = await plane.call('GET', '/api/me', undefined, { headers: { authorization: '' } });
    expect(missing.body.error.message).toContain('needs credentials');
    expect((await plane.ok('GET', '/api/account')).services).toEqual([]);
  });

  test('may be off by half a minute', async () => {
    await using plane = await world();
    expect(await whoIs(plane, token({ expiresIn: -29 }))).toBe('alice');
    expect(await whoIs(plane, token({ startsIn: 30 }))).toBe('alice');
  });

  test("doesn't make up for an email that the accounts file calls unverified", async () => {
    await using plane = await world();
    const headers = { authorization: `Bearer ${await token({ email: 'newcomer@example.com' })}` };
    const answer = await plane.call('POST', '/api/services', trainer, { headers });
    expect([answer.status, answer.body.error.code]).toEqual([403, 'email_unverified']);
  });

  test('opens an account that has no API key', async () => {
    const keyless = accounts.accounts.map((account) => ({ ...account, apiKeys: [] }));
    await using plane = await world({}, { accounts: { accounts: keyless } });
    expect(await whoIs(plane, token())).toBe('alice');
    expect(await whoIs(plane, key.alice)).toBe(refused);
  });

  test('of an email that only folds into a known one in some other alphabet is refused', async () => {
    const [alice, ...others] = accounts.accounts;
    if (!alice) throw new Error('no alice');
    const mark = { ...alice, email: 'mark@example.com' };
    await using plane = await world({}, { accounts: { accounts: [mark, ...others] } });
    expect(await whoIs(plane, token({ email: 'MARK@example.com' }))).toBe('alice');
    expect(await whoIs(plane, token({ email: 'MAR\u212A@example.com' }))).toBe(refused);
  });

  test('counts for the rate limit of its account', async () => {
    await using plane = await world({}, { rateLimitPerSecond: 1 });
    expect(await whoIs(plane, token())).toBe('alice');
    expect(await whoIs(plane, key.alice)).toBe('429 rate_limited');
    expect(await whoIs(plane, token({ email: 'bob@example.com' }))).toBe('bob');
  });

  test('means nothing where no provider is configured', async () => {
    await using plane = await startWorld({ clock });
    expect(await whoIs(plane, token())).toBe(refused);
    expect(provider.requests).toEqual([]);
  });

  test('is in no log and not in the journal', async () => {
    const log: string[] = [];
    const logger = pino({ level: 'trace' }, { write: (line: string) => void log.push(line) });
    await using plane = await world({}, { logger });
    const [good, bad] = [await token(), await token({ aud: 'x' })];
    for (const bearer of [good, bad]) {
      await plane.call('POST', '/api/services', trainer, { headers: { authorization: `Bearer ${bearer}` } });
    }
    const { text } = await plane.admin('GET', '/requests');
    expect(text).toContain('"account":"alice"');
    expect(log.length).toBeGreaterThan(1);
    for (const bearer of [good, bad]) expect(text + log.join('\n')).not.toContain(bearer.split('.')[2]);
  });
});

test('an API key is one, whatever it looks like', async () => {
  const apiKeys = [await token({ email: 'bob@example.com' })];
  const [alice, ...others] = accounts.accounts;
  if (!alice) throw new Error('no alice');
  await using plane = await world({}, { accounts: { accounts: [{ ...alice, apiKeys }, ...others] } });
  expect(await whoIs(plane, apiKeys[0] ?? '')).toBe('alice');
  expect(provider.requests).toEqual([]);
});

test('a header of its own carries the token alone, and an API key wins over it', async () => {
  await using plane = await world({ header: 'x-id-token' });
  const call = async (headers: Record<string, string>) =>
    (await plane.call('GET', '/api/me', undefined, { headers: { authorization: '', ...headers } })).body;
  expect(await call({ 'X-Id-Token': await token() })).toMatchObject({ name: 'alice' });
  expect(await call({ 'X-Id-Token': `Bearer ${await token()}` })).toMatchObject({ name: 'alice' });
  expect(await call({ 'X-Id-Token': await token(), authorization: `Bearer ${key.bob}` })).toMatchObject({
    name: 'bob',
  });
  expect(await call({ authorization: `Bearer ${await token()}` })).toMatchObject({
    error: { code: 'unauthenticated' },
  });
});

// COVERAGE 80
test('our own client sends it there: `credentialsHeader` of an Account', async () => {
  await using plane = await world({ header: 'x-id-token' });
  await using client = clientOf(plane.url, await token(), 'X-Id-Token');
  expect(await client.api.account()).toMatchObject({ kind: 'applied' });
  const created = await client.api.createVolume(
    { name: 'data', region: 'standard', sizeGb: 10 },
    randomUUID(),
  );
  expect(created).toMatchObject({ kind: 'applied', value: { name: 'data' } });
  await using bearer = clientOf(plane.url, await token());
  expect(await bearer.api.account()).toMatchObject({ kind: 'refused', status: 401 });
});

describe('the keys of the provider', () => {
  test('are fetched again for a token with a new one, at most every half a minute', async () => {
    await using plane = await world();
    expect(await whoIs(plane, token())).toBe('alice');
    provider.keys = [await published(second, 'second')];
    const rotated = await token({}, second, { alg: 'RS256', kid: 'second' });
    expect(await whoIs(plane, rotated)).toBe(refused);
    expect(provider.requests).toHaveLength(2);
    await clock.advance(30_000);
    expect(await whoIs(plane, rotated)).toBe('alice');
    expect(await whoIs(plane, token())).toBe(refused);
    expect(provider.requests).toHaveLength(4);
  });

  test('count no longer than ten minutes after they were withdrawn', async () => {
    await using plane = await world();
    expect(await whoIs(plane, token())).toBe('alice');
    provider.keys = [await published(second, 'second')];
    await clock.advance(10 * 60_000 - 1);
    expect(await whoIs(plane, token())).toBe('alice');
    await clock.advance(1);
    expect(await whoIs(plane, token())).toBe(refused);
  });

  test('are fetched once for all tokens that wait for them', async () => {
    await using plane = await world();
    const names = await Promise.all(Array.from({ length: 10 }, () => whoIs(plane, token())));
    expect(new Set(names)).toEqual(new Set(['alice']));
    expect(provider.requests).toHaveLength(2);
  });

  test('that can not be had leave tokens with 503, and API keys working; soon it is tried again', async () => {
    await using plane = await world();
    provider.answers = 'errors';
    expect(await whoIs(plane, token())).toBe('503 identity_unavailable');
    expect(await whoIs(plane, token())).toBe('503 identity_unavailable');
    expect(provider.requests).toHaveLength(1);
    expect(await whoIs(plane, key.alice)).toBe('alice');
    expect((await plane.call('GET', '/api/catalog')).status).toBe(200);
    provider.answers = 'documents';
    await clock.advance(5_000);
    expect(await whoIs(plane, token())).toBe('alice');
  });

  test('are done without while they are fresh, also when the provider is gone', async () => {
    await using plane = await world();
    expect(await whoIs(plane, token())).toBe('alice');
    provider.close();
    await clock.advance(30_000);
    expect(await whoIs(plane, token({}, second, { alg: 'RS256', kid: 'second' }))).toBe(
      '503 identity_unavailable',
    );
    expect(await whoIs(plane, token())).toBe('alice');
  });

  test('are not waited for without end', async () => {
    provider.answers = 'nothing';
    const logger = pino({ level: 'silent' });
    const tokens = new IdTokens(identityOf(provider), { clock, fetch, logger, fetchTimeoutMs: 50 });
    await expect(tokens.emailOf(await token())).rejects.toMatchObject({ status: 503 });
  });

  test.each([
    ['of another issuer', () => ({ issuer: 'https://login.example', jwks_uri: `${provider.issuer}/keys` })],
    ['without keys', () => ({ issuer: provider.issuer })],
    ['with keys in the clear', () => ({ issuer: provider.issuer, jwks_uri: 'http://login.example/keys' })],
    [
      'that is endless',
      () => ({ issuer: provider.issuer, jwks_uri: `${provider.issuer}/keys`, more: 'x'.repeat(2 ** 20) }),
    ],
  ])('are not taken from a discovery document %s', async (_, discovery) => {
    await using plane = await world();
    provider.discovery = discovery();
    expect(await whoIs(plane, token())).toBe('503 identity_unavailable');
    expect(provider.requests).toEqual(['/.well-known/openid-configuration']);
  });
});
