/** Lines of several services in one output, each behind the name of its service. */
import stringWidth from 'fast-string-width';
import { terminalLines } from '../../base/index.ts';
import type { Context } from '../context.ts';
import { palette } from '../output/render.ts';
import { oneLine } from '../output/terminal-text.ts';

/** A name and an id. */
const longestName = 80;

export class PrefixedLines {
  readonly #context: Context;
  readonly #prefixes = new Map<string, string>();
  /** What was written of a line whose end has not come, by name. */
  readonly #begun = new Map<string, string>();

  constructor(context: Context, names: readonly string[]) {
    this.#context = context;
    const { good, busy, strong, bad, dim } = palette(context.stdout, context.environment);
    const colours = [good, busy, strong, dim, bad];
    const shown = names.map((name) => oneLine(name).slice(0, longestName));
    const width = Math.max(0, ...shown.map((name) => stringWidth(name)));
    names.forEach((name, index) => {
      const text = shown[index] ?? '';
      const colour = colours[index % colours.length] ?? dim;
      this.#prefixes.set(name, colour(`${text}${' '.repeat(width - stringWidth(text))} | `));
    });
  }

  /** Whole lines; the beginning of one is kept until the rest of it comes. */
  write(name: string, text: string): void {
    const lines = `${this.#begun.get(name) ?? ''}${text}`.split('\n');
    this.#begun.set(name, lines.pop() ?? '');
    this.#print(name, lines);
  }

  /** No more comes: what was begun is a line. */
  end(name: string): void {
    const begun = this.#begun.get(name) ?? '';
    this.#begun.delete(name);
    if (begun !== '') this.#print(name, [begun]);
  }

  #print(name: string, lines: readonly string[]): void {
    const { stdout } = this.#context;
    const prefix = this.#prefixes.get(name) ?? '';
    // On a terminal, a carriage return begins a line, too.
    const text = lines
      .flatMap((line) => (stdout.isTTY ? terminalLines(line.replace(/\r+$/, '')).split('\n') : [line]))
      .map((line) => `${prefix}${line}\n`)
      .join('');
    if (text !== '') stdout.write(text);
  }
}
