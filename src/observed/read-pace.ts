/**
 * How long an account rests between two reads that nobody asks for. In milliseconds of the monotonic clock.
 *
 * | what happened                                                           | the next interval                             |
 * |-------------------------------------------------------------------------|-----------------------------------------------|
 * | a change, a failed read, a request for a read, or work that began       | `pollMs`                                      |
 * | a read without a change, less than ten minutes after the last of these  | `pollMs`                                      |
 * | the same, later, while something is under way, waits or is held         | `pollMs`, for ten minutes                     |
 * | the same, later, and nothing is                                         | twice the one before, at most `quietPollMs`   |
 */
export interface ReadPaceOptions {
  readonly pollMs: number;
  /** Of an account that is quiet; `pollMs` or more. */
  readonly quietPollMs: number;
  /** Something in the account is under way, waits or is held. Asked of an account that seems quiet. */
  readonly hasOpenWork: () => boolean;
}

const quietAfterMs = 600_000;

export class ReadPace {
  readonly #options: ReadPaceOptions;
  #intervalMs: number;
  #busyAtMs: number;

  constructor(options: ReadPaceOptions, nowMs: number) {
    this.#options = options;
    this.#intervalMs = options.pollMs;
    this.#busyAtMs = nowMs;
  }

  get intervalMs(): number {
    return this.#intervalMs;
  }

  get isQuiet(): boolean {
    return this.#intervalMs > this.#options.pollMs;
  }

  /** There was something else than a read without a change. */
  busy(nowMs: number): void {
    this.#busyAtMs = nowMs;
    this.#intervalMs = this.#options.pollMs;
  }

  /** A read showed no change. */
  unchanged(nowMs: number): void {
    if (nowMs - this.#busyAtMs < quietAfterMs) return;
    if (this.#options.hasOpenWork()) this.busy(nowMs);
    else this.#intervalMs = Math.min(2 * this.#intervalMs, this.#options.quietPollMs);
  }
}
