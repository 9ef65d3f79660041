import { readFileSync, globSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { managedKinds, type ManagedKind } from '../../src/resources/index.ts';
import { refused, values } from './documents.ts';
import type { StructuralSchema } from '../../src/crdgen/index.ts';
import { clusterVerdict, documentOf, folderVerdict, openApiSchema, type Verdict } from './support.ts';

type Fields = Readonly<Record<string, unknown>>;

const examples = path.join(import.meta.dirname, '../../examples');
const written = globSync('**/*.yaml', { cwd: examples }).flatMap((file) =>
  parseAllDocuments(readFileSync(path.join(examples, file), 'utf8'))
    .map((document) => document.toJS() as { kind?: ManagedKind; metadata?: { name: string } })
    .filter(({ kind }) => kind !== undefined && managedKinds.includes(kind))
    .map((document) => [`${file}: ${document.kind}/${document.metadata?.name}`, document] as const),
);

test.each(written)(
  '%s is accepted in a folder and in a cluster, with the same defaults',
  (_name, document) => {
    const kind = document.kind as ManagedKind;
    const inFolder = folderVerdict(kind, document);
    expect(inFolder.refusals).toEqual([]);
    expect(clusterVerdict(kind, document)).toEqual(inFolder);
  },
);

describe('what both refuse, with the same words', () => {
  test.each(refused)('%s with %j: %s', (kind, spec, message) => {
    const document = documentOf(kind, spec);
    expect(folderVerdict(kind, document).refusals).toEqual([expect.stringContaining(message)]);
    expect(clusterVerdict(kind, document).refusals).toContainEqual(expect.stringContaining(message));
  });

  test.each([
    ['StorageVolume', 49, 'volumeName'],
    ['ServiceTemplate', 129, 'templateName'],
    ['ProtectedTask', 129, 'taskName'],
  ] as const)('%s with a name of %d characters, unless it has a shorter %s', (kind, length, field) => {
    const metadata = { name: 'n'.repeat(length) };
    const long = documentOf(kind, {}, { metadata });
    expect(folderVerdict(kind, long).refusals).toEqual([expect.stringContaining(`at most ${length - 1}`)]);
    expect(clusterVerdict(kind, long).refusals).toEqual([expect.stringContaining(`at most ${length - 1}`)]);
    const named = documentOf(kind, { [field]: 'short' }, { metadata });
    expect(folderVerdict(kind, named).refusals).toEqual([]);
    expect(clusterVerdict(kind, named).refusals).toEqual([]);
  });

  test('a variable that is given or required twice', () => {
    for (const document of [
      documentOf('ContainerService', { env: [{ name: 'A' }, { name: 'A' }] }),
      documentOf('ServiceTemplate', { requiredEnvironment: ['A', 'A'] }),
    ]) {
      const kind = document['kind'] as ManagedKind;
      expect(folderVerdict(kind, document).refusals).toHaveLength(1);
      expect(clusterVerdict(kind, document).refusals).toContainEqual(
        expect.stringContaining('Duplicate value'),
      );
    }
  });
});

test('only the manager knows the times that a window has: the object is held as InvalidSpec', () => {
  for (const window of [{ cron: '61 * * * *' }, { cron: '0 2 * * sat', timeZone: 'Europe/Nowhere' }]) {
    const document = documentOf('ContainerService', {
      disruptionWindows: [{ durationMinutes: 60, ...window }],
    });
    expect(folderVerdict('ContainerService', document).refusals).toHaveLength(1);
    expect(clusterVerdict('ContainerService', document).refusals).toEqual([]);
  }
});

/** Some of the fields, each with one of its values; those that have to be there may be missing, too. */
function anySpec(kind: ManagedKind): fc.Arbitrary<Fields> {
  const some = Object.entries(values[kind]).map(
    ([field, those]) => [field, fc.constantFrom(undefined, undefined, undefined, ...those)] as const,
  );
  return fc.record(Object.fromEntries(some), { requiredKeys: [] });
}

function outcome({ refusals, spec }: Verdict): unknown {
  return refusals.length > 0 ? 'refused' : spec;
}

describe('any document is accepted by both or by none, and filled with the same defaults', () => {
  test.each(managedKinds)('%s', (kind) => {
    fc.assert(
      fc.property(anySpec(kind), (spec) => {
        const document = documentOf(kind, spec);
        expect(outcome(clusterVerdict(kind, document))).toEqual(outcome(folderVerdict(kind, document)));
      }),
      { numRuns: 300 },
    );
  });

  const each = managedKinds.flatMap((kind) =>
    Object.keys(values[kind]).map((field) => [kind, field] as const),
  );
  test.each(each)('%s with each value of %s', (kind, field) => {
    for (const value of values[kind][field] ?? []) {
      const document = documentOf(kind, { [field]: value });
      const inFolder = outcome(folderVerdict(kind, document));
      expect([value, outcome(clusterVerdict(kind, document))]).toEqual([value, inFolder]);
    }
  });
});

/** Values at, beside and beyond the bounds that a schema has, and of other types. */
function bordersOf({
  type,
  minimum = 0,
  maximum = 1e4,
  maxLength = 70,
  enum: known,
}: StructuralSchema): unknown[] {
  if (known) return [...known, 'another'];
  const beside = [minimum, minimum - 1, minimum + 1, maximum, maximum + 1];
  if (type === 'integer') return [...beside, 0, 0.5, 2 ** 53, -(2 ** 53), '1', true];
  if (type === 'number') return [...beside, 0, 0.1, minimum / 2, minimum + 0.5, -0.1, 1e9, '1'];
  if (type === 'boolean') return [true, false, 'true', 0];
  return ['', 'a', 'A b', 'n'.repeat(maxLength), 'n'.repeat(maxLength + 1), 5];
}

/** Said in words of the one and of the other, which no two languages say alike: an address, a time, an image. */
const inWords = /url|deadline|cron|timeZone|repository/;

function drawnFrom(schema: StructuralSchema): fc.Arbitrary<unknown> {
  const { type, properties, items, nullable } = schema;
  if (properties) {
    const fields = Object.entries(properties).filter(([field]) => !inWords.test(field));
    const drawn = fields.map(([field, own]) => [field, drawnFrom(own)] as const);
    return fc.record(Object.fromEntries(drawn), { requiredKeys: [] });
  }
  if (items) return fc.array(drawnFrom(items), { maxLength: 3 });
  if (type === undefined || type === 'object') return fc.constant({});
  return fc.constantFrom(...bordersOf(schema), ...(nullable ? [null] : []));
}

describe('what is drawn from the schema, at its borders and beyond, is accepted by both or by none', () => {
  test.each(managedKinds)('%s', (kind) => {
    const spec = openApiSchema(kind).properties?.['spec'] as StructuralSchema;
    const fields = Object.entries(spec.properties ?? {}).filter(([field]) => !inWords.test(field));
    const drawn = fc.oneof(...fields.map(([field, own]) => fc.record({ [field]: drawnFrom(own) })));
    fc.assert(
      fc.property(fc.array(drawn, { minLength: 1, maxLength: 3 }), (parts) => {
        const document = documentOf(kind, Object.assign({}, ...parts) as Fields);
        expect(outcome(clusterVerdict(kind, document))).toEqual(outcome(folderVerdict(kind, document)));
      }),
      { numRuns: 500 },
    );
  });
});
