/** `docs/reference/fields.md`, made from the schemas in src/kinds/: `npm run docs:fields` writes it. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  customResourceDefinition,
  defaultOf,
  fieldsIn,
  schemaOf,
  typeOf,
  type Field,
  type StructuralSchema,
} from '../../../src/crdgen/index.ts';
import { managedKinds, type ManagedKind } from '../../../src/resources/index.ts';

export const fieldsDocument = path.join(import.meta.dirname, '../../../docs/reference/fields.md');

export function renderFieldsDocument(): string {
  const statuses = managedKinds.map((kind) => propertyOf(schemaOf(kind), 'status'));
  const names = Object.keys(statuses[0]?.properties ?? {});
  const common = new Set(
    names.filter((name) => statuses.every((status) => status.properties?.[name] !== undefined)),
  );
  const isCommon = ({ path: field }: Field) => common.has(field.split(/[.[]/)[0] ?? '');
  return [
    '# Fields',
    '',
    '<!-- Made by `npm run docs:fields` from src/kinds/; not to be edited. -->',
    '',
    'All documents have `apiVersion: fleetkeeper.dev/v1alpha1`, a `kind`, `metadata` and a `spec`. `metadata` takes `name`, `namespace`',
    '(default `default`), `labels` and [`annotations`](annotations.md). An unknown field is an error. A field without a default that you leave',
    'out is not managed.',
    '',
    '`[]` stands for each element of a list. The [status](status.md) is written by Fleetkeeper only.',
    '',
    ...managedKinds.flatMap((kind) => section(kind, isCommon)),
    '## Status of all kinds',
    '',
    ...statusTable(fieldsIn(statuses[0] ?? {}).filter(isCommon)),
    '',
  ].join('\n');
}

function section(kind: ManagedKind, isCommon: (field: Field) => boolean): string[] {
  const { names, versions } = customResourceDefinition(kind).spec;
  const schema = schemaOf(kind);
  const own = fieldsIn(propertyOf(schema, 'status')).filter((field) => !isCommon(field));
  const selectable = (versions[0].selectableFields ?? []).map(({ jsonPath }) => `\`${jsonPath.slice(1)}\``);
  return [
    `## ${kind}`,
    '',
    `${schema.description ?? ''} For \`kubectl\`: \`${names.plural}\`, \`${names.shortNames.join('`, `')}\`.${selectable.length > 0 ? ` Field selectors: ${selectable.join(', ')}.` : ''}`,
    '',
    '| field of `spec` | type | default | meaning |',
    '|---|---|---|---|',
    ...fieldsIn(propertyOf(schema, 'spec')).map(specRow),
    '',
    ...statusTable(own),
    '',
  ];
}

const propertyOf = (schema: StructuralSchema, name: string): StructuralSchema =>
  schema.properties?.[name] ?? {};

function specRow({ path: field, schema, required }: Field): string {
  const standard = required ? 'required' : defaultOf(schema);
  return rowOf([`\`${field}\``, typeOf(schema), standard, schema.description ?? '']);
}

function statusTable(fields: readonly Field[]): string[] {
  const rows = fields.map(({ path: field, schema }) =>
    rowOf([`\`${field}\``, typeOf(schema), schema.description ?? '']),
  );
  return ['| field of `status` | type | meaning |', '|---|---|---|', ...rows];
}

const rowOf = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll(/ {2,}/g, ' ');

if (import.meta.main) writeFileSync(fieldsDocument, renderFieldsDocument());
