/** Two libraries read YAML. What the fast one reads has to be what the other one reads. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPlainYaml } from '../../../src/desired/plain-yaml.ts';
import { joinedMark, readTokens, type YamlDocument } from '../../../src/desired/yaml.ts';

const root = path.resolve(import.meta.dirname, '../../..');

type Read = Pick<YamlDocument, 'value' | 'line' | 'lines'>;

/** Values with the lines of all their members, as data. */
function shown(documents: readonly Read[]): unknown {
  return documents.map(({ value, line, lines }) => ({ value, line, lines: linesOf(value, lines) }));
}

function linesOf(value: unknown, lines: Read['lines']): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return [[...(lines.get(value) ?? [])], Object.values(value).map((member) => linesOf(member, lines))];
}

function byTokens(text: string): unknown {
  const { documents, refused } = readTokens(text);
  const faults = documents.flatMap((document) => document.faults);
  return { documents: shown(documents), faults, refused };
}

const scalars = [
  'a',
  'key',
  'two words',
  '1',
  '-1',
  '+1',
  '-0',
  '1.',
  '.5',
  '1e3',
  '1_000',
  '0x1F',
  '0o17',
  '12345678901234567890',
  '.inf',
  '-.INF',
  '.nan',
  '~',
  'null',
  'NULL',
  'true',
  'False',
  'yes',
  'no',
  '2001-01-01',
  '=',
  '<<',
  'é',
  '😀',

  '""',
  '"a"',
  "'b'",
  "'it''s'",
  '"\\n\\x41"',
  '"a\n  b"',
  '"a\\\n  b"',
  '__proto__',
  'a#b',
  'a: b',
  'http://a:80',
  '"\\U0001F600\\u00e9"',
  '"\\U00110000"',
  '1e400',
  `0x${'f'.repeat(300)}`,
  '9'.repeat(400),
  'k'.repeat(1025),
  `a${' '.repeat(1030)}`,
  'node >5',
  `image@sha256:${'7e45'.repeat(16)}`,
];
const marks = [
  ': ',
  ':',
  '- ',
  '-',
  '? ',
  '\n',
  '\n  ',
  '\n    ',
  '\n\n',
  '\n- ',
  ' ',
  '  ',
  '\t',
  '{',
  '}',
  '[',
  ']',
  ', ',
  '#',
  ' # c\n',

  '|\n  ',
  '>\n  ',
  '|-\n  ',
  '|+\n',
  '>2\n  ',
  '---\n',
  '--- ',
  '...\n',
  '%YAML 1.2\n',
  '&x ',
  '*x',
  '!t ',
  '!!str ',
  '<<: ',

  '\r\n',
  '\r',
  '\uFEFF',
  '\u0085',
  '\u2028',
  '\u0000',
  '\u0007',
  "'",
  '"',
  '\\',
  '@',
  '`',
  '|',
  '>',
];
const soup = fc
  .array(fc.constantFrom(...scalars, ...marks), { maxLength: 14 })
  .map((parts) => parts.join(''));

const indented = (text: string) => text.replaceAll('\n', '\n  ');
const { node: nested } = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(...scalars),
    fc.constantFrom(
      '{a: 1, b: [c, {d: }]}',
      '[]',
      '{}',
      '|\n  text\n   more\n',
      '>-\n  folded\n  text\n\n  end',
      '',
    ),
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', '"q"', '1', 'x y'), tie('node')), {
        minLength: 1,
        maxLength: 3,
      })
      .map((pairs) => pairs.map(([key, value]) => `\n${key}: ${indented(value)}`).join('')),
    fc
      .array(tie('node'), { minLength: 1, maxLength: 3 })
      .map((items) => items.map((value) => `\n- ${indented(value.replace(/^\n/, ''))}`).join('')),
  ),
}));
const end = fc.constantFrom('', '\n', '\n---\na: 1\n', '\n...\n', '\n# c', '\r\n');
const structured = fc.tuple(nested, end).map(([text, last]) => `${text.replace(/^\n/, '')}${last}`);

/** Returns whether it is read at once. */
function expectSame(text: string): boolean {
  const plain = readPlainYaml(text);
  if (!plain) return false;
  expect({ documents: shown(plain), faults: [], refused: undefined }).toEqual(byTokens(text));
  return true;
}

function examples(): { readonly file: string; readonly text: string }[] {
  const files = globSync('examples/**/*.yaml', { cwd: root });
  expect(files.length).toBeGreaterThan(20);
  return files.map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));
}

test('whatever is read at once has the same values and lines as token by token, and no faults', () => {
  let count = 0;
  const law = fc.property(fc.oneof(soup, structured), (text) => {
    if (expectSame(text.replaceAll(joinedMark, ''))) count += 1;
  });
  fc.assert(law, { numRuns: 4000 });
  expect(count).toBeGreaterThan(1000);
});

/** Documents with a few mistakes of somebody who types. */
test('so is a document in which something was typed over', () => {
  const texts = examples().map(({ text }) => text);
  let count = 0;
  const edit = fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.constantFrom('', ...scalars, ...marks));
  const law = fc.property(
    fc.constantFrom(...texts),
    fc.array(edit, { minLength: 1, maxLength: 3 }),
    (text, edits) => {
      let typed = text;
      for (const [at, gone, added] of edits) {
        const from = at % typed.length;
        typed = typed.slice(0, from) + added + typed.slice(from + gone);
      }
      if (expectSame(typed.replaceAll(joinedMark, ''))) count += 1;
    },
  );
  fc.assert(law, { numRuns: 500 });
  expect(count).toBeGreaterThan(50);
});

test('the examples are read at once', () => {
  for (const { file, text } of examples()) expect(`${file}: ${expectSame(text)}`).toBe(`${file}: true`);
});

test('so are images that are pinned, whatever their digest', () => {
  const digest = fc.stringMatching(/^[0-9a-f]{64}$/);
  const law = fc.property(digest, (text) => expectSame(`image: ghcr.io/acme/web@sha256:${text}\n`));
  fc.assert(law);
});

describe('left to the other one is', () => {
  test.each([
    ['an anchor', 'a: &x 1'],
    ['an alias', 'a: [&x 1, *x]'],
    ['a tag', 'a: !secret x'],
    ['a directive', '%YAML 1.2\n---\na: 1'],
    ['a merge key', '<<: {a: 1}'],
    ['a name that is written twice', 'a: 1\na: 2'],
    ['a field without a name', ': 1'],
    ['a name that objects have', '__proto__: 1'],
    // To look for its colon up to the end, for each of many, takes the square of their number.
    ['a name without a colon', '? a\n? b'],
    ['what is no YAML', 'a: [1'],
    ['a field behind a value', "a:\n- 'b' c: d"],
    ['an item behind an item', '- [a] - b'],
    ['a tab', 'a:\t1'],
    ['a line end of old Macs', 'a: 1\rb: 2'],
    ['an indented mark of a document', ' ---\na: 1'],
    ['an indentation that is given', 'a: |2\n   b'],
    ['a number that is too large', 'a: 1e400'],
    ['a long one in another base', `a: 0x${'f'.repeat(300)}`],
    ['a long name', `${'k'.repeat(1025)}: 1`],
    ['a name with many spaces behind it', `a${' '.repeat(1030)}: 1`],
    ['an escape beyond the last character', 'a: "\\U00110000"'],
    ['an empty line behind a backslash', 'a: "b\\\n\n  c"'],
    ['deep nesting', `${'['.repeat(100)}${']'.repeat(100)}`],
    ['very much', `a: ${'b'.repeat(5 * 1024 * 1024)}`],
  ])('%s', (_, text) => {
    expect(readPlainYaml(text)).toBeUndefined();
  });
});
