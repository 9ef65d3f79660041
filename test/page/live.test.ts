/** What the page has of a view, after any sequence of events (GI5: it is what the server has). */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { applied, nothingYet, outdated } from '../../src/page/live.ts';
import { routeOf, linkTo } from '../../src/page/route.ts';
import { clockTime, duration, usd } from '../../src/page/format.ts';

const item = (id: string, value = 0) => ({ id, value: { value } });

test('a change names what is new, what left, and the order', () => {
  const state = applied(nothingYet, 'state', { head: { total: 2 }, items: [item('a'), item('b')] });
  const changed = { changed: [item('b', 1), item('c')], removed: ['a'], order: ['c', 'b'] };
  expect(applied(state, 'change', changed)).toEqual({ head: { total: 2 }, items: [item('c'), item('b', 1)] });
});

test('a head of null is a view whose object is gone; an unknown event changes nothing', () => {
  const state = applied(nothingYet, 'state', { head: { total: 2 }, items: [] });
  expect(applied(state, 'change', { head: null }).head).toBeNull();
  expect(applied(state, 'other', { head: null })).toBe(state);
});

test('with another filter, what was shown stays until there is what matches', () => {
  const state = applied(nothingYet, 'state', { head: { total: 1 }, items: [item('a')] });
  const before = outdated(state);
  expect([before.items, before.isOutdated]).toEqual([[item('a')], true]);
  const now = applied(before, 'state', { head: { total: 1 }, items: [item('b')] });
  expect(now).toEqual({ head: { total: 1 }, items: [item('b')] });
  expect(outdated(nothingYet)).toBe(nothingYet);
  expect(outdated({ ...nothingYet, head: null })).toBe(nothingYet);
});

test('a link leads back to the view it was made of', () => {
  const part = fc.string({ minLength: 1 }).filter((text) => text.isWellFormed());
  fc.assert(
    fc.property(part, part, part, fc.dictionary(part, part), (kind, namespace, name, query) => {
      const route = routeOf(linkTo(['objects', kind, namespace, name], query));
      expect(route).toEqual({ view: 'object', path: [kind, namespace, name], query: { ...query } });
    }),
  );
});

test.each([
  ['#/objects/ContainerService/shop', 'unknown'],
  ['#/nothing', 'unknown'],
  ['', 'problems'],
  ['#/fleets/shop/llm', 'fleet'],
  ['#/objects/%E0%A4%A/b/c', 'object'],
  ['#/__proto__', 'unknown'],
  ['#/constructor', 'unknown'],
  ['#/constructor/a', 'unknown'],
  ['#/toString/a/b', 'unknown'],
])('%s is the view %s', (hash, view) => {
  expect(routeOf(hash).view).toBe(view);
});

test('small amounts are not nothing, and times of other days have their date', () => {
  expect([usd(0), usd(14_000), usd(1_940_000), usd(-5_000_000), usd(6_000_000_000)]).toEqual([
    '$0.00',
    '$0.0140',
    '$1.94',
    '−$5.00',
    '$6,000.00',
  ]);
  expect([999, 61_000, 3_660_000, 86_400_000].map(duration)).toEqual(['0 s', '1 min', '1 h 1 min', '1 d']);
  const nowMs = Date.UTC(2026, 10, 27, 14);
  expect(clockTime(nowMs - 3_600_000, nowMs, 'UTC')).toBe('13:00');
  expect(clockTime(nowMs - 86_400_000, nowMs, 'UTC')).toBe('26 Nov, 14:00');
  expect(clockTime(nowMs - 400 * 86_400_000, nowMs, 'UTC')).toBe('23 Oct 2025, 14:00');
});
