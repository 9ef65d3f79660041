/** What the reconciler needs of the accounts; the manager makes and keeps them. */
import type { ControlApi } from '../api/index.ts';
import type { AccountInformer } from '../observed/index.ts';
import type { AccountSpec } from '../resources/index.ts';

export interface AccountHandle {
  /** `namespace/name`. */
  readonly name: string;
  readonly spec: AccountSpec;
  readonly api: ControlApi;
  readonly informer: AccountInformer;
}

export type ResolvedAccount =
  | { readonly kind: 'usable'; readonly handle: AccountHandle }
  | { readonly kind: 'problem'; readonly reason: string; readonly message: string };

export interface Accounts {
  resolve(namespace: string, name: string): ResolvedAccount;
  handles(): Iterable<AccountHandle>;
}
