/** Mutations beyond those that the stream of the timeline shows. */
import { expect, test } from 'vitest';
import { mostOlder, OlderMutations } from '../../src/page/older-mutations.ts';
import type { Mutation } from '../../src/page/shapes.ts';
import * as made from './fleets.ts';

const [template] = made.mutations;
const mutation = (number: number): Mutation => Object.assign({}, template, { idempotencyKey: `k${number}` });
const from = (first: number, count: number) => Array.from({ length: count }, (_, at) => mutation(first + at));

type Pages = readonly (number | { readonly items: readonly Mutation[]; readonly next: string | null })[];

/** Answers one page after the other; a number is a status without a page. */
function serverOf(pages: Pages) {
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (input) => {
    const page = pages[asked.length] ?? 500;
    asked.push(typeof input === 'string' ? input : '');
    return typeof page === 'number' ? new Response('', { status: page }) : Response.json(page);
  };
  return { asked, fetch };
}

const keys = (mutations: readonly Mutation[]) => mutations.map(({ idempotencyKey }) => idempotencyKey);

test('they follow behind what the stream shows, each once, page by page to the end', async () => {
  const newest = from(-3, 203);
  const { asked, fetch } = serverOf([
    { items: from(0, 200), next: 'c1' },
    { items: from(200, 200), next: 'c2' },
    { items: from(400, 10), next: null },
  ]);
  const older = new OlderMutations();
  expect(older.state).toBe('unread');
  const since = '2026-11-27T14:00:00.000Z';
  const query = { account: 'shop/default', from: since };
  await older.read(fetch, { ...query, sort: 'x' });
  expect([older.state, keys(older.behind(newest))]).toEqual(['partly', keys(from(200, 200))]);
  await older.read(fetch, query);
  expect([older.state, keys(older.behind(newest))]).toEqual(['complete', keys(from(200, 210))]);
  await older.read(fetch, {});
  expect(asked.map((each) => new URLSearchParams(each.split('?')[1]).toString())).toEqual([
    'account=shop%2Fdefault&from=2026-11-27T14%3A00%3A00.000Z&limit=200',
    'account=shop%2Fdefault&from=2026-11-27T14%3A00%3A00.000Z&cursor=c1&limit=200',
    'account=shop%2Fdefault&from=2026-11-27T14%3A00%3A00.000Z&cursor=c2&limit=200',
  ]);
});

test('a page without a match is no end', async () => {
  const { fetch } = serverOf([
    { items: from(0, 200), next: 'c1' },
    { items: [], next: 'c2' },
    { items: [], next: 'c3' },
    { items: from(200, 1), next: 'c4' },
  ]);
  const older = new OlderMutations();
  await older.read(fetch, {});
  expect(keys(older.behind(from(0, 200)))).toEqual(['k200']);
});

test('a failure can be tried again; what is too old to continue begins anew; there is a bound', async () => {
  const pages = Array.from({ length: 12 }, (_, at) => ({ items: from(200 * at, 200), next: `c${at + 1}` }));
  const { asked, fetch } = serverOf([500, ...pages.slice(0, 2), 410, ...pages]);
  const older = new OlderMutations();
  await older.read(fetch, {});
  expect(older.state).toBe('failed');
  await older.read(fetch, {});
  expect(older.state).toBe('partly');
  await older.read(fetch, {});
  expect(older.state).toBe('failed');
  await older.read(fetch, {});
  expect(asked[4]).not.toContain('cursor');
  for (let more = 0; more < 20; more++) await older.read(fetch, {});
  expect(older.state).toBe('full');
  expect(older.behind([])).toHaveLength(mostOlder);
});
