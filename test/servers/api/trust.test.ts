import { expect, test } from 'vitest';
import { ControlApi, Limiter, createTransport, type CredentialTrust } from '../../../src/api/index.ts';
import { Sensitive } from '../../../src/base/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { errorForm, reply, serve } from './support.ts';

const id = '00000000-0000-4000-8000-000000000001';
const account = { balanceMicros: 1, currency: 'USD', services: [], volumes: [], ledger: [] };

/** A client whose key may be changed, and which trusts only the keys in `trusted`. */
function distrustful(baseUrl: string, trusted: Set<string>) {
  const clock = new ManualClock();
  const metrics = createMetrics();
  const transport = createTransport(clock);
  const trust: CredentialTrust = {
    trusts: (credential) => trusted.has(credential.reveal()),
    rejected: () => trusted.clear(),
    lastTrusted: undefined,
  };
  const key = { current: 'first' };
  const api = new ControlApi({
    baseUrl,
    credential: () => new Sensitive(key.current),
    transport,
    limiter: new Limiter({ account: 'a', perSecond: 1000, burst: 1000, concurrency: 8 }, clock, metrics),
    clock,
    metrics,
    trust,
  });
  return { api, key, [Symbol.asyncDispose]: () => transport.close() };
}

test('a key of which nobody knows whose it is reads nothing, and changes nothing', async () => {
  await using server = await serve(reply(200, account));
  await using client = distrustful(server.url, new Set(['first']));
  expect((await client.api.account()).kind).toBe('applied');
  client.key.current = 'second';
  const outcomes = await Promise.all([
    client.api.account(),
    client.api.service(id),
    client.api.actOnService(id, { action: 'delete' }, 'k'),
    client.api.deleteVolume(id, 'l'),
  ]);
  for (const outcome of outcomes) {
    expect(outcome).toEqual({
      kind: 'not-sent',
      reason: 'the account of the API key has to be checked first',
    });
  }
  expect(server.requests).toHaveLength(1);
});

test('it may be asked whose it is, and the catalog may be read by anybody', async () => {
  await using server = await serve(reply(200, { id: 'acme' }));
  await using client = distrustful(server.url, new Set());
  expect(await client.api.me(new Sensitive('second'))).toMatchObject({
    kind: 'applied',
    value: { id: 'acme' },
  });
  await client.api.catalog();
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer second', undefined]);
});

// COVERAGE 84
test('a key that was rejected once is not trusted any more', async () => {
  const trusted = new Set(['first']);
  await using server = await serve(reply(401, errorForm('unauthenticated')));
  await using client = distrustful(server.url, trusted);
  expect(await client.api.service(id)).toMatchObject({ kind: 'refused', status: 401 });
  expect((await client.api.account()).kind).toBe('not-sent');
});

test.each([
  [{ id: 7 }, { id: '7' }],
  [
    { id: null, email: 'a@b.example' },
    { id: null, email: 'a@b.example' },
  ],
  [{ id: { nested: true }, email: 3, emailVerified: 'yes' }, {}],
  [{ subject: 'x' }, { subject: 'x' }],
])('an identity that is shown as %j is read, as far as it can be', async (shown, read) => {
  await using server = await serve(reply(200, shown));
  await using client = distrustful(server.url, new Set());
  const outcome = await client.api.me(new Sensitive('k'));
  const value = outcome.kind === 'applied' ? outcome.value : undefined;
  expect(JSON.parse(JSON.stringify(value))).toEqual(read);
});
