import type { AccountHandle } from '../accounts.ts';
import type { StateStore } from '../../state/index.ts';
import { Members, type MembersOptions } from './members.ts';
import { NearIndex } from './near-index.ts';

/** Records of which something is under way, waits or is held. */
export function openWorkOf(store: StateStore): NearIndex {
  return new NearIndex(
    store,
    ({ key, report }) => report?.pending !== undefined || store.openIntent(key) !== undefined,
  );
}

/** Whether there are any in the account. */
export function hasOpenWork(
  options: MembersOptions,
  account: Pick<AccountHandle, 'name' | 'isShared'>,
): boolean {
  const members = new Members(options);
  return options.fleet.openWork
    .near(account)
    .some(({ key }) => members.accountOf(key)?.name === account.name);
}
