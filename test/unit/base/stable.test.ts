import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestKey, digestOf, sameValue, stableJson } from '../../../src/base/index.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Small values that are often equal, and awkward names. */
const name = fc.constantFrom('a', 'b', '1', '10', '', '__proto__', 'constructor', 'toJSON', 'é');
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false, 0, 1, -1.5, '', '1', 'null', '[]'),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie('json')), { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
  ),
}));

/** The same value with the members of every object in reverse order. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([member, inner]) => [member, reversed(inner)]),
  );
}

describe('stable JSON', () => {
  test('law: the order in which members were written makes no difference', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(stableJson(reversed(value))).toBe(stableJson(value));
      }),
    );
  });

  test('law: equal values have equal texts, and different ones have different texts', () => {
    fc.assert(
      fc.property(json, json, (left, right) => {
        expect(stableJson(left) === stableJson(right)).toBe(isDeepStrictEqual(left, right));
        expect(sameValue(left, right)).toBe(isDeepStrictEqual(left, right));
      }),
      { numRuns: 500 },
    );
  });

  test('law: it is JSON of the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(stableJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('law: the text is what earlier versions stored digests of', () => {
    const sortedMembers = (_name: string, member: unknown): unknown =>
      typeof member === 'object' && member !== null && !Array.isArray(member)
        ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)))
        : member;
    const odd = fc.oneof(json, fc.constantFrom(undefined, new Date(0), -0, Number.NaN));
    const value = fc.oneof(odd, fc.array(odd), fc.dictionary(name, odd));
    fc.assert(
      fc.property(value, (any) => {
        expect(stableJson(any)).toBe(JSON.stringify(any, sortedMembers));
      }),
      { numRuns: 500 },
    );
  });

  test('a member that is undefined is as good as absent', () => {
    expect(sameValue({ a: 1, b: undefined }, { a: 1 })).toBe(true);
    expect(sameValue({ a: null }, {})).toBe(false);
    expect(sameValue(undefined, undefined)).toBe(true);
    expect(sameValue(undefined, null)).toBe(false);
  });
});

describe('digests', () => {
  test('law: values have the same digest exactly when they are equal', () => {
    const keyed = digestKey(Buffer.alloc(32, 1));
    fc.assert(
      fc.property(json, json, (left, right) => {
        expect(keyed.digest(left) === keyed.digest(right)).toBe(sameValue(left, right));
        expect(digestOf(left) === digestOf(right)).toBe(sameValue(left, right));
      }),
    );
  });

  test('law: another key gives another digest and another id; the same key gives the same ones', () => {
    const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(bytes, bytes, json, (left, right, value) => {
        const [one, other] = [digestKey(Buffer.from(left)), digestKey(Buffer.from(right))];
        const same = Buffer.from(left).equals(right);
        expect(one.digest(value) === other.digest(value)).toBe(same);
        expect(one.id === other.id).toBe(same);
        expect(digestKey(Buffer.from(left))).toMatchObject({ id: one.id });
        expect(digestKey(Buffer.from(left)).digest(value)).toBe(one.digest(value));
      }),
    );
  });

  test('are those of HMAC-SHA-256, of a text that was met before as well as of a new one', () => {
    const key = Buffer.alloc(32, 1);
    const keyed = digestKey(key);
    const hmac = (text: string) => createHmac('sha256', key).update(text).digest('hex');
    for (let count = 0; count < 6000; count += 1) {
      const value = `text ${(count * count) % 4999}`;
      expect(keyed.digest(value)).toBe(hmac(`value:${JSON.stringify(value)}`).slice(0, 16));
      expect(keyed.sign(value)).toBe(hmac(`signed:${JSON.stringify(value)}`));
    }
  });

  test('have the forms that fit into a name', () => {
    const keyed = digestKey(Buffer.alloc(32));
    expect(keyed.id).toMatch(/^[0-9a-f]{8}$/);
    expect(keyed.digest({ a: 1 })).toMatch(/^[0-9a-f]{16}$/);
    expect(digestOf({ a: 1 })).toMatch(/^[0-9a-f]{64}$/);
  });

  test('no value that can be digested gives away the key id', () => {
    const keyed = digestKey(Buffer.alloc(32));
    expect(keyed.digest('fleetkeeper key id').startsWith(keyed.id)).toBe(false);
    expect(keyed.digest(undefined)).not.toBe(keyed.digest(null));
  });
});
