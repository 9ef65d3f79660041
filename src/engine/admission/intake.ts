/**
 * Takes in snapshots of the source, one after the other.
 *
 *     a snapshot arrives ──> noticed at once ──> waits for its turn ──> admitted ── something waits for time ──> the source is read, admitted again
 *                                                  │    ^                └── not saved ──> the same, after a growing pause
 *                                                  └── a newer one has arrived: that one is admitted instead
 *
 * Snapshots wait during a slow write, or while the process is suspended. One that has waited is out of date: an object that it
 * lacks may be back.
 */
import { backoffMs, messageOf, type Clock, type Random, type Timer } from '../../base/index.ts';
import type { DesiredSnapshot } from '../../desired/index.ts';
import type { Logger } from '../../telemetry/index.ts';

export interface IntakeOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * A snapshot of the source from a reading that begins now or later. Undefined: the source is stopped. If
   * absent, the last snapshot is used.
   */
  readonly readSource?: (() => Promise<DesiredSnapshot | undefined>) | undefined;
  /** Each snapshot that comes, also one that will not be admitted. */
  readonly notice: (snapshot: DesiredSnapshot) => void;
  /**
   * Resolves with the milliseconds after which to admit again. Undefined: not before the next snapshot.
   * Rejects if it could not be saved.
   */
  readonly admit: (snapshot: DesiredSnapshot) => Promise<number | undefined>;
}

const pauses = { firstMs: 1000, longestMs: 300_000 };

export class Intake {
  readonly #options: IntakeOptions;
  #newest: DesiredSnapshot | undefined;
  #accepted = 0;
  /** Number of accepted snapshots when the last admission began. */
  #taken = 0;
  #failures = 0;
  #turns: Promise<void> = Promise.resolve();
  #again: Timer | undefined;
  #isStopped = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Resolves when it, or a newer one, has been admitted or has failed. */
  accept(snapshot: DesiredSnapshot): Promise<void> {
    this.#newest = snapshot;
    this.#options.notice(snapshot);
    this.#accepted += 1;
    const turn = this.#accepted;
    return (this.#turns = this.#turns.then(() => this.#take(turn)));
  }

  /** Resolves when no accepted snapshot waits for its turn. */
  settled(): Promise<void> {
    return this.#turns;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#turns;
    this.#again?.cancel();
  }

  /** If saving fails (the disk is full), nothing changes, and it is tried again. */
  async #take(turn: number): Promise<void> {
    if (!this.#newest || turn <= this.#taken) return;
    this.#taken = this.#accepted;
    const { admit } = this.#options;
    try {
      const againAfterMs = await admit(this.#newest);
      this.#failures = 0;
      this.#again?.cancel();
      if (againAfterMs !== undefined) this.#againAfter(againAfterMs);
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    const { random, logger } = this.#options;
    const delayMs = backoffMs(this.#failures++, pauses, random);
    logger.error({ delayMs, note: messageOf(error) }, 'source could not be taken in; trying again');
    this.#againAfter(delayMs);
  }

  /**
   * Reads the source again. An older reading must not be the last one, and time alone removes nothing
   * (deletion-gate.ts).
   */
  #againAfter(delayMs: number): void {
    this.#again?.cancel();
    if (this.#isStopped) return;
    this.#again = this.#options.clock.after(delayMs, () => void this.#readAgain());
  }

  async #readAgain(): Promise<void> {
    const { readSource } = this.#options;
    try {
      const current = readSource ? await readSource() : this.#newest;
      if (current && !this.#isStopped) await this.accept(current);
    } catch (error) {
      this.#failed(error);
    }
  }
}
