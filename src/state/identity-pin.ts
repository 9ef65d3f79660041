/**
 * Which account at the provider an account of ours stands for, as `GET /api/me` showed it when it was first used, and where. It
 * belongs to the name, not to the document: an Account that is taken out and put back is still the same one.
 */
export interface IdentityPin {
  readonly id: string | undefined;
  /** Keyed digest: the address itself is not needed. */
  readonly emailDigest: string | undefined;
  /** Scheme, host and port that its key was first used with; none in what 0.1.0 has written. */
  readonly origin?: string | undefined;
}
