/**
 * Where somebody was in a view when a link led away, so that Back leads there again: to that link, with the same part of the page in sight.
 * Bounded: the view that was left longest ago is forgotten. Nothing here touches the document.
 *
 *     followed ── the address changes ──> a new view: its top
 *     nothing followed ── the address changes ──> Back, Forward, or an address that was typed: the place that was left there, if there is one
 */
export interface Place {
  /** Of the link that was followed. */
  readonly href: string;
  readonly scrolled: number;
}

export const mostPlaces = 50;

export class Places {
  readonly #left = new Map<string, Place>();
  #isFollowed = false;

  /** A link of the view `address` is followed, or the page itself leads elsewhere. */
  follow(address: string, place?: Place): void {
    this.#isFollowed = true;
    if (!place) return;
    this.#left.delete(address);
    this.#left.set(address, place);
    const [oldest] = this.#left.keys();
    if (this.#left.size > mostPlaces && oldest !== undefined) this.#left.delete(oldest);
  }

  /** The address is this one now. Returns where somebody was there before, if the way led back. */
  arrive(address: string): Place | undefined {
    const isNew = this.#isFollowed;
    this.#isFollowed = false;
    return isNew ? undefined : this.#left.get(address);
  }
}
