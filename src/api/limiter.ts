/**
 * The limiter of one account's API: how many requests may be under way, how many may start per second, and in which
 * order.
 *
 * - A token bucket of `burst` tokens refills at the learned rate. The contract gives no numbers (§8), so the
 *   rate is learned: a 429 multiplies it by 0.7 (once for all requests that were under way then), every
 *   answer adds a little, up to the configured `perSecond`.
 * - `Retry-After` closes the limiter: nothing but heartbeats starts before it has passed. Then requests start
 *   at the rate, not as one burst (the bucket is emptied). During a long pause no change waits here: it is not sent,
 *   and planned again after the pause.
 * - Heartbeats have a lane of their own with a reserve of tokens and of connections that nothing else may
 *   take: a fleet-wide roll-out must not let a protected task's record expire.
 * - Within the ordinary lane, higher priority starts first.
 *
 * p-queue keeps order and concurrency; this file only decides when it may start the next task.
 */
import PQueue from 'p-queue';
import type { Clock, Timer } from '../base/index.ts';
import type { Metrics } from '../telemetry/index.ts';

export type Lane = 'heartbeat' | 'ordinary';
/**
 * Account reads come first: every decision behind them would otherwise use an old snapshot. Mutations come before
 * other reads. Behind these, a mutation would wait until it has to be planned anew, again and again where requests
 * are few. `edit` is added for what a person waits for, `new` for what a person has just added.
 */
export const priorities = { accountRead: 6, mutation: 2, read: 1, background: 0, edit: 2, new: 3 } as const;

export interface LimiterOptions {
  readonly account: string;
  readonly perSecond: number;
  readonly burst: number;
  readonly concurrency: number;
}

/** How requests of an account go now. */
export interface Pace {
  readonly perSecond: number;
  readonly limitPerSecond: number;
  readonly waiting: number;
  readonly throttled: number;
  readonly closedForMs: number;
}

/** So long no change waits for its turn: who wants it asks again later. */
export const longPauseMs = 5000;
const slowestPerSecond = 0.1;
const decrease = 0.7;
/** Share of the configured rate that one second of successful requests wins back. */
const recoveryPerSecond = 0.1;
/** Thousands of heartbeats per period have to be sent even when each answer takes its time. */
const heartbeatConcurrency = 32;

export class Limiter {
  #options: LimiterOptions;
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #lanes: Record<Lane, PQueue>;
  /** Tokens that only heartbeats may take. */
  #reserve = 0;
  #rate: number;
  #tokens: number;
  #refilledAtMs: number;
  #shutUntilMs = 0;
  #decreasedAtMs = -1;
  #throttled = 0;
  #pauses = new AbortController();
  #wakeUp: Timer | undefined;

  constructor(options: LimiterOptions, clock: Clock, metrics: Metrics) {
    this.#options = options;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#rate = options.perSecond;
    this.#tokens = options.burst;
    this.#refilledAtMs = clock.monotonicMs();
    this.#lanes = {
      heartbeat: new PQueue({ concurrency: heartbeatConcurrency }),
      ordinary: new PQueue({ concurrency: options.concurrency }),
    };
    this.configure(options);
  }

  /** Other limits from now on; the learned rate and a `Retry-After` stay. */
  configure(options: LimiterOptions): void {
    // A rate that was never lowered follows the configured one.
    const unlowered = this.#rate === this.#options.perSecond;
    this.#options = options;
    this.#reserve = Math.min(2, Math.floor(options.burst / 2));
    this.#lanes.ordinary.concurrency = options.concurrency;
    this.#setRate(unlowered ? options.perSecond : this.#rate);
    this.#admit();
  }

  /** Requests per second that the limiter allows now. */
  get rate(): number {
    return this.#rate;
  }

  /** For people. `throttled`: answers with 429 since it was made. */
  get pace(): Pace {
    const { perSecond: limitPerSecond } = this.#options;
    const waiting = this.waiting('heartbeat') + this.waiting('ordinary');
    const closedForMs = Number.isFinite(this.shutForMs) ? this.shutForMs : 0;
    return { perSecond: this.#rate, limitPerSecond, waiting, throttled: this.#throttled, closedForMs };
  }

  /** Milliseconds until `Retry-After` has passed; 0 when the limiter is open. */
  get shutForMs(): number {
    return Math.max(0, this.#shutUntilMs - this.#clock.monotonicMs());
  }

  /** Nothing waits, and nothing would be forgotten with it but the learned rate. */
  get isIdle(): boolean {
    return (
      this.shutForMs === 0 && Object.values(this.#lanes).every(({ size, pending }) => size + pending === 0)
    );
  }

  /** How many wait for their turn. */
  waiting(lane: Lane): number {
    return this.#lanes[lane].size;
  }

  /**
   * Runs `work` when it is its turn. Rejects if aborted or closed while waiting. Once it has begun, its own result is what comes back, also when it
   * is aborted: a request that has left is not one that was never sent.
   */
  async run<T>(lane: Lane, priority: number, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#shutUntilMs === Number.POSITIVE_INFINITY) throw new Error('the limiter is closed');
    const waitingSinceMs = this.#clock.monotonicMs();
    // The queue would abandon a task that runs, too.
    const waiting = new AbortController();
    const giveUp = () => waiting.abort(signal?.reason);
    if (signal?.aborted) giveUp();
    signal?.addEventListener('abort', giveUp, { once: true });
    const result = this.#lanes[lane].add(
      () => {
        signal?.removeEventListener('abort', giveUp);
        this.#take();
        const waitedMs = this.#clock.monotonicMs() - waitingSinceMs;
        this.#metrics.limiterWaitSeconds.observe({ lane }, waitedMs / 1000);
        return work();
      },
      { priority, ...(signal ? { signal: waiting.signal } : {}) },
    );
    this.#admit();
    return result.finally(() => signal?.removeEventListener('abort', giveUp));
  }

  /** Aborted during a long pause, or when one begins. */
  get pauses(): AbortSignal {
    return this.shutForMs >= longPauseMs ? AbortSignal.abort() : this.#pauses.signal;
  }

  /** Lets nobody in any more: who still waits is turned away, who is inside may finish. */
  close(): void {
    this.#wakeUp?.cancel();
    this.#shutUntilMs = Number.POSITIVE_INFINITY;
    for (const queue of Object.values(this.#lanes)) {
      queue.pause();
      queue.clear();
    }
  }

  /** An answer that was not a 429: the rate may grow a little. */
  answered(): void {
    const step = (this.#options.perSecond * recoveryPerSecond) / this.#rate;
    this.#setRate(this.#rate + step);
  }

  /**
   * A 429 to a request that was started at `startedAtMs` (monotonic): the limiter is closed for `retryAfterMs`
   * (without one: 1 s), and the rate falls, once for all requests that were under way together.
   */
  rateLimited(startedAtMs: number, retryAfterMs: number | undefined): void {
    const nowMs = this.#clock.monotonicMs();
    this.#metrics.throttled.inc({ account: this.#options.account });
    this.#throttled += 1;
    this.#shutUntilMs = Math.max(this.#shutUntilMs, nowMs + (retryAfterMs ?? 1000));
    if (this.shutForMs >= longPauseMs) {
      this.#pauses.abort();
      this.#pauses = new AbortController();
    }
    if (startedAtMs > this.#decreasedAtMs) {
      this.#decreasedAtMs = nowMs;
      this.#setRate(this.#rate * decrease);
    }
    this.#refill();
    this.#tokens = Math.min(this.#tokens, this.#reserve);
    this.#admit();
  }

  #setRate(rate: number): void {
    this.#refill();
    this.#rate = Math.min(Math.max(rate, slowestPerSecond), this.#options.perSecond);
    this.#metrics.limiterRate.set({ account: this.#options.account }, this.#rate);
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs();
    // While the limiter is closed, only tokens for heartbeats are added, so that no burst follows.
    this.#gain(Math.min(nowMs, this.#shutUntilMs), Math.max(1, this.#reserve));
    this.#gain(nowMs, this.#options.burst);
  }

  /** What has come in until `untilMs`, as far as it fits under `most`. */
  #gain(untilMs: number, most: number): void {
    if (untilMs <= this.#refilledAtMs) return;
    const gained = ((untilMs - this.#refilledAtMs) / 1000) * this.#rate;
    this.#tokens = Math.min(most, this.#tokens + gained);
    this.#refilledAtMs = untilMs;
  }

  #take(): void {
    this.#refill();
    this.#tokens -= 1;
    this.#admit();
  }

  /** Milliseconds until the lane may start one more; 0 for now. */
  #delayMs(lane: Lane): number {
    const missing = 1 + (lane === 'heartbeat' ? 0 : this.#reserve) - this.#tokens;
    // A hair of slack, so that a timer that fires a rounding error early does not wait once more.
    const refillMs = missing > 1e-6 ? (missing / this.#rate) * 1000 : 0;
    return lane === 'heartbeat' ? refillMs : Math.max(refillMs, this.shutForMs);
  }

  /** Opens or shuts each lane for its next task, and comes back when that changes. */
  #admit(): void {
    this.#refill();
    const lanes = ['heartbeat', 'ordinary'] as const;
    for (const lane of lanes) {
      if (this.#delayMs(lane) > 0) this.#lanes[lane].pause();
      else this.#lanes[lane].start();
    }
    // What was started has taken its tokens (and come by here) meanwhile: the delays are asked for anew.
    const delaysMs = lanes.filter((lane) => this.#lanes[lane].size > 0).map((lane) => this.#delayMs(lane));
    const wakeUpMs = Math.min(...delaysMs.filter((delayMs) => delayMs > 0));
    this.#wakeUp?.cancel();
    this.#wakeUp = Number.isFinite(wakeUpMs)
      ? this.#clock.after(Math.ceil(wakeUpMs), () => this.#admit())
      : undefined;
  }
}
