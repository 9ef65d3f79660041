/** References between documents: from services to templates and registries, and back. */
import type { wire } from '../../api/index.ts';
import { listsUsedBy, usersOfList, type Referring, type SeparateList } from '../../desired/index.ts';
import type { Listing, Lists } from '../../observed/index.ts';
import { parseObjectKey, type CommonSpec } from '../../resources/index.ts';
import type { AccountHandle, Accounts } from '../accounts.ts';
import type { Fleet } from './fleet.ts';

/** The lists of an account that a fleet needs. */
export function listsOf(fleet: Fleet, accounts: Accounts, account: AccountHandle): Lists {
  const isHere = ({ namespace, spec }: Referring) => {
    const resolved = accounts.resolve(namespace, accountRefOf(spec));
    return resolved.kind === 'usable' && resolved.handle.name === account.name;
  };
  const { objects } = fleet.snapshot;
  const place = account.isShared ? undefined : account.name;
  // Removed objects still have to be deleted at the provider.
  const leaving = fleet.leaving.near(objects, account).flatMap((record): Referring[] => {
    const { kind, namespace } = parseObjectKey(record.key);
    const spec = fleet.specOf(record);
    return spec ? [{ kind, namespace, spec }] : [];
  });
  const uses = (list: SeparateList) =>
    usersOfList(objects, list, place).some(isHere) ||
    leaving.some((user) => listsUsedBy(user).includes(list) && isHere(user));
  return { templates: uses('templates'), registries: uses('registries') };
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
