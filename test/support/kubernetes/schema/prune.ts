/** What happens to a custom resource before it is validated: unknown fields go, defaults come. */
import { isFields } from '../objects.ts';
import { joined, propertySchema, type Schema } from './schema.ts';

/** Fields that every object has, whatever its schema says. */
const objectFields = new Set(['apiVersion', 'kind', 'metadata']);

export interface Pruned {
  readonly value: unknown;
  /** Paths of what went. */
  readonly unknown: readonly string[];
}

export function prune(root: unknown, schema: Schema): Pruned {
  const unknown: string[] = [];
  return { value: pruned(root, schema, '', true, unknown), unknown };
}

function pruned(value: unknown, schema: Schema, path: string, isRoot: boolean, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items
      ? value.map((item: unknown, index) => pruned(item, items, `${path}[${index}]`, false, unknown))
      : value;
  }
  if (!isFields(value)) return value;
  const isObject = isRoot || schema['x-kubernetes-embedded-resource'] === true;
  const keepsUnknown =
    schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
  const kept: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const ofField = propertySchema(schema, name);
    if (isObject && objectFields.has(name)) kept[name] = field;
    else if (ofField) kept[name] = pruned(field, ofField, joined(path, name, schema), false, unknown);
    else if (keepsUnknown) kept[name] = field;
    else unknown.push(joined(path, name, schema));
  }
  return kept;
}

/** A null that is not allowed gives way to the default. */
export function withDefaults(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item: unknown) => withDefaults(item, items)) : value;
  }
  if (!isFields(value)) return value;
  const filled: Record<string, unknown> = { ...value };
  for (const [name, ofField] of Object.entries(schema.properties ?? {})) {
    const isMissing = !(name in filled) || (filled[name] === null && ofField.nullable !== true);
    if (ofField.default !== undefined && isMissing) filled[name] = structuredClone(ofField.default);
  }
  for (const [name, field] of Object.entries(filled)) {
    const ofField = propertySchema(schema, name);
    if (ofField) filled[name] = withDefaults(field, ofField);
  }
  return filled;
}
