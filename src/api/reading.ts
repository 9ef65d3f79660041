/**
 * Reads answers whose fields the contract leaves open (§2 "Gaps in resource fields"), field by field.
 *
 * | the field        | when it can't be read                                                                      |
 * |------------------|--------------------------------------------------------------------------------------------|
 * | only informs     | it counts as not shown; the reason is noted                                                |
 * | decides          | nothing is done with that one object; the reason is kept with it (`unreadable`, `decides`) |
 * | identifies       | the entry is kept as unidentified: the list it stands in proves no absence                 |
 *
 * A missing field is not unreadable, and null is the same as missing where nothing can be "none".
 */
import { canonicalId, isUuid } from '../base/index.ts';
import { typeName, type Descriptions } from './descriptions.ts';
import type { Unreadable } from './wire.ts';

export interface FieldReader {
  /** The value, `null` for "there is none", or `undefined` when it can't be read. Never called with null or undefined. */
  readonly read: (value: unknown) => unknown;
  readonly expected: string;
  /** Without it nothing may be done with the object; a function is asked with the value as answered. */
  readonly decides?: true | ((value: unknown) => boolean);
  /** Other names of the field, tried in order where the contract gives it none. */
  readonly aliases?: readonly string[];
  /** Null means "none"; without this it means that the field is not shown. */
  readonly mayBeNull?: true;
  /** The value may hold secrets: only its type is repeated. */
  readonly isPrivate?: true;
}

export type FieldReaders = Readonly<Record<string, FieldReader>>;
export type Fields = Record<string, unknown>;

/** What is learned while one answer is read. */
export interface Reading {
  /** Of what is found in it. */
  readonly descriptions: Descriptions;
  /** Called for fields that could not be read. `times`: how many of the resource have just this problem; undefined: one. */
  readonly note: (resource: string, problem: Unreadable, times?: number) => void;
  /** Called with each id that is not written in lower case. */
  readonly spelled: (id: string, shown: string) => void;
}

/** A record with the fields in `readers` as far as they could be read, and all others as they came. */
export function readFields(
  resource: string,
  raw: Readonly<Fields>,
  readers: FieldReaders,
  reading: Reading,
): Fields {
  const value: Fields = { ...raw };
  delete value['unreadable'];
  const problems: Unreadable[] = [];
  for (const [field, reader] of Object.entries(readers)) {
    const [name, shown] = shownAs(raw, field, reader);
    const read = shown === undefined || shown === null ? shown : reader.read(shown);
    if (read === undefined || (read === null && !reader.mayBeNull)) delete value[field];
    else value[field] = read;
    if (shown !== undefined && shown !== null && read === undefined) {
      const problem = problemOf(name, shown, reader, reading);
      problems.push(problem);
      reading.note(resource, problem);
    }
  }
  if (problems.length > 0) value['unreadable'] = problems;
  return value;
}

function shownAs(raw: Readonly<Fields>, field: string, { aliases = [] }: FieldReader): [string, unknown] {
  if (raw[field] !== undefined && raw[field] !== null) return [field, raw[field]];
  const alias = aliases.find((name) => raw[name] !== undefined && raw[name] !== null);
  return alias === undefined ? [field, raw[field]] : [alias, raw[alias]];
}

/** Equal ones of an answer are one object: a large answer may have as many as it has fields. */
export function problemOf(
  field: string,
  value: unknown,
  rule: Omit<FieldReader, 'read'>,
  { descriptions }: Pick<Reading, 'descriptions'>,
): Unreadable {
  const found = rule.isPrivate ? typeName(value) : descriptions.of(value);
  const decides = typeof rule.decides === 'function' ? rule.decides(value) : rule.decides === true;
  const known = descriptions.problemsOf(rule);
  const same = known.get(found);
  if (same?.field === field && same.decides === decides) return same;
  const problem = { field, found, expected: rule.expected, decides };
  known.set(found, problem);
  return problem;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A UUID in lower case: upper and lower case are the same id, whatever a list and an answer write (§2 "uuid"). */
export function readId(value: unknown, { spelled }: Reading): string | undefined {
  if (typeof value !== 'string' || !isUuid(value)) return undefined;
  const id = canonicalId(value);
  if (id !== value) spelled(id, value);
  return id;
}

/** What came where an answer was expected; it can't be used at all. */
export class Misread {
  readonly where: string;
  readonly expected: string;
  readonly found: string;

  constructor(where: string, expected: string, value: unknown, { descriptions }: Reading) {
    this.where = where;
    this.expected = expected;
    this.found = descriptions.of(value);
  }

  get message(): string {
    return `${this.where}: expected ${this.expected}, found ${this.found}`;
  }
}
