/** How many pieces of work of one kind an account may have under way at once. */
import { ApiError } from './errors.ts';

export class Slots {
  readonly #most: number;
  readonly #what: string;
  readonly #taken = new Map<string, number>();

  /** `what` is for messages. */
  constructor(most: number, what: string) {
    this.#most = most;
    this.#what = what;
  }

  /** Takes a slot, and returns a function that releases it; a second call does nothing. Refuses with 429 when there is none left. */
  take(accountId: string): () => void {
    if ((this.#taken.get(accountId) ?? 0) >= this.#most) {
      throw new ApiError(
        429,
        'rate_limited',
        `at most ${this.#most} ${this.#what} of an account are under way at once; wait for one to end`,
        1,
      );
    }
    this.#add(accountId, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#add(accountId, -1);
      isTaken = false;
    };
  }

  /** Runs `work` in a slot; refuses as `take`. */
  async with<Result>(accountId: string, work: () => Promise<Result>): Promise<Result> {
    const giveBack = this.take(accountId);
    try {
      return await work();
    } finally {
      giveBack();
    }
  }

  #add(accountId: string, difference: 1 | -1): void {
    const taken = (this.#taken.get(accountId) ?? 0) + difference;
    if (taken > 0) this.#taken.set(accountId, taken);
    else this.#taken.delete(accountId);
  }
}
