/** What is shown without a connection. */
import { expect, test } from 'vitest';
import { KeptViews, mostKept } from '../../src/page/kept-views.ts';
import { nothingYet, outdated } from '../../src/page/live.ts';

const view = (name: string) => ({ head: name, items: [] });

test('a view that was seen can be seen again, with the time at which it was true', () => {
  const kept = new KeptViews();
  kept.keep('view=money', view('a'), 1000);
  kept.keep('view=money', view('b'), 2000);
  expect(kept.get('view=money')).toEqual({ live: view('b'), atMs: 2000 });
  expect(kept.get('view=tree').live).toBe(nothingYet);
});

test('what has not been loaded, or was refused, is not kept', () => {
  const kept = new KeptViews();
  kept.keep('view=money', view('a'), 1000);
  kept.keep('view=money', nothingYet, 2000);
  kept.keep('view=money', { head: null, items: [], refusal: 'no such label' }, 3000);
  // What another filter showed is not what this one shows.
  kept.keep('view=money', outdated(view('c')), 4000);
  expect(kept.get('view=money')).toEqual({ live: view('a'), atMs: 1000 });
});

test('as many are kept as there is room for, those that were seen last', () => {
  const kept = new KeptViews();
  for (let index = 0; index <= mostKept; index += 1) kept.keep(`view=${index}`, view('v'), index);
  expect(kept.get('view=0').live).toBe(nothingYet);
  expect(kept.get('view=1').atMs).toBe(1);
});

test('who may not read any more sees nothing of it', () => {
  const kept = new KeptViews();
  kept.keep('view=money', view('a'), 1000);
  kept.clear();
  expect(kept.get('view=money').live).toBe(nothingYet);
});
