/**
 * Decides where a key may be sent. Whoever may edit an Account's `url` need not be allowed to read its key. So the origin
 * (scheme, host and port) of the first use is pinned beside the identity. A Secret may also list the origins that it
 * may be sent to.
 *
 *     no pin ── before the key is sent for the first time ──> pinned ── another `url` ──> changed: nothing is sent there
 *        ^── nothing could be sent ──────────────────────────┘  ^── accepted, or the Secret lists the new origin ──┘
 *
 * The environment supplies both the address and the key of its account. So its origin is pinned again when the address changes.
 */
import { annotations } from '../../resources/index.ts';

export interface OriginHold {
  readonly reason: 'OriginChanged' | 'OriginNotAllowed';
  readonly message: string;
  /** Heartbeats continue to the pinned origin, with the key that was used there. */
  readonly heartbeats: boolean;
}

export interface OriginFacts {
  /** `namespace/name`. */
  readonly account: string;
  readonly isDocument: boolean;
  /** The origin of the `url` in its document. */
  readonly origin: string;
  readonly pinned: string | undefined;
  /** The origin that an operator has accepted. */
  readonly accepted: string | undefined;
  /**
   * The Secret that holds the key, and the origins that it lists. Undefined: it lists none, or there is no
   * Secret.
   */
  readonly allowed: { readonly secret: string; readonly origins: readonly string[] } | undefined;
}

/** Why no key of the account may be sent to `origin`. Undefined if it may be sent. */
export function originHold(facts: OriginFacts): OriginHold | undefined {
  const { account, isDocument, origin, pinned, accepted, allowed } = facts;
  const isAllowed = allowed?.origins.includes(origin);
  if (allowed && !isAllowed) {
    const message =
      `the key of account ${account} may not be sent to ${origin}: the Secret ${allowed.secret} allows only ` +
      `${allowed.origins.join(', ') || 'no origin'} in its annotation ${annotations.allowedOrigins}. Correct \`url\`, or add the origin to that annotation`;
    const continues = pinned !== undefined && allowed.origins.includes(pinned);
    return { reason: 'OriginNotAllowed', message, heartbeats: continues };
  }
  const isChanged = isDocument && pinned !== undefined && pinned !== origin;
  if (!isChanged || isAllowed || accepted === origin) return undefined;
  const message =
    `the key of account ${account} was used with ${pinned}, and its \`url\` is now ${origin}: nothing is sent there. Put the url back. ` +
    `If ${origin} is intended, annotate the Account with ${annotations.acceptOrigin}: "${origin}", or add it to the Secret's annotation ${annotations.allowedOrigins}`;
  return { reason: 'OriginChanged', message, heartbeats: true };
}
