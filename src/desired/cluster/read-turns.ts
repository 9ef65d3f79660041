/**
 * In which order Secrets and ConfigMaps are read, so that the references of one namespace hold up nobody else's. Pure.
 *
 * - **Requested** reads: one of each namespace in turn. The keys of Accounts come before all others.
 * - **Periodic** reads: each namespace has its own line, by time. One is read every 100 ms at most, and of all lines one every 20 ms: that whose turn
 *   came first.
 */
import TinyQueue from 'tinyqueue';
import type { DataId } from '../references.ts';

/** Requested reads that have not begun. */
export class RequestedReads {
  readonly #keys = new RoundRobin();
  readonly #others = new RoundRobin();

  add(namespace: string, id: DataId, isKey: boolean): void {
    if (isKey) this.#others.delete(namespace, id);
    (isKey ? this.#keys : this.#others).add(namespace, id);
  }

  delete(namespace: string, id: DataId): void {
    this.#keys.delete(namespace, id);
    this.#others.delete(namespace, id);
  }

  take(): DataId | undefined {
    return this.#keys.take() ?? this.#others.take();
  }
}

class RoundRobin {
  /** That whose turn is next comes first. */
  readonly #namespaces = new Map<string, Set<DataId>>();

  add(namespace: string, id: DataId): void {
    const waiting = this.#namespaces.get(namespace) ?? new Set();
    this.#namespaces.set(namespace, waiting.add(id));
  }

  delete(namespace: string, id: DataId): void {
    const waiting = this.#namespaces.get(namespace);
    waiting?.delete(id);
    if (waiting?.size === 0) this.#namespaces.delete(namespace);
  }

  take(): DataId | undefined {
    for (const [namespace, waiting] of this.#namespaces) {
      this.#namespaces.delete(namespace);
      for (const id of waiting) {
        waiting.delete(id);
        if (waiting.size > 0) this.#namespaces.set(namespace, waiting);
        return id;
      }
    }
    return undefined;
  }
}

/** Between two periodic reads of one namespace, and of all. */
export const paceMs = { inOne: 100, inAll: 20 } as const;

export interface Due<Item> {
  readonly namespace: string;
  readonly id: DataId;
  readonly item: Item;
  /** Monotonic. */
  readonly atMs: number;
}

interface Line<Item> {
  readonly due: TinyQueue<Due<Item>>;
  /** Its next read comes no sooner. */
  freeAtMs: number;
  /** Of its entry among the turns. */
  turnAtMs: number;
}

interface Turn<Item> {
  readonly namespace: string;
  readonly line: Line<Item>;
  readonly atMs: number;
}

export class PeriodicReads<Item> {
  /** Those with anything in it. */
  readonly #lines = new Map<string, Line<Item>>();
  /** One that is not up to date any more is dropped when it comes. */
  readonly #turns = new TinyQueue<Turn<Item>>([], (left, right) => left.atMs - right.atMs);
  readonly #isWanted: (due: Due<Item>) => boolean;

  /** `isWanted`: it was not forgotten, read, or requested since. */
  constructor(isWanted: (due: Due<Item>) => boolean) {
    this.#isWanted = isWanted;
  }

  add(due: Due<Item>): void {
    const { namespace } = due;
    const known = this.#lines.get(namespace);
    const line = known ?? {
      due: new TinyQueue<Due<Item>>([], (left, right) => left.atMs - right.atMs),
      freeAtMs: Number.NEGATIVE_INFINITY,
      turnAtMs: Number.POSITIVE_INFINITY,
    };
    line.due.push(due);
    this.#lines.set(namespace, line);
    this.#rank(namespace, line);
  }

  /** When the next one may be read. */
  nextAtMs(): number | undefined {
    return this.#next()?.atMs;
  }

  /** Undefined: not yet. */
  take(nowMs: number): Due<Item> | undefined {
    const turn = this.#next();
    if (!turn || turn.atMs > nowMs) return undefined;
    const { namespace, line } = turn;
    const due = line.due.pop();
    line.freeAtMs = nowMs + paceMs.inOne;
    this.#rank(namespace, line);
    return due;
  }

  #next(): Turn<Item> | undefined {
    for (;;) {
      const turn = this.#turns.peek();
      if (!turn) return undefined;
      const { namespace, line, atMs } = turn;
      if (line.turnAtMs !== atMs) {
        this.#turns.pop();
        continue;
      }
      this.#rank(namespace, line);
      if (line.turnAtMs === atMs) return turn;
    }
  }

  /** Gives the line its place among the turns. */
  #rank(namespace: string, line: Line<Item>): void {
    for (;;) {
      const first = line.due.peek();
      if (!first) {
        line.turnAtMs = Number.POSITIVE_INFINITY;
        this.#lines.delete(namespace);
        return;
      }
      if (this.#isWanted(first)) {
        const atMs = Math.max(first.atMs, line.freeAtMs);
        if (atMs !== line.turnAtMs) this.#turns.push({ namespace, line, atMs });
        line.turnAtMs = atMs;
        return;
      }
      line.due.pop();
    }
  }
}
