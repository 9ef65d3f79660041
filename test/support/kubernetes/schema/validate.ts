/**
 * A value against its schema, in the sentences of the API server. On an update, what did not change is not judged again
 * (the server calls it ratcheting): `old` is the value that stood at the same place.
 */
import { fieldError, type FieldError } from '../errors.ts';
import { isFields, isSame, listOf, type Fields } from '../objects.ts';
import { matchesFormat } from './formats.ts';
import { itemKey, joined, propertySchema, type Schema } from './schema.ts';

export function validate(value: unknown, schema: Schema, path: string, old?: unknown): FieldError[] {
  if (old !== undefined && isSame(value, old)) return [];
  if (value === null && schema.nullable === true) return [];
  const wrongType = checkType(value, schema, path);
  if (wrongType) return [wrongType];
  const errors = [...checkEnum(value, schema, path), ...checkCombinations(value, schema, path)];
  if (typeof value === 'string') errors.push(...checkString(value, schema, path));
  else if (typeof value === 'number') errors.push(...checkNumber(value, schema, path));
  else if (Array.isArray(value)) errors.push(...checkList(value, schema, path, old));
  else if (isFields(value)) errors.push(...checkFields(value, schema, path, old));
  return errors;
}

function checkType(value: unknown, schema: Schema, path: string): FieldError | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) {
    if (typeof value === 'string' || Number.isInteger(value)) return undefined;
    return typeError(value, 'integer,string', path);
  }
  if (schema.type === undefined) return undefined;
  const actual = typeOf(value);
  const fits = actual === schema.type || (schema.type === 'number' && actual === 'integer');
  return fits ? undefined : typeError(value, schema.type, path);
}

function typeError(value: unknown, type: string, path: string): FieldError {
  const actual = typeOf(value);
  const detail = `${path} in body must be of type ${type}: ${JSON.stringify(actual)}`;
  return fieldError('FieldValueTypeInvalid', path, detail, actual);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function checkEnum(value: unknown, schema: Schema, path: string): FieldError[] {
  if (!schema.enum || schema.enum.some((one) => isSame(one, value))) return [];
  const supported = schema.enum.map((one) => JSON.stringify(one)).join(', ');
  return [fieldError('FieldValueNotSupported', path, `supported values: ${supported}`, value)];
}

function checkCombinations(value: unknown, schema: Schema, path: string): FieldError[] {
  const passes = (part: Schema) => validate(value, part, path).length === 0;
  const errors = (schema.allOf ?? []).flatMap((part) => validate(value, part, path));
  const refuse = (words: string) =>
    errors.push(fieldError('FieldValueInvalid', path, `${path} in body ${words}`, shown(value)));
  if (schema.anyOf && !schema.anyOf.some(passes)) refuse('must validate at least one schema (anyOf)');
  if (schema.oneOf) {
    const count = schema.oneOf.filter(passes).length;
    if (count === 0) refuse('must validate one and only one schema (oneOf). Found none valid');
    if (count > 1) refuse(`must validate one and only one schema (oneOf). Found ${count} valid alternatives`);
  }
  if (schema.not && passes(schema.not)) refuse('must not validate the schema (not)');
  return errors;
}

/** Objects and lists are not repeated in an error. */
function shown(value: unknown): unknown {
  return isFields(value) ? 'object' : Array.isArray(value) ? 'array' : value;
}

function checkString(value: string, schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (words: string) =>
    errors.push(fieldError('FieldValueInvalid', path, `${path} in body ${words}`, value));
  const length = Array.from(value).length;
  if (schema.maxLength !== undefined && length > schema.maxLength) {
    const detail = `may not be more than ${schema.maxLength} bytes`;
    errors.push({ reason: 'FieldValueTooLong', field: path, message: `Too long: ${detail}` });
  }
  if (schema.minLength !== undefined && length < schema.minLength) {
    refuse(`should be at least ${schema.minLength} chars long`);
  }
  if (schema.pattern !== undefined && !pattern(schema.pattern).test(value)) {
    refuse(`should match '${schema.pattern}'`);
  }
  if (schema.format !== undefined && !matchesFormat(schema.format, value)) {
    refuse(`must be of type ${schema.format}: ${JSON.stringify(value)}`);
  }
  return errors;
}

const patterns = new Map<string, RegExp>();

/** Go's syntax, as far as JavaScript's is the same. */
export function pattern(source: string): RegExp {
  let expression = patterns.get(source);
  if (!expression) {
    expression = new RegExp(source, 'u');
    patterns.set(source, expression);
  }
  return expression;
}

/** As kube-openapi has it: a whole number is compared as an int64, and so is the bound, whose fraction is cut off. */
function boundsFor(
  value: number,
  { minimum, maximum }: Schema,
): { minimum: number | undefined; maximum: number | undefined } {
  if (!Number.isInteger(value)) return { minimum, maximum };
  return {
    minimum: minimum === undefined ? undefined : Math.trunc(minimum),
    maximum: maximum === undefined ? undefined : Math.trunc(maximum),
  };
}

function checkNumber(value: number, schema: Schema, path: string): FieldError[] {
  const { multipleOf } = schema;
  const { minimum, maximum } = boundsFor(value, schema);
  const errors: FieldError[] = [];
  const refuse = (words: string) =>
    errors.push(fieldError('FieldValueInvalid', path, `${path} in body should be ${words}`, value));
  if (minimum !== undefined && schema.exclusiveMinimum === true && value <= minimum) {
    refuse(`greater than ${minimum}`);
  } else if (minimum !== undefined && value < minimum) refuse(`greater than or equal to ${minimum}`);
  if (maximum !== undefined && schema.exclusiveMaximum === true && value >= maximum) {
    refuse(`less than ${maximum}`);
  } else if (maximum !== undefined && value > maximum) refuse(`less than or equal to ${maximum}`);
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf))
    refuse(`a multiple of ${multipleOf}`);
  return errors;
}

function checkList(list: readonly unknown[], schema: Schema, path: string, old: unknown): FieldError[] {
  const errors: FieldError[] = [];
  if (schema.maxItems !== undefined && list.length > schema.maxItems) {
    const message = `Too many: ${list.length}: must have at most ${schema.maxItems} items`;
    errors.push({ reason: 'FieldValueTooMany', field: path, message });
  }
  if (schema.minItems !== undefined && list.length < schema.minItems) {
    const detail = `${path} in body should have at least ${schema.minItems} items`;
    errors.push(fieldError('FieldValueInvalid', path, detail, list.length));
  }
  errors.push(...checkUniqueness(list, schema, path));
  const { items } = schema;
  if (!items) return errors;
  const before = correlatable(schema, old);
  for (const [index, item] of list.entries()) {
    errors.push(...validate(item, items, `${path}[${index}]`, before?.get(correlationKey(item, schema))));
  }
  return errors;
}

/** Items of an old list by what identifies them; undefined for lists whose items have no identity. */
export function correlatable(schema: Schema, old: unknown): ReadonlyMap<string, unknown> | undefined {
  if (schema['x-kubernetes-list-type'] !== 'map') return undefined;
  return new Map(listOf(old).map((item) => [correlationKey(item, schema), item]));
}

export function correlationKey(item: unknown, schema: Schema): string {
  return itemKey(item, schema['x-kubernetes-list-map-keys'] ?? [], schema.items);
}

function checkUniqueness(list: readonly unknown[], schema: Schema, path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type'];
  if (listType !== 'set' && listType !== 'map') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, item] of list.entries()) {
    const key = listType === 'map' ? correlationKey(item, schema) : JSON.stringify(item);
    if (seen.has(key)) {
      const value = listType === 'map' && isFields(item) ? picked(item, keys) : item;
      errors.push(fieldError('FieldValueDuplicate', `${path}[${index}]`, '', value));
    }
    seen.add(key);
  }
  return errors;
}

function picked(item: Fields, keys: readonly string[]): Fields {
  return Object.fromEntries(keys.map((key) => [key, item[key]]));
}

function checkFields(fields: Fields, schema: Schema, path: string, old: unknown): FieldError[] {
  const count = Object.keys(fields).length;
  const errors: FieldError[] = [];
  for (const name of schema.required ?? []) {
    if (fields[name] === undefined)
      errors.push(fieldError('FieldValueRequired', joined(path, name, schema), ''));
  }
  if (schema.maxProperties !== undefined && count > schema.maxProperties) {
    const message = `Too many: ${count}: must have at most ${schema.maxProperties} items`;
    errors.push({ reason: 'FieldValueTooMany', field: path, message });
  }
  if (schema.minProperties !== undefined && count < schema.minProperties) {
    const detail = `${path} in body should have at least ${schema.minProperties} properties`;
    errors.push(fieldError('FieldValueInvalid', path, detail, count));
  }
  for (const [name, field] of Object.entries(fields)) {
    const ofField = propertySchema(schema, name);
    const before = isFields(old) ? old[name] : undefined;
    if (ofField) errors.push(...validate(field, ofField, joined(path, name, schema), before));
  }
  return errors;
}
