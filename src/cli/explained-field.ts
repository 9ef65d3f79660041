/** A kind, or a field of it, as its schema describes it: `ServiceFleet`, `ServiceFleet.spec.update.steps`. Pure. */
import { UserError, nearest } from '../base/index.ts';
import { defaultOf, schemaOf, typeOf, type StructuralSchema } from '../crdgen/index.ts';
import { kindCalled, type ManagedKind } from '../resources/index.ts';
import { renderTable } from './output/render.ts';

/** Field names are a contract; docs/reference/output.md has them. */
export interface ExplainedField {
  readonly kind: ManagedKind;
  /** Empty for the kind itself. */
  readonly field: string;
  readonly type: string;
  /** Null: it has none. */
  readonly default: string | null;
  readonly required: boolean;
  readonly description: string;
  /** Those directly in it; of a list, those of each entry; of a kind, those of its spec and status. */
  readonly fields: readonly Omit<ExplainedField, 'kind' | 'fields' | 'docs'>[];
  readonly docs: string;
}

/** Whether it begins with the name of a kind, in any of its forms. */
export function isFieldPath(text: string): boolean {
  return kindCalled(text.split('.')[0] ?? '') !== undefined;
}

/** The part `spec` may be left out. Throws a `UserError` for a field that is not there. */
export function explainedField(text: string): ExplainedField {
  const [called = '', ...given] = text.split('.');
  const kind = kindCalled(called);
  if (kind === undefined) throw new UserError(`there is no kind ${called}`);
  const root = schemaOf(kind);
  const names = given.map((name) => name.replace(/\[\d*\]$/, '')).filter((name) => name !== '');
  const [first] = names;
  const isWithin = first === undefined || first in (root.properties ?? {});
  const found = descend(kind, root, isWithin ? names : ['spec', ...names]);
  const { field, schema, required } = found;
  return {
    kind,
    ...shown(field, schema, required),
    fields:
      field === ''
        ? ['spec', 'status'].flatMap((part) => listed(root.properties?.[part] ?? {}, `${part}.`))
        : listed(schema),
    docs: `docs/reference/fields.md#${kind.toLowerCase()}`,
  };
}

function listed(schema: StructuralSchema, prefix = ''): ExplainedField['fields'] {
  return fieldsOf(schema).map(([name, inner, isRequired]) => shown(`${prefix}${name}`, inner, isRequired));
}

interface Found {
  readonly field: string;
  readonly schema: StructuralSchema;
  readonly required: boolean;
}

function descend(kind: ManagedKind, root: StructuralSchema, names: readonly string[]): Found {
  let found: Found = { field: '', schema: root, required: false };
  for (const name of names) {
    const known = fieldsOf(found.schema);
    const next = known.find(([one]) => one === name);
    const at = [kind, found.field].filter((part) => part !== '').join('.');
    if (!next)
      throw noField(
        at,
        name,
        known.map(([one]) => one),
      );
    const [, schema, required] = next;
    found = { field: found.field === '' ? name : `${found.field}.${name}`, schema, required };
  }
  return found;
}

function noField(at: string, name: string, known: readonly string[]): UserError {
  const meant = nearest(name, known);
  const rest = known.length === 0 ? 'it has no fields' : `its fields are ${known.join(', ')}`;
  return new UserError(
    `${at} has no field ${name}`,
    meant === undefined ? rest : `did you mean \`${at}.${meant}\`?`,
  );
}

/** Of a list, those of each entry. */
function fieldsOf(schema: StructuralSchema): [name: string, schema: StructuralSchema, required: boolean][] {
  const { properties = {}, required = [] } = schema.items ?? schema;
  return Object.entries(properties).map(([name, inner]) => [name, inner, required.includes(name)]);
}

function shown(field: string, schema: StructuralSchema, required: boolean) {
  const standard = defaultOf(schema);
  return {
    field,
    type: plain(typeOf(schema)),
    default: standard === '' ? null : plain(standard),
    required,
    description: schema.description ?? '',
  };
}

/** Without the marks of Markdown. */
function plain(text: string): string {
  return text.replaceAll('`', '');
}

export function fieldText({ kind, field, type, fields, description, docs, ...own }: ExplainedField): string {
  const rows = [
    ['type', field === '' ? 'kind' : type],
    ['default', standardOf(own)],
    ['meaning', description],
    ['docs', docs],
  ];
  const head = rows.flatMap(([name = '', text = '']) => (text === '' ? [] : [`  ${name.padEnd(9)}${text}`]));
  const table = renderTable(
    ['FIELD', 'TYPE', 'DEFAULT', 'MEANING'],
    fields.map((one) => [one.field, one.type, standardOf(one) || '-', one.description]),
  );
  return [
    field === '' ? kind : `${kind}.${field}`,
    ...head,
    ...(fields.length === 0 ? [] : ['', ...table.split('\n').map((line) => `  ${line}`)]),
  ].join('\n');
}

function standardOf({ default: standard, required }: Pick<ExplainedField, 'default' | 'required'>): string {
  return required ? 'required' : (standard ?? '');
}
