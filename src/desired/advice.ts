/**
 * What to write instead: advice that follows from the schema, the table of the kind, and the form of a value. No text of the document is
 * in it, other than keys and amounts such as `2Gi`.
 */
import { nearest } from '../base/index.ts';
import type { Path } from './yaml.ts';

/** By the path at which something is written: `spec.env[].value`. */
export type Hints = Readonly<Record<string, string>>;

/** The part of a schema that is needed to list its fields and to validate. */
export interface Schema {
  readonly def: {
    readonly type: string;
    readonly innerType?: unknown;
    readonly element?: unknown;
    readonly shape?: Readonly<Record<string, unknown>>;
  };
}

/** `spec.env[].value`: of all entries of a list alike. */
export function hintAt(hints: Hints, path: Path): string | undefined {
  const key = path
    .map((part, index) => (typeof part === 'number' ? '[]' : index === 0 ? part : `.${part}`))
    .join('');
  return Object.hasOwn(hints, key) ? hints[key] : undefined;
}

const plainNumber = /^\d{1,9}(\.\d{1,9})?$/;
const amount = /^(\d{1,9}(?:\.\d{1,9})?) ?([A-Za-z]{1,7})$/;
/** What stands behind the name of a field, and how many of it a unit is. Binary and decimal units of storage count alike. */
const unitsOf: readonly (readonly [suffix: string, of: string, units: Readonly<Record<string, number>>])[] = [
  ['Gb', 'GB', { k: 1 / 1024 ** 2, m: 1 / 1024, g: 1, t: 1024 }],
  ['Minutes', 'minutes', { s: 1 / 60, m: 1, h: 60, d: 1440 }],
  ['Seconds', 'seconds', { s: 1, m: 60, h: 3600, d: 86_400 }],
];

/** Where a number is expected and a text is found. */
export function numberAdvice(path: Path, text: string): string | undefined {
  if (plainNumber.test(text)) return `write \`${text}\` without quotes`;
  const [, digits, unit] = amount.exec(text) ?? [];
  if (digits === undefined || unit === undefined) return undefined;
  const field = String(path.at(-1));
  const write = (count: number) => `write \`${field}: ${Number(count.toPrecision(6))}\``;
  if (field === 'cpu' && unit === 'm')
    return `\`${text}\` is a unit of Kubernetes: ${write(Number(digits) / 1000)}`;
  const [, of, units] = unitsOf.find(([suffix]) => field.endsWith(suffix)) ?? [];
  const factor = units?.[unit.charAt(0).toLowerCase()];
  if (of === undefined || factor === undefined) return 'write a number without a unit';
  return `it is in ${of}, without a unit: ${write(Number(digits) * factor)}`;
}

/** The names of the fields that `schema` has at `path`. */
export function fieldsAt(schema: Schema, path: Path): string[] {
  return Object.keys(schemaAt(schema, path)?.def.shape ?? {});
}

export function isNumber(schema: Schema, path: Path): boolean {
  return schemaAt(schema, path)?.def.type === 'number';
}

/** A reference is written as `{name: NAME}`. */
export function formAt(schema: Schema, path: Path): string | undefined {
  const here = schemaAt(schema, path);
  const names = Object.keys(here?.def.shape ?? {});
  if (names.length === 1) return `write \`{${names[0]}: …}\``;
  const element = here?.def.type === 'array' ? unwrapped(here.def.element as Schema) : undefined;
  return element?.def.type === 'string' ? 'write a list: `[one, two]`' : undefined;
}

/** The only other place at which the schema has a field of that name. */
export function otherPlace(schema: Schema, key: string): string | undefined {
  const places = placesOf(unwrapped(schema), key, '', 4);
  return places.length === 1 ? places[0] : undefined;
}

function placesOf(schema: Schema, key: string, at: string, depth: number): string[] {
  return Object.entries(schema.def.shape ?? {}).flatMap(([name, member]) => {
    const place = at === '' ? name : `${at}.${name}`;
    const deeper = depth > 1 ? placesOf(unwrapped(member as Schema), key, place, depth - 1) : [];
    return name === key ? deeper.concat(place) : deeper;
  });
}

function schemaAt(schema: Schema, path: Path): Schema | undefined {
  let here = unwrapped(schema);
  for (const part of path) {
    const next = typeof part === 'number' ? here.def.element : here.def.shape?.[part];
    if (next === undefined) return undefined;
    here = unwrapped(next as Schema);
  }
  return here;
}

function unwrapped(schema: Schema): Schema {
  let inner = schema;
  while (inner.def.innerType !== undefined) inner = inner.def.innerType as Schema;
  return inner;
}

/** `must be one of …` with the nearest one. */
export function oneOf(values: unknown, input: unknown): string {
  const names = (Array.isArray(values) ? values : [values]).map(String);
  const meant = typeof input === 'string' ? nearest(input, names) : undefined;
  const listed = names.join(', ');
  if (input === undefined) return `is missing; add it: one of ${listed}`;
  return meant === undefined
    ? `must be one of ${listed}; write one of them`
    : `must be one of ${listed}; did you mean \`${meant}\`?`;
}
