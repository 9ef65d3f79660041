/**
 * Where the members of a JSON object stand in its text, without parsing it. It knows strings, brackets and blanks,
 * and gives up at everything else: a text that is not one object, a member that occurs twice, an escape in a name. It
 * returns undefined then.
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

/** `known`: texts of whole values; where one of them stands, its end is known. */
export function membersOf(text: string, known: readonly string[]): ReadonlyMap<string, Span> | undefined {
  const members = new Map<string, Span>();
  let at = afterBlanks(text, 0);
  if (text.charCodeAt(at) !== codes.open) return undefined;
  do {
    const nameAt = afterBlanks(text, at + 1);
    const nameEnd = endOfString(text, nameAt);
    const name = text.slice(nameAt + 1, nameEnd - 1);
    const colonAt = afterBlanks(text, nameEnd);
    if (nameEnd < 0 || text.charCodeAt(colonAt) !== codes.colon) return undefined;
    if (name.includes('\\') || members.has(name) || members.size >= mostMembers) return undefined;
    const start = afterBlanks(text, colonAt + 1);
    const end = endOfValue(text, start, known);
    if (end <= start) return undefined;
    members.set(name, { start, end });
    at = afterBlanks(text, end);
  } while (text.charCodeAt(at) === codes.comma);
  const isWhole = text.charCodeAt(at) === codes.close && afterBlanks(text, at + 1) === text.length;
  return isWhole ? members : undefined;
}

function endOfValue(text: string, start: number, known: readonly string[]): number {
  const same = known.find((value) => text.startsWith(value, start));
  if (same !== undefined) return start + same.length;
  const code = text.charCodeAt(start);
  if (code === codes.quote) return endOfString(text, start);
  return code === codes.open || code === codes.openList ? endOfNested(text, start) : endOfWord(text, start);
}

/** After the quote that ends it; -1 when `start` is not at a quote, or none ends it. */
function endOfString(text: string, start: number): number {
  if (text.charCodeAt(start) !== codes.quote) return -1;
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) === codes.backslash) before -= 1;
    if ((at - before) % 2 === 1) return at + 1;
  }
  return -1;
}

function endOfNested(text: string, start: number): number {
  let levels = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) {
      const end = endOfString(text, at);
      if (end < 0) return -1;
      at = end - 1;
    } else if (code === codes.open || code === codes.openList) levels += 1;
    else if (code === codes.close || code === codes.closeList) {
      levels -= 1;
      if (levels === 0) return at + 1;
    }
  }
  return -1;
}

/** A number, true, false or null. */
function endOfWord(text: string, start: number): number {
  let at = start;
  while (at < text.length && /[\w.+-]/.test(text.charAt(at))) at += 1;
  return at;
}

function afterBlanks(text: string, start: number): number {
  let at = start;
  while (' \t\n\r'.includes(text.charAt(at)) && at < text.length) at += 1;
  return at;
}
