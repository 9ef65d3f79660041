/**
 * Keys that wait for a pass, in lanes, and in shares: the keys of one account are one. A share has room for so many passes at once, since a pass
 * may wait for an hour for its provider, and no account is to hold up another. Shares of a lane take turns. Within one, the order of
 * arrival is kept.
 *
 *     ready ──(there is room in its share)── next ──> working ── done ──> (room for the next one)
 */
export type QueueLane = 'new' | 'edit' | 'moved' | 'resync';

export const lanes = ['new', 'edit', 'moved', 'resync'] as const;

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

class Line<Key> {
  readonly name: string;
  room = 1;
  working = 0;
  readonly keys: Record<QueueLane, Map<Key, number>> = {
    new: new Map(),
    edit: new Map(),
    moved: new Map(),
    resync: new Map(),
  };

  constructor(name: string) {
    this.name = name;
  }

  get isEmpty(): boolean {
    return this.working === 0 && lanes.every((lane) => this.keys[lane].size === 0);
  }
}

export class ReadyKeys<Key> {
  readonly #lines = new Map<string, Line<Key>>();
  readonly #places = new Map<Key, { readonly line: Line<Key>; readonly lane: QueueLane }>();
  /** Those with keys in the lane, and room. */
  readonly #open: Record<QueueLane, Set<Line<Key>>> = {
    new: new Set(),
    edit: new Set(),
    moved: new Set(),
    resync: new Set(),
  };

  get size(): number {
    return this.#places.size;
  }

  laneOf(key: Key): QueueLane | undefined {
    return this.#places.get(key)?.lane;
  }

  /** Whether a key of the lane could be taken. */
  has(lane: QueueLane): boolean {
    return this.#open[lane].size > 0;
  }

  /** A key that is there already is moved to the end of its new lane, and keeps its time. */
  add(key: Key, lane: QueueLane, { name, room }: Share, nowMs: number): void {
    const before = this.#places.get(key);
    const sinceMs = before?.line.keys[before.lane].get(key) ?? nowMs;
    if (before) this.#remove(key, before.line, before.lane);
    const line = this.#lines.get(name) ?? new Line<Key>(name);
    this.#lines.set(name, line);
    line.room = room;
    line.keys[lane].set(key, sinceMs);
    this.#places.set(key, { line, lane });
    this.#sort(line);
  }

  /** Of the first of these lanes that has one. Undefined: none has room, or none is ready. */
  next(order: readonly QueueLane[]): Taken<Key> | undefined {
    for (const lane of order) {
      for (const line of this.#open[lane]) {
        for (const [key, sinceMs] of line.keys[lane]) {
          this.#remove(key, line, lane);
          line.working += 1;
          // It was its turn.
          this.#open[lane].delete(line);
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

  /** Passes under way stay known. */
  clear(): void {
    for (const [key, { line, lane }] of this.#places) this.#remove(key, line, lane);
  }

  #remove(key: Key, line: Line<Key>, lane: QueueLane): void {
    this.#places.delete(key);
    line.keys[lane].delete(key);
    if (line.keys[lane].size === 0) this.#open[lane].delete(line);
  }

  /** Enters it where it belongs. */
  #sort(line: Line<Key>): void {
    const hasRoom = line.working < line.room;
    for (const lane of lanes) {
      if (hasRoom && line.keys[lane].size > 0) this.#open[lane].add(line);
      else this.#open[lane].delete(line);
    }
    if (line.isEmpty) this.#lines.delete(line.name);
  }
}
