/** Text that fits a number of columns of a terminal, by the same library that `log-update` has: a line that is too long would be two. */
import stringWidth from 'string-width';

/** Made when it is needed: that takes 10 ms. */
let segmenter: Intl.Segmenter | undefined;

/** Its beginning, with a mark where something is left out. */
export function cut(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  let line = '';
  let used = 0;
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  for (const { segment } of segmenter.segment(text)) {
    used += stringWidth(segment);
    if (used > columns - 1) break;
    line += segment;
  }
  return columns < 1 ? '' : `${line}…`;
}

/** With spaces up to this width. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - stringWidth(text)));
}

/** At spaces, into at most `most` lines, of which the last is cut; a longer word is cut as well. */
export function wrapped(text: string, columns: number, most = Number.POSITIVE_INFINITY): string[] {
  const lines: string[] = [];
  let line = '';
  const words = text.split(' ');
  for (const [at, word] of words.entries()) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (stringWidth(longer) <= columns) {
      line = longer;
      continue;
    }
    if (lines.length === most - 1)
      return [...lines, cut([line, ...words.slice(at)].join(' ').trim(), columns)];
    if (line !== '') lines.push(line);
    line = cut(word, columns);
  }
  return [...lines, line];
}
