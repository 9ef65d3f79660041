/**
 * What somebody types into a search. It is asked for a moment after the last letter. Until the address has it, the form shows what was
 * typed, so no new picture takes a letter away.
 *
 *     (none) ── type ──> typed ── type ──> typed ── 300 ms ──> asked ── the address has it ──> (none)
 *     typed or asked ── type ──> typed            typed, asked ── another view ──> (none)
 */
type Query = Readonly<Record<string, string>>;

const typingMs = 300;

interface Timer {
  cancel(): void;
}

interface Timers {
  /** Calls `run` once, `delayMs` from now. */
  after(delayMs: number, run: () => void): Timer;
}

export class Typing {
  readonly #timers: Timers;
  #query: Query | undefined;
  #timer: Timer | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** `ask` follows the address of the query. */
  type(query: Query, ask: () => void): void {
    this.#timer?.cancel();
    this.#query = query;
    this.#timer = this.#timers.after(typingMs, () => {
      this.#timer = undefined;
      ask();
    });
  }

  /** What the form shows: what was typed, or what the address has. */
  shown<Route extends { readonly query: Query }>(route: Route): Route {
    return this.#query ? { ...route, query: this.#query } : route;
  }

  /** A filter was chosen; it has what was typed. */
  asked(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** The address is another one. What was typed since then is still to be asked. */
  arrived(isSameView: boolean): void {
    if (isSameView && this.#timer) return;
    this.asked();
    this.#query = undefined;
  }
}
