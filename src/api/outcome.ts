/**
 * What can be known after one HTTP exchange: the closed set on which all decisions are based.
 *
 * | kind     | what happened                                                        | effect of a mutation |
 * |----------|----------------------------------------------------------------------|----------------------|
 * | applied  | a 2xx of the documented shape (for a read: answered)                 | happened             |
 * | refused  | a 4xx (but 408) or 503 in the API's error form (§7)                  | did not happen       |
 * | not-sent | no connection, no such host, no credential: no byte of it was sent   | did not happen       |
 * | unknown  | anything else: time-out, reset, another 5xx, a body that can't be read | nobody knows       |
 *
 * So is a 409 or 503 whose own text leaves open what becomes of the request.
 * A refusal because a request with the same idempotency key is under way is unknown, too: that one may take effect.
 * 500, 502 and 504 are unknown even in the error form: a server with an "internal error" may have done something.
 */
import type { RefusalMeaning } from './refusal-meanings.ts';

export type Outcome<Value> = Applied<Value> | Refused | NotSent | Unknown;

export interface Applied<Value> {
  readonly kind: 'applied';
  readonly status: number;
  readonly value: Value;
}

export interface Refused {
  readonly kind: 'refused';
  readonly status: number;
  /** `error.code` and `error.message` (§7 rule 4), cut to a bounded length. */
  readonly code: string;
  readonly message: string;
  readonly meaning: RefusalMeaning;
  /** From `Retry-After`, between 1 s and 1 h. */
  readonly retryAfterMs: number | undefined;
}

export interface NotSent {
  readonly kind: 'not-sent';
  readonly reason: string;
}

export function notSent(reason: string): NotSent {
  return { kind: 'not-sent', reason };
}

export interface Unknown {
  readonly kind: 'unknown';
  readonly reason: string;
  /** Of an answer that was read. Undefined: none came, or not as a whole. */
  readonly status?: number;
  /** As of a refusal. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Of a read: the same request may be answered soon. What was not sent is not among it: an address at which nobody listens is rather a wrong one.
 * Nor is an answer in another form, which no repetition changes.
 */
export function mayPass(outcome: Exclude<Outcome<unknown>, Applied<unknown>>): boolean {
  if (outcome.kind === 'not-sent') return false;
  const { status } = outcome;
  return status === undefined || status >= 500 || passingStatuses.has(status);
}

const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

/** One sentence for people and logs. */
export function describeOutcome(outcome: Outcome<unknown>): string {
  switch (outcome.kind) {
    case 'applied':
      return `answered with ${outcome.status}`;
    case 'refused':
      return `refused with ${outcome.status} ${outcome.code}: ${outcome.message}`;
    case 'not-sent':
      return `not sent: ${outcome.reason}`;
    case 'unknown':
      return `outcome unknown: ${outcome.reason}`;
  }
}
