/**
 * Where may a key be sent? The origin (scheme, host and port) that an account is first used with is pinned beside its identity, since who may
 * edit its `url` need not be who may read its key. And a Secret may name the origins that it may be sent to.
 *
 *     no pin ── before the key is sent for the first time ──> pinned ── another `url` ──> changed: nothing is sent there
 *        ^── nothing could be sent ──────────────────────────┘  ^── accepted, or the Secret names the new origin ──┘
 *
 * The account of the environment has its address and its key from one hand: another address is pinned anew.
 */
import { annotations } from '../../resources/index.ts';

export interface OriginHold {
  readonly reason: 'OriginChanged' | 'OriginNotAllowed';
  readonly message: string;
  /** Heartbeats go on to the pinned origin, with the key that was known there. */
  readonly heartbeats: boolean;
}

export interface OriginFacts {
  /** `namespace/name`. */
  readonly account: string;
  readonly isDocument: boolean;
  /** That of the `url` in its document. */
  readonly origin: string;
  readonly pinned: string | undefined;
  /** The origin that a person accepts. */
  readonly accepted: string | undefined;
  /** The Secret that holds the key, and the origins that it names; undefined: it names none, or there is no Secret. */
  readonly allowed: { readonly secret: string; readonly origins: readonly string[] } | undefined;
}

/** Why no key of the account may be sent to `origin`; undefined: it may. */
export function originHold(facts: OriginFacts): OriginHold | undefined {
  const { account, isDocument, origin, pinned, accepted, allowed } = facts;
  const isAllowed = allowed?.origins.includes(origin);
  if (allowed && !isAllowed) {
    const message =
      `the key of account ${account} may not be sent to ${origin}: the Secret ${allowed.secret} names ` +
      `${allowed.origins.join(', ') || 'no origin'} in its annotation ${annotations.allowedOrigins}. Correct \`url\`, or let the Secret name the origin`;
    const goesOn = pinned !== undefined && allowed.origins.includes(pinned);
    return { reason: 'OriginNotAllowed', message, heartbeats: goesOn };
  }
  const isChanged = isDocument && pinned !== undefined && pinned !== origin;
  if (!isChanged || isAllowed || accepted === origin) return undefined;
  const message =
    `the key of account ${account} was used with ${pinned}, and its \`url\` is now ${origin}: nothing is sent there. Put the url back. ` +
    `If ${origin} is intended, annotate the Account with ${annotations.acceptOrigin}: "${origin}", or let its Secret name it in ${annotations.allowedOrigins}`;
  return { reason: 'OriginChanged', message, heartbeats: true };
}
