/**
 * Each rule of a field is written once for both places where documents are checked: in a folder by zod, in a cluster
 * by the API server, which reads the schemas that crdgen/ generates. A rule that the schema language lacks is a
 * constraint in both languages, with the same message.
 */
import type { z } from 'zod';

/** One of `x-kubernetes-validations`. */
export interface CelRule {
  /** In CEL; `self` is the value, with its defaults filled in. It must be cheap: the API server bounds what rules may cost. */
  readonly rule: string;
  readonly message: string;
  /** The field that is to be changed, as `.spec.image`; default the value as a whole. */
  readonly fieldPath?: string;
}

export interface Constraint<Value> {
  readonly holds: (value: Value) => boolean;
  readonly rule: string;
  readonly message: string;
  /** The field of the value that is to be changed, as `metadata.name`; default the value as a whole. */
  readonly field?: string;
}

export const rulesKeyword = 'x-kubernetes-validations';

export function constrained<Schema extends z.ZodType>(
  schema: Schema,
  ...constraints: readonly Constraint<z.output<Schema>>[]
): Schema {
  let checked = schema;
  const rules: CelRule[] = [];
  for (const { holds, rule, message, field } of constraints) {
    checked = checked.refine(holds, field === undefined ? { message } : { message, path: field.split('.') });
    rules.push(field === undefined ? { rule, message } : { rule, message, fieldPath: `.${field}` });
  }
  return withRules(checked, rules);
}

/** For constraints that zod checks in its own way. */
export function withRules<Schema extends z.ZodType>(schema: Schema, rules: readonly CelRule[]): Schema {
  const known = schema.meta() ?? {};
  return schema.meta({
    ...known,
    [rulesKeyword]: [...((known[rulesKeyword] as CelRule[] | undefined) ?? []), ...rules],
  });
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
