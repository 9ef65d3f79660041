/**
 * How much one account may have of the server at once, so that none takes it from the others. A request is admitted
 * when its headers are there, before its body is read, and counts until its answer has left:
 *
 * - requests per second, and bytes of answers per second (rate-limit.ts);
 * - requests that are not answered: one with a body counts for `bodyWeight`, because the body is kept until it is whole;
 * - bytes of large answers that the client has not taken. An account may always have one: nobody is locked out by the
 *   size of what it has.
 *
 * Beyond, the answer is 429. What comes without valid credentials is counted for its address; IPv6 by networks of 64
 * bits, as these are handed out.
 *
 * Refusals take time, too. Whoever is refused more than `refusalsPerSecond` waits a second for each further one: who asks
 * again without waiting has so many connections waiting, and not so many requests being refused. More than can reasonably
 * wait is cut.
 */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../domain/errors.ts';
import { networkOf } from './network.ts';
import { RateLimiter } from './rate-limit.ts';

export interface TrafficLimits {
  /** Of an account; null: unlimited. */
  readonly requestsPerSecond: number | null;
  readonly requestBurst: number;
  /** Of an address, without valid credentials. */
  readonly anonymousPerSecond: number;
  readonly answerBytesPerSecond: number;
  readonly requestsInFlight: number;
  /** Of an account or an address, that are not held back. */
  readonly refusalsPerSecond: number;
  /** Refusals of an account or an address that are held back at once. */
  readonly heldRefusals: number;
  /** Of an account. */
  readonly unsentBytes: number;
  /** Of all accounts together. */
  readonly unsentBytesInAll: number;
}

export const defaultTrafficLimits: TrafficLimits = {
  requestsPerSecond: 1000,
  requestBurst: 2000,
  anonymousPerSecond: 1000,
  answerBytesPerSecond: 16 * 1024 * 1024,
  requestsInFlight: 256,
  refusalsPerSecond: 200,
  heldRefusals: 1024,
  unsentBytes: 32 * 1024 * 1024,
  unsentBytesInAll: 256 * 1024 * 1024,
};

const answerBurstSeconds = 4;
const bodyWeight = 4;
const holdMs = 1_000;
/** Smaller answers are bounded by the number of requests. */
const largeAnswerBytes = 64 * 1024;

interface Share {
  inFlight: number;
  unsentBytes: number;
}

export class Traffic {
  readonly #limits: TrafficLimits;
  readonly #requests: RateLimiter | undefined;
  readonly #anonymous: RateLimiter;
  readonly #answerBytes: RateLimiter;
  readonly #refusals: RateLimiter;
  /** How many refusals are held back, by account or network. */
  readonly #held = new Map<string, number>();
  readonly #clock: Clock;
  /** Of accounts that have anything in flight. */
  readonly #shares = new Map<string, Share>();
  #unsentBytes = 0;

  constructor(limits: TrafficLimits, clock: Clock) {
    const { requestsPerSecond, requestBurst, answerBytesPerSecond } = limits;
    this.#limits = limits;
    this.#clock = clock;
    this.#refusals = new RateLimiter(limits.refusalsPerSecond, clock);
    this.#requests =
      requestsPerSecond === null
        ? undefined
        : new RateLimiter(requestsPerSecond, clock, { burst: requestBurst });
    this.#anonymous = new RateLimiter(limits.anonymousPerSecond, clock);
    this.#answerBytes = new RateLimiter(answerBytesPerSecond, clock, {
      burst: answerBurstSeconds * answerBytesPerSecond,
      what: 'bytes of answers',
    });
  }

  /** A request of an account; it counts until its response has left. Refuses with 429. */
  admit(accountId: string, hasBody: boolean, response: ServerResponse): void {
    this.#requests?.take(accountId);
    this.#answerBytes.require(accountId);
    const weight = hasBody ? bodyWeight : 1;
    const share = this.#shareOf(accountId);
    if (share.inFlight + weight > this.#limits.requestsInFlight) {
      throw tooMuch('too many requests of this account are being answered');
    }
    share.inFlight += weight;
    whenGone(response, () => {
      share.inFlight -= weight;
      this.#forgetUnused(accountId, share);
    });
  }

  /**
   * A request of `id`, an account or a network, is refused: calls `answer` when that may be answered, at once or
   * later. Returns false when it must not wait any more: its connection has to be cut.
   */
  refuse(id: string, answer: () => void): boolean {
    if (this.#refusals.tryTake(id)) {
      answer();
      return true;
    }
    const held = this.#held.get(id) ?? 0;
    if (held >= this.#limits.heldRefusals) return false;
    this.#held.set(id, held + 1);
    this.#clock.after(holdMs, () => {
      const left = (this.#held.get(id) ?? 1) - 1;
      if (left > 0) this.#held.set(id, left);
      else this.#held.delete(id);
      answer();
    });
    return true;
  }

  /** A request without a known key, before anything is done for it. Refuses with 429. */
  requireAnonymous(address: string | undefined): void {
    this.#anonymous.require(networkOf(address));
    this.#answerBytes.require(networkOf(address));
  }

  /** It turned out to be of no account. */
  countAnonymous(address: string | undefined): void {
    this.#anonymous.spend(networkOf(address), 1);
  }

  /** An answer of so many bytes is about to be sent. Refuses with 429, unless what it is about `hasHappened`. */
  answer(accountId: string, bytes: number, response: ServerResponse, hasHappened = false): void {
    this.#answerBytes.spend(accountId, bytes);
    if (bytes < largeAnswerBytes) return;
    if (!hasHappened) this.requireTaken(accountId, bytes);
    const share = this.#shareOf(accountId);
    share.unsentBytes += bytes;
    this.#unsentBytes += bytes;
    whenGone(response, () => {
      share.unsentBytes -= bytes;
      this.#unsentBytes -= bytes;
      this.#forgetUnused(accountId, share);
    });
  }

  /** Refuses with 429 an answer of so many bytes: to be asked before it is made. */
  requireTaken(accountId: string, bytes: number): void {
    const share = this.#shares.get(accountId);
    if (bytes < largeAnswerBytes || !share || share.unsentBytes === 0) return;
    const { unsentBytes, unsentBytesInAll } = this.#limits;
    if (share.unsentBytes + bytes <= unsentBytes && this.#unsentBytes + bytes <= unsentBytesInAll) return;
    throw tooMuch('too many bytes of answers to this account have not been read');
  }

  /** Refuses with 429 a mutation of who has not read answers: its own, which may be large, could not be refused any more. */
  requireRoom(accountId: string): void {
    this.requireTaken(accountId, largeAnswerBytes);
  }

  #shareOf(accountId: string): Share {
    let share = this.#shares.get(accountId);
    if (!share) this.#shares.set(accountId, (share = { inFlight: 0, unsentBytes: 0 }));
    return share;
  }

  #forgetUnused(accountId: string, share: Share): void {
    if (share.inFlight === 0 && share.unsentBytes === 0) this.#shares.delete(accountId);
  }
}

/** Once: the whole answer is with the system (`close` follows `finish`), or the connection has ended. */
function whenGone(response: ServerResponse, run: () => void): void {
  response.once('close', run);
}

function tooMuch(what: string): ApiError {
  return new ApiError(429, 'rate_limited', `${what}; wait for answers, and read them`, 1);
}
