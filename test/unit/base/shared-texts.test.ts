import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { SharedTexts } from '../../../src/base/index.ts';

test('any parsed value is equal afterwards', () => {
  const texts = new SharedTexts();
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(texts.share(JSON.parse(text)))).toBe(text);
    }),
  );
});

test('the same value is returned, with its members replaced in it', () => {
  const value = { env: [{ name: 'A' }], image: 'a' };
  const { env } = value;
  expect(new SharedTexts().share(value)).toBe(value);
  expect(value.env).toBe(env);
});

/** Of a heap without garbage. */
function retainedBytes(make: () => unknown): number {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  gc();
  const before = process.memoryUsage().heapUsed;
  const made = make();
  gc();
  const bytes = process.memoryUsage().heapUsed - before;
  if (made === undefined) throw new Error('nothing was made');
  return bytes;
}

test('equal texts cost their memory once', () => {
  const text = JSON.stringify({ image: `ghcr.io/acme/${'x'.repeat(60)}` });
  const many = (texts?: SharedTexts) => () =>
    Array.from({ length: 10_000 }, () => {
      const value: unknown = JSON.parse(text);
      return texts ? texts.share(value) : value;
    });
  expect(retainedBytes(many(new SharedTexts()))).toBeLessThan(retainedBytes(many()) / 2);
});
