import type { AccountHandle } from '../accounts.ts';
import { Members, recordsNear, type MembersOptions } from './members.ts';

/** Whether something in the account is under way, waits or is held. */
export function hasOpenWork(
  options: MembersOptions,
  account: Pick<AccountHandle, 'name' | 'isShared'>,
): boolean {
  const { store } = options;
  const members = new Members(options);
  return recordsNear(store, account).some(
    ({ key, report }) =>
      (report?.pending !== undefined || store.openIntent(key) !== undefined) &&
      members.accountOf(key)?.name === account.name,
  );
}
