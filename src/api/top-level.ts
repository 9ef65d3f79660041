/**
 * Where the members of a JSON object stand in its text, without parsing or decoding it. It knows strings, brackets and
 * blanks, which are single bytes in UTF-8, and gives up at everything else: a text that is not one object, a member that
 * occurs twice, an escape in a name, a byte order mark. It returns undefined then.
 *
 * It does not check that the text is JSON: whoever uses a part of it parses the rest.
 */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const mostMembers = 100;
const codes = {
  quote: 34,
  comma: 44,
  colon: 58,
  backslash: 92,
  openList: 91,
  closeList: 93,
  open: 123,
  close: 125,
};

const blanks: ReadonlySet<number | undefined> = new Set([32, 9, 10, 13]);
/** After the last byte; none of the above. */
const end = -1;

/** `known`: texts of whole values; where one of them stands, its end is known. */
export function membersOf(text: Buffer, known: readonly Buffer[]): ReadonlyMap<string, Span> | undefined {
  const members = new Map<string, Span>();
  let at = afterBlanks(text, 0);
  if (byteAt(text, at) !== codes.open) return undefined;
  do {
    const nameAt = afterBlanks(text, at + 1);
    const nameEnd = endOfString(text, nameAt);
    const colonAt = afterBlanks(text, nameEnd);
    if (nameEnd < 0 || byteAt(text, colonAt) !== codes.colon) return undefined;
    const name = text.toString('utf8', nameAt + 1, nameEnd - 1);
    if (name.includes('\\') || members.has(name) || members.size >= mostMembers) return undefined;
    const start = afterBlanks(text, colonAt + 1);
    const valueEnd = endOfValue(text, start, known);
    if (valueEnd <= start) return undefined;
    members.set(name, { start, end: valueEnd });
    at = afterBlanks(text, valueEnd);
  } while (byteAt(text, at) === codes.comma);
  const isWhole = byteAt(text, at) === codes.close && afterBlanks(text, at + 1) === text.length;
  return isWhole ? members : undefined;
}

/** Whether `part` stands there. */
export function standsAt(text: Buffer, part: Buffer, start: number): boolean {
  const stop = start + part.length;
  return stop <= text.length && text.compare(part, 0, part.length, start, stop) === 0;
}

function byteAt(text: Buffer, at: number): number {
  return text[at] ?? end;
}

function endOfValue(text: Buffer, start: number, known: readonly Buffer[]): number {
  const same = known.find((value) => standsAt(text, value, start));
  if (same !== undefined) return start + same.length;
  const code = byteAt(text, start);
  if (code === codes.quote) return endOfString(text, start);
  return code === codes.open || code === codes.openList ? endOfNested(text, start) : endOfWord(text, start);
}

/** After the quote that ends it; -1 when `start` is not at a quote, or none ends it. */
function endOfString(text: Buffer, start: number): number {
  if (byteAt(text, start) !== codes.quote) return -1;
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text[at];
    if (code === codes.quote) return at + 1;
    if (code === codes.backslash) at += 1;
  }
  return -1;
}

function endOfNested(text: Buffer, start: number): number {
  let levels = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text[at];
    if (code === codes.quote) {
      const stringEnd = endOfString(text, at);
      if (stringEnd < 0) return -1;
      at = stringEnd - 1;
    } else if (code === codes.open || code === codes.openList) levels += 1;
    else if (code === codes.close || code === codes.closeList) {
      levels -= 1;
      if (levels === 0) return at + 1;
    }
  }
  return -1;
}

/** A number, true, false or null. */
function endOfWord(text: Buffer, start: number): number {
  let at = start;
  while (at < text.length && /[\w.+-]/.test(String.fromCharCode(byteAt(text, at)))) at += 1;
  return at;
}

function afterBlanks(text: Buffer, start: number): number {
  let at = start;
  while (blanks.has(text[at])) at += 1;
  return at;
}
