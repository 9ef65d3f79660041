import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseAccounts } from '../../../src/control-plane/main.ts';
import { key, startWorld, trainer, type Json } from './support.ts';

const sumOf = (ledger: Json[]): number => ledger.reduce((sum, entry) => sum + entry.amountMicros, 0);

test('a broke account that is credited lives again, and the ledger says why', async () => {
  await using world = await startWorld();
  const asPoor = (method: string, path: string, body?: unknown) => world.ok(method, path, body, key.poor);
  expect(await world.refusal('POST', '/api/services', trainer, key.poor)).toBe('409 insufficient_funds');
  const credit = { id: 'invoice-7', amountMicros: 5_000_000, description: 'paid by card' };
  const booked = await world.admin('POST', '/accounts/poor/credits', credit);
  expect([booked.status, booked.body.balanceMicros]).toEqual([201, 5_000_000]);
  const again = await world.admin('POST', '/accounts/poor/credits', credit);
  expect([again.status, again.body.balanceMicros]).toEqual([200, 5_000_000]);
  await asPoor('POST', '/api/services', trainer);
  const { balanceMicros, ledger } = await asPoor('GET', '/api/account');
  expect(balanceMicros).toBe(5_000_000);
  expect(sumOf(ledger)).toBe(balanceMicros);
  expect(ledger[0]).toMatchObject({ amountMicros: 5_000_000, description: 'paid by card' });
  expect((await world.admin('GET', '/accounts')).body.accounts).toContainEqual(
    expect.objectContaining({ name: 'poor', balanceMicros: 5_000_000, services: 1, suspended: false }),
  );
});

test.each([
  [
    'another amount under the same id',
    '/accounts/poor/credits',
    { id: 'a', amountMicros: 2 },
    '409 credit_exists',
  ],
  ['an unknown account', '/accounts/nobody/credits', { id: 'a', amountMicros: 1 }, '404 not_found'],
  ['nothing', '/accounts/poor/credits', { id: 'b', amountMicros: 0 }, '400 invalid_request'],
  ['a fraction', '/accounts/poor/credits', { id: 'b', amountMicros: 0.5 }, '400 invalid_request'],
  [
    'more than a balance can be',
    '/accounts/poor/credits',
    { id: 'b', amountMicros: 1e16 },
    '400 invalid_request',
  ],
])('a credit of %s is refused', async (_, path, body, refusal) => {
  await using world = await startWorld();
  await world.admin('POST', '/accounts/poor/credits', { id: 'a', amountMicros: 1 });
  const answer = await world.admin('POST', path, body);
  expect(`${answer.status} ${answer.body.error.code}`).toBe(refusal);
});

test('credits of the accounts file are booked once, whatever the number of starts', async () => {
  const entry = '{name: poor, email: p@example.com, balanceMicros: 0, apiKeys: [key-of-poor]';
  const credits = 'credits: [{id: a, amountMicros: 7}, {id: b, amountMicros: -2, description: correction}]';
  const file = parseAccounts(`accounts: [${entry}, ${credits}}]`, 'a.yaml');
  const folder = await mkdtemp(join(tmpdir(), 'fleetkeeper-credits-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (let start = 0; start < 2; start += 1) {
    await using world = await startWorld({ accounts: file, database: join(folder, 'c.db') });
    const { balanceMicros, ledger } = await world.ok('GET', '/api/account', undefined, key.poor);
    expect(balanceMicros).toBe(5);
    expect(ledger.map((one: Json) => one.description)).toEqual(['correction', 'credit', 'opening balance']);
  }
  expect(() =>
    parseAccounts(
      `accounts: [${entry}, credits: [{id: a, amountMicros: 7}, {id: a, amountMicros: 7}]}]`,
      'a.yaml',
    ),
  ).toThrow(/a\.yaml:1: accounts\[0\]\.credits\[1\]\.id: this id occurs twice/);
});
