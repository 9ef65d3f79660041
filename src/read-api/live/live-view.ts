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

export interface ViewEvent {
  readonly number: number;
  /** As it is sent, but for its id. */
  readonly text: string;
}

/**
 * JSON, without the braces around it. Each part became text once, when it was compared with what was known.
 *
 * Of a change: `head`, if it is another one, or null; `changed`, new and different items; `removed`, ids; `order`, all ids.
 */
export type Members = string;

interface Known {
  readonly value: object;
  /** Of the item. */
  readonly json: string;
}

export class LiveView {
  readonly #render: () => Shown | undefined;
  readonly #items = new Map<string, Known>();
  #order: readonly string[] = [];
  #head: string | undefined;
  /** In the order of their numbers. */
  readonly #events: ViewEvent[] = [];
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
  update(): Members | undefined {
    const shown = this.#render();
    const members: string[] = [];
    const head = shown && JSON.stringify(shown.head);
    if (head !== this.#head) members.push(`"head":${head ?? 'null'}`);
    this.#head = head;
    const items = shown?.items ?? [];
    const changed = items.flatMap((item) => this.#keep(item) ?? []);
    const ids = items.map(({ id }) => id);
    const isThere = new Set(ids);
    const removed = [...this.#items.keys()].filter((id) => !isThere.has(id));
    for (const id of removed) this.#items.delete(id);
    if (changed.length > 0) members.push(`"changed":[${changed.join(',')}]`);
    if (removed.length > 0) members.push(`"removed":${JSON.stringify(removed)}`);
    if (!isSameOrder(this.#order, ids)) members.push(`"order":${JSON.stringify(ids)}`);
    this.#order = ids;
    const isFirst = !this.#isRendered;
    this.#isRendered = true;
    return isFirst || members.length === 0 ? undefined : members.join(',');
  }

  /** All of it, as it was computed last: `head` and `items`. */
  state(): Members {
    const items = this.#order.flatMap((id) => this.#items.get(id)?.json ?? []);
    return `"head":${this.#head ?? 'null'},"items":[${items.join(',')}]`;
  }

  record(event: ViewEvent): void {
    this.#events.push(event);
  }

  /** Forgets the events up to this number. */
  forget(number: number): void {
    for (let first = this.#events[0]; first && first.number <= number; first = this.#events[0]) {
      this.#before = first.number;
      this.#events.shift();
    }
  }

  /** The events after the one with this number. Undefined: it is forgotten, or is of another view. */
  since(number: number): readonly ViewEvent[] | undefined {
    if (number === this.#before) return [...this.#events];
    const at = this.#events.findIndex((event) => event.number === number);
    return at < 0 ? undefined : this.#events.slice(at + 1);
  }

  /** The item as JSON, if it is another one than before. */
  #keep({ id, value }: Item): string | undefined {
    const known = this.#items.get(id);
    if (known?.value === value) return undefined;
    const json = `{"id":${JSON.stringify(id)},"value":${JSON.stringify(value)}}`;
    this.#items.set(id, { value, json });
    return known?.json === json ? undefined : json;
  }
}

function isSameOrder(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((id, at) => id === right[at]);
}
