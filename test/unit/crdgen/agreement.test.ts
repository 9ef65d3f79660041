import { readFileSync, globSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { documents, managedKinds, type ManagedKind } from '../../../src/resources/index.ts';
import { refused, values } from './documents.ts';
import { anySpec, borderSpec, mayDiffer, wordSpecs } from './draws.ts';
import { clusterVerdict, documentOf, folderVerdict, type Verdict } from './support.ts';

const examples = path.join(import.meta.dirname, '../../../examples');
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

  test.each(managedKinds)('%s: each field has values here that are good, and values that are not', (kind) => {
    const { shape } = documents[kind].shape.spec;
    expect(Object.keys(shape).filter((field) => values[kind][field] === undefined)).toEqual([]);
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

describe('what is drawn from the schema, at its borders and beyond, is accepted by both or by none', () => {
  test.each(managedKinds)('%s', (kind) => {
    fc.assert(
      fc.property(borderSpec(kind), (spec) => {
        const document = documentOf(kind, spec);
        expect(outcome(clusterVerdict(kind, document))).toEqual(outcome(folderVerdict(kind, document)));
      }),
      { numRuns: 500 },
    );
  });
});

describe('addresses, times and names that are nearly right are accepted by both or by none, but for what no pattern says', () => {
  test.each(wordSpecs)('%s of %s', (_field, kind, specs) => {
    fc.assert(
      fc.property(specs, (spec) => {
        const document = documentOf(kind, spec);
        const inCluster = outcome(clusterVerdict(kind, document));
        const inFolder = outcome(folderVerdict(kind, document));
        const differ = (inCluster === 'refused') !== (inFolder === 'refused');
        fc.pre(!differ || !mayDiffer(spec, inCluster !== 'refused'));
        expect(inCluster).toEqual(inFolder);
      }),
      { numRuns: 2000 },
    );
  });
});
