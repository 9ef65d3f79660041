/**
 * Leader election by a Lease, as client-go does it: at most one process acts.
 *
 *     candidate ── takes the Lease ──> leading ── not renewed for 10 s ──> isolated
 *         │                             │   ^ └──── renewed, as nobody took it ────┘ │
 *         │                             └── taken by another, or gone ──> lost <─────┘
 *         └── stop, from everywhere ──> stopped (a leader gives the Lease back)
 *
 * - **candidate**: reads the Lease every 2 s. It is free when there is none, when nobody holds it, or when it has not changed for
 *   15 s *as seen from here*, on the monotonic clock: the times in it are another machine's. It is taken by a write
 *   that fails (409) when another process was faster.
 * - **leading**: renews every 2 s. `mayAct()` compares the current time with the time at which the last successful renewal was
 *   *sent*. 10 s later it is false, whether or not any timer ran, so 5 s before another process can take the Lease. It is also
 *   false when the wall clock ran that far ahead, as after the suspension of a virtual machine with its monotonic clock.
 * - **isolated**: the API server does not answer, or not to this process; perhaps another one leads by now. Nothing may be changed.
 *   Renewals continue: the write succeeds only when nobody has taken the Lease since.
 * - **lost** is final: the process has to end, too, and to start anew as a candidate.
 */
import { messageOf, sleep, type Clock, type Random, type Timer } from '../base/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { LeaseRecord, type Attempted } from './lease-record.ts';
import type { KubernetesApi } from './types.ts';

export interface ElectionOptions {
  readonly api: Pick<KubernetesApi, 'get' | 'create' | 'replace'>;
  readonly namespace: string;
  /** Of the Lease. */
  readonly name: string;
  /** Of this process, and of no other that ever was: pod name and a random part. */
  readonly identity: string;
  /** Default: 15 s. */
  readonly leaseMs?: number;
  /** What it knows as the leader, for who only reads the Lease: see `LeaseOptions`. */
  readonly reads?: () => readonly string[];
  readonly onLeading: () => void;
  /** Only after `onLeading` or `onRegained`. */
  readonly onIsolated: (reason: string) => void;
  /** Only after `onIsolated`: it leads again. */
  readonly onRegained: () => void;
  /** Once at most, and only after `onLeading`; not for `stop`. */
  readonly onLost: (reason: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** How long a Lease lasts that is not renewed; the other times of the drawing above are in proportion to it. */
export const defaultLeaseMs = 15_000;

interface Pace {
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
  /** Of one attempt: a connection that hangs leaves time for two more. */
  readonly attemptMs: number;
  /** Between attempts to renew that fail. */
  readonly hurryMs: number;
}

function paceOf(leaseMs: number): Pace {
  return {
    renewDeadlineMs: (leaseMs * 2) / 3,
    retryMs: (leaseMs * 2) / 15,
    attemptMs: leaseMs / 5,
    hurryMs: leaseMs / 30,
  };
}

type Result = Attempted | { readonly outcome: 'failed' };

export class Election {
  readonly #options: ElectionOptions;
  readonly #lease: LeaseRecord;
  readonly #pace: Pace;
  /** Ends requests and pauses when there is nothing more to be done. */
  readonly #end = new AbortController();
  #state: 'candidate' | 'leading' | 'isolated' | 'lost' | 'stopped' = 'candidate';
  #running: Promise<void> | undefined;
  #deadline: Timer | undefined;
  /** When the last successful renewal was sent. */
  #renewed = { monotonicMs: -Infinity, wallMs: -Infinity };
  #problem: string | undefined;

  constructor(options: ElectionOptions) {
    this.#options = options;
    const { leaseMs = defaultLeaseMs } = options;
    this.#lease = new LeaseRecord({ ...options, leaseMs });
    this.#pace = paceOf(leaseMs);
    this.#setLeading(0);
  }

  /** Asked before each thing that only a leader may do. */
  mayAct(): boolean {
    const wallPassedMs = this.#options.clock.wallMs() - this.#renewed.wallMs;
    return this.#state === 'leading' && this.#leftMs() > 0 && wallPassedMs < this.#pace.renewDeadlineMs;
  }

  /** It was the last leader that this process knows of: what does no harm when two do it may go on. */
  get isInOffice(): boolean {
    return this.#state === 'leading' || this.#state === 'isolated';
  }

  /** As the Lease was seen last; undefined when nobody held it. */
  get holder(): string | undefined {
    return this.#lease.holder;
  }

  /** How many times another process took the Lease over, as it was seen last. */
  get transitions(): number {
    return this.#lease.transitions;
  }

  /** Why the Lease can't be read or written now; undefined while it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** To be called when nothing acts any more: the Lease is given back, so that the next one takes over at once. */
  async stop(): Promise<void> {
    const held = this.mayAct();
    if (this.#state !== 'lost') this.#state = 'stopped';
    this.#finish();
    await this.#running;
    if (held) await this.#release();
  }

  async #run(): Promise<void> {
    while (this.#state === 'candidate') await this.#rest(await this.#campaign());
    while (this.isInOffice) await this.#rest(await this.#renew());
  }

  /** Tries to become the leader; gives the time until the next request. */
  async #campaign(): Promise<number> {
    const { clock, logger, name, identity, onLeading } = this.#options;
    const { outcome } = await this.#attempt((signal) => this.#lease.acquire(signal));
    if (this.#state !== 'candidate') return 0;
    if (outcome === 'held' && this.#leftMs() > 0) {
      this.#state = 'leading';
      this.#setLeading(1);
      this.#watchDeadline();
      logger.info({ lease: name, identity }, 'this process leads');
      onLeading();
    }
    const retryMs = this.#jittered(this.#pace.retryMs);
    const untilFreeMs = this.#lease.freeAtMs - clock.monotonicMs();
    if (outcome !== 'taken' || untilFreeMs < 0) return retryMs;
    // When it becomes free is known: asking then makes the takeover faster.
    return Math.min(retryMs, untilFreeMs + this.#jittered(this.#pace.hurryMs / 10));
  }

  async #renew(): Promise<number> {
    const result = await this.#attempt((signal) => this.#lease.renew(signal));
    if (result.outcome === 'taken') this.#lose(result.reason);
    if (result.outcome === 'held') this.#regain();
    if (this.#state === 'isolated') return this.#jittered(this.#pace.retryMs);
    return this.#jittered(result.outcome === 'held' ? this.#pace.retryMs : this.#pace.hurryMs);
  }

  async #attempt(work: (signal: AbortSignal) => Promise<Attempted>): Promise<Result> {
    const { clock, logger, name } = this.#options;
    const limit = new AbortController();
    const timer = clock.after(this.#pace.attemptMs, () => limit.abort());
    const sent = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    try {
      const result = await work(AbortSignal.any([limit.signal, this.#end.signal]));
      if (result.outcome === 'held') this.#renewed = sent;
      if (this.#problem !== undefined) logger.info({ lease: name }, 'the Lease can be used again');
      this.#problem = undefined;
      return result;
    } catch (error) {
      const because = limit.signal.aborted
        ? `no answer within ${this.#pace.attemptMs / 1000} s`
        : messageOf(error);
      if (this.#problem === undefined && !this.#end.signal.aborted) {
        logger.warn({ lease: name, error: because }, 'the Lease can not be used');
      }
      this.#problem = because;
      return { outcome: 'failed' };
    } finally {
      timer.cancel();
    }
  }

  #watchDeadline(): void {
    this.#deadline = this.#options.clock.after(this.#leftMs(), () => {
      if (this.#leftMs() > 0) this.#watchDeadline();
      else
        this.#isolate(
          `the Lease was not renewed for ${this.#pace.renewDeadlineMs / 1000} s: ${this.#problem ?? 'this process was paused'}`,
        );
    });
  }

  #isolate(reason: string): void {
    const { logger, name, onIsolated } = this.#options;
    if (this.#state !== 'leading') return;
    this.#state = 'isolated';
    this.#setLeading(0);
    logger.error({ lease: name, reason }, 'this process does not lead for now');
    onIsolated(reason);
  }

  #regain(): void {
    const { logger, name, onRegained } = this.#options;
    if (this.#state !== 'isolated' || this.#leftMs() <= 0) return;
    this.#state = 'leading';
    this.#setLeading(1);
    this.#watchDeadline();
    logger.info({ lease: name }, 'this process leads again');
    onRegained();
  }

  #lose(reason: string): void {
    const { logger, name, onLost } = this.#options;
    if (!this.isInOffice) return;
    this.#state = 'lost';
    this.#finish();
    logger.error({ lease: name, reason }, 'this process leads no more');
    onLost(reason);
  }

  #finish(): void {
    this.#end.abort();
    this.#deadline?.cancel();
    this.#setLeading(0);
  }

  async #release(): Promise<void> {
    const { clock, logger, name } = this.#options;
    const limit = new AbortController();
    const timer = clock.after(this.#pace.attemptMs, () => limit.abort());
    try {
      await this.#lease.release(limit.signal);
      logger.info({ lease: name }, 'the Lease is given back');
    } catch (error) {
      logger.info(
        { lease: name, error: messageOf(error) },
        'the Lease was not given back, and runs out by itself',
      );
    } finally {
      timer.cancel();
    }
  }

  /** Until this process must not act any more, on the monotonic clock. */
  #leftMs(): number {
    return this.#renewed.monotonicMs + this.#pace.renewDeadlineMs - this.#options.clock.monotonicMs();
  }

  #rest(pauseMs: number): Promise<void> {
    return sleep(this.#options.clock, pauseMs, this.#end.signal);
  }

  #jittered(pauseMs: number): number {
    return pauseMs * (1 + 0.2 * this.#options.random.fraction());
  }

  #setLeading(value: 0 | 1): void {
    this.#options.metrics.leading.set({ name: this.#options.name }, value);
  }
}
