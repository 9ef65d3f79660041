import { expect, test } from 'vitest';
import { ManualClock } from '../support/manual-clock.ts';
import { Typing } from '../../src/page/typing.ts';

/** A page whose address follows what is asked. */
function page() {
  const clock = new ManualClock();
  const typing = new Typing(clock);
  let route = { view: 'objects', query: {} };
  let asked: object | undefined;
  return {
    type: (q: string) => typing.type({ q }, () => (asked = { q })),
    choose: (query: Record<string, string>) => {
      typing.asked();
      asked = query;
    },
    arrive: (view = 'objects') => {
      const isSameView = view === route.view;
      route = { view, query: asked ?? {} };
      asked = undefined;
      typing.arrived(isSameView);
    },
    pass: (ms: number) => clock.advance(ms),
    get asked() {
      return asked;
    },
    get shown() {
      return typing.shown(route).query;
    },
  };
}

test('what is typed is asked for once, a moment after the last letter', async () => {
  const search = page();
  search.type('w');
  await search.pass(299);
  search.type('we');
  await search.pass(299);
  expect(search.asked).toBeUndefined();
  await search.pass(1);
  expect(search.asked).toEqual({ q: 'we' });
});

test('a letter that is typed before the address has those before it is neither hidden nor lost', async () => {
  const search = page();
  search.type('w');
  await search.pass(300);
  expect(search.shown).toEqual({ q: 'w' });
  search.type('we');
  search.arrive();
  expect(search.shown).toEqual({ q: 'we' });
  await search.pass(300);
  expect(search.asked).toEqual({ q: 'we' });
  search.arrive();
  expect(search.shown).toEqual({ q: 'we' });
});

test('a filter that is chosen meanwhile is asked for at once, and the typed text is not asked for again', async () => {
  const search = page();
  search.type('w');
  search.choose({ q: 'w', kind: 'Budget' });
  await search.pass(1000);
  expect(search.asked).toEqual({ q: 'w', kind: 'Budget' });
  search.arrive();
  expect(search.shown).toEqual({ q: 'w', kind: 'Budget' });
});

test('another view has nothing of what was typed', async () => {
  const search = page();
  search.type('w');
  search.arrive('timeline');
  expect(search.shown).toEqual({});
  await search.pass(1000);
  expect(search.asked).toBeUndefined();
});
