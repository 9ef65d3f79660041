/** What the reconciler needs of the accounts; the manager makes and keeps them. */
import type { ControlApi } from '../api/index.ts';
import type { AccountInformer, CatalogCache } from '../observed/index.ts';
import type { ReasonOf } from '../reasons/index.ts';
import type { AccountSpec } from '../resources/index.ts';
import type { FundsMemory } from './money/funds.ts';

export interface AccountHandle {
  /** `namespace/name`. */
  readonly name: string;
  /** It is the account of the environment, which serves all namespaces. */
  readonly isShared?: boolean;
  readonly spec: AccountSpec;
  readonly api: ControlApi;
  readonly informer: AccountInformer;
  readonly identity: AccountIdentity;
  readonly catalog: CatalogCache;
  readonly funds: FundsMemory;
  /** Keyed digest of the credential in use: what was refused with one says nothing of another. */
  readonly keyDigest: () => string | undefined;
}

/** Whose account it is, as far as the API shows it. */
export interface AccountIdentity {
  /** The id, or what stands for the e-mail address; undefined when neither is shown. */
  readonly name: string | undefined;
  /** Undefined when it is not shown. */
  readonly emailVerified: boolean | undefined;
}

export type ResolvedAccount =
  | { readonly kind: 'usable'; readonly handle: AccountHandle }
  | { readonly kind: 'problem'; readonly reason: ReasonOf<'held'>; readonly message: string };

export interface Accounts {
  resolve(namespace: string, name: string): ResolvedAccount;
  handles(): Iterable<AccountHandle>;
}
