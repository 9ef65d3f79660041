/** A terminal as far as it is needed to know what somebody sees on it: text, line breaks, and the sequences that log-update writes. */
import { EventEmitter } from 'node:events';
import stringWidth from 'string-width';

/* oxlint-disable no-control-regex -- control characters are what this is about */
const sequence = /^\u001b\[(?<private>\??)(?<count>\d*)[;\d]*(?<letter>[A-Za-z])/;
/* oxlint-enable no-control-regex */

export class Terminal extends EventEmitter {
  readonly isTTY = true;
  columns: number;
  rows: number;
  /** All that was ever written. */
  written = '';
  /** What was to be seen after each write. */
  readonly screens: string[] = [];
  #lines: string[][] = [[]];
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    super();
    this.columns = columns;
    this.rows = rows;
  }

  /** As a `tty.WriteStream`. */
  get stream(): NodeJS.WriteStream {
    return this as unknown as NodeJS.WriteStream;
  }

  /** With all that has scrolled away. */
  get screen(): string {
    return this.#lines
      .map((line) => line.join('').trimEnd())
      .join('\n')
      .trimEnd();
  }

  write(chunk: string | Uint8Array): boolean {
    const text = chunk.toString();
    this.written += text;
    for (let at = 0; at < text.length;) at += this.#take(text.slice(at));
    this.screens.push(this.screen);
    return true;
  }

  resize(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    this.emit('resize');
  }

  /** Returns how much of the text it has understood. */
  #take(text: string): number {
    const { groups, 0: all } = sequence.exec(text) ?? {};
    if (groups && all !== undefined) {
      if (groups['private'] === '') this.#obey(groups['letter'] ?? '', Number(groups['count']));
      return all.length;
    }
    const [character = ''] = text;
    if (character === '\u001b')
      throw new Error(`a sequence that is not known: ${JSON.stringify(text.slice(0, 12))}`);
    if (character === '\n') this.#newLine();
    else if (character === '\r') this.#column = 0;
    else this.#put(character);
    return character.length;
  }

  #put(character: string): void {
    const width = stringWidth(character);
    if (this.#column + width > this.columns) this.#newLine();
    const line = this.#line();
    while (line.length < this.#column) line.push(' ');
    line[this.#column] = character;
    for (let more = 1; more < width; more += 1) line[this.#column + more] = '';
    this.#column += width;
  }

  #newLine(): void {
    this.#row += 1;
    this.#column = 0;
    this.#line();
  }

  #line(): string[] {
    while (this.#lines.length <= this.#row) this.#lines.push([]);
    return this.#lines[this.#row] ?? [];
  }

  #obey(letter: string, count: number): void {
    if (letter === 'A') this.#row = Math.max(0, this.#row - (count || 1));
    else if (letter === 'B') this.#row += count || 1;
    else if (letter === 'G') this.#column = 0;
    else if (letter === 'K')
      this.#line().length = count === 2 ? 0 : Math.min(this.#line().length, this.#column);
    else if (letter !== 'm') throw new Error(`a sequence that is not known: ${letter}`);
  }
}
