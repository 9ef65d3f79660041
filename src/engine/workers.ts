/** The loops that take keys from the workqueue, and give each its pass. */
import type { Workqueue } from './workqueue.ts';

export interface WorkerCounts {
  /** How many take any key. */
  readonly workers: number;
  /** How many more take only what is new or edited. */
  readonly urgentWorkers: number;
}

/** Resolves when the queue has ended, and all passes. `onLost`: a worker has ended because of a defect. */
export async function runWorkers<Key extends string>(
  queue: Workqueue<Key>,
  { workers, urgentWorkers }: WorkerCounts,
  pass: (key: Key) => Promise<void>,
  onLost: (error: unknown) => void,
): Promise<void> {
  const work = async (take: () => Promise<Key | undefined>) => {
    try {
      for (let key = await take(); key !== undefined; key = await take()) {
        try {
          await pass(key);
        } finally {
          queue.done(key);
        }
      }
    } catch (error) {
      onLost(error);
    }
  };
  await Promise.all([
    ...Array.from({ length: workers }, () => work(() => queue.take())),
    ...Array.from({ length: urgentWorkers }, () => work(() => queue.takeUrgent())),
  ]);
}
