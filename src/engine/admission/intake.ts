/**
 * Takes in snapshots of the source, one after the other.
 *
 *     a snapshot comes ──> noticed at once ──> waits for its turn ──> admitted ── something waits for time ──> the source is read, admitted again
 *                                                │    ^                └── not written down ──> the same, after a pause that grows
 *                                                └── a newer one has come: that one is admitted in its place
 *
 * A write that takes long, or a process that was stopped for a while, makes snapshots wait. One that has waited is out of date: what it does
 * not show may be back.
 */
import { backoffMs, messageOf, type Clock, type Random, type Timer } from '../../base/index.ts';
import type { DesiredSnapshot } from '../../desired/index.ts';
import type { Logger } from '../../telemetry/index.ts';

export interface IntakeOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The source as a reading shows it that begins now, or later; undefined: nobody reads it any more. Without it: as it last came. */
  readonly readSource?: (() => Promise<DesiredSnapshot | undefined>) | undefined;
  /** Each snapshot that comes, also one that will not be admitted. */
  readonly notice: (snapshot: DesiredSnapshot) => void;
  /** Resolves with the milliseconds after which to admit again; undefined: not before there is another snapshot. Rejects when it was not written down. */
  readonly admit: (snapshot: DesiredSnapshot) => Promise<number | undefined>;
}

const pauses = { firstMs: 1000, longestMs: 300_000 };

export class Intake {
  readonly #options: IntakeOptions;
  #newest: DesiredSnapshot | undefined;
  #accepted = 0;
  /** How many had been accepted when the last admission began. */
  #taken = 0;
  #failures = 0;
  #turns: Promise<void> = Promise.resolve();
  #again: Timer | undefined;
  #isStopped = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Resolves when it, or a newer one, has been admitted, or could not be. */
  accept(snapshot: DesiredSnapshot): Promise<void> {
    this.#newest = snapshot;
    this.#options.notice(snapshot);
    this.#accepted += 1;
    const turn = this.#accepted;
    return (this.#turns = this.#turns.then(() => this.#take(turn)));
  }

  /** Resolves when none waits for its turn of those that have come. */
  settled(): Promise<void> {
    return this.#turns;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#turns;
    this.#again?.cancel();
  }

  /** What can't be written down (the disk is full) changes nothing, and is tried again. */
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

  /** What the source says by then: an older reading must not be the last one, and time alone makes nothing gone (deletion-gate.ts). */
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
