/** ID tokens: of the issuer, for the audience, signed with a key that it publishes, and not expired. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import { expect, onTestFinished, test, vi } from 'vitest';
import { anyOf } from '../../../src/read-api/access/access.ts';
import { OidcAccess } from '../../../src/read-api/access/oidc.ts';
import { ask, createWorld, FakeSource, openStream, recordOf, startMs } from './support.ts';

const issuer = 'https://issuer.example';
const own = await generateKeyPair('ES256', { extractable: true });
const other = await generateKeyPair('ES256', { extractable: true });
const published = { keys: [{ ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'ES256' }] };

const tokenOf = (
  claims: JWTPayload,
  {
    key = own.privateKey,
    expires = startMs / 1000 + 300,
    kid = 'one',
  }: { key?: typeof own.privateKey; expires?: number; kid?: string } = {},
) =>
  new SignJWT({ iss: issuer, aud: 'fleet', groups: ['team-a'], ...claims })
    .setProtectedHeader({ alg: 'ES256', kid })
    .setExpirationTime(expires)
    .sign(key);

function oidcWorld() {
  const folder = mkdtempSync(path.join(tmpdir(), 'oidc-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const accessFile = path.join(folder, 'access.yaml');
  writeFileSync(accessFile, 'access: [{claim: groups, value: team-a, namespaces: [a]}]');
  const provider = { isUp: true, pause: Promise.resolve(), requests: [] as string[] };
  const source = new FakeSource([recordOf('ContainerService/a/web'), recordOf('ContainerService/b/web')]);
  const made: OidcAccess[] = [];
  const world = createWorld(source, { access: { reader: async (request) => anyOf(made).reader(request) } });
  const access = new OidcAccess({
    issuer,
    audience: 'fleet',
    accessFile,
    clock: world.clock,
    fetch: async (input) => {
      const url = input instanceof Request ? input.url : input.toString();
      provider.requests.push(url);
      await provider.pause;
      if (!provider.isUp) throw new TypeError('fetch failed');
      const isKeys = url.endsWith('/keys');
      return new Response(JSON.stringify(isKeys ? published : { issuer, jwks_uri: `${issuer}/keys` }));
    },
  });
  made.push(access);
  const get = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const { status, body } = await ask(world, '/api/v1/objects', { headers });
    return [status, body.items?.map(({ key }: { key: string }) => key)];
  };
  return { world, accessFile, provider, get };
}

test('a token sees the namespaces of its claims', async () => {
  const { get, provider } = oidcWorld();
  expect(await get(await tokenOf({}))).toEqual([200, ['ContainerService/a/web']]);
  expect(await get(await tokenOf({ groups: ['others'] }))).toEqual([200, []]);
  expect(provider.requests).toEqual([`${issuer}/.well-known/openid-configuration`, `${issuer}/keys`]);
});

test.each([
  ['of another issuer', () => tokenOf({ iss: 'https://evil.example' })],
  ['for another audience', () => tokenOf({ aud: 'others' })],
  ['signed with another key', () => tokenOf({}, { key: other.privateKey })],
  ['that has expired', () => tokenOf({}, { expires: startMs / 1000 - 120 })],
  ['without a signature', async () => `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`],
  ['that is none', async () => 'abc'],
])('a token %s is refused', async (_what, make) => {
  const { world, get } = oidcWorld();
  expect((await get(await make()))[0]).toBe(401);
  expect(world.counts.denied).toEqual(['invalid']);
});

test('as long as the provider can not be asked, nobody is let in; it is not asked again at once', async () => {
  const { world, provider, get } = oidcWorld();
  provider.isUp = false;
  expect([(await get(await tokenOf({})))[0], (await get(await tokenOf({})))[0]]).toEqual([503, 503]);
  expect([provider.requests.length, world.counts.denied]).toEqual([1, ['unavailable', 'unavailable']]);
});

test('who has a known key is let in at once, though many wait for keys that nobody publishes', async () => {
  const { world, provider, get } = oidcWorld();
  expect((await get(await tokenOf({})))[0]).toBe(200);
  await world.clock.advance(60_000);
  // Its keys are asked for again by real time: jose has a clock of its own.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 120_000 });
  onTestFinished(() => void vi.useRealTimers());
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  provider.pause = answered;
  const unknown = await tokenOf({}, { kid: 'two' });
  const waiting = Array.from({ length: 40 }, () => get(unknown));
  expect((await get(await tokenOf({})))[0]).toBe(200);
  const refused = await Promise.all(waiting.slice(32));
  expect(refused.map(([status]) => status)).toEqual(refused.map(() => 503));
  answer();
  for (const [status] of await Promise.all(waiting.slice(0, 32))) expect(status).toBe(401);
});

test('nobody is let in while the access file is not valid', async () => {
  const { world, accessFile, get } = oidcWorld();
  const token = await tokenOf({});
  expect((await get(token))[0]).toBe(200);
  writeFileSync(accessFile, 'access: [{claim: groups}]');
  await world.clock.advance(1000);
  expect((await get(token))[0]).toBe(503);
});

test('the stream of a token that expires is closed within a minute', async () => {
  const { world } = oidcWorld();
  const authorization = `Bearer ${await tokenOf({}, { expires: startMs / 1000 + 30 })}`;
  const reader = await openStream(world, 'view=objects', undefined, { authorization });
  expect(reader.order).toEqual(['ContainerService/a/web']);
  await world.clock.advance(130_000);
  await vi.waitFor(() => expect(reader.isClosed).toBe(true));
  expect(world.counts.resets).toEqual(['denied']);
});
