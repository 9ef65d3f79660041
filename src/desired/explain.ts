/**
 * Explains what a schema refuses: the field, its line, what was expected, and how to fix it. It never shows a
 * value, because that may be a secret. It does not show a key that may be part of a value, either: `{value:
 * half,other}` is a map with the key `other`.
 */
import type { documents, ManagedKind } from '../resources/index.ts';
import { limits } from './limits.ts';
import { nearest } from './problem.ts';
import { isPlainMap, type Path } from './yaml.ts';

type Checked = ReturnType<(typeof documents)[ManagedKind]['safeParse']>;
type Issue = NonNullable<Checked['error']>['issues'][number];

/** The part of a schema that is needed to list its fields and to validate. */
interface Schema {
  readonly def: {
    readonly type: string;
    readonly innerType?: unknown;
    readonly element?: unknown;
    readonly shape?: Readonly<Record<string, unknown>>;
  };
}

export interface Finding {
  readonly path: Path;
  readonly message: string;
  readonly remedy: string;
}

/** An error map for `safeParse`: messages for issues for which the schema has none. */
export function plainWords(issue: {
  readonly code: string;
  readonly input?: unknown;
  readonly [more: string]: unknown;
}): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(String(issue['expected']), issue.input);
    case 'invalid_value':
      return issue.input === undefined
        ? `is missing; add it: one of ${listed(issue['values'])}`
        : `must be one of ${listed(issue['values'])}; use one of these spellings`;
    case 'too_small':
    case 'too_big':
      return outOfRange(issue);
    default:
      return undefined;
  }
}

function wrongType(expected: string, input: unknown): string {
  const wanted = typeNames[expected] ?? expected;
  if (input === undefined) return `is missing; add it (${wanted})`;
  if (input === null) return `expected ${wanted}, found nothing; write a value, or remove the field`;
  const found = nameOfType(input);
  const quote = expected === 'string' && (typeof input === 'number' || typeof input === 'boolean');
  return `expected ${wanted}, found ${found}; ${quote ? 'put it in quotes' : `write ${wanted}`}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a map',
  record: 'a map',
  array: 'a list',
};

function nameOfType(input: unknown): string {
  if (Array.isArray(input)) return 'a list';
  if (typeof input === 'string') return 'a text';
  if (typeof input === 'boolean') return 'true or false without quotes';
  if (typeof input !== 'number') return 'a map';
  return Number.isInteger(input) ? 'a number' : 'a number that is not whole';
}

function outOfRange(issue: { readonly code: string; readonly [more: string]: unknown }): string {
  const small = issue.code === 'too_small';
  const bound = String(issue[small ? 'minimum' : 'maximum']);
  const numeric = issue['origin'] === 'number' || issue['origin'] === 'int';
  if (issue['origin'] === 'string' && small && bound === '1') return 'must not be empty; write a text';
  const inclusive = small ? 'at least' : 'at most';
  const exclusive = small ? 'more than' : 'less than';
  const how = issue['inclusive'] === false ? exclusive : inclusive;
  const unit = numeric ? '' : issue['origin'] === 'string' ? ' characters' : ' entries';
  return `must be ${how} ${bound}${unit}; correct it`;
}

function listed(values: unknown): string {
  return (Array.isArray(values) ? values : [values]).map(String).join(', ');
}

/** The findings of a failed validation of `value` with `schema`. Their number is bounded. */
export function explain(issues: readonly Issue[], schema: Schema, value: unknown): Finding[] {
  const findings = issues.flatMap((issue) => {
    const path = issue.path.filter((part) => typeof part !== 'symbol');
    if (issue.code === 'unrecognized_keys') {
      const known = fieldsAt(schema, path);
      return issue.keys.map((key) => unknownField(path, key, known, memberAt(value, [...path, key])));
    }
    const [message = '', ...rest] = issue.message.split('; ');
    return [{ path: showable(path, value), message, remedy: rest.join('; ') || 'correct it' }];
  });
  const shown = findings.slice(0, limits.problemsPerDocument);
  const left = findings.length - shown.length;
  if (left > 0) {
    shown.push({
      path: [],
      message: `${left} more problems like these`,
      remedy: 'fix the first ones first',
    });
  }
  return shown;
}

function unknownField(path: Path, key: string, known: readonly string[], member: unknown): Finding {
  const meant = nearest(key, known);
  if (!mayShow(key, member, path, meant !== undefined)) {
    return {
      path,
      message: 'unknown field (not named here: it may be a part of a value)',
      remedy: `quote a text that has a comma or a colon; the fields here are ${known.join(', ')}`,
    };
  }
  const remedy = meant
    ? `did you mean \`${meant}\`?`
    : `remove it, or check its place; the fields here are ${known.join(', ')}`;
  return { path: [...path, key], message: `unknown field \`${key}\``, remedy };
}

const plainName = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/;

/** Hides keys that may come from an unquoted text: those without a value, and unknown ones in `env`. */
function mayShow(key: string, member: unknown, parent: Path, resemblesKnown: boolean): boolean {
  if (!plainName.test(key) || member === null) return false;
  return resemblesKnown || !(parent[0] === 'spec' && parent[1] === 'env');
}

/** The path up to the first part that may be secret. */
export function showable(path: Path, value: unknown): Path {
  const free = path.findIndex(
    (part, index) =>
      typeof part === 'string' &&
      isFree(path.slice(0, index), part) &&
      !mayShow(part, memberAt(value, path.slice(0, index + 1)), path.slice(0, index), false),
  );
  return free === -1 ? path : path.slice(0, free);
}

const environmentWords = new Set([
  'name',
  'value',
  'valueFrom',
  'secretKeyRef',
  'configMapKeyRef',
  'key',
  'optional',
]);
const freeMaps: ReadonlySet<string | number | undefined> = new Set([
  'data',
  'stringData',
  'labels',
  'annotations',
]);

/** Whether the author chooses `key`, and not the schema. */
function isFree(parent: Path, key: string): boolean {
  if (parent[0] === 'spec' && parent[1] === 'env') return !environmentWords.has(key);
  return freeMaps.has(parent.at(-1));
}

function memberAt(value: unknown, path: Path): unknown {
  let member = value;
  for (const part of path) {
    if (Array.isArray(member)) member = member[Number(part)] as unknown;
    else if (isPlainMap(member) && Object.hasOwn(member, part)) member = member[part];
    else return undefined;
  }
  return member;
}

/** The names of the fields that `schema` has at `path`. */
function fieldsAt(schema: Schema, path: Path): string[] {
  let here = unwrapped(schema);
  for (const part of path) {
    const next = typeof part === 'number' ? here?.def.element : here?.def.shape?.[part];
    if (next === undefined) return [];
    here = unwrapped(next as Schema);
  }
  return Object.keys(here?.def.shape ?? {});
}

function unwrapped(schema: Schema): Schema {
  let inner = schema;
  while (inner.def.innerType !== undefined) inner = inner.def.innerType as Schema;
  return inner;
}
