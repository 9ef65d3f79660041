/**
 * Due times: one moment per key, one timer for all. Due keys are handed over in batches, so that a hundred services
 * that were created together cost one transaction. Between two batches is a short pause, in which more can fall due.
 * The size of a batch is what the handler can do in a few milliseconds, judged by the previous one, so that requests
 * pass between two batches. When the handler throws (the disk is full), the batch falls due again a little later.
 */
import type { Timer } from '../../base/clock.ts';
import type { PlatformClock } from './platform-clock.ts';

interface Entry {
  readonly key: string;
  readonly dueMs: number;
}

// Real time.
const retryMs = 1000;
const pauseMs = 20;
/** A batch that took longer is followed by smaller ones, and one that took half as long at most by larger ones. */
const batchMs = 6;
const largestBatch = 1024;

export class Agenda {
  readonly #clock: PlatformClock;
  readonly #onDue: (keys: readonly string[]) => void;
  readonly #onFailure: (error: unknown) => void;
  /** The truth; the heap may hold entries that were cancelled or moved since. */
  readonly #dueMs = new Map<string, number>();
  #heap: Entry[] = [];
  #timer: { dueMs: number; handle: Timer } | undefined;
  /** The earliest moment of the next batch. */
  #nextMs = 0;
  #batchSize = 64;
  #isClosed = false;

  constructor(
    clock: PlatformClock,
    onDue: (keys: readonly string[]) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#clock = clock;
    this.#onDue = onDue;
    this.#onFailure = onFailure;
  }

  /** Replaces the moment that `key` had. */
  at(key: string, dueMs: number): void {
    if (this.#dueMs.get(key) === dueMs) return;
    this.#dueMs.set(key, dueMs);
    this.#push({ key, dueMs });
    if (this.#heap.length > 2 * this.#dueMs.size + 64) this.#rebuild();
    this.#arm();
  }

  cancel(key: string): void {
    this.#dueMs.delete(key);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.handle.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    const first = this.#heap[0];
    if (!first || this.#isClosed) return;
    const dueMs = Math.max(first.dueMs, this.#nextMs);
    if (this.#timer && this.#timer.dueMs <= dueMs) return;
    this.#timer?.handle.cancel();
    const delayMs = Math.max(0, dueMs - this.#clock.nowMs());
    this.#timer = { dueMs, handle: this.#clock.after(delayMs, () => this.#fire()) };
  }

  #fire(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.nowMs();
    const keys: string[] = [];
    for (let first = this.#heap[0]; first && first.dueMs <= nowMs; first = this.#heap[0]) {
      if (keys.length === this.#batchSize) break;
      this.#pop();
      if (this.#dueMs.get(first.key) !== first.dueMs) continue;
      this.#dueMs.delete(first.key);
      keys.push(first.key);
    }
    try {
      if (keys.length > 0) {
        const isFull = keys.length === this.#batchSize;
        this.#nextMs = isFull ? nowMs : nowMs + this.#clock.during(pauseMs);
        this.#onDue(keys);
        this.#adapt(isFull, this.#clock.nowMs() - nowMs);
      }
    } catch (error) {
      this.#onFailure(error);
      for (const key of keys) if (!this.#dueMs.has(key)) this.at(key, nowMs + this.#clock.during(retryMs));
    }
    this.#arm();
  }

  #adapt(wasFull: boolean, spentMs: number): void {
    const enoughMs = this.#clock.during(batchMs);
    if (spentMs > enoughMs) this.#batchSize = Math.max(1, this.#batchSize >> 1);
    else if (wasFull && spentMs <= enoughMs / 2) {
      this.#batchSize = Math.min(largestBatch, this.#batchSize * 2);
    }
  }

  #rebuild(): void {
    this.#heap = Array.from(this.#dueMs, ([key, dueMs]) => ({ key, dueMs })).sort(
      (left, right) => left.dueMs - right.dueMs,
    );
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (!above || above.dueMs <= entry.dueMs) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const left = heap[child];
      const right = heap[child + 1];
      if (!left) break;
      if (right && right.dueMs < left.dueMs) child += 1;
      const below = right && right.dueMs < left.dueMs ? right : left;
      if (below.dueMs >= last.dueMs) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
  }
}
