/** A terminal without a window: what a program writes to it becomes lines of text with colours. */
import { PassThrough } from 'node:stream';
import headless, { type IBufferCell } from '@xterm/headless';

/** Text in one style, and the column where it starts. */
export interface Run {
  readonly column: number;
  readonly text: string;
  readonly style: Style;
}

export interface Style {
  /** 1 red, 2 green, 3 yellow and so on, as a terminal numbers them; absent: the usual one. */
  readonly colour?: number;
  readonly bold: boolean;
  readonly dim: boolean;
}

/** Lines from top to bottom. */
export type Screen = readonly (readonly Run[])[];

export class Terminal {
  readonly #terminal: headless.Terminal;
  /** What a program takes for a terminal. */
  readonly stdout: NodeJS.WriteStream;

  constructor(columns: number, rows: number) {
    this.#terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true });
    const output = new PassThrough()
      .setEncoding('utf8')
      .on('data', (text: string) => this.#terminal.write(text));
    this.stdout = Object.assign(output, { isTTY: true, columns, rows }) as unknown as NodeJS.WriteStream;
  }

  /** As it is when all that was written has been drawn. */
  async screen(): Promise<Screen> {
    await new Promise<void>((resolve) => {
      this.#terminal.write('', resolve);
    });
    const { buffer, rows } = this.#terminal;
    return Array.from({ length: rows }, (_, row) => this.#line(buffer.active.viewportY + row));
  }

  #line(row: number): Run[] {
    const line = this.#terminal.buffer.active.getLine(row);
    const runs: Run[] = [];
    for (let column = 0; column < this.#terminal.cols; column += 1) {
      const cell = line?.getCell(column);
      const text = cell?.getChars() ?? '';
      if (!cell || text.trim() === '') continue;
      const style = styleOf(cell);
      const last = runs.at(-1);
      const gap = last ? column - last.column - last.text.length : 0;
      // One blank within a text; columns of a table are apart.
      if (last && gap <= 1 && sameStyle(last.style, style)) {
        runs[runs.length - 1] = { ...last, text: last.text + ' '.repeat(gap) + text };
      } else runs.push({ column, text, style });
    }
    return runs;
  }
}

function styleOf(cell: IBufferCell): Style {
  return {
    ...(cell.isFgPalette() ? { colour: cell.getFgColor() } : {}),
    bold: cell.isBold() !== 0,
    dim: cell.isDim() !== 0,
  };
}

function sameStyle(one: Style, other: Style): boolean {
  return one.colour === other.colour && one.bold === other.bold && one.dim === other.dim;
}
