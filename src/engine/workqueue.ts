/**
 * A keyed workqueue as in client-go. A key is in it at most once, is never processed twice at the same time, and is queued again
 * if it was added meanwhile. It carries keys, never events or objects.
 *
 *     (absent) ── add ──> ready ── take ──> working ── done ──> (absent)
 *        └─ addAfter ─> delayed ── due ──> ready    └─ added meanwhile: ready again
 *
 * There are four lanes, so within an account a new object never waits behind edits, nor an edit behind a resync. Each account has room for so many passes at
 * once, and accounts take turns (ready-keys.ts). A new object stays in its lane, whatever adds it again, until it is `settled`.
 *
 * Passes without waits would follow each other without a break, thousands of them after a start. So keys are handed out for 5 ms of
 * one turn of the event loop. Then timers and sockets have their turn: the Lease, heartbeats, health.
 */
import type { Clock, Timer } from '../base/index.ts';
import type { Metrics } from '../telemetry/index.ts';
import { ReadyKeys, type QueueLane, type Share } from './ready-keys.ts';

export type { QueueLane, Share } from './ready-keys.ts';

const ranks: Readonly<Record<QueueLane, number>> = { new: 3, edit: 2, moved: 1, resync: 0 };

const longestTurnMs = 5;

export interface QueueOptions<Key> {
  readonly name?: string;
  readonly shareOf?: (key: Key) => Share;
}

const everything: Share = { name: '', room: Number.POSITIVE_INFINITY };

export class Workqueue<Key extends string> {
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #labels: { readonly name: string };
  readonly #shareOf: (key: Key) => Share;
  readonly #ready = new ReadyKeys<Key>();
  readonly #newcomers = new Set<Key>();
  /** `sinceMs`: the monotonic time. */
  readonly #working = new Map<
    Key,
    { readonly sinceMs: number; readonly lane: QueueLane; readonly share: string }
  >();
  readonly #again = new Map<Key, QueueLane>();
  readonly #delayed = new Map<Key, { dueAtMs: number; timer: Timer }>();
  readonly #takers: ((key: Key | undefined) => void)[] = [];
  readonly #idleWaiters: (() => void)[] = [];
  #stopped = false;
  /** When the first key was handed out in this turn of the event loop. Undefined: none was. */
  #turnSinceMs: number | undefined;

  /** `name`: the label in metrics. All kinds share one queue. `shareOf`: asked when a key becomes ready. */
  constructor(
    clock: Clock,
    metrics: Metrics,
    { name = 'fleetkeeper', shareOf = () => everything }: QueueOptions<Key> = {},
  ) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#labels = { name };
    this.#shareOf = shareOf;
  }

  /** Number of keys that are ready or in progress. */
  get busy(): number {
    return this.#ready.size + this.#working.size;
  }

  add(key: Key, asked: QueueLane): void {
    if (this.#stopped) return;
    this.#cancelDelay(key);
    if (asked === 'new') this.#newcomers.add(key);
    const lane = this.#newcomers.has(key) ? 'new' : asked;
    if (this.#working.has(key)) {
      if (ranks[lane] >= ranks[this.#again.get(key) ?? 'resync']) this.#again.set(key, lane);
      return;
    }
    const current = this.#ready.laneOf(key);
    if (current && ranks[lane] < ranks.edit && ranks[current] >= ranks[lane]) return;
    if (!current) this.#metrics.queueAdds.inc(this.#labels);
    // With an edit, its account may be another one.
    const next = current && ranks[current] >= ranks[lane] ? current : lane;
    this.#ready.add(key, next, this.#shareOf(key), this.#clock.monotonicMs());
    this.#setDepth();
    this.#serve();
  }

  /** The share may have more room now, or less. */
  resize(share: Share): void {
    this.#ready.resize(share);
    this.#serve();
  }

  /** Adds the key to the slow lane later. An earlier time takes precedence, as does an `add`. */
  addAfter(key: Key, delayMs: number): void {
    if (this.#stopped) return;
    const dueAtMs = this.#clock.monotonicMs() + delayMs;
    const known = this.#delayed.get(key);
    if (known && known.dueAtMs <= dueAtMs) return;
    this.#cancelDelay(key);
    this.#metrics.queueRetries.inc(this.#labels);
    const timer = this.#clock.after(delayMs, () => {
      this.#delayed.delete(key);
      this.add(key, 'resync');
    });
    this.#delayed.set(key, { dueAtMs, timer });
  }

  /** The next key. Undefined if the queue was stopped. */
  take(): Promise<Key | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#serve();
    });
  }

  /** Why this key is in progress. */
  laneOf(key: Key): QueueLane {
    return this.#working.get(key)?.lane ?? 'resync';
  }

  /** It no longer counts as new. */
  settled(key: Key): void {
    this.#newcomers.delete(key);
  }

  done(key: Key): void {
    const work = this.#working.get(key);
    if (work) {
      this.#metrics.workSeconds.observe(this.#labels, (this.#clock.monotonicMs() - work.sinceMs) / 1000);
    }
    this.#working.delete(key);
    if (work) this.#ready.done(work.share);
    const lane = this.#again.get(key);
    this.#again.delete(key);
    if (lane) this.add(key, lane);
    else this.#serve();
    this.#notifyIdle();
  }

  /** Sets the metrics of work in progress. */
  setWorkMetrics(): void {
    const nowMs = this.#clock.monotonicMs();
    const seconds = [...this.#working.values()].map(({ sinceMs }) => (nowMs - sinceMs) / 1000);
    this.#metrics.unfinishedSeconds.set(
      this.#labels,
      seconds.reduce((sum, each) => sum + each, 0),
    );
    this.#metrics.longestRunningSeconds.set(this.#labels, Math.max(0, ...seconds));
  }

  /** Resolves when nothing is ready or in progress. Delayed keys don't count. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.#notifyIdle();
    });
  }

  /** Returns no more keys. Resolves when the work in progress is done. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    this.#ready.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
    await this.idle();
  }

  #cancelDelay(key: Key): void {
    this.#delayed.get(key)?.timer.cancel();
    this.#delayed.delete(key);
  }

  #serve(): void {
    if (this.#stopped) {
      for (const taker of this.#takers.splice(0)) taker(undefined);
      return;
    }
    while (this.#takers.length > 0 && this.#ready.hasNext && !this.#isTurnOver()) {
      const next = this.#ready.next();
      if (!next) return;
      const { key, lane, share, sinceMs } = next;
      const nowMs = this.#clock.monotonicMs();
      this.#metrics.queueSeconds.observe(this.#labels, (nowMs - sinceMs) / 1000);
      this.#working.set(key, { sinceMs: nowMs, lane, share });
      this.#setDepth();
      this.#takers.shift()?.(key);
    }
  }

  /** The timer fires in the next turn. */
  #isTurnOver(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#turnSinceMs === undefined) {
      this.#turnSinceMs = nowMs;
      this.#clock.after(0, () => {
        this.#turnSinceMs = undefined;
        this.#serve();
      });
    }
    return nowMs - this.#turnSinceMs >= longestTurnMs;
  }

  #setDepth(): void {
    this.#metrics.queueDepth.set(this.#labels, this.#ready.size);
  }

  #notifyIdle(): void {
    if (this.busy > 0) return;
    for (const waiter of this.#idleWaiters.splice(0)) waiter();
  }
}
