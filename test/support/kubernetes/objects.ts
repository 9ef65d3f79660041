/** Objects as they are stored: JSON, never changed in place, without `apiVersion` and `kind` (the request tells them). */

export type Fields = Readonly<Record<string, unknown>>;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Who wrote which fields, in one way. */
export interface ManagedEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: Fields;
  readonly subresource?: string;
}

export interface Metadata {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly ManagedEntry[];
}

export interface StoredObject {
  readonly metadata: Metadata;
  readonly [field: string]: unknown;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Texts and numbers as they are, nothing for what is not there. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The value at a path, or undefined. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    current = isFields(current) && Object.hasOwn(current, name) ? current[name] : undefined;
  }
  return current;
}

/** The same fields without some. */
export function without(fields: Fields, ...names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** Equal as JSON, whatever the order of the fields. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) || Array.isArray(other)) {
    const [left, right] = [listOf(one), listOf(other)];
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      left.length === right.length &&
      left.every((item, index) => isSame(item, right[index]))
    );
  }
  if (!isFields(one) || !isFields(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}

/** RFC 3339 in whole seconds, as the API server writes times. */
export function timestamp(time: Date = new Date()): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
