/* oxlint-disable no-control-regex -- control characters are what this is about */
/**
 * Colours, which are harmless and kept; other escape sequences, which move the cursor, set titles or make the terminal
 * answer as if somebody typed; control characters but tab, newline and carriage return; embeddings, overrides and isolates, which show
 * text in another order than it has. Marks and joiners, which other scripts need, are kept.
 */
const controls =
  /(?<colour>\u001b\[[0-9;:]*m)|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Many lines, with their colours and tabs, and without anything else that a terminal would obey. */
export function terminalLines(text: string): string {
  return text
    .replaceAll(controls, (_whole, colour: string | undefined) => colour ?? '')
    .replaceAll(/\r+\n?/g, '\n');
}
/* oxlint-enable no-control-regex */

/** Lines of plain text, of which nothing steers a terminal or hides what is there. */
export function plainLines(text: string): string {
  return text.replaceAll(/(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?');
}
