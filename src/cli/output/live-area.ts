/**
 * The last lines of a terminal, which are drawn again and again; other lines are written above them.
 *
 *     open ── changed(), each second, a resize ──> drawn, at most four times a second ── close() ──> the last state stays
 *
 * The cursor is left alone, so that a process that ends in between leaves a terminal that can be used.
 */
import type { createLogUpdate } from 'log-update';
import type { Clock, Timer } from '../../base/index.ts';
import type { Context } from '../context.ts';
import { palette, type Palette } from './render.ts';

export interface Canvas {
  readonly columns: number;
  readonly lines: number;
  readonly colours: Palette;
}

const shortestMs = 250;
const longestMs = 1000;

type LogUpdate = ReturnType<typeof createLogUpdate>;

export interface LiveAreaOptions {
  readonly clock: Clock;
  readonly stream: NodeJS.WriteStream;
  readonly environment: Context['environment'];
  readonly draw: (canvas: Canvas) => string;
}

/** `NO_COLOR` asks for plain output, and a dumb terminal can't move its cursor. */
export function isRedrawn(stream: { isTTY?: boolean }, environment: Context['environment']): boolean {
  return stream.isTTY === true && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
}

export async function openLiveArea(options: LiveAreaOptions): Promise<LiveArea> {
  const { createLogUpdate: create } = await import('log-update');
  return new LiveArea(options, create(options.stream, { showCursor: true }));
}

export class LiveArea {
  readonly #options: LiveAreaOptions;
  readonly #update: LogUpdate;
  readonly #onResize = (): void => this.changed();
  #timer: Timer | undefined;
  #dueAtMs = Number.POSITIVE_INFINITY;
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: LiveAreaOptions, update: LogUpdate) {
    this.#options = options;
    this.#update = update;
    options.stream.on('resize', this.#onResize);
    this.#draw();
  }

  /** There is something new to show. */
  changed(): void {
    this.#drawAt(this.#drawnAtMs + shortestMs);
  }

  /** Lines that stay, above. */
  post(text: string): void {
    if (this.#isClosed) {
      this.#options.stream.write(`${text}\n`);
      return;
    }
    this.#update.persist(text);
    this.changed();
  }

  /** What is shown then stays. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#options.stream.off('resize', this.#onResize);
    this.#update(this.#frame());
    this.#update.done();
  }

  #drawAt(atMs: number): void {
    if (this.#isClosed || atMs >= this.#dueAtMs) return;
    this.#timer?.cancel();
    this.#dueAtMs = atMs;
    const { clock } = this.#options;
    this.#timer = clock.after(Math.max(0, atMs - clock.monotonicMs()), () => this.#draw());
  }

  #draw(): void {
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    this.#update(this.#frame());
    this.#drawnAtMs = this.#options.clock.monotonicMs();
    this.#drawAt(this.#drawnAtMs + longestMs);
  }

  #frame(): string {
    const { stream, environment, draw } = this.#options;
    return draw({
      columns: stream.columns || 80,
      lines: stream.rows || 24,
      colours: palette(stream, environment),
    });
  }
}
