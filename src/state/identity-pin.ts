/**
 * The provider account that an Account belongs to, as `GET /api/me` identified it at first use, and the
 * origin that was used. It belongs to the name and not to the document: an Account that is removed and added
 * again keeps it.
 */
export interface IdentityPin {
  readonly id: string | undefined;
  /** A keyed digest, since the address itself is not needed. */
  readonly emailDigest: string | undefined;
  /** Scheme, host and port that the key was first used with. Absent in state of 0.1.0. */
  readonly origin?: string | undefined;
}
