/** A file of who may read. It is read again when it has changed, so a token that was taken out is refused from then on. */
import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '../../base/index.ts';

/** So long it is not asked for again. */
const freshMs = 1000;
const mostBytes = 1024 * 1024;

export class WatchedFile<Content> {
  readonly #file: string;
  readonly #parse: (text: string) => Content;
  readonly #clock: Clock;
  #known: { readonly mark: string; readonly content: Content } | undefined;
  #askedMs = Number.NEGATIVE_INFINITY;
  #failure: Error | undefined;

  constructor(file: string, parse: (text: string) => Content, clock: Clock) {
    this.#file = file;
    this.#parse = parse;
    this.#clock = clock;
  }

  /** Throws what is wrong with it. Then nobody is let in. */
  get content(): Content {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#askedMs >= freshMs) {
      this.#askedMs = nowMs;
      this.#ask();
    }
    if (this.#failure) throw this.#failure;
    if (!this.#known) throw new Error('it has not been read yet');
    return this.#known.content;
  }

  #ask(): void {
    try {
      const { mtimeMs, size, ino, dev } = statSync(this.#file);
      const mark = `${dev} ${ino} ${size} ${mtimeMs}`;
      if (size > mostBytes) throw new Error('it is larger than 1 MiB');
      if (this.#failure || this.#known?.mark !== mark)
        this.#known = { mark, content: this.#parse(readFileSync(this.#file, 'utf8')) };
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    }
  }
}
