import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  customResourceDefinition,
  definitionFiles,
  differingFiles,
  type StructuralSchema,
} from '../../../src/crdgen/index.ts';
import { managedKinds, resourceTypes } from '../../../src/resources/index.ts';
import { run } from '../cli/support.ts';
import { structuralErrors } from '../../support/kubernetes/schema/structural.ts';
import { openApiSchema } from './support.ts';

const committed = path.join(import.meta.dirname, '../../../crds');

test('crds/ is what is generated (else: npm run crds)', () => {
  expect(differingFiles(committed, definitionFiles())).toEqual([]);
});

interface Place {
  readonly at: string;
  readonly schema: StructuralSchema;
  /** An entry of a list, or a value of a map: it has no name that would need words. */
  readonly isEntry: boolean;
}

function placesOf(schema: StructuralSchema, at: string, isEntry = false): Place[] {
  return [
    { at, schema, isEntry },
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => placesOf(field, `${at}.${name}`)),
    ...(schema.items ? placesOf(schema.items, `${at}[]`, true) : []),
    ...(schema.additionalProperties ? placesOf(schema.additionalProperties, `${at}.*`, true) : []),
  ];
}

const places = managedKinds.flatMap((kind) => placesOf(openApiSchema(kind), kind));
const where = (wanted: (place: Place) => boolean) => places.filter(wanted).map(({ at }) => at);

describe('the schemas', () => {
  test.each(managedKinds)('of %s is structural, and its rules compile', (kind) => {
    expect(structuralErrors(openApiSchema(kind), 'openAPIV3Schema')).toEqual([]);
  });

  test('say of every field what it is', () => {
    const named = ({ at }: Place) => !/\.metadata(\.name)?$/.test(at);
    expect(where((place) => named(place) && !place.isEntry && !place.schema.description)).toEqual([]);
    expect(places.length).toBeGreaterThan(250);
  });

  test('say of every list how it is merged', () => {
    expect(where(({ schema }) => schema.type === 'array' && !schema['x-kubernetes-list-type'])).toEqual([]);
  });

  // Whoever may write objects could fill the memory of an operator with few of them.
  test('bound every text, list and map that an author writes', () => {
    const authors = places.filter(({ at }) => /^\w+\.spec\b/.test(at));
    const isUnbounded = ({ schema }: Place) =>
      (schema.type === 'string' && !schema.enum && schema.maxLength === undefined) ||
      (schema.type === 'array' && schema.maxItems === undefined) ||
      (schema.additionalProperties !== undefined && schema.maxProperties === undefined);
    expect(authors.filter(isUnbounded).map(({ at }) => at)).toEqual([]);
    expect(authors.length).toBeGreaterThan(150);
  });

  // `kubectl apply` drops nulls: a field may be null only where that means something else than its absence.
  test('keep unknown fields only where a value may have any shape, and nulls there and in a sleep policy', () => {
    const open = where(({ schema }) => schema['x-kubernetes-preserve-unknown-fields'] === true);
    expect(new Set(open.map((at) => at.replace(/^\w+/, '')))).toEqual(
      new Set(['.status.bookkeeping', '.status.drift[].desired', '.status.drift[].observed']),
    );
    const nullable = where(({ schema }) => schema.nullable === true);
    expect(new Set(nullable.map((at) => at.replace(/^\w+/, '')))).toEqual(
      new Set([
        '.status.drift[].desired',
        '.status.drift[].observed',
        '.spec.sleepAfterMinutes',
        '.spec.template.spec.sleepAfterMinutes',
      ]),
    );
  });

  // A field of a thing at the provider has no default: what a document leaves out is not compared, and not changed. One that says how
  // Fleetkeeper works on it may have one, and is listed here.
  test('fill in nothing that is not managed unless it is given', () => {
    const filled = where(({ at, schema }) => /^\w+\.spec\.\w+$/.test(at) && schema.default !== undefined);
    expect(new Set(filled.map((at) => at.split('.').at(-1)))).toEqual(
      new Set([
        'insecure',
        'visibilitySeconds',
        'requests',
        'pollSeconds',
        'accountRef',
        'templateUpdates',
        'desiredState',
        'disruption',
        'driftPolicy',
        'replacement',
        'deletionPolicy',
        'expansion',
        'released',
        // How many replicas there are, and how they change.
        'replicas',
        'publishEndpoints',
        'minReplicas',
        'maxReplicas',
        'update',
        'scaleIn',
        'drain',
        'repair',
        // What a budget does about its limits.
        'timeZone',
        'horizonHours',
        'mode',
        'warnAt',
        'unpriced',
        'shed',
        // What a Notification announces, and how often.
        'match',
        'repeatHours',
        'maxPerHour',
      ]),
    );
  });
});

/** What the API server multiplies when it estimates what a rule may cost. */
describe('what a rule looks at is bounded', () => {
  const withRules = places.filter(({ schema }) => schema['x-kubernetes-validations']);

  test('every list that a rule stands in', () => {
    const lists = where(({ schema }) => schema.type === 'array' && schema.maxItems === undefined);
    expect(withRules.filter(({ at }) => lists.some((list) => at.startsWith(`${list}[]`)))).toEqual([]);
    expect(withRules.some(({ at }) => at.includes('[]'))).toBe(true);
  });

  test('every text that it compares', () => {
    const compared = withRules.flatMap(({ at, schema }) =>
      (schema['x-kubernetes-validations'] ?? []).flatMap(({ rule }) =>
        [
          ...rule
            .replaceAll(/has\([^)]*\)/g, '')
            .matchAll(/\b(?:self|oldSelf)\b(?<path>(?:\.[a-zA-Z]+\b(?!\())*)/g),
        ].map(({ groups }) => `${at}${groups?.['path'] ?? ''}`),
      ),
    );
    const at = new Map(places.map((place) => [place.at, place.schema]));
    const unbounded = compared.filter((one) => {
      const schema = at.get(one);
      return !schema || (schema.type === 'string' && !schema.enum && schema.maxLength === undefined);
    });
    expect(unbounded).toEqual([]);
    expect(compared).toContain('ContainerService.spec.region');
  });
});

describe('what people see', () => {
  const names = managedKinds.map((kind) => customResourceDefinition(kind).spec.names);

  test('every kind has a short name of its own, which no kind of Kubernetes has', () => {
    const short = names.flatMap(({ shortNames }) => shortNames);
    expect(new Set(short).size).toBe(managedKinds.length);
    const taken = 'cm cs csr ds ep ev hpa ing no ns pc pdb po pv pvc quota rc rs sa sc sts svc'.split(' ');
    expect(taken.filter((name) => short.includes(name))).toEqual([]);
    expect(names.every(({ categories }) => categories.includes('fleetkeeper'))).toBe(true);
  });

  test('the columns and selectable fields lead to fields of the schema', () => {
    const known = new Set(places.map((place) => place.at));
    const leads = managedKinds.flatMap((kind) => {
      const [version] = customResourceDefinition(kind).spec.versions;
      const columns = version.additionalPrinterColumns as readonly { jsonPath: string }[];
      return [...columns, ...(version.selectableFields ?? [])].map(
        ({ jsonPath }) => `${kind}${jsonPath.replace(/\[\?\(@\.type=="\w+"\)\]/, '[]')}`,
      );
    });
    const outside = leads.filter((one) => !known.has(one) && !one.endsWith('.metadata.creationTimestamp'));
    expect(outside).toEqual([]);
    expect(leads).toContain('ContainerService.status.conditions[].status');
  });
});

describe('fleetkeeper crds', () => {
  function folder(): string {
    return mkdtempSync(path.join(tmpdir(), 'fleetkeeper-crds-'));
  }

  test('prints all as one stream', async () => {
    const { code, stdout } = await run(['crds']);
    const read = parseAllDocuments(stdout).map(
      (document) => document.toJS() as { metadata: { name: string } },
    );
    expect(code).toBe(0);
    expect(read.map(({ metadata }) => metadata.name)).toEqual(
      managedKinds.map((kind) => `${resourceTypes[kind].plural}.fleetkeeper.dev`),
    );
    expect(read).toEqual(
      managedKinds.map((kind) => JSON.parse(JSON.stringify(customResourceDefinition(kind)))),
    );
  });

  test('writes a file per kind, and says which have been changed, are missing or are too many', async () => {
    const into = path.join(folder(), 'new', 'crds');
    expect(await run(['crds', '--output-dir', into])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(await run(['crds', '--check', into])).toMatchObject({
      code: 0,
      stdout: `${into} is up to date\n`,
    });
    const [first, second] = definitionFiles();
    const accounts = path.join(into, first?.file ?? '');
    expect(readFileSync(accounts, 'utf8')).toBe(first?.text);
    writeFileSync(accounts, `${first?.text}\n`);
    rmSync(path.join(into, second?.file ?? ''));
    writeFileSync(path.join(into, 'machines.yaml'), String(second?.text));
    writeFileSync(path.join(into, 'kustomization.yaml'), 'resources: []');
    const { code, stderr } = await run(['crds', '--check', into]);
    expect(code).toBe(1);
    for (const file of [first?.file, second?.file, 'machines.yaml']) expect(stderr).toContain(String(file));
    for (const file of ['storagevolumes', 'kustomization']) expect(stderr).not.toContain(`${file}.yaml`);
  });

  test('says of a folder that is not there, or is none, what is wrong', async () => {
    const none = path.join(folder(), 'none');
    expect(await run(['crds', '--check', none])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(none),
    });
    writeFileSync(none, '');
    const { code, stderr } = await run(['crds', '--output-dir', none]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`can't write the definitions to ${none}`)]);
  });
});
