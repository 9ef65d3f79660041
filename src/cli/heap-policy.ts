/**
 * How much memory a manager keeps for garbage.
 *
 * 1. From the first second with 200 MB in use, or the first quiet 10 s, its heap may grow by 30 % of what is alive until V8 collects all garbage.
 *    By V8's own rule it doubles and more while a large fleet starts: 1.4 GB instead of 1.1 GB for 100,000 services. A quiet heap grows by a tenth
 *    only, and most polls of 10,000 services would end with a collection: a third of their CPU. A bound from the beginning would delay the start by a tenth.
 * 2. V8 keeps the pages that a start has filled, for work that may come again: a third of the memory of a manager of 10,000 services.
 *
 * Every second:
 *
 * | CPU in the last 10 s    | held, but not in use | in use   | then                                             |
 * |-------------------------|----------------------|----------|--------------------------------------------------|
 * | more than 1 s           |                      |          | nothing: the work may need it                    |
 * | less                    | less than 64 MB      |          | nothing                                          |
 * | less                    | more                 | > 400 MB | nothing: it would stop everything for too long   |
 * | less                    | more                 | less     | all garbage is collected, once in 10 min at most |
 */
import type { Clock, Heap, HeapUse, Timer } from '../base/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Context } from './context.ts';

const lookMs = 1000;
const largeBytes = 200e6;
/** So many looks together must be quiet. */
const quietLooks = 10;
const busyMs = 1000;
const growthPercent = 30;
const worthBytes = 64e6;
const mostUsedBytes = 400e6;
const restMs = 600_000;

interface HeapPolicyOptions {
  readonly heap: Heap;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class HeapPolicy {
  readonly #options: HeapPolicyOptions;
  #timer: Timer | undefined;
  #isBound = false;
  /** The CPU at the last looks, oldest first. */
  #cpuMs: number[];
  #collectedAtMs = -Infinity;

  constructor(options: HeapPolicyOptions) {
    this.#options = options;
    this.#cpuMs = [options.heap.use().cpuMs];
    this.#later();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #later(): void {
    this.#timer = this.#options.clock.after(lookMs, () => {
      this.#later();
      const use = this.#options.heap.use();
      if (use.usedBytes > largeBytes) this.#bound();
      const before = this.#cpuMs.length < quietLooks ? undefined : this.#cpuMs.shift();
      this.#cpuMs.push(use.cpuMs);
      if (before !== undefined && use.cpuMs - before <= busyMs) this.#release(use);
    });
  }

  #bound(): void {
    if (this.#isBound) return;
    this.#isBound = true;
    this.#options.heap.setGrowth(growthPercent);
  }

  #release({ heldBytes, usedBytes }: HeapUse): void {
    this.#bound();
    if (heldBytes - usedBytes < worthBytes || usedBytes > mostUsedBytes) return;
    if (this.#options.clock.monotonicMs() - this.#collectedAtMs < restMs) return;
    this.#collect(heldBytes);
  }

  #collect(heldBefore: number): void {
    const { heap, clock, logger } = this.#options;
    this.#collectedAtMs = clock.monotonicMs();
    heap.collect();
    const { heldBytes } = heap.use();
    logger.debug(
      {
        heldMegabytes: Math.round(heldBytes / 1e6),
        heldBefore: Math.round(heldBefore / 1e6),
        pauseMs: Math.round(clock.monotonicMs() - this.#collectedAtMs),
      },
      'memory given back',
    );
  }
}

/** `stop` ends the collections; the bound stays. Undefined where no heap is given. */
export function boundHeap({ heap, clock }: Context, logger: Logger): HeapPolicy | undefined {
  return heap && new HeapPolicy({ heap, clock, logger });
}
