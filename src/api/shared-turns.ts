/**
 * Work of many namespaces. Each has a queue with some places of its own, and all share a number of places that is larger. Whoever
 * has fewest under way is next for a free one. So a namespace whose work hangs holds up its own, and nobody else's.
 */
import PQueue from 'p-queue';

export interface SharedTurnsOptions {
  /** At once, in one namespace and in all. */
  readonly inOne: number;
  readonly inAll: number;
}

export class SharedTurns {
  readonly #options: SharedTurnsOptions;
  readonly #places: PQueue;
  /** Those that have any work. */
  readonly #queues = new Map<string, PQueue>();

  constructor(options: SharedTurnsOptions) {
    this.#options = options;
    this.#places = new PQueue({ concurrency: options.inAll });
  }

  /** Within a namespace, what has a higher priority begins first. */
  run<T>(namespace: string, work: () => Promise<T>, priority = 0): Promise<T> {
    const known = this.#queues.get(namespace);
    const queue = known ?? new PQueue({ concurrency: this.#options.inOne });
    const result = queue.add(() => this.#places.add(work, { priority: -queue.pending }), { priority });
    if (!known) {
      this.#queues.set(namespace, queue);
      void this.#forgetWhenIdle(namespace, queue);
    }
    return result;
  }

  async #forgetWhenIdle(namespace: string, queue: PQueue): Promise<void> {
    // oxlint-disable-next-line no-await-in-loop -- more may have come meanwhile
    while (queue.size + queue.pending > 0) await queue.onIdle();
    this.#queues.delete(namespace);
  }
}
