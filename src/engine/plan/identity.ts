/**
 * Which account a key belongs to. The contract does not show the fields of an identity (§2 "Gaps"). So the shown id
 * and e-mail address are pinned at first sight, and compared from then on. Ids are compared if both sides have one
 * (an address may change), else addresses. What can't be compared is not the same: an unidentified account must not
 * count as the pinned one, because everything in it would look deleted.
 */
import type { wire } from '../../api/index.ts';
import type { DigestKey, Sensitive } from '../../base/index.ts';
import type { IdentityPin } from '../../state/index.ts';

export type IdentityVerdict =
  /** It is the pinned account. `pin`: what is known of it now. */
  | { readonly kind: 'ours'; readonly pin: IdentityPin }
  /** The API shows nothing that could be pinned, and nothing was pinned before. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'changed'; readonly pinned: string; readonly seen: string };

/** `accepted`: names of identities that an operator has accepted. */
export function judgeIdentity(
  identity: wire.Identity,
  pinned: IdentityPin | undefined,
  accepted: readonly string[],
  digestKey: DigestKey,
): IdentityVerdict {
  const seen = pinOf(identity, digestKey);
  if (!pinned || !identifies(pinned))
    return identifies(seen) ? { kind: 'ours', pin: seen } : { kind: 'unknown' };
  if (isSame(pinned, seen)) {
    // What this response does not show is kept, because a later one may show nothing else.
    return {
      kind: 'ours',
      pin: { id: seen.id ?? pinned.id, emailDigest: seen.emailDigest ?? pinned.emailDigest },
    };
  }
  if (accepted.includes(identityName(seen))) return { kind: 'ours', pin: seen };
  return { kind: 'changed', pinned: identityName(pinned), seen: identityName(seen) };
}

/** An API may identify an account by its key. That is pinned, logged and shown as a digest. */
export function withoutKey(
  identity: wire.Identity,
  credential: Sensitive<string>,
  digestKey: DigestKey,
): wire.Identity {
  const { id } = identity;
  return id?.includes(credential.reveal()) ? { ...identity, id: `digest-${digestKey.digest(id)}` } : identity;
}

/** Whether the pin identifies an account, and does not only have an origin. */
export function identifies({ id, emailDigest }: IdentityPin): boolean {
  return id !== undefined || emailDigest !== undefined;
}

/** The name that operators see, and write to accept it. */
export function identityName({ id, emailDigest }: IdentityPin): string {
  if (id !== undefined) return id;
  return emailDigest === undefined ? 'unknown' : `email-${emailDigest.slice(0, 16)}`;
}

function pinOf({ id, email }: wire.Identity, digestKey: DigestKey): IdentityPin {
  return {
    id: id ? presentableId(id, digestKey) : undefined,
    emailDigest: email ? digestKey.digest(email.trim().toLowerCase()) : undefined,
  };
}

const longestId = 128;

/** The id is recorded, logged and shown. A long one, or one with control characters, is replaced by a digest. */
function presentableId(id: string, digestKey: DigestKey): string {
  const isPlain = id.length <= longestId && !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(id);
  return isPlain ? id : `digest-${digestKey.digest(id)}`;
}

function isSame(pinned: IdentityPin, seen: IdentityPin): boolean {
  if (pinned.id !== undefined && seen.id !== undefined) return pinned.id === seen.id;
  return pinned.emailDigest !== undefined && pinned.emailDigest === seen.emailDigest;
}
