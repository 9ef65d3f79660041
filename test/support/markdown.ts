/**
 * A strict reader of the Markdown that `plan` writes. It follows the rules of CommonMark for code spans and HTML blocks, and refuses what the
 * product has no reason to write outside of code: so nothing there can be a mention, a link, an element or a quick action.
 */

export interface ReadMarkdown {
  /** The names of the hidden markers. */
  readonly markers: readonly string[];
  /** Contents of code spans and `<code>`, as a reader sees them. */
  readonly codes: readonly string[];
  /** Everything else, without markup. */
  readonly prose: readonly string[];
  readonly details: number;
}

/** What the product writes outside of code. */
const harmless = /^[\p{L}\p{N} .,:;()'*/→…+-]*$/u;

export function readMarkdown(text: string): ReadMarkdown {
  const read = { markers: [] as string[], codes: [] as string[], prose: [] as string[], details: 0 };
  let isOpen = false;
  let isBlank = true;
  for (const [index, line] of text.split('\n').entries()) {
    const where = `line ${index + 1}: ${line}`;
    const marker = /^<!-- fleetkeeper-plan:([A-Za-z0-9._-]+) -->$/.exec(line)?.[1];
    const summary = /^<details><summary>(.*)<\/summary>$/.exec(line)?.[1];
    if (marker !== undefined) read.markers.push(marker);
    else if (summary !== undefined) {
      // An HTML block begins behind a blank line and ends with one; elements must be closed in their order.
      if (isOpen || !isBlank) throw new Error(`an element where none may begin: ${where}`);
      isOpen = true;
      readHtml(summary, read, where);
    } else if (line === '</details>') {
      if (!isOpen || !isBlank) throw new Error(`an element where none may end: ${where}`);
      isOpen = false;
      read.details += 1;
    } else readInline(line.replace(/^(?:### |- )/, ''), read, where);
    isBlank = line === '';
  }
  if (isOpen) throw new Error('an element is not closed');
  return read;
}

function readHtml(html: string, read: Pick<ReadMarkdown, 'codes' | 'prose'>, where: string): void {
  const rest = html.replaceAll(/<code>((?:[^<>&"']|&#\d+;)*)<\/code>/g, (_whole, content: string) => {
    (read.codes as string[]).push(
      content.replaceAll(/&#(\d+);/g, (_sign, point) => String.fromCharCode(point)),
    );
    return '';
  });
  if (!harmless.test(rest) || rest.includes('*')) throw new Error(`not harmless: ${where}`);
  (read.prose as string[]).push(rest);
}

/** A code span ends at the next run of backticks of the same length (CommonMark 6.1). */
function readInline(line: string, read: Pick<ReadMarkdown, 'codes' | 'prose'>, where: string): void {
  let rest = line;
  let prose = '';
  for (;;) {
    const start = rest.indexOf('`');
    if (start === -1) break;
    const fence = /^`+/.exec(rest.slice(start))?.[0] ?? '';
    const behind = rest.slice(start + fence.length);
    const end = Array.from(behind.matchAll(/`+/g)).find(([run]) => run.length === fence.length);
    if (!end) throw new Error(`a code span is not closed: ${where}`);
    const content = behind.slice(0, end.index);
    const isPadded = content.startsWith(' ') && content.endsWith(' ') && content.trim() !== '';
    (read.codes as string[]).push(isPadded ? content.slice(1, -1) : content);
    prose += rest.slice(0, start);
    rest = behind.slice(end.index + fence.length);
  }
  prose += rest;
  if (!harmless.test(prose)) throw new Error(`not harmless: ${where}`);
  (read.prose as string[]).push(prose);
}
