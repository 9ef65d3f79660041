import { expect, test } from 'vitest';
import { canonicalJson } from '../../../src/base/index.ts';

test('it is the example of RFC 8785, section 3.2.2 to 3.2.4', () => {
  const value = {
    numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000_000_000_000_000_000_000_000_001],
    string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
    literals: [null, true, false],
  };
  expect(canonicalJson(value)).toBe(
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
});

test('members are sorted by UTF-16 code units, also those that look like numbers', () => {
  const value = {
    '\u20ac': 1,
    '\r': 2,
    '\ufb33': 3,
    '1': 4,
    '10': 5,
    '2': 6,
    '\ud83d\ude00': 7,
    '\u0080': 8,
    '\u00f6': 9,
  };
  expect(Object.keys(JSON.parse(canonicalJson({ b: 1, a: 2 })))).toEqual(['a', 'b']);
  expect(canonicalJson(value)).toBe('{"\\r":2,"1":4,"10":5,"2":6,"\u0080":8,"ö":9,"€":1,"😀":7,"\ufb33":3}');
});

test('what JSON does not have is left out or refused', () => {
  expect(canonicalJson({ a: undefined, b: [undefined] })).toBe('{"b":[null]}');
  expect(() => canonicalJson({ a: Number.NaN })).toThrow('JSON has no NaN');
});
