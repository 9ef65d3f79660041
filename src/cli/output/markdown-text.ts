/**
 * Text that others wrote, in GitHub-flavoured Markdown. It is shown as code, so it mentions nobody, links to nothing, opens no element and
 * ends no list: neither Markdown nor the filters of GitHub and GitLab for `@name`, `#1` and addresses read code.
 */
import { printable } from '../../desired/index.ts';

const longestText = 200;

/** A code span, for lists and paragraphs. It has no line break. Not for tables, where a pipe would end the cell. */
export function code(text: string, longest = longestText): string {
  const shown = shownLine(text, longest);
  const runs = shown.match(/`+/g) ?? [];
  const fence = '`'.repeat(runs.reduce((most, run) => Math.max(most, run.length), 0) + 1);
  const pad = shown.startsWith('`') || shown.endsWith('`') ? ' ' : '';
  return `${fence}${pad}${shown}${pad}${fence}`;
}

/** The same within HTML, such as a `<summary>`, where Markdown is not read. */
export function htmlCode(text: string, longest = longestText): string {
  return `<code>${shownLine(text, longest).replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)}</code>`;
}

/** One line that is not empty, without control characters. */
function shownLine(text: string, longest: number): string {
  const line = printable(text.replaceAll(/\s+/g, ' ').trim(), longest);
  return line === '' ? '(empty)' : line.toWellFormed();
}
