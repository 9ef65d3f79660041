/**
 * Browser sessions (§4 rule 7). Who has the address of one is in it: the address has 256 random bits, is kept in memory
 * only, and ends after an hour, with its service, and when the server is stopped. It is good for one service of one account.
 *
 * open ──(an hour, or too many newer ones of the account)──> ended ──(an hour)──> unknown
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';

export const sessionMs = 60 * 60 * 1000;
/** Of an account; the oldest ends for a new one. */
const sessionsPerAccount = 50;
/** 256 bits; no session has another one. */
const tokenPattern = /^[\w-]{43}$/;

export interface BrowserSession {
  readonly accountId: string;
  readonly serviceId: string;
  /** On the monotonic clock. */
  readonly endsAtMs: number;
}

export class BrowserSessions {
  readonly #clock: Clock;
  readonly #random: Random;
  /** By the digest of their token, oldest first. */
  readonly #sessions = new Map<string, BrowserSession>();
  /** Where the listener of the sessions is, without a slash at the end. */
  address: string;

  constructor(clock: Clock, random: Random, address: string) {
    this.#clock = clock;
    this.#random = random;
    this.address = address;
  }

  /** Its address. */
  open(accountId: string, serviceId: string): string {
    this.#forgetOld();
    const ofAccount = [...this.#sessions].filter(([, session]) => session.accountId === accountId);
    const surplus = Math.max(0, ofAccount.length + 1 - sessionsPerAccount);
    for (const [digest] of ofAccount.slice(0, surplus)) this.#sessions.delete(digest);
    const token = this.#random.bytes(32).toString('base64url');
    const endsAtMs = this.#clock.monotonicMs() + sessionMs;
    this.#sessions.set(digestOf(token), { accountId, serviceId, endsAtMs });
    return `${this.address}/s/${token}/`;
  }

  find(token: string): BrowserSession | 'ended' | undefined {
    const session = tokenPattern.test(token) ? this.#sessions.get(digestOf(token)) : undefined;
    return session && this.#clock.monotonicMs() >= session.endsAtMs ? 'ended' : session;
  }

  /** All have the same duration, so the oldest are first. */
  #forgetOld(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [digest, { endsAtMs }] of this.#sessions) {
      if (nowMs < endsAtMs + sessionMs) return;
      this.#sessions.delete(digest);
    }
  }
}

/** How long a lookup takes does not depend on how much of a token was guessed. */
function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
