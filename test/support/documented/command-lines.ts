/** The command lines of Fleetkeeper in a text, taken apart into words. */

const start = /(?:^|[(;&|]) *(?:fleetkeeper|fk|npm run --silent fleetkeeper --) +(?!"\$@")/gm;
/** Until the end of the command: a pipe, a redirection, a comment, the next line. */
const rest = /^(?:'[^']*'|"[^"]*"|[^|;&<>\n#)'"])*/;
const word = /(?:'[^']*'|"[^"]*"|[^\s'"])+/g;

/** Each without the name of the program, and without what follows `--`, which is another program's. */
export function commandLinesIn(text: string): string[][] {
  const joined = text.replaceAll(/\\\n\s*/g, ' ');
  return Array.from(joined.matchAll(start), (match) => {
    const line = rest.exec(joined.slice(match.index + match[0].length))?.[0] ?? '';
    const words = (line.replace(/ \d$/, '').match(word) ?? []).map((one) => one.replaceAll(/['"]/g, ''));
    const end = words.indexOf('--');
    return end === -1 ? words : words.slice(0, end);
  });
}

/** The inline code of a document that starts with the name of the program, as a text of commands. */
export function inlineCommands(document: string): string {
  const prose = document.replaceAll(/^```[\s\S]*?^```$/gm, '');
  return Array.from(prose.matchAll(/`(?<code>fleetkeeper [^`\n]+)`/g), ({ groups }) => groups?.['code']).join(
    '\n',
  );
}
