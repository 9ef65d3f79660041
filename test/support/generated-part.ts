/** A part of a document that a program writes; what stands around it is written by hand. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface GeneratedPart {
  /** Under the root of the repository. */
  readonly document: string;
  /** What the part is made of, as in `src/reasons/`. */
  readonly from: string;
  /** The npm script that writes it. */
  readonly script: string;
}

const last = '<!-- The end of what is made. -->';

const fileOf = ({ document }: GeneratedPart) => path.join(import.meta.dirname, '../..', document);

const firstOf = ({ script, from }: GeneratedPart) =>
  `<!-- Made by \`npm run ${script}\` from ${from}; not to be edited. -->`;

/** The lines as they have to stand in the document, between the two marks. */
export function generatedText(part: GeneratedPart, lines: readonly string[]): string {
  return [firstOf(part), '', ...lines, '', last].join('\n');
}

/** What is committed, with the two marks. */
export function committedText(part: GeneratedPart): string {
  const text = readFileSync(fileOf(part), 'utf8');
  const start = text.indexOf(firstOf(part));
  if (start === -1) throw new Error(`${part.document} has no part that is made from ${part.from}`);
  return text.slice(start, text.indexOf(last, start) + last.length);
}

export function writeGenerated(part: GeneratedPart, lines: readonly string[]): void {
  const text = readFileSync(fileOf(part), 'utf8');
  writeFileSync(
    fileOf(part),
    text.replace(committedText(part), () => generatedText(part, lines)),
  );
}
