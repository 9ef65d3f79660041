/**
 * Which objects belong to which account, without a walk over all of them. An account of a document serves its namespace only; that of the
 * environment serves all. What stands for something in an account belongs to it wherever it is: a task stays where its activity was registered.
 */
import type { AccountHandle, Accounts } from './accounts.ts';
import type { Fleet } from './fleet.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';

export interface MembersOptions {
  readonly store: StateStore;
  readonly fleet: Fleet;
  readonly accounts: Accounts;
}

/** Of the records that may belong to the account, all that do are among these. */
export function recordsNear(
  store: StateStore,
  { name, isShared = false }: Pick<AccountHandle, 'name' | 'isShared'>,
): ObjectRecord[] {
  if (isShared) return [...store.everyKey()].flatMap((key) => store.record(key) ?? []);
  const [namespace = ''] = name.split('/');
  const elsewhere = store
    .recordsOf(name)
    .filter((record) => parseObjectKey(record.key).namespace !== namespace);
  return [...store.recordsIn(namespace), ...elsewhere];
}

export class Members {
  readonly #options: MembersOptions;

  constructor(options: MembersOptions) {
    this.#options = options;
  }

  accountOf(key: ObjectKey): AccountHandle | undefined {
    const { store, accounts, fleet } = this.#options;
    const record = store.record(key);
    const reference = record && fleet.accountOf(record);
    const resolved = reference && accounts.resolve(reference.namespace, reference.name);
    return resolved?.kind === 'usable' ? resolved.handle : undefined;
  }

  of(account: AccountHandle): ObjectKey[] {
    return recordsNear(this.#options.store, account)
      .map(({ key }) => key)
      .filter((key) => this.accountOf(key)?.name === account.name);
  }

  /** Those whose account can't be found. */
  homeless(): ObjectKey[] {
    return [...this.#options.store.everyKey()].filter((key) => !this.accountOf(key));
  }
}
