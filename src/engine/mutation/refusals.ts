/**
 * What follows from a refusal, by its meaning (api/refusal-meanings.ts).
 *
 * | meaning                                               | what follows                                         |
 * |-------------------------------------------------------|------------------------------------------------------|
 * | Validation                                            | held until the request would be another one (1)      |
 * | Forbidden, EmailUnverified                            | held; tried again after ten minutes                  |
 * | KeyConflict, new random key                           | held: a defect of Fleetkeeper, or of a proxy (1)     |
 * | KeyConflict, key sent before or derived               | another key is next; for a creation, when the outcome of the first is known |
 * | InsufficientFunds, LimitReached                       | requested again with growing pauses, 10 s to 10 min  |
 * | CapacityUnavailable                                   | the same; creations and starts: plan/capacity.ts     |
 * | CredentialRejected                                    | the whole account waits                              |
 * | RevisionConflict, StateConflict, Conflict, NotFound   | observed again, with growing pauses                  |
 * | RateLimited, Unavailable                              | later; a 429 closes the account's limiter            |
 *
 * (1) Some requests can't become other ones, such as deletions (`isRetried` of actions). Which condition has which status is not
 * shown (§7), so it may have been the state of the thing. They are tried again after ten minutes, too.
 */
import { entryOfAction, type Action } from '../../actions/index.ts';
import type { RefusalMeaning, Refused } from '../../api/index.ts';
import type { BackoffLimits } from '../../base/index.ts';
import type { ReasonOf } from '../../reasons/index.ts';

export type RefusalClass =
  | { readonly kind: 'hold'; readonly reason: ReasonOf<'held'>; readonly retryAfterMs: number | undefined }
  | {
      readonly kind: 'wait';
      readonly reason: ReasonOf<'waiting'>;
      readonly backoff: BackoffLimits;
      /** The provider has too little of something. */
      readonly isScarce?: boolean;
    };

const heldRetryMs = 600_000;
export const scarceBackoff = { firstMs: 10_000, longestMs: 600_000 };
const brief = { firstMs: 500, longestMs: 60_000 };

const hold = (reason: ReasonOf<'held'>, retryAfterMs?: number): RefusalClass => ({
  kind: 'hold',
  reason,
  retryAfterMs,
});
const wait = (reason: ReasonOf<'waiting'>, backoff: BackoffLimits): RefusalClass => ({
  kind: 'wait',
  reason,
  backoff,
});
const scarce = (reason: ReasonOf<'waiting'>): RefusalClass => ({
  kind: 'wait',
  reason,
  backoff: scarceBackoff,
  isScarce: true,
});

const classes: Readonly<Record<RefusalMeaning, RefusalClass>> = {
  CapacityUnavailable: scarce('CapacityUnavailable'),
  InsufficientFunds: scarce('InsufficientFunds'),
  LimitReached: scarce('LimitReached'),
  EmailUnverified: hold('EmailUnverified', heldRetryMs),
  RevisionConflict: wait('Conflict', brief),
  StateConflict: wait('Conflict', brief),
  Conflict: wait('Conflict', brief),
  KeyConflict: hold('IdempotencyKeyReused'),
  // The client turns it into an unknown outcome, so it is never classified here.
  KeyInUse: wait('Conflict', brief),
  OutcomeUnknown: wait('Unavailable', brief),
  Validation: hold('Refused'),
  NotFound: wait('NotFound', brief),
  Forbidden: hold('Forbidden', heldRetryMs),
  CredentialRejected: wait('CredentialRejected', scarceBackoff),
  RateLimited: wait('RateLimited', brief),
  Unavailable: wait('Unavailable', brief),
};

/**
 * `isKeyKnown`: this process or another one may have sent the same request with the same key before. `action`: what was refused; it is
 * needed where the pause of a hold is.
 */
export function classifyRefusal(
  { meaning }: Pick<Refused, 'meaning'>,
  isKeyKnown = false,
  action?: Action,
): RefusalClass {
  const found = classes[isKeyKnown && meaning === 'KeyConflict' ? 'Conflict' : meaning];
  const isRetried = action !== undefined && entryOfAction(action).isRetried?.(action) === true;
  return found.kind === 'hold' && isRetried ? { ...found, retryAfterMs: heldRetryMs } : found;
}
