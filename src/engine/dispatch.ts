/**
 * Begins a pass for each key of the workqueue, and defines which of them may be under way at the same time.
 *
 *     begun ──(it has ended, or has lasted 250 ms)──> another one may begin
 *
 * Passes that have work to do are few at a time: with more of them, each takes longer, and so do the turns of the event loop in which heartbeats
 * are sent. One that lasts longer waits for somebody, and is no reason for others not to begin.
 */
import { messageOf, type Clock } from '../base/index.ts';
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
 * A pass that sends requests may wait for its provider: for a read even an hour (`Retry-After`). That holds up neither other accounts, nor what
 * sends none, such as the pass of a task. An account that allows more requests at once has room for as many passes.
 */
export function shareOfKey(
  key: ObjectKey,
  account: AccountHandle | undefined,
  { kinds, passesAtOnce }: ShareOptions,
): Share {
  if (!account || !kinds[parseObjectKey(key).kind].remote) {
    return { name: account?.name ?? '', room: passesAtOnce };
  }
  return shareOfRequests(account, passesAtOnce);
}

/** Of the passes that may send requests. */
export function shareOfRequests({ name, spec }: AccountHandle, passesAtOnce: number): Share {
  return { name: `requests of ${name}`, room: Math.max(passesAtOnce, spec.requests.concurrency) };
}

const busyAtOnce = 48;
const longMs = 250;

export class Dispatch<Key extends string> {
  readonly #queue: Workqueue<Key>;
  readonly #pass: (key: Key) => Promise<void>;
  readonly #logger: Logger;
  readonly #clock: Clock;
  #takers: Promise<void>[] = [];
  #lost = 0;

  constructor(
    queue: Workqueue<Key>,
    pass: (key: Key) => Promise<void>,
    { logger, clock }: { readonly logger: Logger; readonly clock: Clock },
  ) {
    this.#queue = queue;
    this.#pass = pass;
    this.#logger = logger;
    this.#clock = clock;
  }

  /** No pass has ended in a way that none may. */
  get alive(): boolean {
    return this.#lost === 0;
  }

  start(): void {
    this.#takers = Array.from({ length: busyAtOnce }, () => this.#take());
  }

  /** Begins no more passes. Resolves when those under way have ended. */
  async stop(): Promise<void> {
    await this.#queue.stop();
    await Promise.all(this.#takers);
  }

  async #take(): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) {
      await this.#busyWith(this.#work(key));
    }
  }

  async #busyWith(work: Promise<void>): Promise<void> {
    const ended = work.then(() => true);
    for (;;) {
      const dueAtMs = this.#clock.monotonicMs() + longMs;
      const long = Promise.withResolvers<false>();
      const timer = this.#clock.after(longMs, () => long.resolve(false));
      const hasEnded = await Promise.race([ended, long.promise]);
      timer.cancel();
      // A timer that is late shows that the processor was busy, and that the pass may have been waiting for that.
      if (hasEnded || this.#clock.monotonicMs() - dueAtMs <= longMs) return;
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
