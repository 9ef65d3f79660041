/**
 * CustomResourceDefinitions: filled in, checked, established at once, and served from then on. The conversion of versions is
 * `None`: all of them show the same object.
 */
import { fieldError, type FieldError } from './errors.ts';
import type { Column, Kind, Kinds } from './kinds.ts';
import { fieldsOf, listOf, textOf, timestamp, type StoredObject } from './objects.ts';
import { parseJsonPath } from './json-path.ts';
import type { ScalePaths } from './scale.ts';
import { CustomSchema } from './schema/custom-schema.ts';
import type { Schema } from './schema/schema.ts';
import { structuralErrors } from './schema/structural.ts';
import type { Change, Store } from './store.ts';

export const definitionsStorage = 'customresourcedefinitions.apiextensions.k8s.io';

interface Names {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: Schema };
  readonly subresources?: { readonly status?: object; readonly scale?: ScalePaths };
  readonly additionalPrinterColumns?: readonly Column[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

interface Spec {
  readonly group: string;
  readonly scope: string;
  readonly names: Names;
  readonly versions: readonly Version[];
}

function specOf(definition: StoredObject): Spec {
  return definition['spec'] as Spec;
}

export function completeDefinition(definition: StoredObject): StoredObject {
  const spec = fieldsOf(definition['spec']);
  const given = fieldsOf(spec['names']);
  const kind = textOf(given['kind']);
  const names = { singular: kind.toLowerCase(), listKind: `${kind}List`, ...given };
  const stored = listOf(spec['versions']).filter((version) => fieldsOf(version)['storage'] === true);
  const before = fieldsOf(definition['status']);
  return {
    ...definition,
    spec: { conversion: { strategy: 'None' }, ...spec, names },
    status: {
      acceptedNames: names,
      storedVersions: [
        ...new Set([
          ...listOf(before['storedVersions']),
          ...stored.map((version) => fieldsOf(version)['name']),
        ]),
      ],
      conditions: before['conditions'] ?? [
        condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
        condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
      ],
    },
  };
}

function condition(type: string, reason: string, message: string): object {
  return { type, status: 'True', lastTransitionTime: timestamp(), reason, message };
}

export function checkDefinition(definition: StoredObject): readonly FieldError[] {
  const spec = specOf(definition);
  const errors: FieldError[] = [];
  const versions = listOf(spec.versions) as readonly Version[];
  for (const field of ['group', 'scope'] as const) {
    if (!spec[field]) errors.push(fieldError('FieldValueRequired', `spec.${field}`, ''));
  }
  for (const field of ['plural', 'kind'] as const) {
    if (!spec.names[field]) errors.push(fieldError('FieldValueRequired', `spec.names.${field}`, ''));
  }
  const expected = `${spec.names.plural}.${spec.group}`;
  if (definition.metadata.name !== expected) {
    const detail = `must be spec.names.plural+"."+spec.group`;
    errors.push(fieldError('FieldValueInvalid', 'metadata.name', detail, definition.metadata.name));
  }
  if (!['Namespaced', 'Cluster'].includes(spec.scope)) {
    errors.push(
      fieldError(
        'FieldValueNotSupported',
        'spec.scope',
        'supported values: "Cluster", "Namespaced"',
        spec.scope,
      ),
    );
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    errors.push(
      fieldError(
        'FieldValueInvalid',
        'spec.versions',
        'must have exactly one version marked as storage version',
        versions.map(({ name }) => name),
      ),
    );
  }
  for (const [index, version] of versions.entries())
    errors.push(...versionErrors(version, `spec.versions[${index}]`));
  return errors;
}

function versionErrors(version: Version, path: string): readonly FieldError[] {
  const schema = version.schema?.openAPIV3Schema;
  if (!schema)
    return [fieldError('FieldValueRequired', `${path}.schema.openAPIV3Schema`, 'schemas are required')];
  const errors = [...schemaErrors(schema, `${path}.schema.openAPIV3Schema`)];
  for (const [index, column] of (version.additionalPrinterColumns ?? []).entries()) {
    const at = `${path}.additionalPrinterColumns[${index}]`;
    if (!column.name) errors.push(fieldError('FieldValueRequired', `${at}.name`, ''));
    if (!columnTypes.has(column.type)) {
      errors.push(
        fieldError(
          'FieldValueNotSupported',
          `${at}.type`,
          `supported values: ${[...columnTypes].map((type) => JSON.stringify(type)).join(', ')}`,
          column.type,
        ),
      );
    }
    if (!column.jsonPath || !parseJsonPath(column.jsonPath)) {
      errors.push(fieldError('FieldValueInvalid', `${at}.jsonPath`, 'is not understood', column.jsonPath));
    }
  }
  for (const [index, { jsonPath }] of (version.selectableFields ?? []).entries()) {
    const at = `${path}.selectableFields[${index}].jsonPath`;
    const type = typeAt(schema, jsonPath.split('.').slice(1));
    if (type === undefined)
      errors.push(fieldError('FieldValueInvalid', at, 'does not refer to a valid field', jsonPath));
    else if (!['string', 'boolean', 'integer'].includes(type) || jsonPath.startsWith('.metadata')) {
      errors.push(
        fieldError(
          'FieldValueInvalid',
          at,
          'must point to a field of type string, boolean or integer',
          jsonPath,
        ),
      );
    }
  }
  return errors;
}

/** Texts of schemas with which nothing was wrong: most tests have a server of their own, and the same definitions. */
const soundSchemas = new Set<string>();

function schemaErrors(schema: Schema, path: string): readonly FieldError[] {
  const text = JSON.stringify(schema);
  if (soundSchemas.has(text)) return [];
  const errors = structuralErrors(schema, path);
  if (errors.length === 0) soundSchemas.add(text);
  return errors;
}

const columnTypes = new Set(['integer', 'number', 'string', 'boolean', 'date']);

function typeAt(schema: Schema, path: readonly string[]): string | undefined {
  let current: Schema | undefined = schema;
  for (const name of path) current = current?.properties?.[name];
  return current?.type;
}

/** Keeps the served kinds in step with the definitions that are stored. */
export function followDefinitions(store: Store, kinds: Kinds): void {
  store.subscribe(definitionsStorage, ({ type, entry }: Change) => {
    kinds.replace(entry.object.metadata.name, type === 'DELETED' ? [] : kindsOf(entry.object));
  });
}

function kindsOf(definition: StoredObject): readonly Kind[] {
  const spec = specOf(definition);
  return spec.versions
    .filter(({ served }) => served)
    .map((version) => kindOf(definition.metadata.name, spec, version));
}

function kindOf(storage: string, { group, scope, names }: Spec, version: Version): Kind {
  const { plural, singular, kind, listKind, shortNames = [], categories = [] } = names;
  return {
    group,
    version: version.name,
    plural,
    singular,
    kind,
    listKind,
    namespaced: scope === 'Namespaced',
    shortNames,
    categories,
    storage,
    hasStatus: version.subresources?.status !== undefined,
    ...(version.subresources?.scale && { scale: version.subresources.scale }),
    hasGeneration: true,
    unconditionalUpdate: false,
    columns: version.additionalPrinterColumns ?? [age],
    microTimes: [],
    selectable: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.slice(1)),
    schema: new CustomSchema(version.schema?.openAPIV3Schema ?? {}),
  };
}

const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
