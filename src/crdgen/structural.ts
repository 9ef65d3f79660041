/**
 * A zod schema as a structural schema, which an API server needs in a CustomResourceDefinition: OpenAPI 3.0 without
 * references, every list with its way of merging. Unknown fields are dropped by pruning, not by the schema.
 *
 * A field is nullable where null has a meaning of its own (a sleep policy: never). In all others, a null means "not
 * there", and the API server drops it. A value of any shape has to be kept as it is.
 *
 * An API server compares a whole number with the whole part of a bound (0 is not below 0.2). So a bound with a
 * fraction is in CEL, too.
 */
import { z } from 'zod';
import { invariant } from '../base/index.ts';
import { editorKeyword, rulesKeyword, type CelRule, type JsonSchema } from '../resources/index.ts';

export interface StructuralSchema {
  readonly description?: string;
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly nullable?: true;
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly maximum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly items?: StructuralSchema;
  readonly additionalProperties?: StructuralSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
  readonly 'x-kubernetes-int-or-string'?: true;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

/** Those that are taken over as they are, in the order in which they are written. */
const plainKeywords = [
  'description',
  'type',
  'format',
  'enum',
  'default',
  'minimum',
  'exclusiveMinimum',
  'maximum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'maxProperties',
  'required',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
] as const;
const intOrString = 'x-kubernetes-int-or-string';
const nestedKeywords = ['properties', 'items', 'additionalProperties'] as const;
const leftOut = ['$schema', 'nullable', editorKeyword] as const;
const known = new Set<string>([...plainKeywords, ...nestedKeywords, ...leftOut, intOrString, 'anyOf']);

/** What may be written: a field with a default may be left out. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  const json = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', unrepresentable: 'any' });
  return structural(json, []);
}

function structural(json: JsonSchema, path: readonly string[]): StructuralSchema {
  const where = path.join('.') || '(root)';
  for (const keyword of Object.keys(json)) {
    invariant(known.has(keyword), `${keyword} of ${where} has no place in a structural schema`);
  }
  if (json[intOrString] === true) return integerOrText(json);
  if (json['type'] === undefined) return anything(json, where);
  invariant(
    json['type'] !== 'array' || json['x-kubernetes-list-type'] !== undefined,
    `it is not declared how the list ${where} is merged`,
  );
  const adapted: JsonSchema = { ...json, ...formatOf(json), ...fractionRules(json) };
  const plain = plainKeywords
    .map((keyword) => [keyword, adapted[keyword]] as const)
    .filter(([, value]) => value !== undefined);
  const nullable = json['nullable'] === true ? { nullable: true as const } : {};
  return { ...Object.fromEntries(plain), ...nullable, ...nested(json, path) };
}

function isFraction(bound: unknown): bound is number {
  return typeof bound === 'number' && !Number.isInteger(bound);
}

function fractionRules({ type, minimum, maximum, [rulesKeyword]: rules = [] }: JsonSchema): JsonSchema {
  if (type !== 'number') return {};
  const own: CelRule[] = [];
  if (isFraction(minimum)) own.push({ rule: `self >= ${minimum}`, message: `must be at least ${minimum}` });
  if (isFraction(maximum)) own.push({ rule: `self <= ${maximum}`, message: `must be at most ${maximum}` });
  return own.length === 0 ? {} : { [rulesKeyword]: [...(rules as CelRule[]), ...own] };
}

/** A structural schema has no unions but this one. Its bounds are in CEL. */
function integerOrText({ description, default: value, [rulesKeyword]: rules }: JsonSchema): StructuralSchema {
  return {
    ...(typeof description === 'string' ? { description } : {}),
    ...(value === undefined ? {} : { default: value }),
    [intOrString]: true,
    ...(rules === undefined ? {} : { [rulesKeyword]: rules as readonly CelRule[] }),
  };
}

/** Any value, null included. */
function anything(json: JsonSchema, where: string): StructuralSchema {
  const { description } = json;
  invariant(typeof description === 'string', `it is not declared what ${where} is`);
  return { description, nullable: true, 'x-kubernetes-preserve-unknown-fields': true };
}

/**
 * 64 bits for whole numbers, of which JavaScript knows those up to 2^53 - 1: the bounds that zod gives them. A time
 * is recognised by its format; the pattern that zod adds is not needed.
 */
function formatOf({ type, format, pattern }: JsonSchema): JsonSchema {
  if (type === 'integer') return { format: 'int64' };
  if (typeof pattern !== 'string') return {};
  return { pattern: format === 'date-time' ? undefined : pattern.replaceAll(String.raw`\/`, '/') };
}

function nested(json: JsonSchema, path: readonly string[]): StructuralSchema {
  const { properties, items, additionalProperties: others } = json;
  const fields = Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(
    ([name, field]) => [name, structural(field, [...path, name])] as const,
  );
  if (fields.length > 0) return { properties: Object.fromEntries(fields) };
  if (items !== undefined) return { items: structural(items as JsonSchema, [...path, '[]']) };
  if (json['type'] !== 'object' || json['x-kubernetes-preserve-unknown-fields'] !== undefined) return {};
  invariant(typeof others === 'object', `the object ${path.join('.')} has no fields`);
  return { additionalProperties: structural(others as JsonSchema, [...path, '*']) };
}
