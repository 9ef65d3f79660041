/**
 * Explains what a schema refuses: the field, its line, what was expected, and how to fix it. It never shows a
 * text, because that may be a secret. Of a number that is out of range, it shows the number. It does not show a key that may be part of a value, either: `{value:
 * half,other}` is a map with the key `other`.
 */
import type { documents, ManagedKind } from '../resources/index.ts';
import { nearest } from '../base/index.ts';
import { limits } from './limits.ts';
import {
  fieldsAt,
  formAt,
  hintAt,
  isNumber,
  numberAdvice,
  oneOf,
  otherPlace,
  type Hints,
  type Schema,
} from './advice.ts';
import { pathText } from './problem.ts';
import { isPlainMap, type Path } from './yaml.ts';

type Checked = ReturnType<(typeof documents)[ManagedKind]['safeParse']>;
type Issue = NonNullable<Checked['error']>['issues'][number];

export interface Finding {
  readonly path: Path;
  readonly message: string;
  readonly remedy: string;
  /** The field that was probably meant. */
  readonly meant?: string;
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
      return oneOf(issue['values'], issue.input);
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
  const { input } = issue;
  const found = numeric && typeof input === 'number' ? `, and is ${input}` : '';
  return `must be ${how} ${bound}${unit}${found}; ${numeric ? `write a number that is ${how} ${bound}` : 'correct it'}`;
}

/** What `value` was to be, and the hints of its kind. */
export interface Expected {
  readonly schema: Schema;
  readonly hints?: Hints | undefined;
}

/** The findings of a failed validation of `value`. Their number is bounded. */
export function explain(
  issues: readonly Issue[],
  { schema, hints = {} }: Expected,
  value: unknown,
): Finding[] {
  const findings = issues.flatMap((issue): Found[] => {
    const path = issue.path.filter((part) => typeof part !== 'symbol');
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) =>
        unknownField({ schema, hints }, path, key, memberAt(value, [...path, key])),
      );
    }
    const [message = '', ...rest] = issue.message.split('; ');
    const remedy =
      issue.code === 'invalid_type' ? typeRemedy({ schema, hints }, path, memberAt(value, path)) : undefined;
    const isRule = issue.code === 'custom';
    return [
      { path: showable(path, value), message, remedy: remedy ?? (rest.join('; ') || 'correct it'), isRule },
    ];
  });
  const kept: Finding[] = withoutConsequences(withoutRepetitions(findings));
  const shown = kept.slice(0, limits.problemsPerDocument);
  const left = kept.length - shown.length;
  if (left > 0) {
    shown.push({
      path: [],
      message: `${left} more problems like these`,
      remedy: 'fix the first ones first',
    });
  }
  return shown;
}

/** A whole number that is too large is too large for its field as well. */
function withoutRepetitions(findings: readonly Found[]): Found[] {
  const seen = new Set<string>();
  return findings.filter(({ path, message }) => {
    const text = JSON.stringify([path, message]);
    const isNew = !seen.has(text);
    seen.add(text);
    return isNew;
  });
}

/** `isRule`: it is about several fields. */
type Found = Finding & { readonly isRule?: boolean };

/**
 * Without what follows from a name that is misspelt: the field is missing, or a rule that names it is broken. A map that needs one of
 * several fields has none if the only one is unknown.
 */
function withoutConsequences(findings: readonly Found[]): Found[] {
  const misspelt = findings.flatMap(({ path, meant: name, message }) => {
    const parent = path.slice(0, -1);
    return name !== undefined || message.startsWith(unknown) ? [{ parent, name }] : [];
  });
  const missing = new Set(misspelt.flatMap(({ parent, name }) => (name ? pathText([...parent, name]) : [])));
  const isConsequence = ({ path, message, isRule }: Found) =>
    isRule === true
      ? misspelt.some(({ parent, name }) =>
          name === undefined
            ? message.startsWith('needs ') && pathText(parent) === pathText(path)
            : startsWith(path, parent) && message.split(/\W+/).includes(name),
        )
      : message === 'is missing' && missing.has(pathText(path));
  return findings.filter((finding) => !isConsequence(finding));
}

const unknown = 'unknown field `';

function startsWith(path: Path, start: Path): boolean {
  return start.every((part, index) => path[index] === part);
}

function typeRemedy({ schema, hints = {} }: Expected, path: Path, found: unknown): string | undefined {
  const hint = hintAt(hints, path);
  if (hint !== undefined) return hint;
  if (found === undefined || found === null) return undefined;
  const text = typeof found === 'string' ? numberAdvice(path, found) : undefined;
  return isNumber(schema, path) ? text : formAt(schema, path);
}

function unknownField({ schema, hints = {} }: Expected, path: Path, key: string, member: unknown): Finding {
  const known = fieldsAt(schema, path);
  const meant = nearest(key, known);
  if (!mayShow(key, member, path, meant !== undefined)) {
    return {
      path,
      message: 'unknown field (not named here: it may be a part of a value)',
      remedy:
        hintAt(hints, path) ??
        `quote a text that has a comma or a colon; the fields here are ${known.join(', ')}`,
    };
  }
  const found = { path: [...path, key], message: `${unknown}${key}\`` };
  const hint = hintAt(hints, found.path);
  if (hint !== undefined) return { ...found, remedy: hint };
  if (meant !== undefined) return { ...found, remedy: `did you mean \`${meant}\`?`, meant };
  const place = otherPlace(schema, key);
  const remedy =
    place === undefined
      ? `remove it, or check its place; the fields here are ${known.join(', ')}`
      : `move it to \`${place}\``;
  return { ...found, remedy };
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
