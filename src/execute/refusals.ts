/**
 * What a refusal means for the object. The set of error codes is not documented (§7), so the status decides,
 * and a code only refines it; an unknown code is treated by its status.
 *
 * | status   | meaning                                                        | what follows                         |
 * |----------|----------------------------------------------------------------|--------------------------------------|
 * | 400, 422 | the request is wrong                                           | held until it would be another one   |
 * | 401      | the credential is not accepted                                 | the whole account waits              |
 * | 403      | not allowed (unverified e-mail, rights)                        | held; tried again after ten minutes  |
 * | 404      | there is no such thing                                         | observed again                       |
 * | 409      | revision or state conflict; capacity, funds, limit by code     | observed again, with growing pauses  |
 * | any 4xx  | the key was used for another request, by code                  | held: it is a fault of ours, or of what is between us |
 * | 429, 503 | not now                                                        | later; 429 shuts the account's door  |
 */
import type { Refused } from '../api/index.ts';
import type { BackoffLimits } from '../base/index.ts';

export type RefusalClass =
  | { readonly kind: 'hold'; readonly reason: string; readonly retryAfterMs: number | undefined }
  | {
      readonly kind: 'wait';
      readonly reason: string;
      readonly backoff: BackoffLimits;
      /** The provider has too little of something. */
      readonly isScarce?: boolean;
    };

const forbiddenRetryMs = 600_000;
export const scarceBackoff = { firstMs: 10_000, longestMs: 600_000 };
const brief = { firstMs: 500, longestMs: 60_000 };

const codeReasons: readonly (readonly [RegExp, string])[] = [
  [/capacity|unavailable|exhausted/, 'CapacityUnavailable'],
  [/funds|balance|payment/, 'InsufficientFunds'],
  [/limit|quota/, 'LimitReached'],
];

/** Each intent has a key of its own. */
const saysKeyReused = /^(?=.*idempot).*(reuse|mismatch|different|conflict)/i;

export function classifyRefusal({ status, code }: Refused): RefusalClass {
  if (status < 500 && saysKeyReused.test(code)) {
    return { kind: 'hold', reason: 'IdempotencyKeyReused', retryAfterMs: undefined };
  }
  switch (status) {
    case 401:
      return { kind: 'wait', reason: 'CredentialRejected', backoff: scarceBackoff };
    case 403:
      return { kind: 'hold', reason: 'Forbidden', retryAfterMs: forbiddenRetryMs };
    case 404:
      return { kind: 'wait', reason: 'NotFound', backoff: brief };
    case 409: {
      const reason = codeReasons.find(([pattern]) => pattern.test(code))?.[1];
      return reason
        ? { kind: 'wait', reason, backoff: scarceBackoff, isScarce: true }
        : { kind: 'wait', reason: 'Conflict', backoff: brief };
    }
    case 408:
    case 425:
      return { kind: 'wait', reason: 'Unavailable', backoff: brief };
    case 429:
      return { kind: 'wait', reason: 'RateLimited', backoff: brief };
    case 503:
      return { kind: 'wait', reason: 'Unavailable', backoff: brief };
    default:
      return { kind: 'hold', reason: 'Refused', retryAfterMs: undefined };
  }
}
