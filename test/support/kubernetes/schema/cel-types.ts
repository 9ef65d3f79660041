/** A schema as CEL sees it: the types that expressions are checked with, and the values they are evaluated on. */
import { evaluate, type Environment } from '@marcbachmann/cel-js';
import { isFields } from '../objects.ts';
import { propertySchema, type Schema } from './schema.ts';

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** `namespace` → `__namespace__`, `a-b` → `a__dash__b`; undefined for names that expressions can't reach. */
function celName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  const escaped = name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
  return /^[A-Za-z_]\w*$/.test(escaped) ? escaped : undefined;
}

/** Registers what the schema needs, and returns the name of its type. */
export function declareType(environment: Environment, schema: Schema, isRoot: boolean): string {
  let count = 0;
  const declare = (node: Schema, ofObject: boolean): string => {
    if (node['x-kubernetes-int-or-string'] === true) return 'dyn';
    switch (node.type) {
      case 'integer':
        return 'int';
      case 'number':
        return 'double';
      case 'boolean':
        return 'bool';
      case 'string':
        return formats[node.format ?? ''] ?? 'string';
      case 'array':
        return node.items ? `list<${declare(node.items, false)}>` : 'list<dyn>';
      case 'object':
        if (typeof node.additionalProperties === 'object') {
          return `map<string, ${declare(node.additionalProperties, false)}>`;
        }
        return declareObject(node, ofObject);
      case undefined:
      default:
        return 'dyn';
    }
  };
  const declareObject = (node: Schema, ofObject: boolean): string => {
    const fields: Record<string, string> = {};
    for (const [name, ofField] of Object.entries(node.properties ?? {})) {
      const inCel = celName(name);
      if (inCel !== undefined) fields[inCel] = declare(ofField, false);
    }
    if (ofObject) Object.assign(fields, objectFields(environment));
    count += 1;
    const name = `Type${count}`;
    environment.registerType({ name, schema: fields });
    environment.registerOperator(`${name} == ${name}`, () => true);
    return name;
  };
  return declare(schema, isRoot);
}

function objectFields(environment: Environment): Record<string, string> {
  environment.registerType({ name: 'Metadata', schema: { name: 'string', generateName: 'string' } });
  return { apiVersion: 'string', kind: 'string', metadata: 'Metadata' };
}

const formats: Readonly<Record<string, string>> = {
  'date-time': 'google.protobuf.Timestamp',
  date: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
  byte: 'bytes',
};

/** Integers become `int`; only what the schema declares is there. */
export function celValue(value: unknown, schema: Schema, isRoot = false): unknown {
  if (schema['x-kubernetes-int-or-string'] === true) return typeof value === 'number' ? BigInt(value) : value;
  if (typeof value === 'number') return schema.type === 'integer' ? BigInt(value) : value;
  if (typeof value === 'string') return celString(value, schema);
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item: unknown) => celValue(item, items)) : value;
  }
  if (!isFields(value)) return value;
  const isMap = typeof schema.additionalProperties === 'object';
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const ofField = propertySchema(schema, name);
    const inCel = isMap ? name : celName(name);
    if (ofField && inCel !== undefined) fields[inCel] = celValue(field, ofField);
    else if (isRoot && (name === 'apiVersion' || name === 'kind')) fields[name] = field;
  }
  if (isRoot && isFields(value['metadata'])) {
    const { name, generateName } = value['metadata'];
    fields['metadata'] = { name, ...(generateName !== undefined && { generateName }) };
  }
  return fields;
}

function celString(text: string, schema: Schema): unknown {
  if (schema.type !== 'string') return text;
  if (schema.format === 'date-time' || schema.format === 'date') return new Date(text);
  if (schema.format === 'duration') return evaluate('duration(text)', { text }) as unknown;
  return schema.format === 'byte' ? Buffer.from(text, 'base64') : text;
}
