/**
 * Each rule of a field is written once for the places where documents are checked: in a folder by zod, in a cluster
 * by the API server, and in an editor. crdgen/ generates the schemas of the last two. A rule that the schema language
 * of a cluster lacks is a constraint in both languages, with the same message. JSON Schema has a third form of it.
 */
import { z } from 'zod';

/** One of `x-kubernetes-validations`. */
export interface CelRule {
  /** In CEL; `self` is the value, with its defaults filled in. It must be cheap: the API server bounds what rules may cost. */
  readonly rule: string;
  readonly message: string;
  /** The field that is to be changed, as `.spec.image`; default the value as a whole. */
  readonly fieldPath?: string;
}

/** A schema as editors read it (draft-07). */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Constraint<Value> {
  readonly holds: (value: Value) => boolean;
  readonly rule: string;
  /** The same for editors, which show the message. It may accept more; it refuses nothing that holds. */
  readonly schema: (errorMessage: string) => JsonSchema;
  readonly message: string;
  /** The field of the value that is to be changed, as `metadata.name`; default the value as a whole. */
  readonly field?: string;
}

export const rulesKeyword = 'x-kubernetes-validations';
/** What editors check beyond the type of a field. It is in no definition of a cluster. */
export const editorKeyword = 'x-fleetkeeper-editor';

export function constrained<Schema extends z.ZodType>(
  schema: Schema,
  ...constraints: readonly Constraint<z.output<Schema>>[]
): Schema {
  let checked = schema;
  const rules: CelRule[] = [];
  const schemas: JsonSchema[] = [];
  for (const { holds, rule, schema: forEditors, message, field } of constraints) {
    schemas.push(forEditors(field === undefined ? message : `${field}: ${message}`));
    checked = checked.refine(holds, field === undefined ? { message } : { message, path: field.split('.') });
    rules.push(field === undefined ? { rule, message } : { rule, message, fieldPath: `.${field}` });
  }
  return withRules(checked, rules, schemas);
}

/** A map with at most so many entries. */
export function mapOf<Key extends z.core.$ZodRecordKey, Value extends z.ZodType>(
  key: Key,
  value: Value,
  most: number,
) {
  return z
    .record(key, value)
    .refine((entries) => Object.keys(entries).length <= most, `must have at most ${most} entries`)
    .meta({ maxProperties: most });
}

/** For constraints that zod checks in its own way. */
export function withRules<Schema extends z.ZodType>(
  schema: Schema,
  rules: readonly CelRule[],
  schemas: readonly JsonSchema[],
): Schema {
  const known = schema.meta() ?? {};
  const add = (keyword: string, more: readonly unknown[]) =>
    more.length === 0 ? {} : { [keyword]: [...((known[keyword] as unknown[] | undefined) ?? []), ...more] };
  return schema.meta({ ...known, ...add(rulesKeyword, rules), ...add(editorKeyword, schemas) });
}

/** Which fields of a map are given, in JSON Schema. An editor shows the message at `required`, and at a field that is not allowed. */
export const given = {
  anyOf:
    (...names: readonly string[]) =>
    (errorMessage: string): JsonSchema => ({
      anyOf: names.map((name) => ({ required: [name], errorMessage })),
    }),
  exactlyOneOf:
    (...names: readonly string[]) =>
    (errorMessage: string): JsonSchema => ({
      ...given.anyOf(...names)(errorMessage),
      allOf: names.slice(0, -1).map((name, index) => without(name, names.slice(index + 1), errorMessage)),
    }),
  notTogether:
    (name: string, other: string) =>
    (errorMessage: string): JsonSchema =>
      without(name, [other], errorMessage),
  /** A field that needs another one beside it. */
  only:
    (name: string, beside: string) =>
    (errorMessage: string): JsonSchema =>
      implication({ required: [name] }, { required: [beside], errorMessage }),
} as const;

function without(name: string, others: readonly string[], errorMessage: string): JsonSchema {
  const properties = Object.fromEntries(others.map((other) => [other, false]));
  return implication({ required: [name] }, { properties, errorMessage });
}

/** `then` is a keyword here. */
export function implication(condition: JsonSchema, consequence: JsonSchema): JsonSchema {
  // oxlint-disable-next-line unicorn/no-thenable
  return { if: condition, then: consequence };
}

/** How the API server merges lists that several people apply. */
export const listOf = {
  /** As a whole. */
  whole: { 'x-kubernetes-list-type': 'atomic' },
  /** Value by value; each may be there once. */
  values: { 'x-kubernetes-list-type': 'set' },
  /** Entry by entry, distinguished by this field; each value may occur once. */
  entriesBy: (field: string) => ({
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': [field],
  }),
} as const;
