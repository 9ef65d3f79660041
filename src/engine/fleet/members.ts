/**
 * Finds the objects of an account without a loop over all objects. The account of a document serves its own
 * namespace. The account of the environment serves all namespaces. An object with something in an account
 * belongs to it in any case: a task stays where its activity was registered.
 */
import type { AccountHandle, Accounts } from '../accounts.ts';
import type { Fleet } from './fleet.ts';
import {
  byAccountRef,
  byKind,
  byNamespace,
  referredKeys,
  referringTo,
  type DesiredObject,
} from '../../desired/index.ts';
import {
  accountKey,
  defaultAccount,
  managedKinds,
  parseObjectKey,
  traitsOf,
  type ObjectKey,
} from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';

export interface MembersOptions {
  readonly store: StateStore;
  readonly fleet: Fleet;
  readonly accounts: Accounts;
}

type Near = Pick<AccountHandle, 'name' | 'isShared'>;

/** A superset of the account's records. */
export function recordsNear(store: StateStore, { name, isShared = false }: Near): ObjectRecord[] {
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
    const near = account.isShared ? recordsNear(this.#options.store, account) : this.#near(account.name);
    return near.map(({ key }) => key).filter((key) => this.accountOf(key)?.name === account.name);
  }

  /**
   * A superset of its records. In one namespace there may be a hundred accounts, and each is first read at the
   * start: only what names this one is examined, what has its account from another object, and what has no usable document.
   */
  #near(account: string): ObjectRecord[] {
    const { store, fleet } = this.#options;
    const { objects } = fleet.snapshot;
    const [namespace = '', name = ''] = account.split('/');
    const declared = managedKinds.flatMap((kind): DesiredObject[] => {
      const { home } = traitsOf(kind);
      if (home === 'itself') return [];
      const namesIt = home === 'accountRef' && name !== defaultAccount;
      return namesIt ? byAccountRef(objects, kind, namespace, name) : byNamespace(objects, kind, namespace);
    });
    const others = [...fleet.leaving.near(objects, { name: account }), ...store.recordsOf(account)];
    const keys = new Set([accountKey(account), ...[...declared, ...others].map(({ key }) => key)]);
    return Array.from(keys, (key) => store.record(key)).filter((record) => record !== undefined);
  }

  /** Objects whose account can't be found, among those that these accounts had, or among all. */
  homeless(accounts: Iterable<Near> | 'all'): ObjectKey[] {
    const { store } = this.#options;
    const among =
      accounts === 'all'
        ? store.everyKey()
        : [...accounts].flatMap((account) => recordsNear(store, account).map(({ key }) => key));
    return [...new Set(among)].filter((key) => !this.accountOf(key));
  }

  /** Services that refer to a volume or template, those of a service, the service of a volume or task, its tasks; the owner. */
  dependentsOf(key: ObjectKey): ObjectKey[] {
    const { store, fleet } = this.#options;
    const record = store.record(key);
    const { linked = [] } = record?.report ?? {};
    const attached = linked.flatMap((id) => store.recordOf(id)?.key ?? []);
    const { kind, namespace } = parseObjectKey(key);
    const spec = record && fleet.specOf(record);
    const referred = spec ? referredKeys({ kind, namespace, spec }) : [];
    const dependents = referringTo(fleet.snapshot.objects, key).map((dependent) => dependent.key);
    const owner = record?.derived ? [record.derived.owner] : [];
    return [...new Set([...dependents, ...attached, ...referred, ...owner])];
  }

  /** Objects near the account that refer to what is no object, and so may be the provider's own. */
  usersOfBuiltIns({ name, isShared }: AccountHandle): ObjectKey[] {
    const { store, fleet } = this.#options;
    const { objects } = fleet.snapshot;
    const [home = ''] = name.split('/');
    const near = referringKinds.flatMap((kind): DesiredObject[] =>
      isShared ? byKind(objects, kind) : byNamespace(objects, kind, home),
    );
    const isBuiltIn = (key: ObjectKey) =>
      traitsOf(parseObjectKey(key).kind).hasBuiltIns === true && !store.record(key);
    return near.filter((object) => referredKeys(object).some(isBuiltIn)).map(({ key }) => key);
  }
}

const referringKinds = managedKinds.filter((kind) => traitsOf(kind).references !== undefined);
