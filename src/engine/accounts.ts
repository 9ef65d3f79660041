/** What the reconciler needs of accounts. The manager creates them. */
import type { ControlApi, Pace } from '../api/index.ts';
import type { AccountInformer, CatalogCache } from '../observed/index.ts';
import type { ReasonOf } from '../reasons/index.ts';
import type { AccountSpec } from '../resources/index.ts';
import type { FundsMemory } from './money/funds.ts';
import type { AccountTime } from './plan/index.ts';

export interface AccountHandle {
  /** `namespace/name`. */
  readonly name: string;
  /** The account of the environment, which serves all namespaces. */
  readonly isShared?: boolean;
  readonly spec: AccountSpec;
  readonly api: ControlApi;
  /** How its requests go now, for people. */
  readonly pace?: () => Pace;
  /** What its answers show of the time. */
  readonly time?: () => AccountTime;
  readonly informer: AccountInformer;
  readonly identity: AccountIdentity;
  readonly catalog: CatalogCache;
  readonly funds: FundsMemory;
  /** Keyed digest of the credential in use. A refusal counts only for the credential that it was sent with. */
  readonly keyDigest: () => string | undefined;
  /** A key for one purpose, made of the credential in use. */
  readonly derivedKey: (purpose: string) => Buffer | undefined;
}

/** The identity of an account, as far as the API shows it. */
export interface AccountIdentity {
  /** The id, or a digest of the e-mail address. Undefined if neither is shown. */
  readonly name: string | undefined;
  /** Undefined if it is not shown. */
  readonly emailVerified: boolean | undefined;
}

export type ResolvedAccount =
  | { readonly kind: 'usable'; readonly handle: AccountHandle }
  | { readonly kind: 'problem'; readonly reason: ReasonOf<'held'>; readonly message: string };

export interface Accounts {
  resolve(namespace: string, name: string): ResolvedAccount;
  handles(): Iterable<AccountHandle>;
  /** `name`: `namespace/name`. */
  handle(name: string): AccountHandle | undefined;
}
