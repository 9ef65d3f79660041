/**
 * Keys that wait for a pass, in shares and lanes: the keys of one account are one share. It has room for so many passes at once, since a pass
 * may wait for an hour for its provider, and no account is to hold up another. Shares with room take turns. In each of them, the lanes decide
 * what is next, and within a lane the order of arrival.
 *
 *     ready ──(there is room in its share)── next ──> working ── done ──> (room for the next one)
 *
 * New objects come first, then edited ones, then those that have moved at the provider, then rechecks. To prevent starvation, each fourth key of
 * a share is taken from its slow lanes in turn, and each eighth from what has moved.
 */
export type QueueLane = 'new' | 'edit' | 'moved' | 'resync';

const lanes = ['new', 'edit', 'moved', 'resync'] as const;

export interface Share {
  readonly name: string;
  /** For passes at the same time, at least 1. */
  readonly room: number;
}

export interface Taken<Key> {
  readonly key: Key;
  readonly lane: QueueLane;
  readonly share: string;
  /** Monotonic milliseconds: when it became ready. */
  readonly sinceMs: number;
}

const fairness = 4;

class Line<Key> {
  readonly name: string;
  room = 1;
  working = 0;
  size = 0;
  taken = 0;
  readonly keys: Record<QueueLane, Map<Key, number>> = {
    new: new Map(),
    edit: new Map(),
    moved: new Map(),
    resync: new Map(),
  };

  constructor(name: string) {
    this.name = name;
  }

  order(): readonly QueueLane[] {
    const turn = this.taken + 1;
    if (turn % (2 * fairness) === fairness / 2) return ['moved', 'new', 'edit', 'resync'];
    if (turn % fairness !== 0) return lanes;
    // Without new objects, edits need no turn of their own.
    const isEditsTurn = this.keys.new.size > 0 && turn % (2 * fairness) === 0;
    return isEditsTurn ? ['edit', 'resync', 'moved', 'new'] : ['resync', 'moved', 'edit', 'new'];
  }
}

export class ReadyKeys<Key> {
  readonly #lines = new Map<string, Line<Key>>();
  readonly #places = new Map<Key, { readonly line: Line<Key>; readonly lane: QueueLane }>();
  /** Those with keys, and room. */
  readonly #open = new Set<Line<Key>>();

  get size(): number {
    return this.#places.size;
  }

  laneOf(key: Key): QueueLane | undefined {
    return this.#places.get(key)?.lane;
  }

  /** Whether there is a next one. */
  get hasNext(): boolean {
    return this.#open.size > 0;
  }

  /** A key that is there already is moved to the end of its new place, and keeps its time; in its old one it stays where it is. */
  add(key: Key, lane: QueueLane, share: Share, nowMs: number): void {
    const before = this.#places.get(key);
    const line = this.#lineOf(share);
    if (before?.line === line && before.lane === lane) return this.#sort(line);
    const sinceMs = before?.line.keys[before.lane].get(key) ?? nowMs;
    if (before) this.#remove(key, before.line, before.lane);
    line.keys[lane].set(key, sinceMs);
    line.size += 1;
    this.#places.set(key, { line, lane });
    this.#sort(line);
    if (before) this.#sort(before.line);
  }

  next(): Taken<Key> | undefined {
    for (const line of this.#open) {
      for (const lane of line.order()) {
        for (const [key, sinceMs] of line.keys[lane]) {
          this.#remove(key, line, lane);
          line.working += 1;
          line.taken += 1;
          // It was its turn.
          this.#open.delete(line);
          this.#sort(line);
          return { key, lane, share: line.name, sinceMs };
        }
      }
    }
    return undefined;
  }

  /** A pass of the share has ended. */
  done(share: string): void {
    const line = this.#lines.get(share);
    if (!line) return;
    line.working -= 1;
    this.#sort(line);
  }

  /** It may have more room now, or less. */
  resize(share: Share): void {
    const line = this.#lines.get(share.name);
    if (!line || line.room === share.room) return;
    line.room = share.room;
    this.#sort(line);
  }

  /** Passes under way stay known. */
  clear(): void {
    for (const [key, { line, lane }] of this.#places) {
      this.#remove(key, line, lane);
      this.#sort(line);
    }
  }

  #lineOf(share: Share): Line<Key> {
    let line = this.#lines.get(share.name);
    if (!line) this.#lines.set(share.name, (line = new Line<Key>(share.name)));
    line.room = share.room;
    return line;
  }

  #remove(key: Key, line: Line<Key>, lane: QueueLane): void {
    this.#places.delete(key);
    line.keys[lane].delete(key);
    line.size -= 1;
  }

  /** Enters it where it belongs. */
  #sort(line: Line<Key>): void {
    if (line.working < line.room && line.size > 0) this.#open.add(line);
    else this.#open.delete(line);
    if (line.working === 0 && line.size === 0) this.#lines.delete(line.name);
  }
}
