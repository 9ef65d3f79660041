import type { Sensitive } from '../base/index.ts';
import type { Lane } from './limiter.ts';

/** The account of a credential has to be known before it is used for anything but `GET /api/me`. */
export interface CredentialTrust {
  trusts(credential: Sensitive<string>, lane: Lane): boolean;
  /** What heartbeats go on with when the key is not there any more: the last one that was trusted, and has not been rejected since. */
  readonly lastTrusted: Sensitive<string> | undefined;
  /** Why the credential is there and not given out. Undefined if it is not there. */
  readonly withheld?: string | undefined;
  /** It was rejected: should it be accepted again, it may be somebody else's. */
  rejected(): void;
}
