/**
 * What a stream shows: a view, which is a filter and a window. All streams of one view and one scope share it, and so its events.
 *
 *     (new) ── first stream ──> active: computed at most twice a second; each difference is an event with the next number
 *     active ── last stream leaves ──> idle: nothing is computed; its events are kept for those that come back
 *     idle ── a stream comes back ──> active: the difference to what it knew last is one more event
 *
 * A view consists of a head and of items with ids, in an order. A change names the items that are new or different, the ids that left,
 * and the order, if that is another one. So whoever applies all changes has what the server has (GI5).
 */
export interface Item {
  readonly id: string;
  readonly value: object;
}

/** All of a view. Undefined: what it shows is not there. */
export interface Shown {
  /** What is not an item. */
  readonly head: object;
  readonly items: readonly Item[];
}

export interface Change {
  readonly head?: object | null;
  readonly changed?: readonly Item[];
  readonly removed?: readonly string[];
  readonly order?: readonly string[];
}

export interface ViewEvent {
  readonly number: number;
  /** As it is sent, but for its id. */
  readonly text: string;
}

interface Known {
  readonly value: object;
  readonly json: string;
}

export class LiveView {
  readonly #render: () => Shown | undefined;
  readonly #items = new Map<string, Known>();
  #order: readonly string[] = [];
  #head: string | undefined;
  /** In the order of their numbers. */
  #events: readonly ViewEvent[] = [];
  /** The number of the event before those. */
  #before = 0;
  #isRendered = false;

  constructor(render: () => Shown | undefined) {
    this.#render = render;
  }

  /** Of the newest event: what has it, has all. */
  get number(): number {
    return this.#events.at(-1)?.number ?? this.#before;
  }

  /** The difference to what was shown last; undefined: there is none. */
  update(): Change | undefined {
    const shown = this.#render();
    const change: { -readonly [Field in keyof Change]: Change[Field] } = {};
    const head = shown && JSON.stringify(shown.head);
    if (head !== this.#head) change.head = shown?.head ?? null;
    this.#head = head;
    const items = shown?.items ?? [];
    const changed = items.filter((item) => this.#keep(item));
    const ids = items.map(({ id }) => id);
    const isThere = new Set(ids);
    const removed = [...this.#items.keys()].filter((id) => !isThere.has(id));
    for (const id of removed) this.#items.delete(id);
    if (changed.length > 0) change.changed = changed;
    if (removed.length > 0) change.removed = removed;
    if (!isSameOrder(this.#order, ids)) change.order = ids;
    this.#order = ids;
    const isFirst = !this.#isRendered;
    this.#isRendered = true;
    return isFirst || Object.keys(change).length === 0 ? undefined : change;
  }

  /** All of it, as it was computed last. */
  state(): { readonly head: object | null; readonly items: readonly Item[] } {
    return {
      head: this.#head === undefined ? null : (JSON.parse(this.#head) as object),
      items: this.#order.flatMap((id) => {
        const known = this.#items.get(id);
        return known ? [{ id, value: known.value }] : [];
      }),
    };
  }

  record(event: ViewEvent): void {
    this.#events = [...this.#events, event];
  }

  /** Forgets the events up to this number. */
  forget(number: number): void {
    const kept = this.#events.filter((event) => event.number > number);
    const last = this.#events[this.#events.length - kept.length - 1];
    if (last) this.#before = last.number;
    this.#events = kept;
  }

  /** The events after the one with this number. Undefined: it is forgotten, or is of another view. */
  since(number: number): readonly ViewEvent[] | undefined {
    if (number === this.#before) return this.#events;
    const at = this.#events.findIndex((event) => event.number === number);
    return at < 0 ? undefined : this.#events.slice(at + 1);
  }

  #keep({ id, value }: Item): boolean {
    const known = this.#items.get(id);
    if (known?.value === value) return false;
    const json = JSON.stringify(value);
    this.#items.set(id, { value, json });
    return known?.json !== json;
  }
}

function isSameOrder(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((id, at) => id === right[at]);
}
