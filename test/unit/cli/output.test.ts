import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { structured } from '../../../src/cli/output/output.ts';

/** C0, C1, DEL, marks that turn the direction of writing, zero width, a tag beyond the first plane, line separators. */
const hostile = 'a\u0000\u0007\u001b[2J\u009b31m\u007f\u202egnp\u2066\u200b\u{e0041}\u2028\u2029\ufeffz\r\tb';
const value = {
  name: hostile,
  [`key ${hostile}`]: [hostile, 'plain ü 漢 🙂', 1, null],
  lines: 'one\ntwo\n',
  list: [{ deep: hostile }],
};

test.each(['json', 'yaml'] as const)(
  '%s holds nothing that a terminal obeys or hides, and loses nothing',
  (format) => {
    const text = structured(format, value);
    // oxlint-disable-next-line no-control-regex -- that is what it is about
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]|\p{Cf}/u);
    expect(format === 'json' ? JSON.parse(text) : parse(text)).toEqual(value);
    expect(text).toContain('plain ü 漢 🙂');
  },
);

test('what is plain is written as before', () => {
  expect(structured('yaml', { items: [{ name: 'web', note: null, more: {} }], empty: [] })).toBe(
    'items:\n  - name: web\n    note: null\n    more: {}\nempty: []',
  );
});
