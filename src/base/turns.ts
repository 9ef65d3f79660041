/**
 * Shares the turns of the event loop among pieces of work that may come all at once, such as the answers of a hundred accounts. What begins later
 * than 20 ms after the first piece of its turn waits for a turn of its own. So timers and other sockets wait for one of them, not for all.
 */
import type { Clock } from './clock.ts';

const longestTurnMs = 20;

export class Turns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  /** When the first piece of work of this turn began. Undefined: none has. */
  #sinceMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the next piece of work may begin, in the order of the calls. */
  next(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#sinceMs === undefined) this.#begin();
    else if (this.#waiting.length > 0 || nowMs - this.#sinceMs >= longestTurnMs) {
      return new Promise((resolve) => this.#waiting.push(resolve));
    }
    return Promise.resolve();
  }

  /** The timer fires in the next turn. */
  #begin(): void {
    this.#sinceMs = this.#clock.monotonicMs();
    this.#clock.after(0, () => {
      this.#sinceMs = undefined;
      const resolve = this.#waiting.shift();
      if (!resolve) return;
      this.#begin();
      resolve();
    });
  }
}
