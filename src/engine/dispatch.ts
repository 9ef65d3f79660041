/** Begins a pass for each key of the workqueue, and defines which of them may be under way at the same time. */
import { messageOf } from '../base/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { AccountHandle } from './accounts.ts';
import type { Kinds } from './kind.ts';
import type { Share, Workqueue } from './workqueue.ts';

export interface ShareOptions {
  readonly kinds: Kinds;
  /** Passes that may be under way at once for an account, at least. */
  readonly passesAtOnce: number;
}

/**
 * A pass that sends requests may wait for an hour for its provider (`Retry-After`). That holds up neither other accounts, nor what sends none,
 * such as the pass of a task. An account that allows more requests at once has room for as many passes.
 */
export function shareOfKey(
  key: ObjectKey,
  account: AccountHandle | undefined,
  { kinds, passesAtOnce }: ShareOptions,
): Share {
  if (!account || !kinds[parseObjectKey(key).kind].remote) {
    return { name: account?.name ?? '', room: passesAtOnce };
  }
  const room = Math.max(passesAtOnce, account.spec.requests.concurrency);
  return { name: `requests of ${account.name}`, room };
}

/** Several passes begin in a row, so the code of one stage is at hand for the next of them: one by one, a plan took a twentieth longer. */
const begunInRow = 16;

export class Dispatch<Key extends string> {
  readonly #queue: Workqueue<Key>;
  readonly #pass: (key: Key) => Promise<void>;
  readonly #logger: Logger;
  #takers: Promise<void>[] = [];
  #lost = 0;

  constructor(queue: Workqueue<Key>, pass: (key: Key) => Promise<void>, logger: Logger) {
    this.#queue = queue;
    this.#pass = pass;
    this.#logger = logger;
  }

  /** No pass has ended in a way that none may. */
  get alive(): boolean {
    return this.#lost === 0;
  }

  start(): void {
    this.#takers = Array.from({ length: begunInRow }, () => this.#take());
  }

  /** Begins no more passes. Resolves when those under way have ended. */
  async stop(): Promise<void> {
    await this.#queue.stop();
    await Promise.all(this.#takers);
  }

  async #take(): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) {
      void this.#work(key);
    }
  }

  async #work(key: Key): Promise<void> {
    try {
      try {
        await this.#pass(key);
      } finally {
        this.#queue.done(key);
      }
    } catch (error) {
      this.#lost += 1;
      this.#logger.fatal({ note: messageOf(error), stack: (error as Error).stack }, 'worker lost');
    }
  }
}
