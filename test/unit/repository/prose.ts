/**
 * Prose of a Markdown document, and what is wrong with its language.
 *
 *     document ──> blocks (paragraph, list item, table cell) ──> sentences ──> findings
 *
 * | left out                     | why                                        |
 * |------------------------------|--------------------------------------------|
 * | fenced code, HTML, headings  | no sentences                               |
 * | names of files, table rules  | no words                                   |
 * | other inline code            | counts as one word and never ends a sentence |
 */

export interface Block {
  kind: 'text' | 'cell';
  line: number;
  text: string;
}

export const maxSentenceWords = 40;
export const maxCellWords = 60;

/** A full stop behind one of these ends no sentence. */
const abbreviations = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|no|approx|St)\.$/i;
const endOfSentence = /[.!?]["')\]*_]*\s+(?=["'(*[_]*[\p{Lu}\p{N}`])/gu;
const fileName = /^[\w./*-]+\.(?:test\.ts|ts|md|yaml|json|sh)$/;
const listItem = /^\s*(?:[-*]|\d+\.)\s+/;

export function blocksOf(document: string): Block[] {
  const blocks: Block[] = [];
  let paragraph: Block | undefined;
  let inCode = false;
  for (const [index, line] of document.split('\n').entries()) {
    const fence = /^\s*```/.test(line);
    if (fence) inCode = !inCode;
    const isProse = !fence && !inCode && !/^(?:#|<|\s*$)/.test(line);
    if (!isProse || line.startsWith('|') || listItem.test(line)) paragraph = undefined;
    if (!isProse) continue;
    if (line.startsWith('|')) {
      blocks.push(...cellsOf(line).map((text): Block => ({ kind: 'cell', line: index + 1, text })));
    } else if (paragraph) {
      paragraph.text += ` ${line.trim()}`;
    } else {
      paragraph = { kind: 'text', line: index + 1, text: line.replace(listItem, '').trim() };
      blocks.push(paragraph);
    }
  }
  return blocks;
}

function cellsOf(row: string): string[] {
  if (/^[|\s:-]+$/.test(row)) return [];
  return row
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
    .filter((cell) => cell !== '');
}

export function sentencesOf(text: string): string[] {
  const sentences: string[] = [];
  let rest = withoutCode(text);
  for (let from = 0; ;) {
    endOfSentence.lastIndex = from;
    const end = endOfSentence.exec(rest);
    if (!end) return rest === '' ? sentences : [...sentences, rest];
    const head = rest.slice(0, end.index + end[0].length).trim();
    if (abbreviations.test(head)) {
      from = end.index + end[0].length;
      continue;
    }
    sentences.push(head);
    rest = rest.slice(end.index + end[0].length);
    from = 0;
  }
}

/** Inline code as one word, links as their text; names of files as nothing. */
function withoutCode(text: string): string {
  return text
    .replaceAll(/`([^`]+)`/g, (_, code: string) => (fileName.test(code) ? '' : 'CODE'))
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim();
}

export function wordsIn(text: string): number {
  return withoutCode(text)
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** The forms of the column "instead of" that are in backticks. */
export function forbiddenForms(document: string): string[] {
  const table = document.split(/^\| instead of .*\n\|[-|]+\n/m)[1]?.split('\n\n')[0] ?? '';
  return table.split('\n').flatMap((row) => {
    const [, left = ''] = row.split('|');
    return [...left.matchAll(/`([^`]+)`/g)].map(([, form = '']) => form);
  });
}

const anyOf = (forbidden: string[]) => new RegExp(`(?<![\\w-])(?:${forbidden.join('|')})(?![\\w-])`, 'giu');

const tokens =
  /\/\*[\s\S]*?\*\/|(?<![:\w])\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;
const tokensOf = (source: string) => Array.from(source.matchAll(tokens), ([token]) => token);

/** Texts of several words in a source file: messages, descriptions, helps. Values that are put into them are left out. */
export function messagesIn(source: string): string[] {
  return tokensOf(source)
    .filter((token) => !token.startsWith('/'))
    .map((token) => token.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, ''))
    .filter((text) => /\S\s+\S/.test(text));
}

/** Each as one line, without its inline code. */
export function commentsIn(source: string): string[] {
  return tokensOf(source)
    .filter((token) => token.startsWith('/'))
    .map((token) => withoutCode(token.replaceAll(/\s*\n\s*\*?\s*/g, ' ')));
}

/** The names in source code: without comments and texts, but with the values that are put into texts. */
export function identifiersIn(source: string): string[] {
  const code = source.replaceAll(tokens, (token) =>
    token.startsWith('`')
      ? Array.from(token.matchAll(/\$\{([^}]*)\}/g), ([, value]) => value).join(' ')
      : ' ',
  );
  return [...new Set(code.match(/[A-Za-z_$][\w$]*/g) ?? [])];
}

/** `isToldOver` as `is told over`. */
export function wordsOfName(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|_/g, ' ').toLowerCase();
}

export function forbiddenInTexts(texts: string[], forbidden: string[]): string[] {
  const forms = anyOf(forbidden);
  return texts.flatMap((text) => Array.from(text.matchAll(forms), ([form]) => `"${form}": ${text}`));
}

export function findingsIn(document: string, forbidden: string[]): string[] {
  const forms = anyOf(forbidden);
  return blocksOf(document).flatMap((block) =>
    [longSentencesOf(block), longCellOf(block), forbiddenIn(block, forms)]
      .flat()
      .map((finding) => `${block.line}: ${finding}`),
  );
}

function longSentencesOf({ text }: Block): string[] {
  return sentencesOf(text)
    .filter((sentence) => wordsIn(sentence) > maxSentenceWords)
    .map((sentence) => `a sentence of ${wordsIn(sentence)} words: ${sentence}`);
}

function longCellOf({ kind, text }: Block): string[] {
  const words = wordsIn(text);
  return kind === 'cell' && words > maxCellWords ? [`a table cell of ${words} words: ${text}`] : [];
}

function forbiddenIn({ text }: Block, forms: RegExp): string[] {
  return [...withoutCode(text).matchAll(forms)].map(
    ([form]) => `"${form}" stands on the left side of the table in docs/internals/terms.md: ${text}`,
  );
}
