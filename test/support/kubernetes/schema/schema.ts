/** The part of OpenAPI v3 that a CustomResourceDefinition may use. */
export interface Rule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** What says something of the value, and not of its structure. */
interface Assertions {
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
}

export interface Schema extends Assertions {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-validations'?: readonly Rule[];
}

/** The schema of a property; undefined when nothing is declared of it. */
export function propertySchema(schema: Schema, name: string): Schema | undefined {
  if (schema.properties && Object.hasOwn(schema.properties, name)) return schema.properties[name];
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/** `spec.ports[0].name`, `spec.labels[app]`. */
export function joined(path: string, name: string, schema: Schema): string {
  const isKey = schema.additionalProperties !== undefined && !schema.properties;
  if (isKey) return `${path}[${name}]`;
  return path ? `${path}.${name}` : name;
}

/** What identifies an item of a list of type map, as text. */
export function itemKey(item: unknown, keys: readonly string[], items: Schema | undefined): string {
  const fields = typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : {};
  return JSON.stringify(keys.map((key) => fields[key] ?? items?.properties?.[key]?.default ?? null));
}
