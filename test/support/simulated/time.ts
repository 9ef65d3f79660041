/**
 * Simulated time that the test's own waiting drives. It stands still while the test does anything else.
 *
 *     still ── the test waits (`drive`) ──> moving: settle, one event, settle, … ── nobody waits ──> still
 *
 * To settle is to let everything go on that needs no time to pass. Three kinds of work take turns of the
 * event loop:
 *
 * | work                               | over                                                        |
 * |------------------------------------|-------------------------------------------------------------|
 * | promises, `setImmediate`           | after `idleTurns` turns                                     |
 * | files that are read or written     | when Node lists no request to the disk any more             |
 * | a request in a server (`busy`)     | counted; after `busyTurns` it waits for simulated time      |
 *
 * All three are the same on an idle and on a busy machine: turns are counted, and the disk is waited
 * for, however long it takes.
 */
import { Scheduler } from '../../simulation/scheduler.ts';
import type { SeededRandom } from '../seeded-random.ts';

/** A commit at the end of a turn, and what follows it. */
const idleTurns = 3;
/** Many more than any request takes. */
const busyTurns = 40;
const longestPauseMs = 1000;
const hourMs = 3_600_000;
const diskWork = /^(FSReq|CloseReq|FileHandle)/;

export class SimulatedTime {
  readonly scheduler: Scheduler;
  /** So much later is it by the clock of each process. */
  aheadMs = 0;
  /** Called before time moves again: the test may have done something. */
  onMoving: () => void = () => {};
  readonly #epochMs: number;
  readonly #waiting = new Set<(problem: Error) => void>();
  readonly #settled = new Set<() => void>();
  #busy = 0;
  /** Counts what `busy` work began and ended. */
  #changes = 0;
  #isMoving = false;
  #isOver = false;

  constructor(random: SeededRandom, epochMs: number) {
    this.#epochMs = epochMs;
    this.scheduler = new Scheduler(random, undefined, () => this.#settle());
  }

  get wallMs(): number {
    return this.#epochMs + this.scheduler.nowMs;
  }

  /** Time passes until `work` is done. */
  async drive<Result>(work: Promise<Result>): Promise<Result> {
    const { promise: stuck, reject } = Promise.withResolvers<never>();
    this.#waiting.add(reject);
    this.#move();
    try {
      return await Promise.race([work, stuck]);
    } finally {
      this.#waiting.delete(reject);
      await this.#untilSettled();
    }
  }

  sleep(ms: number): Promise<void> {
    return this.drive(
      new Promise((resolve) => {
        this.scheduler.after(ms, resolve);
      }),
    );
  }

  /**
   * As `sleep`; longer, but no more than a second, while nothing happens: then there is nothing new to
   * be seen.
   */
  async pause(ms: number): Promise<void> {
    const untilMs = this.scheduler.nowMs + longestPauseMs;
    do {
      const before = this.scheduler.happened;
      await this.sleep(ms);
      // The end of the pause is an event itself.
      if (this.scheduler.happened > before + 1) return;
    } while (this.scheduler.nowMs < untilMs);
  }

  /** `work` of a server: takes turns of the event loop. */
  async busy<Result>(work: Promise<Result>): Promise<Result> {
    this.#busy += 1;
    this.#changes += 1;
    try {
      return await work;
    } finally {
      this.#busy -= 1;
      this.#changes += 1;
    }
  }

  /** Nothing happens any more. */
  end(): void {
    this.#isOver = true;
    this.scheduler.end();
    for (const reject of this.#waiting) reject(new Error('the simulated world has ended'));
  }

  #move(): void {
    if (this.#isMoving || this.#isOver) return;
    this.#isMoving = true;
    this.onMoving();
    void this.#run();
  }

  async #run(): Promise<void> {
    while (this.#isMoving) {
      const before = this.scheduler.nowMs;
      await this.scheduler.run(before + hourMs, () => this.#isStill());
      if (!this.#isMoving || this.scheduler.nowMs < before + hourMs) continue;
      for (const reject of this.#waiting)
        reject(new Error('nothing happens any more in the simulated world'));
    }
  }

  #isStill(): boolean {
    for (const resolve of this.#settled) resolve();
    this.#settled.clear();
    if (this.#waiting.size > 0 && !this.#isOver) return false;
    this.#isMoving = false;
    return true;
  }

  #untilSettled(): Promise<void> {
    if (!this.#isMoving) return Promise.resolve();
    return new Promise((resolve) => {
      this.#settled.add(resolve);
    });
  }

  async #settle(): Promise<void> {
    let changes = this.#changes;
    for (let turns = 0; turns < (this.#busy > 0 ? busyTurns : idleTurns); turns += 1) {
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
      if (changes === this.#changes && !isDiskAtWork()) continue;
      changes = this.#changes;
      turns = -1;
    }
  }
}

function isDiskAtWork(): boolean {
  return process.getActiveResourcesInfo().some((name) => diskWork.test(name));
}
