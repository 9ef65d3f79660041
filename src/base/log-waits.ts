/**
 * Waits for the disk beside all other work, as a slow disk is not to hold up heartbeats: one wait at a time, for all that was committed
 * before it began.
 *
 *     committed ──(no wait is under way)──> covered ──(the disk confirms)──> durable
 *
 * If the disk does not confirm, nobody knows what is on it, and another wait would prove nothing. So it is the last one, and nothing
 * becomes durable any more.
 */
import type { Clock } from './clock.ts';
import type { EventLoop } from './process.ts';

/** Of a database: where commits go first. */
export interface Log {
  /** Resolves when all commits until this call are on the disk. */
  onDisk(): Promise<void>;
  /** The same, but returns. */
  sync(): void;
  close(): void;
}

export class LogWaits<Commit> {
  readonly #log: Log;
  readonly #crash: EventLoop['crash'];
  readonly #conclude: (commits: readonly Commit[]) => void;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #committed: Commit[] = [];
  #covered: Commit[] = [];
  /** Of the wait that is under way, by the monotonic clock. */
  #sinceMs: number | undefined;
  #isClosed = false;
  #failure: { readonly cause: unknown } | undefined;

  /** `conclude` is called with what has become durable, in order; `crash` when that will never happen. */
  constructor(
    log: Log,
    clock: Pick<Clock, 'monotonicMs'>,
    crash: EventLoop['crash'],
    conclude: (commits: readonly Commit[]) => void,
  ) {
    this.#log = log;
    this.#clock = clock;
    this.#crash = crash;
    this.#conclude = conclude;
  }

  /** For how long the disk has been waited for. */
  get waitMs(): number {
    return this.#sinceMs === undefined ? 0 : this.#clock.monotonicMs() - this.#sinceMs;
  }

  /** What is not durable yet, and was committed last. */
  get last(): Commit | undefined {
    return this.#committed.at(-1) ?? this.#covered.at(-1);
  }

  add(commit: Commit): void {
    this.#committed.push(commit);
    this.#begin();
  }

  /** Returns when all are durable. Throws if they will never be. */
  end(): void {
    if (this.#failure) throw this.#failure.cause;
    const all = [...this.#covered, ...this.#committed];
    if (all.length === 0) return;
    try {
      this.#log.sync();
    } catch (error) {
      this.#fail(error);
      throw error;
    }
    this.#covered = [];
    this.#committed = [];
    this.#conclude(all);
  }

  /** Lets go of the log. */
  close(): void {
    this.#isClosed = true;
    // Another thread waits with the number of this file, which the next file that is opened would get.
    if (this.#sinceMs === undefined) this.#log.close();
  }

  #begin(): void {
    if (this.#sinceMs !== undefined || this.#failure || this.#committed.length === 0) return;
    this.#sinceMs = this.#clock.monotonicMs();
    this.#covered = this.#committed;
    this.#committed = [];
    this.#log.onDisk().then(
      () => this.#confirmed(),
      (error: unknown) => {
        this.#sinceMs = undefined;
        this.#fail(error);
      },
    );
  }

  #confirmed(): void {
    this.#sinceMs = undefined;
    if (this.#isClosed) return this.#log.close();
    const durable = this.#covered;
    this.#covered = [];
    this.#begin();
    this.#conclude(durable);
  }

  #fail(cause: unknown): void {
    if (this.#failure) return;
    this.#failure = { cause };
    this.#crash(cause);
  }
}
