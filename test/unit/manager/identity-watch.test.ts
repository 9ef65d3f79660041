import { beforeEach, expect, test } from 'vitest';
import type { Outcome, wire } from '../../../src/api/index.ts';
import { Sensitive } from '../../../src/base/index.ts';
import { IdentityWatch } from '../../../src/manager/identity-watch.ts';
import type { OriginHold } from '../../../src/engine/plan/index.ts';
import { MemoryStore, type IdentityPin } from '../../../src/state/index.ts';
import { createLogger } from '../../../src/telemetry/index.ts';
import { owner } from '../../support/plan.ts';

const { signal } = new AbortController();
const account = 'default/default';
const origin = 'https://api.invalid';
let store: MemoryStore;
let key: string | undefined;
let accepted: string[];
/** What the API says of each key. */
let identities: Map<string, Outcome<wire.Identity>>;
let asked: string[];
let heartbeatsWait: boolean;
/** Runs while the API is being asked. */
let meanwhile: () => void;
let watch: IdentityWatch;
let hold: OriginHold | undefined;

const shows = (value: wire.Identity): Outcome<wire.Identity> => ({ kind: 'applied', status: 200, value });
const refused = (status: number): Outcome<wire.Identity> => ({
  kind: 'refused',
  status,
  meaning: 'Validation',
  code: 'no',
  message: 'no',
  retryAfterMs: undefined,
});

beforeEach(() => {
  store = new MemoryStore({ digestKey: owner.digestKey, ownerName: 'lab' }, [], []);
  key = 'first';
  accepted = [];
  asked = [];
  heartbeatsWait = false;
  hold = undefined;
  meanwhile = () => undefined;
  identities = new Map([
    ['first', shows({ id: 'acme', emailVerified: true })],
    ['rotated', shows({ id: 'acme' })],
    ['foreign', shows({ id: 'other' })],
  ]);
  watch = watchOf(store);
});

function watchOf(of: MemoryStore): IdentityWatch {
  return new IdentityWatch({
    account,
    store: of,
    credential: () => (key === undefined ? undefined : new Sensitive(key)),
    me: async (credential) => {
      asked.push(credential.reveal());
      meanwhile();
      return identities.get(credential.reveal()) ?? refused(401);
    },
    heartbeatsWait: () => heartbeatsWait,
    lastKnown: undefined,
    onRejected: () => undefined,
    accepted: () => accepted,
    isDocument: true,
    origin,
    hold: () => hold,
    missingKey: () => ({ remedy: 'put one there' }),
    logger: createLogger('silent'),
  });
}

test('a key is trusted once it is known whose it is, and only that key', async () => {
  expect(watch.current).toBe(false);
  expect(await watch.check(signal)).toBeUndefined();
  expect([watch.current, watch.name, watch.emailVerified]).toEqual([true, 'acme', true]);
  key = 'rotated';
  expect(watch.current).toBe(false);
  expect(await watch.check(signal)).toBeUndefined();
  expect(watch.trusts(new Sensitive('rotated'), 'ordinary')).toBe(true);
  expect(watch.trusts(new Sensitive('first'), 'ordinary')).toBe(false);
});

test("another account's key is not trusted, and the message says whose it was, whose it is and how to accept it", async () => {
  await watch.check(signal);
  key = 'foreign';
  const problem = await watch.check(signal);
  expect(problem?.reason).toBe('IdentityChanged');
  expect(problem?.message).toMatch(/belonged to the account acme, and now belongs to other/);
  expect(problem?.message).toContain('fleetkeeper.dev/accept-identity: "other"');
  expect(watch.current).toBe(false);
  expect(store.identityPin(account)).toMatchObject({ id: 'acme' });
  key = 'first';
  expect(await watch.check(signal)).toBeUndefined();
});

test('an account that the API knows by its key is known by a digest, and another key is not its', async () => {
  identities = new Map([
    ['first', shows({ id: 'Bearer first' })],
    ['foreign', shows({ id: 'Bearer foreign' })],
  ]);
  expect(await watch.check(signal)).toBeUndefined();
  expect(JSON.stringify(store.identityPin(account))).not.toContain('first');
  expect(watch.name).toMatch(/^digest-[0-9a-f]{16}$/);
  watch.recheck();
  expect(await watch.check(signal)).toBeUndefined();
  key = 'foreign';
  expect((await watch.check(signal))?.reason).toBe('IdentityChanged');
});

test('an identity that a person accepts is the one from then on', async () => {
  await watch.check(signal);
  key = 'foreign';
  accepted = ['other'];
  expect(await watch.check(signal)).toBeUndefined();
  expect(watch.name).toBe('other');
  key = 'first';
  expect((await watch.check(signal))?.reason).toBe('IdentityChanged');
});

test('a key that changes while it is being asked about is not taken for the one that was asked about', async () => {
  await watch.check(signal);
  meanwhile = () => (key = 'foreign');
  watch.recheck();
  await watch.check(signal);
  expect(asked).toEqual(['first', 'first']);
  expect(watch.current).toBe(false);
});

test('a key is not trusted before its pin is durable, however often it is asked about', async () => {
  let isFull = true;
  class FullStore extends MemoryStore {
    override identityPinIsDurable(): boolean {
      return !isFull;
    }
    override async saveIdentityPin(name: string, pin: IdentityPin | undefined): Promise<void> {
      await super.saveIdentityPin(name, pin);
      if (isFull) throw new Error('the API server is not there');
    }
  }
  store = new FullStore({ digestKey: owner.digestKey, ownerName: 'lab' }, [], []);
  watch = watchOf(store);
  for (let time = 0; time < 2; time += 1) {
    expect((await watch.check(signal))?.message).toContain('the API server is not there');
    expect([watch.current, asked, store.identityPin(account)]).toEqual([false, [], undefined]);
  }
  isFull = false;
  expect(await watch.check(signal)).toBeUndefined();
  expect(watch.current).toBe(true);
});

test('where a key goes is written down before it goes there, also when nothing comes back', async () => {
  const seen: unknown[] = [];
  meanwhile = () => seen.push(store.identityPin(account)?.origin);
  identities.set('first', { kind: 'unknown', reason: 'reset' });
  await watch.check(signal);
  expect([seen, store.identityPin(account)?.origin]).toEqual([[origin], origin]);
});

test('an address that nothing could be sent to is not held against the next one', async () => {
  identities.set('first', { kind: 'not-sent', reason: 'ENOTFOUND' });
  await watch.check(signal);
  expect(store.identityPin(account)).toBeUndefined();
  const accountBefore = { id: 'acme', emailDigest: undefined, origin: 'https://before.invalid' };
  await store.saveIdentityPin(account, accountBefore);
  await watch.check(signal);
  expect(store.identityPin(account)).toEqual(accountBefore);
});

test("where another account's key was accepted to go is not where the key of the account went", async () => {
  const before = { id: 'acme', emailDigest: undefined, origin: 'https://before.invalid' };
  await store.saveIdentityPin(account, before);
  key = 'foreign';
  expect((await watch.check(signal))?.reason).toBe('IdentityChanged');
  expect(store.identityPin(account)).toEqual(before);
});

test('a key whose Account is held while its origin is written down is not sent', async () => {
  const save = store.saveIdentityPin.bind(store);
  store.saveIdentityPin = async (...given) => {
    await save(...given);
    hold = { reason: 'OriginChanged', message: 'elsewhere', heartbeats: true };
  };
  expect((await watch.check(signal))?.reason).toBe('OriginChanged');
  expect(asked).toEqual([]);
});

test('heartbeats go on with a key whose pin is known, also while that can not be written', async () => {
  await watch.check(signal);
  store.identityPinIsDurable = () => false;
  store.saveIdentityPin = () => Promise.reject(new Error('the API server is not there'));
  heartbeatsWait = true;
  watch.rejected();
  expect(await watch.check(signal)).toBeDefined();
  expect([watch.current, watch.letsHeartbeats]).toEqual([false, true]);
});

test.each([
  ['that rejects the key', refused(401), 'CredentialRejected'],
  ['that is out of order', { kind: 'unknown', reason: 'reset' } as const, 'ApiUnreachable'],
  ['that wants to be asked later', refused(429), 'ApiUnreachable'],
])('an API %s leaves it untrusted', async (_, outcome, reason) => {
  identities.set('first', outcome);
  expect((await watch.check(signal))?.reason).toBe(reason);
  expect(watch.current).toBe(false);
});

test.each([
  ['nothing of it', shows({}), 'IdentityChanged', 'now belongs to unknown'],
  ['that it may not be asked', refused(403), 'ApiUnreachable', 'refused with 403 no: no; so it is not known'],
  [
    'that there is no such thing',
    refused(404),
    'ApiUnreachable',
    'refused with 404 no: no; so it is not known',
  ],
])('an API that shows %s is used without a pin, and not after it has shown more', async (...given) => {
  const [, outcome, reason, message] = given;
  identities.set('first', outcome);
  expect(await watch.check(signal)).toBeUndefined();
  expect([watch.current, watch.name]).toEqual([true, undefined]);
  await store.saveIdentityPin(account, { id: 'acme', emailDigest: undefined });
  const problem = await watch.check(signal);
  expect(problem).toMatchObject({ reason, message: expect.stringContaining(message) });
  expect(problem?.message).toContain('acme');
  expect(watch.current).toBe(false);
});

test('an account that is suspended is no other one: its key sends heartbeats, and is used again when it may be', async () => {
  await watch.check(signal);
  identities.set('first', refused(403));
  const problem = await watch.check(signal);
  expect(problem?.message).not.toMatch(/now belongs to|Put the right key back/);
  expect([watch.current, watch.letsHeartbeats]).toEqual([false, true]);
  identities.set('first', shows({ id: 'acme', emailVerified: true }));
  expect(await watch.check(signal)).toBeUndefined();
  expect(watch.current).toBe(true);
});

test('without a key nobody is asked', async () => {
  key = undefined;
  expect(await watch.check(signal)).toMatchObject({
    reason: 'CredentialMissing',
    message: `there is no API key for the account ${account}: put one there`,
  });
  expect(asked).toEqual([]);
});

test('an unverified address is asked about again at each read, until it is verified', async () => {
  identities.set('first', shows({ id: 'acme', emailVerified: false }));
  await watch.check(signal);
  expect([watch.current, watch.trusts(new Sensitive('first'), 'ordinary')]).toEqual([false, true]);
  identities.set('first', shows({ id: 'acme', emailVerified: true }));
  await watch.check(signal);
  expect([watch.current, watch.emailVerified]).toEqual([true, true]);
});

test.each([['x'.repeat(36_000_000)], ['acme\u001b[2J'], ['acme\u202e']])(
  'an id that is long, or would steer a terminal, is known by a digest',
  async (id) => {
    identities.set('first', shows({ id }));
    await watch.check(signal);
    expect(watch.name).toMatch(/^digest-[0-9a-f]{16}$/);
    expect(JSON.stringify(store.identityPin(account)).length).toBeLessThan(300);
    expect(await watch.check(signal)).toBeUndefined();
    identities.set('first', shows({ id: `${id}y` }));
    const problem = await watch.check(signal);
    expect([problem?.reason, (problem?.message.length ?? 0) < 1000]).toEqual(['IdentityChanged', true]);
  },
);
