/**
 * Simulated time, and the one loop that everything runs in.
 *
 * An event is due at a moment and runs alone. Of those that are due at the same moment the seed picks. Between two events
 * everything that can go on without time passing goes on: one turn of Node's event loop runs all microtasks to their
 * end, and nothing in the manager waits for anything but its ports, all of which are events here. The one exception is
 * a request inside of the control plane, whose HTTP framework takes several turns; those are counted (`busy`), and
 * further turns are taken until none is left. So the order of everything follows from the seed.
 */
import { createHash } from 'node:crypto';
import TinyQueue from 'tinyqueue';
import type { Clock, Timer } from '../../src/base/index.ts';
import type { SeededRandom } from '../support/seeded-random.ts';

interface Event {
  readonly atMs: number;
  readonly order: number;
  run: (() => void) | undefined;
}

export class Scheduler {
  readonly #random: SeededRandom;
  readonly #queue = new TinyQueue<Event>(
    [],
    (left, right) => left.atMs - right.atMs || left.order - right.order,
  );
  readonly #trace = createHash('sha256');
  readonly #onTrace: ((line: string) => void) | undefined;
  /** Resolves when nothing more goes on without time passing. */
  readonly #settle: () => Promise<void>;
  readonly #listeners = new Set<() => void>();
  #nowMs = 0;
  #busy = 0;
  /** So many events have happened. */
  happened = 0;

  /** `settle`: of a world that waits for more than `busy` work. */
  constructor(random: SeededRandom, onTrace?: (line: string) => void, settle?: () => Promise<void>) {
    this.#random = random;
    this.#onTrace = onTrace;
    this.#settle = settle ?? (() => this.#untilIdle());
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Whole milliseconds, so that much falls due together. */
  after(delayMs: number, run: () => void): Timer {
    const atMs = this.#nowMs + Math.ceil(Math.max(0, delayMs));
    const event: Event = { atMs, order: this.#random.fraction(), run };
    this.#queue.push(event);
    return {
      cancel: () => {
        event.run = undefined;
      },
    };
  }

  /**
   * Calls `run` when `signal` is aborted; what comes back ends that. Node keeps a signal made of others for as long as somebody listens to it,
   * and with the listener all that it can reach: a process that was killed never stops listening.
   */
  onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
    if (!signal) return () => {};
    const forget = () => {
      signal.removeEventListener('abort', run);
      this.#listeners.delete(forget);
    };
    signal.addEventListener('abort', run, { once: true });
    this.#listeners.add(forget);
    return forget;
  }

  /** Nothing happens any more. */
  end(): void {
    for (const forget of this.#listeners) forget();
  }

  /** Work that takes turns of the event loop, but no simulated time. */
  async busy<Result>(work: Promise<Result>): Promise<Result> {
    this.#busy += 1;
    try {
      return await work;
    } finally {
      this.#busy -= 1;
    }
  }

  /** What happens goes into the hash by which two runs are compared. */
  trace(line: string): void {
    const text = `${this.#nowMs} ${line}`;
    this.#trace.update(`${text}\n`);
    this.#onTrace?.(text);
  }

  traceHash(): string {
    return this.#trace.copy().digest('hex').slice(0, 16);
  }

  /** Runs events until `untilMs`, or until `isOver`, which is asked after each. */
  async run(untilMs: number, isOver: () => boolean): Promise<void> {
    await this.#settle();
    while (!isOver()) {
      const next = this.#queue.peek();
      if (!next || next.atMs > untilMs) {
        this.#nowMs = untilMs;
        return;
      }
      this.#queue.pop();
      if (!next.run) continue;
      this.#nowMs = next.atMs;
      this.happened += 1;
      next.run();
      await this.#settle();
    }
  }

  async #untilIdle(): Promise<void> {
    do {
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    } while (this.#busy > 0);
  }
}

/**
 * The life of one process, from its start to its crash. Its timers die with it; a stall (SIGSTOP, a blocked event loop)
 * puts them off. Its wall clock can be set.
 */
export class Life {
  readonly #scheduler: Scheduler;
  readonly #wallMs: () => number;
  readonly #originMs: number;
  #stalledUntilMs = 0;
  #isOver = false;
  readonly clock: Clock;

  constructor(scheduler: Scheduler, wallMs: () => number, originMs: number) {
    this.#scheduler = scheduler;
    this.#wallMs = wallMs;
    // A monotonic clock begins anywhere.
    this.#originMs = originMs - scheduler.nowMs;
    this.clock = {
      wallMs: () => this.#wallMs(),
      monotonicMs: () => this.#originMs + scheduler.nowMs,
      after: (delayMs, run) => this.after(delayMs, run),
    };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  after(delayMs: number, run: () => void): Timer {
    let timer = this.#scheduler.after(delayMs, fire);
    const waitMs = () => this.#stalledUntilMs - this.#scheduler.nowMs;
    const isOver = () => this.#isOver;
    const again = () => {
      timer = this.#scheduler.after(waitMs(), fire);
    };
    function fire() {
      if (isOver()) return;
      if (waitMs() > 0) again();
      else run();
    }
    return { cancel: () => timer.cancel() };
  }

  stall(durationMs: number): void {
    this.#stalledUntilMs = this.#scheduler.nowMs + durationMs;
  }

  end(): void {
    this.#isOver = true;
  }
}
