import { expect, test } from 'vitest';
import { Workspace, once } from './workspace.ts';
import { micros } from './shapes.ts';

const { api } = new Workspace();
const account = once(() => api.account());

test('§4 GET /api/me: is answered 200 with an identity', async () => {
  expect(await api.get('/api/me')).toBeTypeOf('object');
});

test('§4 GET /api/account: is answered 200', async () => {
  expect(await account()).toBeTypeOf('object');
});

test('§4 GET /api/registries: is answered 200 {registries}', async () => {
  expect((await api.get('/api/registries')).registries).toBeInstanceOf(Array);
});

test('§2 Account: balanceMicros is an integer within plus or minus 2^53-1', async () => {
  expect(micros.safeParse((await account()).balanceMicros).error?.message).toBeUndefined();
});

test('§2 Account: the currency is USD', async () => {
  expect((await account()).currency).toBe('USD');
});

test('§2 Account: services, volumes and ledger are arrays', async () => {
  const { services, volumes, ledger } = await account();
  expect([services, volumes, ledger].map(Array.isArray)).toEqual([true, true, true]);
});

test('§8: the ledger of an account read has at most 100 entries', async () => {
  expect((await account()).ledger.length).toBeLessThanOrEqual(100);
});
