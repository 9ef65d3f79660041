/**
 * Gives memory back that a burst of work has left. V8 keeps the pages that the start of a large fleet has filled, for work that may come
 * again: a third of the memory of a manager of 10,000 services. And it lets the heap of a quiet process grow by a tenth only, so that most polls
 * of such a fleet would end with a collection of all garbage: a third of their CPU. A quiet manager's heap may grow by 30 %.
 *
 * Every 10 s:
 *
 * | CPU since the last time | held, but not in use | in use   | then                                             |
 * |-------------------------|----------------------|----------|--------------------------------------------------|
 * | more than 1 s           |                      |          | nothing: the work may need it                    |
 * | less                    | less than 64 MB      |          | nothing                                          |
 * | less                    | more                 | > 400 MB | nothing: it would stop everything for too long   |
 * | less                    | more                 | less     | all garbage is collected, once in 10 min at most |
 */
import type { Clock, Heap, Timer } from '../base/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Context } from './context.ts';

const periodMs = 10_000;
const busyMs = 1000;
const worthBytes = 64e6;
const mostUsedBytes = 400e6;
const restMs = 600_000;
const quietGrowthPercent = 30;

interface MemoryReleaseOptions {
  readonly heap: Heap;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class MemoryRelease {
  readonly #options: MemoryReleaseOptions;
  #timer: Timer | undefined;
  #cpuMs = 0;
  #collectedAtMs = -Infinity;

  constructor(options: MemoryReleaseOptions) {
    this.#options = options;
    this.#cpuMs = options.heap.use().cpuMs;
    this.#later();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #later(): void {
    this.#timer = this.#options.clock.after(periodMs, () => {
      this.#later();
      this.#release();
    });
  }

  #release(): void {
    const { heap, clock, logger } = this.#options;
    const { heldBytes, usedBytes, cpuMs } = heap.use();
    const isBusy = cpuMs - this.#cpuMs > busyMs;
    this.#cpuMs = cpuMs;
    heap.setGrowth(isBusy ? 0 : quietGrowthPercent);
    const nowMs = clock.monotonicMs();
    if (isBusy || heldBytes - usedBytes < worthBytes || usedBytes > mostUsedBytes) return;
    if (nowMs - this.#collectedAtMs < restMs) return;
    this.#collectedAtMs = nowMs;
    heap.collect();
    const now = heap.use();
    this.#cpuMs = now.cpuMs;
    logger.debug(
      {
        heldMegabytes: Math.round(now.heldBytes / 1e6),
        heldBefore: Math.round(heldBytes / 1e6),
        pauseMs: Math.round(clock.monotonicMs() - nowMs),
      },
      'memory given back',
    );
  }
}

/** Until it is stopped. Undefined where no heap is given. */
export function releaseMemory({ heap, clock }: Context, logger: Logger): MemoryRelease | undefined {
  return heap && new MemoryRelease({ heap, clock, logger });
}
