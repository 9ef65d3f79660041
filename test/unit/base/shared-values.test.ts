import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { SharedValues } from '../../../src/base/index.ts';

test('any parsed value is equal afterwards', () => {
  const sharings = [new SharedValues(), new SharedValues({ areSlices: true })];
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(...sharings), (value, shared) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(shared.share(JSON.parse(text)))).toBe(text);
    }),
  );
});

test('any value is as it was, with numbers that JSON lacks, and members that are undefined', () => {
  const shared = new SharedValues();
  const anything = fc.object({ values: [fc.double(), fc.string(), fc.constant(undefined), fc.bigInt()] });
  fc.assert(
    fc.property(anything, (value) => {
      expect(shared.share(structuredClone(value))).toStrictEqual(structuredClone(value));
    }),
  );
});

test('what is no plain object keeps its identity: its members do not show what it has', () => {
  const members = { secret: new Secret('a'), other: new Secret('b'), made: Object.create(null) as object };
  const { secret, other, made } = members;
  const shared = new SharedValues().share(members);
  expect(shared.secret).toBe(secret);
  expect(shared.other).toBe(other);
  expect(shared.made).toBe(made);
});

class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }
}

test('equal small parts are one, in whatever they are, and nobody can change it for the others', () => {
  const shared = new SharedValues();
  const value = () => ({ name: 'x', env: [{ name: 'A', value: 'b' }], labels: {}, drift: [] });
  const [left, right] = [shared.share(value()), shared.share(value())];
  expect(left.env).toBe(right.env);
  expect(left.labels).toBe(right.labels);
  expect(left.drift).toBe(right.drift);
  expect(left).not.toBe(right);
  expect(() => left.drift.push('x' as never)).toThrow(TypeError);
});

test('the value itself is returned, with its members replaced in it', () => {
  const value = { env: [{ name: 'A' }], image: 'a' };
  expect(new SharedValues().share(value)).toBe(value);
});

test('a value that was shared before can be shared again', () => {
  const value = { env: [{ name: 'A', value: 'b' }], labels: {}, drift: [] };
  const once = structuredClone(value);
  expect(new SharedValues().share(new SharedValues().share(value))).toEqual(once);
});

test('where only texts are shared, each part stays the one that it was', () => {
  const value = { env: [{ name: 'A' }], image: 'a' };
  const { env } = value;
  const [variable] = env;
  new SharedValues().shareTexts(value);
  expect(value.env).toBe(env);
  expect(value.env[0]).toBe(variable);
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

test('equal texts and parts cost their memory once', () => {
  const text = JSON.stringify({
    image: `ghcr.io/acme/${'x'.repeat(60)}`,
    resources: { cpu: 1, memoryGb: 2 },
  });
  const many = (shared?: SharedValues) => () =>
    Array.from({ length: 10_000 }, () => {
      const value: unknown = JSON.parse(text);
      return shared ? shared.share(value) : value;
    });
  expect(retainedBytes(many(new SharedValues()))).toBeLessThan(retainedBytes(many()) / 3);
});

test('what is kept of a file does not keep the text of the file', () => {
  const name = (file: number) => `a-name-of-file-${file}`;
  const many = (shared?: SharedValues) => () =>
    Array.from({ length: 1000 }, (_, file) => {
      const text = `${'#'.repeat(10_000)}${name(file)}${'-x'.repeat(100)}`;
      const value = { name: text.slice(10_000, 10_000 + name(file).length), long: text.slice(10_000) };
      return shared ? shared.share(value) : value;
    });
  expect(retainedBytes(many(new SharedValues({ areSlices: true })))).toBeLessThan(retainedBytes(many()) / 10);
});
