import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { differingFiles, schemaFiles, schemaText } from '../../../src/crdgen/index.ts';
import { managedKinds, type ManagedKind } from '../../../src/resources/index.ts';
import { run } from '../cli/support.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { refused, values } from './documents.ts';
import { anySpec, borderSpec, mayDiffer, wordSpecs } from './draws.ts';
import { documentOf, folderVerdict } from './support.ts';

type Fields = Readonly<Record<string, unknown>>;

const root = path.join(import.meta.dirname, '../../..');
const examples = globSync(
  [
    'examples/fleet/*.yaml',
    'examples/cluster/*.yaml',
    'examples/cost/*.yaml',
    'examples/one-cluster/fleet.yaml',
    'examples/real/fleet/*.yaml',
    'examples/quickstart.yaml',
  ],
  {
    cwd: root,
  },
);
const textOf = (file: string) => readFileSync(path.join(root, file), 'utf8');

/** As an editor reads it. `strict`: an unknown keyword would be an error, and so a misspelt one is found. */
function compiled(text: string): ValidateFunction {
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
  ajv.addVocabulary(['errorMessage', 'patternErrorMessage']);
  return ajv.compile(JSON.parse(text) as object);
}

const ofFolder = compiled(schemaText());
const ofKind = new Map(managedKinds.map((kind) => [kind, compiled(schemaText(kind))]));

function errorsOf(document: unknown): readonly unknown[] {
  return ofFolder(document) ? [] : (ofFolder.errors ?? []);
}

/** Both schemas agree on every document. */
function accepts(kind: ManagedKind, document: Fields): boolean {
  const accepted = ofKind.get(kind)?.(document) === true;
  expect([document, ofFolder(document)]).toEqual([document, accepted]);
  return accepted;
}

/** The message of the schema in which a keyword failed. A field that is not allowed has that of the schema around it. */
function messageAt(text: string, schemaPath: string): unknown {
  let schema = JSON.parse(text) as Fields;
  let message: unknown;
  for (const part of schemaPath.split('/').slice(1)) {
    message = schema['errorMessage'] ?? schema['patternErrorMessage'] ?? message;
    schema = (schema[decodeURIComponent(part)] ?? {}) as Fields;
  }
  return message;
}

/** What JSON Schema can't express, by the message of the folder. */
const unsaid =
  /is given twice|must be a cron expression|must be a time zone|must not be less than pollSeconds|^spec\.url: |is greater than maxReplicas/;

/** An editor underlines nothing that the folder accepts. It misses only what JSON Schema can't express. */
function expectAgreement(kind: ManagedKind, spec: Fields): void {
  const document = documentOf(kind, spec);
  const { refusals } = folderVerdict(kind, document);
  const accepted = accepts(kind, document);
  const missed = accepted ? refusals.filter((text) => !unsaid.test(text)) : [];
  const isFalseAlarm = !accepted && refusals.length === 0 && !mayDiffer(spec, false);
  expect({ document, missed, isFalseAlarm }).toEqual({ document, missed: [], isFalseAlarm: false });
}

test('schemas/ is what is generated (else: npm run schemas)', () => {
  expect(differingFiles(path.join(root, 'schemas'), schemaFiles())).toEqual([]);
});

test('every pattern is one in all the ways in which editors read it', () => {
  const patterns = schemaFiles().flatMap(({ text }) =>
    Array.from(text.matchAll(/"pattern": (?<pattern>".*"),?$/gm), ({ groups }) =>
      String(groups?.['pattern']),
    ),
  );
  expect(patterns.length).toBeGreaterThan(50);
  for (const pattern of patterns.map((text) => JSON.parse(text) as string)) {
    expect(() => [new RegExp(pattern), new RegExp(pattern, 'u')]).not.toThrow();
  }
});

describe('every example', () => {
  test.each(examples)('%s has a line for editors in each document, and passes the schema', (file) => {
    const documents = parseAllDocuments(textOf(file));
    const lines = Array.from(
      textOf(file).matchAll(/^# yaml-language-server: \$schema=(?<schema>\S+)\n/gm),
      ({ groups }) => path.join(path.dirname(file), String(groups?.['schema'])),
    );
    expect(lines).toEqual(documents.map(() => 'schemas/folder.json'));
    for (const document of documents) {
      expect(errorsOf(document.toJS())).toEqual([]);
    }
  });
});

describe('a document of a folder', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } };

  test.each([
    ['a Secret', { ...secret, stringData: { key: 'text' }, data: { other: 'YQ==' } }],
    ['a ConfigMap', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { key: 'text' } }],
    ['of a kind that Fleetkeeper ignores', { apiVersion: 'batch/v1', kind: 'Job', spec: {} }],
    ['a list of documents', { apiVersion: 'v1', kind: 'List', items: [documentOf('StorageVolume')] }],
    [
      'as a cluster exports it',
      documentOf('StorageVolume', {}, { metadata: { name: 'a', uid: 'x', managedFields: [] }, status: {} }),
    ],
  ])('may be %s', (_what, document) => {
    expect(errorsOf(document)).toEqual([]);
  });

  test.each([
    ['without a kind', { apiVersion: 'fleetkeeper.dev/v1alpha1' }],
    ['of a kind that is misspelt', { ...documentOf('StorageVolume'), kind: 'StorageVolumes' }],
    ['of a version that is misspelt', { ...documentOf('StorageVolume'), apiVersion: 'fleetkeeper.dev/v1' }],
    ['with a field that is misspelt', documentOf('StorageVolume', { driftPolcy: 'Report' })],
    ['with metadata that is misspelt', documentOf('StorageVolume', {}, { metadata: { nam: 'a' } })],
    ['with a Secret that is not base64', { ...secret, data: { key: 'plain text' } }],
    ['with a number in a Secret', { ...secret, stringData: { key: 1 } }],
    ['with a wrong item', { apiVersion: 'v1', kind: 'List', items: [documentOf('StorageVolume', { a: 1 })] }],
  ])('is refused %s', (_what, document) => {
    expect(errorsOf(document)).not.toEqual([]);
  });

  test.each(refused)('%s with %j gets the message of the folder', (kind, spec, message) => {
    const validate = ofKind.get(kind);
    validate?.(documentOf(kind, spec));
    const shown = validate?.errors?.map(({ schemaPath }) => messageAt(schemaText(kind), schemaPath));
    expect(shown).toContainEqual(expect.stringContaining(message));
  });
});

describe('an editor refuses what the folder refuses, and nothing else', () => {
  test.each(refused)('%s with %j: %s', (kind, spec) => {
    expect(accepts(kind, documentOf(kind, spec))).toBe(false);
  });

  test.each([
    ['StorageVolume', 49, 'volumeName'],
    ['ServiceTemplate', 129, 'templateName'],
    ['ProtectedTask', 129, 'taskName'],
  ] as const)('%s with a name of %d characters, unless it has a shorter %s', (kind, length, field) => {
    const metadata = { name: 'n'.repeat(length) };
    expect(accepts(kind, documentOf(kind, {}, { metadata }))).toBe(false);
    expect(accepts(kind, documentOf(kind, { [field]: 'short' }, { metadata }))).toBe(true);
  });

  test.each(managedKinds)('any document of %s', (kind) => {
    fc.assert(
      fc.property(fc.oneof(anySpec(kind), borderSpec(kind)), (spec) => expectAgreement(kind, spec)),
      {
        numRuns: 500,
      },
    );
  });

  const each = managedKinds.flatMap((kind) =>
    Object.keys(values[kind]).map((field) => [kind, field] as const),
  );
  test.each(each)('%s with each value of %s', (kind, field) => {
    for (const value of values[kind][field] ?? []) expectAgreement(kind, { [field]: value });
  });

  test.each(wordSpecs)('texts that are nearly right: %s of %s', (_field, kind, specs) => {
    fc.assert(
      fc.property(specs, (spec) => expectAgreement(kind, spec)),
      { numRuns: 1000 },
    );
  });
});

describe('fleetkeeper schema', () => {
  test('prints the schema of any document in a folder, or of a kind', async () => {
    expect(await run(['schema'])).toMatchObject({ code: 0, stdout: schemaText() });
    expect(await run(['schema', 'Account'])).toMatchObject({ code: 0, stdout: schemaText('Account') });
  });

  test('reports the kinds for a name that is none', async () => {
    const { code, stderr } = await run(['schema', 'Machine']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('ContainerService')]);
  });

  test('writes a file per kind and one for all, which a comparison finds unchanged', async () => {
    const into = temporaryFile('schemas');
    expect(await run(['schema', '--output-dir', into])).toMatchObject({ code: 0, stdout: '' });
    expect(await run(['schema', '--check', into])).toMatchObject({ stdout: `${into} is up to date\n` });
    expect(differingFiles(into, schemaFiles())).toEqual([]);
  });
});
