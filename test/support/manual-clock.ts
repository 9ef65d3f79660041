import type { Clock } from '../../src/base/clock.ts';

/** A clock that moves only when told to. Timers run in the order of their times. */
export class ManualClock implements Clock {
  #nowMs: number;
  #timers: { atMs: number; order: number; run: () => void }[] = [];
  #order = 0;

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): { cancel(): void } {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, run };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Moves on by `durationMs`, running what falls due, and lets promises settle after each timer. */
  async advance(durationMs: number): Promise<void> {
    const untilMs = this.#nowMs + durationMs;
    for (;;) {
      await settle();
      const next = this.#timers
        .filter((timer) => timer.atMs <= untilMs)
        .sort((left, right) => left.atMs - right.atMs || left.order - right.order)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
    }
    this.#nowMs = untilMs;
    await settle();
  }
}

/** Lets every promise that is ready now run to its next wait. */
export async function settle(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}
