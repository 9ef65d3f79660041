import { expect, test } from 'vitest';
import { TextCache } from '../../../src/control-plane/domain/text-cache.ts';

/** Asks for a text that says when it was made. */
function asking(cache: TextCache) {
  let made = 0;
  return (account: string, version: number, padding = 0) =>
    String(cache.bytesOf(account, version, () => `${account} ${++made}${'.'.repeat(padding)}`)).replaceAll(
      '.',
      '',
    );
}

test('a text is made once per version of its account', () => {
  const ask = asking(new TextCache());
  expect([ask('a', 1), ask('a', 1), ask('b', 1), ask('a', 1), ask('a', 2), ask('a', 2), ask('b', 1)]).toEqual(
    ['a 1', 'a 1', 'b 2', 'a 1', 'a 3', 'a 3', 'b 2'],
  );
});

test('beyond the bound the oldest text goes; one that is larger than the bound is served all the same', () => {
  const ask = asking(new TextCache(1000));
  ask('a', 1, 400);
  ask('b', 1, 400);
  ask('c', 1, 400);
  expect([ask('b', 1), ask('c', 1)]).toEqual(['b 2', 'c 3']);
  expect(ask('a', 1, 400)).toBe('a 4');
  expect(ask('huge', 1, 5000)).toBe('huge 5');
  expect(ask('huge', 1)).toBe('huge 5');
});

test('what a reader has copied is not touched by what comes later', () => {
  const cache = new TextCache();
  const copy = Buffer.concat([cache.bytesOf('a', 1, () => 'first')]);
  cache.bytesOf('a', 2, () => 'second');
  expect(String(copy)).toBe('first');
});
