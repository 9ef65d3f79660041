/** Type and default of the fields of the kinds as text, for the reference and for `explain`. */
import type { ManagedKind } from '../resources/index.ts';
import { customResourceDefinition } from './definition.ts';
import type { StructuralSchema } from './structural.ts';

export interface Field {
  /** `steps[].pause`, below where the walk begins. */
  readonly path: string;
  readonly schema: StructuralSchema;
  readonly required: boolean;
}

export const schemaOf = (kind: ManagedKind): StructuralSchema =>
  customResourceDefinition(kind).spec.versions[0].schema.openAPIV3Schema;

/** A reference is one field, not two. */
const isReference = ({ properties = {} }: StructuralSchema) =>
  ['name', 'id'].includes(Object.keys(properties).join(','));

/** All below it, in their order. */
export function fieldsIn(schema: StructuralSchema, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const field = `${prefix}${name}`;
    const inner = isReference(property) ? [] : innerFields(property, field);
    return [{ path: field, schema: property, required: schema.required?.includes(name) === true }].concat(
      inner,
    );
  });
}

function innerFields(schema: StructuralSchema, field: string): Field[] {
  return fieldsIn(schema, `${field}.`).concat(fieldsIn(schema.items ?? {}, `${field}[].`));
}

/** Empty: none. */
export function defaultOf({ default: standard, properties }: StructuralSchema): string {
  if (standard === undefined || JSON.stringify(standard) === '{}') return '';
  const name: unknown =
    properties && typeof standard === 'object' ? Object.values(standard ?? {})[0] : standard;
  return `\`${String(name)}\``;
}

export function typeOf(schema: StructuralSchema): string {
  const { type, enum: choices, items, properties } = schema;
  if (schema['x-kubernetes-int-or-string']) return 'integer, or a share such as `25%`';
  if (choices) return choices.map((choice) => `\`${String(choice)}\``).join(', ');
  if (type === 'array')
    return `list of ${items?.enum || items?.type === 'object' ? 'objects' : `${items?.type}s`}`;
  if (type === 'object')
    return isReference(schema) ? `\`{${Object.keys(properties ?? {}).join()}}\`` : 'object';
  if (type === 'integer' || type === 'number') return `${type}${rangeOf(schema)}`;
  return type === undefined ? 'any' : `${type}${lengthOf(schema)}`;
}

function rangeOf({ minimum, maximum, exclusiveMinimum }: StructuralSchema): string {
  if (minimum === undefined || minimum < -1e15) return '';
  const least = exclusiveMinimum === true ? 'above' : 'at least';
  if (maximum === undefined) return `, ${least} ${minimum}`;
  return exclusiveMinimum === true
    ? `, ${least} ${minimum}, at most ${maximum}`
    : `, ${minimum} to ${maximum}`;
}

/** Names have 253 characters, as in Kubernetes; that needs no mention. */
function lengthOf({ format, maxLength = 253 }: StructuralSchema): string {
  if (format === 'uuid') return ' (UUID)';
  return maxLength < 253 ? `, at most ${maxLength} characters` : '';
}
