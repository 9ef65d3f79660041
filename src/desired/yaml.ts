/**
 * Parses YAML (and JSON) text into plain values with the line of each. A fault never contains text of the file other than
 * keys, because a value may be a secret.
 *
 * Most files are read by `plain-yaml.ts`. For all others the parser is driven token by token. So a file with too much nesting is refused
 * before it costs memory or stack.
 * Aliases share one value. Their expanded size is counted without expanding them.
 */
import {
  Composer,
  Lexer,
  LineCounter,
  Parser,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Document,
  type ErrorCode,
  type Node,
  type Pair,
} from 'yaml';
import { limits } from './limits.ts';
import { readPlainYaml, type Lines } from './plain-yaml.ts';

export type Path = readonly (string | number)[];

export interface Fault {
  readonly line: number;
  /** Undefined: the text of the whole document. */
  readonly path: Path | undefined;
  readonly message: string;
  readonly remedy: string;
}

export interface YamlDocument {
  readonly value: unknown;
  /** Of the first line with content. */
  readonly line: number;
  readonly lines: Lines;
  readonly faults: readonly Fault[];
  /** The text is not YAML. `value` is a guess, and the following documents of the file may have been swallowed. */
  readonly broken: boolean;
}

export interface YamlFile {
  readonly documents: readonly YamlDocument[];
  /** Why the rest of the file was not read. */
  readonly refused: Fault | undefined;
}

type PlainMap = Record<string, unknown>;

export function isPlainMap(value: unknown): value is PlainMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The line of a field. If it is absent, the line of the nearest enclosing field. */
export function lineAt(document: Pick<YamlDocument, 'value' | 'line' | 'lines'>, path: Path): number {
  let { value, line } = document;
  for (const part of path) {
    if (typeof value !== 'object' || value === null) break;
    const next = document.lines.get(value)?.get(part);
    if (next === undefined) break;
    line = next;
    value = (value as PlainMap)[part];
  }
  return line;
}

/**
 * Byte order marks of files that were joined: each document may begin with one (YAML 1.2, 5.2). The parser takes one behind a `---` for part
 * of a key, and one before it for a value. At the start of a line a mark is no content, since a value that continues there is indented.
 */
export const joinedMark = /(?:^|(?<=\n))\uFEFF+/g;

/** Reads all documents of a file that have content. Never throws. */
export function readYaml(text: string): YamlFile {
  const withoutMarks = text.replaceAll(joinedMark, '');
  const documents = readPlainYaml(withoutMarks);
  return documents ? { documents, refused: undefined } : readTokens(withoutMarks);
}

/** Of any YAML. */
export function readTokens(text: string): YamlFile {
  const lineCounter = new LineCounter();
  lineCounter.addNewLine(0);
  const parser = new Parser(lineCounter.addNewLine);
  // Duplicate keys are checked here, because the library's check is quadratic. Tags (`!secret x`) are not
  // dropped silently.
  const composer = new Composer({
    prettyErrors: false,
    uniqueKeys: false,
    resolveKnownTags: false,
    schema: 'core',
  });
  const budget = { left: limits.aliasedValues };
  const documents: YamlDocument[] = [];
  let oddities = 0;
  const take = (composed: Iterable<Document.Parsed>) => {
    for (const document of composed) {
      const read = new Reader(lineCounter, budget).read(document);
      if (read.value !== null || read.faults.length > 0) documents.push(read);
    }
  };
  const refuse = (message: string, remedy: string): YamlFile => ({
    documents,
    refused: { line: lineCounter.linePos(parser.offset).line || 1, path: undefined, message, remedy },
  });
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) {
      if (token.type === 'error' || token.type === 'directive') oddities += 1;
      take(composer.next(token));
    }
    // Each error costs the library a stack trace.
    if (oddities > limits.oddities) {
      return refuse('not valid YAML in very many places', 'check that this is a file of documents');
    }
    // The stack holds the document, the collections, and the current scalar.
    if (parser.stack.length > limits.nesting + 2) {
      return refuse(`nested deeper than ${limits.nesting} levels`, 'write it flatter, or check the brackets');
    }
    if (documents.length > limits.documents) break;
  }
  for (const token of parser.end()) take(composer.next(token));
  take(composer.end());
  if (documents.length > limits.documents) {
    return refuse(`more than ${limits.documents} documents in one file`, 'split the fleet');
  }
  return { documents, refused: undefined };
}

interface Plain {
  value: unknown;
  /** Of values, with aliases expanded. */
  size: number;
  height: number;
  /** Not read completely yet: an alias to it would be a cycle. */
  open: boolean;
}

const nothing: Readonly<Plain> = { value: null, size: 1, height: 0, open: false };

/** Turns one composed document into plain values. */
class Reader {
  readonly #lineCounter: LineCounter;
  readonly #budget: { left: number };
  readonly #lines: Lines = new WeakMap();
  readonly #faults: Fault[] = [];
  readonly #anchors = new Map<string, Plain>();
  readonly #path: (string | number)[] = [];

  constructor(lineCounter: LineCounter, budget: { left: number }) {
    this.#lineCounter = lineCounter;
    this.#budget = budget;
  }

  read(document: Document.Parsed): YamlDocument {
    const syntaxError = document.errors[0];
    const line = this.#lineOf(document.contents ?? undefined, document.range[0]);
    if (syntaxError) {
      this.#faults.push({
        line: this.#line(syntaxError.pos[0]),
        path: undefined,
        ...explained(syntaxError.code),
      });
    }
    for (const warning of document.warnings) {
      this.#faults.push({ line: this.#line(warning.pos[0]), path: undefined, ...explained(warning.code) });
    }
    const { value } = this.#node(document.contents);
    const faults = withSecondDocument(this.#faults);
    return { value, line, lines: this.#lines, faults, broken: syntaxError !== undefined };
  }

  #node(node: Node | null | undefined): Plain {
    if (!node) return nothing;
    if (isAlias(node)) return this.#alias(node.source, node);
    const plain: Plain = { value: null, size: 1, height: 0, open: true };
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor) this.#anchors.set(node.anchor, plain);
    if (isScalar(node)) plain.value = node.value;
    else if (isMap(node)) this.#map(node.items, plain);
    else if (isSeq(node)) this.#list(node.items as Node[], plain);
    plain.open = false;
    return plain;
  }

  #list(items: readonly Node[], plain: Plain): void {
    const value: unknown[] = [];
    const lines = new Map<number, number>();
    plain.value = value;
    this.#lines.set(value, lines);
    for (const [index, item] of items.entries()) {
      this.#path.push(index);
      lines.set(index, this.#lineOf(item));
      value.push(this.#grow(plain, this.#node(item)).value);
      this.#path.pop();
    }
  }

  #map(items: readonly Pair[], plain: Plain): void {
    const value: PlainMap = {};
    const lines = new Map<string, number>();
    const merged: { content: Plain; line: number }[] = [];
    plain.value = value;
    this.#lines.set(value, lines);
    for (const pair of items as Pair<Node, Node | null>[]) {
      const line = this.#lineOf(pair.key);
      const key = this.#key(pair.key, line);
      if (key === undefined) continue;
      this.#path.push(key);
      const content = this.#grow(plain, this.#node(pair.value));
      if (key === '<<' && isScalar(pair.key) && pair.key.type === 'PLAIN') merged.push({ content, line });
      else if (key === '__proto__') this.#fault(line, 'this name is not allowed', 'choose another one');
      else if (lines.has(key)) this.#fault(line, writtenTwice, 'keep one of them');
      else {
        value[key] = content.value;
        lines.set(key, line);
      }
      this.#path.pop();
    }
    for (const { content, line } of merged) this.#merge(value, lines, content.value, line);
  }

  /** `<<: *defaults`: the map's own keys win, then those of the first merged map. */
  #merge(value: PlainMap, lines: Map<string, number>, from: unknown, line: number): void {
    const sources: unknown[] = Array.isArray(from) ? from : [from];
    for (const source of sources) {
      if (!isPlainMap(source)) {
        this.#fault(line, '`<<` takes a map, or a list of maps', 'point it at an anchor on a map');
        continue;
      }
      for (const [key, member] of Object.entries(source)) {
        if (Object.hasOwn(value, key)) continue;
        this.#budget.left -= 1;
        if (this.#budget.left < 0)
          return this.#fault(line, '`<<` repeats too much', 'write out what is meant');
        value[key] = member;
        lines.set(key, this.#lines.get(source)?.get(key) ?? line);
      }
    }
  }

  #key(key: Node | null, line: number): string | undefined {
    if (isScalar(key) && typeof key.value === 'string') return key.value;
    if (isScalar(key) && key.value !== null && key.source) return key.source;
    this.#fault(line, 'a field has no name', 'write a text before the colon; quote a text that has braces');
    return undefined;
  }

  #alias(anchor: string, node: Node): Plain {
    const target = this.#anchors.get(anchor);
    const line = this.#lineOf(node);
    if (!target) {
      this.#fault(line, 'an alias (`*name`) without its anchor (`&name`)', 'quote a text that starts with *');
      return nothing;
    }
    const spent = this.#budget.left < 0;
    this.#budget.left -= target.size;
    if (target.open || this.#budget.left < 0 || this.#path.length + target.height > limits.nesting) {
      const what = target.open ? 'refers to itself' : 'repeats too much';
      if (!spent || this.#faults.length === 0)
        this.#fault(line, `an alias (\`*name\`) ${what}`, 'write out what is meant');
      return nothing;
    }
    return { ...target };
  }

  #grow(plain: Plain, member: Plain): Plain {
    plain.size += member.size;
    plain.height = Math.max(plain.height, member.height + 1);
    return member;
  }

  #fault(line: number, message: string, remedy: string): void {
    if (this.#faults.length > limits.problemsPerDocument) return;
    this.#faults.push({ line, path: [...this.#path], message, remedy });
  }

  #lineOf(node: Node | null | undefined, otherwise = 0): number {
    return this.#line(node?.range?.[0] ?? otherwise);
  }

  #line(offset: number): number {
    return Math.max(1, this.#lineCounter.linePos(offset).line);
  }
}

const writtenTwice = 'is written twice in one map';

/** A second document without `---` repeats all fields of the first one. That is reported once. */
function withSecondDocument(faults: readonly Fault[]): readonly Fault[] {
  const isRepeated = ({ path, message }: Fault) => path?.length === 1 && message === writtenTwice;
  const repeated = faults.filter(isRepeated);
  const [first] = repeated;
  // Its kind: a fault there makes it uncertain which objects the file declares.
  const kind = repeated.find(({ path }) => path?.[0] === 'kind');
  if (!first || !kind) return faults;
  const remedy = `put a line \`---\` above line ${first.line} if another document begins there; else keep one of them`;
  return [{ ...kind, remedy }, ...faults.filter((fault) => !isRepeated(fault))];
}

/** The library's messages quote the text, so they are replaced. */
function explained(code: ErrorCode): { message: string; remedy: string } {
  const [message, remedy] = faultTexts[code] ?? ['is not valid YAML', 'fix the text around this line'];
  return { message, remedy };
}

const indentation = 'align the fields of one map with spaces';
const faultTexts: Partial<Record<ErrorCode, readonly [message: string, remedy: string]>> = {
  BAD_INDENT: ['not valid YAML: wrong indentation, or a bracket that is not closed', indentation],
  TAB_AS_INDENT: ['not valid YAML: a tab is used for indentation', 'indent with spaces'],
  MISSING_CHAR: ['not valid YAML: a closing quote or bracket, a colon or a comma is missing', 'add it'],
  UNEXPECTED_TOKEN: ['not valid YAML: an unexpected token', 'fix the text around this line'],
  BLOCK_AS_IMPLICIT_KEY: [
    'not valid YAML: a second colon on one line, or wrong indentation',
    'quote a text with a colon',
  ],
  MULTILINE_IMPLICIT_KEY: ['not valid YAML: a field without a colon, or wrong indentation', 'add the colon'],
  BLOCK_IN_FLOW: ['not valid YAML: an indented block inside brackets', 'write it with brackets as well'],
  BAD_SCALAR_START: ['not valid YAML: a text starts with a reserved character', 'quote the text'],
  BAD_DQ_ESCAPE: [
    'not valid YAML: an unknown escape (`\\…`) in double quotes',
    'use single quotes, or double the backslash',
  ],
  BAD_ALIAS: ['not valid YAML: an invalid alias (`*name`)', 'quote a text that starts with *'],
  TAG_RESOLVE_FAILED: ['a tag (`!name`) that fleetkeeper does not know', 'remove it, or quote the text'],
  KEY_OVER_1024_CHARS: ["not valid YAML: a field's name is longer than 1024 characters", 'shorten it'],
  RESOURCE_EXHAUSTION: ['too much for the YAML reader', 'write it flatter, or split the file'],
};
