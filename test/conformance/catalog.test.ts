import { expect, test } from 'vitest';
import { z } from 'zod';
import { Api } from './api.ts';
import { gpu, payment } from './shapes.ts';
import { target } from './target.ts';
import { once } from './workspace.ts';

const anonymous = new Api(target.url, undefined);
const catalog = once(() => anonymous.get('/api/catalog'));

test('§5 rule 3: the catalog needs no authentication', async () => {
  expect(await catalog()).toBeTypeOf('object');
});

test('§9 rule 2: paths carry no version segment', async () => {
  expect((await anonymous.call('GET', '/api/catalog')).status).toBe(200);
});

test('§2 Catalog: regions is an array', async () => {
  expect((await catalog()).regions).toBeInstanceOf(Array);
});

test('§2 Catalog: templates is an array', async () => {
  expect((await catalog()).templates).toBeInstanceOf(Array);
});

test('§2 Catalog: each entry of gpuCatalog has model, name, memoryGb and fullMemoryGb', async () => {
  expect(z.array(gpu).safeParse((await catalog()).gpuCatalog).error?.message).toBeUndefined();
});

test('§2 Catalog: the currency is USD', async () => {
  expect((await catalog()).currency).toBe('USD');
});

test('§2 Catalog: browserEnabled is a boolean', async () => {
  expect((await catalog()).browserEnabled).toBeTypeOf('boolean');
});

test('§2 Catalog: payment has a provider, is enabled or disabled, and has at most a text as mode', async () => {
  expect(payment.safeParse((await catalog()).payment).error?.message).toBeUndefined();
});
