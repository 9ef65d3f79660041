/**
 * `-o jsonpath=TEMPLATE`, as `kubectl` has it: text, and expressions in braces.
 *
 * | expression                | prints                                                              |
 * |---------------------------|---------------------------------------------------------------------|
 * | `{.items[*].status.id}`   | the values of a path, with spaces between them                      |
 * | `{"\n"}`, `{'text'}`      | the text                                                            |
 * | `{range PATH}…{end}`      | what is between, for each value; paths in it begin there, with `.` or `@` |
 *
 * A path is that of RFC 9535 (json-p3), with three forms that only `kubectl` has: it begins with a dot or `@`, names may have
 * dashes, and a dot in a name is written `\.`. A value that is no text is printed as JSON; one that is missing, as nothing.
 */
import { JSONPathError, jsonpath, type JSONPathQuery, type JSONValue } from 'json-p3';
import { UserError, messageOf } from '../../base/index.ts';

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'path'; readonly path: Path }
  | { readonly kind: 'range'; readonly path: Path; readonly body: readonly Part[] };

interface Path {
  /** Begins at the whole list, also within a range. */
  readonly isAbsolute: boolean;
  readonly query: JSONPathQuery;
}

export interface Template {
  render(value: object): string;
}

/** Throws a `UserError` that shows where the mistake is. */
export function parseTemplate(text: string): Template {
  const parts = new Parser(text).parse();
  return {
    render(value) {
      const root = JSON.parse(JSON.stringify(value)) as JSONValue;
      return render(parts, root, root);
    },
  };
}

function render(parts: readonly Part[], root: JSONValue, current: JSONValue): string {
  const found = ({ isAbsolute, query }: Path) => query.query(isAbsolute ? root : current).values();
  return parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      if (part.kind === 'path') return found(part.path).map(shown).join(' ');
      return found(part.path)
        .map((value) => render(part.body, root, value))
        .join('');
    })
    .join('');
}

function shown(value: JSONValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Part[] {
    if (!this.#text.includes('{')) this.#fail(0, 'there is no expression in braces');
    return this.#parts(undefined);
  }

  /** `openedAt`: of the range that they are in. */
  #parts(openedAt: number | undefined): Part[] {
    const parts: Part[] = [];
    while (this.#at < this.#text.length) {
      const open = this.#text.indexOf('{', this.#at);
      const until = open === -1 ? this.#text.length : open;
      const stray = this.#text.slice(this.#at, until).indexOf('}');
      if (stray !== -1) this.#fail(this.#at + stray, 'this brace closes nothing');
      if (until > this.#at) parts.push({ kind: 'text', text: this.#text.slice(this.#at, until) });
      if (open === -1) {
        this.#at = until;
        break;
      }
      const { content, at } = this.#expression(open);
      if (content === 'end') {
        if (openedAt === undefined) this.#fail(at, 'there is no range that this could end');
        return parts;
      }
      parts.push(this.#part(content, at));
    }
    if (openedAt !== undefined) this.#fail(openedAt, 'this range has no {end}');
    return parts;
  }

  #part(content: string, at: number): Part {
    const range = /^range\s+/.exec(content);
    if (range) {
      const path = this.#path(content.slice(range[0].length), at + range[0].length);
      return { kind: 'range', path, body: this.#parts(at) };
    }
    const text = /^(["'])(.*)\1$/s.exec(content);
    if (text) return { kind: 'text', text: this.#literal(text[2] ?? '', at) };
    return { kind: 'path', path: this.#path(content, at) };
  }

  /** From the brace at `open` to the one that closes it; not within quotes. */
  #expression(open: number): { content: string; at: number } {
    let quote: string | undefined;
    for (let at = open + 1; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === '\\') at += 1;
      else if (quote !== undefined) quote = character === quote ? undefined : quote;
      else if (character === '"' || character === "'") quote = character;
      else if (character === '}') {
        this.#at = at + 1;
        const inside = this.#text.slice(open + 1, at);
        const content = inside.trim();
        if (content === '') this.#fail(open, 'the braces are empty');
        return { content, at: open + 1 + inside.indexOf(content) };
      }
    }
    return this.#fail(open, 'this brace is not closed');
  }

  #literal(text: string, at: number): string {
    try {
      const escaped = text
        .replaceAll("\\'", "'")
        .replaceAll(/(\\.)|"/gs, (_, pair?: string) => pair ?? '\\"');
      return JSON.parse(`"${escaped}"`) as string;
    } catch {
      return this.#fail(at, 'this text has an unknown escape; \\n, \\t, \\" and \\\\ are known');
    }
  }

  #path(text: string, at: number): Path {
    const start = /^[$@]/.test(text) ? 1 : 0;
    if (start === 0 && !/^[.[]/.test(text)) {
      this.#fail(at, 'expected a path that begins with a dot, a text in quotes, range or end');
    }
    const { query, positions } = asRfc9535(text, start);
    try {
      return { isAbsolute: text.startsWith('$'), query: jsonpath.compile(query) };
    } catch (error) {
      const index = error instanceof JSONPathError ? error.token.index : 0;
      const near = positions.findLast(({ made }) => made <= index);
      const inside = near?.isAsWritten ? index - near.made : 0;
      const what = messageOf(error).replace(/ \('.*':\d+\)$/s, '');
      return this.#fail(
        at + Math.min((near?.written ?? 0) + inside, text.length),
        `this is not a path: ${what}`,
      );
    }
  }

  #fail(at: number, message: string): never {
    const line = oneLineEach(this.#text);
    throw new UserError(
      `-o jsonpath: ${message}, at character ${at + 1}:\n  ${line}\n  ${' '.repeat(at)}^`,
      "a template is for example '{.items[*].metadata.name}'; docs/reference/output.md has what is supported",
    );
  }
}

/** The same number of characters, on one line. */
function oneLineEach(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ');
}

/** Where a part of a path was written, and where it is in what was made of it. */
interface Position {
  readonly written: number;
  readonly made: number;
  /** Character by character. */
  readonly isAsWritten: boolean;
}

/** With each name in brackets. */
function asRfc9535(text: string, start: number): { query: string; positions: readonly Position[] } {
  const positions: Position[] = [];
  let query = '$';
  let at = start;
  while (at < text.length) {
    const rest = text.slice(at);
    const name = /^(\.\.?)((?:\\.|[^.[\\*\s'"])+)/.exec(rest);
    const brackets = bracketed(rest);
    positions.push({ written: at, made: query.length, isAsWritten: !name });
    if (name) {
      const key = (name[2] ?? '').replaceAll(/\\(.)/g, '$1');
      query += `${name[1] === '..' ? '..' : ''}['${key.replaceAll(/['\\]/g, String.raw`\$&`)}']`;
      at += name[0].length;
    } else {
      const next = brackets ?? rest[0] ?? '';
      // `..[` and `.*` are those of the RFC; a dot before a bracket is not.
      query += next;
      at += next.length;
    }
  }
  return { query, positions };
}

/** A selection in brackets, to the bracket that closes it. */
function bracketed(text: string): string | undefined {
  if (!text.startsWith('[')) return undefined;
  let depth = 0;
  let quote: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (quote !== undefined) {
      if (character === quote) quote = undefined;
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '[') depth += 1;
    else if (character === ']' && --depth === 0) return text.slice(0, at + 1);
  }
  return undefined;
}
