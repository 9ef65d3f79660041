/**
 * What a source remembers of a document beside its spec: the document itself, as it is written, and the line of each field. A folder
 * has thousands of documents of a few shapes, and asks for these seldom. So a document is kept as one JSON text, and what
 * documents of one shape have alike is shared: the names of their fields, and how far each field is from the first line.
 *
 * A document that JSON would change or enlarge is kept as it is: one with aliases, with numbers that JSON lacks, or a large one.
 */
import type { DesiredDocument, Location, WrittenDocument } from './source.ts';
import { isPlainMap, lineAt, type Path, type YamlDocument } from './yaml.ts';

type Read = Pick<YamlDocument, 'value' | 'line' | 'lines'>;

const mostText = 16 * 1024;
const mostFields = 500;
const largestDistance = 0xff_ff;

/** What an object of a folder has of its document, which has passed the schema. */
export function keptDocument(document: Read, file: string): Required<DesiredDocument> {
  const distances = distancesOf(document);
  return distances === undefined ? keptWhole(document, file) : new CompactDocument(document, file, distances);
}

function keptWhole(document: Read, file: string): Required<DesiredDocument> {
  return {
    locate: (path) => ({ file, line: lineAt(document, path) }),
    gives: (field) => Object.hasOwn(specOf(document.value), field),
    written: () => document.value as WrittenDocument,
  };
}

class CompactDocument implements Required<DesiredDocument> {
  readonly #file: string;
  readonly #text: string;
  readonly #line: number;
  /** Of each field, in the order of the text: a character whose code is the distance. */
  readonly #distances: string;
  readonly #fields: readonly string[];

  constructor({ value, line }: Read, file: string, distances: string) {
    this.#file = file;
    this.#text = JSON.stringify(value);
    this.#line = line;
    this.#distances = shared.text(distances);
    this.#fields = shared.names(Object.keys(specOf(value)));
  }

  locate(path: Path): Location {
    let [value, line, next]: [unknown, number, number] = [this.written(), this.#line, 0];
    for (const part of path) {
      const member = memberAt(value, part, next);
      if (!member) break;
      line = this.#line + this.#distances.charCodeAt(member.at);
      value = member.value;
      next = member.at + 1;
    }
    return { file: this.#file, line };
  }

  gives(field: string): boolean {
    return this.#fields.includes(field);
  }

  written(): WrittenDocument {
    return JSON.parse(this.#text) as WrittenDocument;
  }
}

/** The member, and its number in the order of the text. `next`: that of the first member. */
function memberAt(
  value: unknown,
  part: string | number,
  next: number,
): { readonly value: unknown; readonly at: number } | undefined {
  let at = next;
  for (const [key, member] of membersOf(value)) {
    if (key === part) return { value: member, at };
    at += 1 + countIn(member);
  }
  return undefined;
}

function countIn(value: unknown): number {
  let count = 0;
  for (const [, member] of membersOf(value)) count += 1 + countIn(member);
  return count;
}

function membersOf(value: unknown): Iterable<readonly [string | number, unknown]> {
  if (Array.isArray(value)) return value.entries();
  return isPlainMap(value) ? Object.entries(value) : [];
}

function specOf(document: unknown): object {
  const spec = isPlainMap(document) ? document['spec'] : undefined;
  return typeof spec === 'object' && spec !== null ? spec : {};
}

/** Undefined: the document is to be kept as it is. */
function distancesOf({ value: whole, line: first, lines }: Read): string | undefined {
  const distances: string[] = [];
  const met = new Set<object>();
  let length = 0;
  const isSmall = (value: unknown): boolean => {
    if (typeof value === 'string') length += value.length;
    if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
    if (typeof value !== 'object' || value === null) return typeof value !== 'bigint';
    if (met.has(value)) return false;
    met.add(value);
    const known = lines.get(value);
    for (const [key, member] of membersOf(value)) {
      const distance = (known?.get(key) ?? Number.NaN) - first;
      if (!(distance >= 0 && distance <= largestDistance)) return false;
      if (length > mostText || distances.length >= mostFields) return false;
      distances.push(String.fromCharCode(distance));
      if (!isSmall(member)) return false;
    }
    return true;
  };
  return isSmall(whole) && length <= mostText ? distances.join('') : undefined;
}

/** Equal texts and lists, kept once. Bounded: a folder without common shapes costs what it costs. */
class Shared {
  readonly #texts = new Map<string, string>();
  readonly #names = new Map<string, readonly string[]>();

  text(text: string): string {
    return keep(this.#texts, text, () => text);
  }

  names(names: readonly string[]): readonly string[] {
    return keep(this.#names, names.join('\n'), () => names);
  }
}

const mostShared = 1000;

function keep<Value>(pool: Map<string, Value>, key: string, make: () => Value): Value {
  const known = pool.get(key);
  if (known !== undefined) return known;
  if (pool.size >= mostShared) pool.clear();
  const made = make();
  pool.set(key, made);
  return made;
}

const shared = new Shared();
