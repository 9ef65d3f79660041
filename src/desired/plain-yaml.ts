/**
 * Reads YAML as nearly all of it is: maps, lists and scalars, without faults, anchors, tags, directives and merge keys. js-yaml needs a quarter
 * of the time of the parser in `yaml.ts`, but it ends at the first fault. Whatever it refuses, and whatever is of another shape, is undefined
 * here, and is read there. What is read here has the same values and lines there.
 */
import {
  COLLECTION_STYLE,
  EVENT_ID,
  NOT_RESOLVED,
  SCALAR_STYLE,
  boolCoreTag,
  floatCoreTag,
  getScalarValue,
  intCoreTag,
  nullCoreTag,
  parseEvents,
  type Event,
  type MappingEvent,
  type ScalarEvent,
  type SequenceEvent,
} from 'js-yaml';
import { limits } from './limits.ts';

/** The line of each member of a map or list. */
export type Lines = WeakMap<object, ReadonlyMap<string | number, number>>;

export interface PlainDocument {
  readonly value: unknown;
  /** Of the first line with content. */
  readonly line: number;
  readonly lines: Lines;
  readonly faults: readonly never[];
  readonly broken: false;
}

/**
 * What the two read differently: tabs, line ends of old Macs, an empty line behind a backslash, lines that begin with `%` or `...`, indented
 * `---`, blocks with `+` or with a number for their indentation, and escapes beyond the last character.
 */
const unusual =
  /\t|\r(?!\n)|\\\r?\n *\r?\n|^ *%|^ *\.\.\.|^ +---|(?:[:?-] +|^ *)[|>](?:\+|-?[1-9])|\\U(?!000|0010)/m;
/** An implicit key is one line of at most 1,024 characters (YAML 1.2, 7.4). js-yaml does not count. Nor does this look further for its colon. */
const longestKey = 1000;

/** All events of a text are in memory at once: some 100 bytes for one or two characters, at worst. */
const mostCharacters = 4 * 1024 * 1024;

/** All documents that have content; undefined: read it otherwise. Never throws. */
export function readPlainYaml(text: string): readonly PlainDocument[] | undefined {
  if (text.length > mostCharacters || unusual.test(text)) return undefined;
  try {
    return new PlainReader(text).read(parseEvents(text, { maxDepth: limits.nesting }));
  } catch {
    return undefined;
  }
}

interface OpenMap {
  readonly value: Record<string, unknown>;
  readonly lines: Map<string, number>;
  readonly isBlock: boolean;
  /** Its value comes next. */
  key: string | undefined;
}

interface OpenList {
  readonly value: unknown[];
  readonly lines: Map<number, number>;
  readonly isBlock: boolean;
}

class PlainReader {
  readonly #text: string;
  readonly #documents: PlainDocument[] = [];
  readonly #open: (OpenMap | OpenList)[] = [];
  #lines: Lines = new WeakMap();
  #line = 1;
  #lineStart = 0;
  /** Where the next line begins. */
  #nextLineAt: number;

  constructor(text: string) {
    this.#text = text;
    this.#nextLineAt = lineAfter(text, 0);
  }

  read(events: readonly Event[]): readonly PlainDocument[] | undefined {
    for (const event of events) {
      if (!this.#take(event) || this.#documents.length > limits.documents) return undefined;
    }
    return this.#documents;
  }

  /** False: it is of another shape. */
  #take(event: Event): boolean {
    if (event.type === EVENT_ID.ALIAS) return false;
    if (event.type === EVENT_ID.POP) {
      this.#open.pop();
      return true;
    }
    if (event.type === EVENT_ID.DOCUMENT) {
      this.#lines = new WeakMap();
      return event.directives.length === 0;
    }
    if (event.anchorStart >= 0 || event.tagStart >= 0) return false;
    return event.type === EVENT_ID.SCALAR ? this.#scalar(event) : this.#collection(event);
  }

  #collection({ type, start, style }: MappingEvent | SequenceEvent): boolean {
    const isBlock = style === COLLECTION_STYLE.BLOCK;
    const opened: OpenMap | OpenList =
      type === EVENT_ID.MAPPING
        ? { value: {}, lines: new Map(), isBlock, key: undefined }
        : { value: [], lines: new Map(), isBlock };
    if (!this.#place(opened.value, start)) return false;
    this.#lines.set(opened.value, opened.lines);
    this.#open.push(opened);
    return true;
  }

  #scalar(event: ScalarEvent): boolean {
    const text = getScalarValue(this.#text, event);
    const isPlain = event.style === SCALAR_STYLE.PLAIN;
    const value = isPlain ? plainValue(text) : text;
    if (isPlain && value === text && isTooLarge(text)) return false;
    const around = this.#open.at(-1);
    const isBlock = event.style === SCALAR_STYLE.LITERAL_BLOCK || event.style === SCALAR_STYLE.FOLDED_BLOCK;
    if (around && 'key' in around && around.key === undefined) {
      if (isBlock) return false;
      const isMerge = text === '<<' && isPlain;
      if (value === null || isMerge || text === '__proto__' || around.lines.has(text)) return false;
      if (!this.#text.slice(event.valueEnd, event.valueStart + longestKey).includes(':')) return false;
      around.key = text;
      around.lines.set(text, this.#lineOf(event.valueStart));
      return !around.isBlock || this.#beginsLine(event.valueStart);
    }
    // The line of an empty value, or of the `|` of a block, is not known.
    return this.#place(value, isBlock ? -1 : event.valueStart);
  }

  /** `offset`: where it begins; less than 0: not known. */
  #place(value: unknown, offset: number): boolean {
    const around = this.#open.at(-1);
    if (around && 'key' in around) {
      if (around.key === undefined) return false;
      around.value[around.key] = value;
      around.key = undefined;
      return true;
    }
    if (around) {
      if (offset < 0) return false;
      around.lines.set(around.value.length, this.#lineOf(offset));
      around.value.push(value);
      return !around.isBlock || this.#beginsLine(offset);
    } else if (value !== null) {
      if (offset < 0) return false;
      const line = this.#lineOf(offset);
      this.#documents.push({ value, line, lines: this.#lines, faults: [], broken: false });
    }
    return true;
  }

  /**
   * Whether all that is before it in the line of the last call of `#lineOf` are signs of blocks and a quote. js-yaml 5.5.0 takes the `b` of
   * `- 'a' b: c` for a field of the map around the list.
   */
  #beginsLine(offset: number): boolean {
    for (let at = this.#lineStart; at < offset; at += 1) {
      const character = this.#text.charAt(at);
      if (!' -?:'.includes(character) && !(at === offset - 1 && `'"`.includes(character))) return false;
    }
    return true;
  }

  /** `offset` never falls from call to call. */
  #lineOf(offset: number): number {
    while (this.#nextLineAt <= offset) {
      this.#line += 1;
      this.#lineStart = this.#nextLineAt;
      this.#nextLineAt = lineAfter(this.#text, this.#nextLineAt);
    }
    return this.#line;
  }
}

function lineAfter(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? Number.POSITIVE_INFINITY : end + 1;
}

const tags = [nullCoreTag, boolCoreTag, intCoreTag, floatCoreTag];
const firstCharacters = new Set(tags.flatMap((tag) => tag.implicitFirstChars ?? []));

/** Of a scalar without quotes. */
function plainValue(text: string): unknown {
  if (!firstCharacters.has(text.charAt(0))) return text;
  for (const tag of tags) {
    const value: unknown = tag.resolve(text, false, tag.tagName);
    if (value !== NOT_RESOLVED) return value;
  }
  return text;
}

/** A number that JavaScript takes for infinite, and js-yaml for a text. */
function isTooLarge(text: string): boolean {
  return /^[-+.\d]/.test(text) && Math.abs(Number(text)) === Number.POSITIVE_INFINITY;
}
