/** A document that is kept as one text gives what the document gave. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { keptDocument } from '../../../src/desired/kept-document.ts';
import { lineAt, readYaml, type Path, type YamlDocument } from '../../../src/desired/yaml.ts';

function read(text: string): YamlDocument {
  const { documents } = readYaml(text);
  const [document] = documents;
  if (!document) throw new Error(`no document in ${text}`);
  return document;
}

/** All of a value, each with a part that is not there behind it. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  const members: [string | number, unknown][] = Array.isArray(value)
    ? [...value.entries()]
    : typeof value === 'object' && value !== null
      ? Object.entries(value)
      : [];
  const missing = [
    [...path, 'missing'],
    [...path, 7],
    [...path, 'missing', 'deeper'],
  ];
  return [path, ...missing, ...members.flatMap(([key, member]) => pathsIn(member, [...path, key]))];
}

function expectSame(document: YamlDocument): void {
  const kept = keptDocument(document, 'a.yaml');
  expect(kept.written()).toEqual(document.value);
  const paths = pathsIn(document.value);
  expect(paths.map((path) => kept.locate(path))).toEqual(
    paths.map((path) => ({ file: 'a.yaml', line: lineAt(document, path) })),
  );
}

const key = fc.oneof(
  fc.string({ minLength: 1, maxLength: 5 }),
  fc.constantFrom('1', '0', '12', 'spec', 'a b', 'ä'),
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.double()),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
  ),
}));

test('any document has the same value, and the same line of each field', () => {
  const document = fc.dictionary(key, tree, { minKeys: 1, maxKeys: 4 });
  fc.assert(
    fc.property(document, fc.nat(3), fc.constantFrom(20, 80), (value, before, lineWidth) => {
      expectSame(read(`${'# above\n'.repeat(before)}${stringify(value, { lineWidth })}`));
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['an anchor', 'base: &base {a: 1}\nspec:\n  b: *base\n  c: *base\n'],
  ['a merge of what stands before', 'base: &base\n  a: 1\nspec:\n  <<: *base\n  b: 2\n'],
  ['a number that JSON lacks', 'spec: {a: .inf, b: -.inf, c: -0}\n'],
  ['a field far below', `spec:\n  a: 1\n${'\n'.repeat(70_000)}  b: 2\n`],
  ['a long text', `spec: {a: ${'x'.repeat(40_000)}}\n`],
  ['many fields', `spec:\n${Array.from({ length: 600 }, (_, index) => `  f${index}: 1\n`).join('')}`],
  ['a spec that is no map', 'spec: [a, b]\n'],
  ['no spec', 'kind: ConfigMap\n'],
])('so has one with %s', (_, text) => {
  expectSame(read(text));
});

test('a text that is repeated by aliases is not written out', () => {
  const aliases = Array.from({ length: 20_000 }, () => `  - *long`).join('\n');
  const document = read(`long: &long ${'x'.repeat(100_000)}\nspec:\n${aliases}\n`);
  const before = process.memoryUsage().heapUsed;
  const kept = keptDocument(document, 'a.yaml');
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50e6);
  expect(kept.locate(['spec', 19_999]).line).toBe(20_002);
});

test('what the spec gives are its own fields', () => {
  const kept = keptDocument(read('kind: A\nspec:\n  image: a\n  env: []\n'), 'a.yaml');
  expect(['image', 'env', 'kind', 'toString', ''].map((field) => kept.gives(field))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});
