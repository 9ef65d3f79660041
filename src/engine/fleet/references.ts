/** References between documents: from services to templates and registries, and back. */
import type { wire } from '../../api/index.ts';
import { byAccountRef, byKind, referredKeys, type Referring } from '../../desired/index.ts';
import type { Listing, Lists } from '../../observed/index.ts';
import {
  managedKinds,
  parseObjectKey,
  traitsOf,
  type CommonSpec,
  type ManagedKind,
} from '../../resources/index.ts';
import type { AccountHandle, Accounts } from '../accounts.ts';
import type { Fleet } from './fleet.ts';

/** The lists of an account that a fleet needs. */
export function listsOf(fleet: Fleet, accounts: Accounts, account: AccountHandle): Lists {
  const isHere = ({ namespace, spec }: Referring) => {
    const resolved = accounts.resolve(namespace, accountRefOf(spec));
    return resolved.kind === 'usable' && resolved.handle.name === account.name;
  };
  const { objects } = fleet.snapshot;
  const [namespace = '', name = ''] = account.name.split('/');
  const among = (kind: ManagedKind) =>
    account.isShared ? byKind(objects, kind) : byAccountRef(objects, kind, namespace, name);
  const declared = (list: keyof Lists) =>
    usersOfLists.some((kind) => among(kind).some((user) => usedLists(user).has(list) && isHere(user)));
  // Removed objects still have to be deleted at the provider.
  const leaving = fleet.leaving.near(objects, account).flatMap((record): Referring[] => {
    const { kind, namespace: home } = parseObjectKey(record.key);
    const spec = fleet.specOf(record);
    return spec ? [{ kind, namespace: home, spec }] : [];
  });
  const uses = (list: keyof Lists) =>
    declared(list) || leaving.some((user) => usedLists(user).has(list) && isHere(user));
  return { templates: uses('templates'), registries: uses('registries') };
}

/** Kinds whose things a list may show, or that refer to such things. */
const usersOfLists = managedKinds.filter((kind) => {
  const traits = traitsOf(kind);
  return traits.home === 'accountRef' && (isOfOwn(traits.list) || traits.references !== undefined);
});

/** By object of the source, which never changes: all those of an account are asked at each of its reads. */
const usedBy = new WeakMap<Referring, ReadonlySet<keyof Lists>>();

function usedLists(user: Referring): ReadonlySet<keyof Lists> {
  let used = usedBy.get(user);
  if (!used) {
    const referred = referredKeys(user).map((key) => parseObjectKey(key).kind);
    used = new Set([user.kind, ...referred].map((each) => traitsOf(each).list).filter(isOfOwn));
    usedBy.set(user, used);
  }
  return used;
}

/** The account read shows all others. */
function isOfOwn(list: string | undefined): list is keyof Lists {
  return list === 'templates' || list === 'registries';
}

function accountRefOf(spec: CommonSpec): string {
  return spec.accountRef?.name ?? '';
}

/** The items of a list. Empty if it was not read. */
export function itemsOf<Item>(listing: Listing<Item> | undefined): ReadonlyMap<string, Item> {
  return listing?.kind === 'read' ? listing.items : new Map<string, Item>();
}

/** Public templates are shared by everybody and can't be changed (§2 "Template"). */
export function isBuiltIn({ id, builtIn }: wire.Template, catalog: wire.Catalog | undefined): boolean {
  return builtIn ?? (catalog?.templates ?? []).some((template) => template['id'] === id);
}
