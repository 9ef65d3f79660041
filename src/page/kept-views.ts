/**
 * The views that were seen last, so that they can be shown without a connection, marked with their age. Bounded: the one that was not
 * seen for longest is left out.
 */
import { nothingYet, type Live } from './live.ts';

export const mostKept = 12;

interface Kept {
  readonly live: Live;
  /** When it was true; monotonic. */
  readonly atMs: number;
}

export class KeptViews {
  readonly #views = new Map<string, Kept>();

  /** `address`: what the view streams. */
  keep(address: string, live: Live, atMs: number): void {
    if (live.head === undefined || live.refusal !== undefined || live.isOutdated) return;
    this.#views.delete(address);
    this.#views.set(address, { live, atMs });
    const [oldest] = this.#views.keys();
    if (this.#views.size > mostKept && oldest !== undefined) this.#views.delete(oldest);
  }

  get(address: string): Kept {
    return this.#views.get(address) ?? { live: nothingYet, atMs: 0 };
  }

  /** Who may not read any more sees nothing of it. */
  clear(): void {
    this.#views.clear();
  }
}
