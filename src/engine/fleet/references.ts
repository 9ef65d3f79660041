/** What documents say of each other: services of their templates and registries, and these of their services. */
import type { wire } from '../../api/index.ts';
import { byAccountRef, byKind, type Referring } from '../../desired/index.ts';
import type { Listing, Lists } from '../../observed/index.ts';
import { parseObjectKey, type ContainerServiceSpec } from '../../resources/index.ts';
import type { AccountHandle, Accounts } from '../accounts.ts';
import type { Fleet } from './fleet.ts';
import { recordsNear } from './members.ts';

/** Which lists a fleet has use for in an account. */
export function listsOf(fleet: Fleet, accounts: Accounts, account: AccountHandle): Lists {
  const isHere = ({ namespace, spec }: Referring) => {
    const resolved = accounts.resolve(namespace, (spec as ContainerServiceSpec).accountRef.name);
    return resolved.kind === 'usable' && resolved.handle.name === account.name;
  };
  const { objects } = fleet.snapshot;
  const [namespace = '', name = ''] = account.name.split('/');
  const among = (kind: UserOfLists) =>
    account.isShared ? byKind(objects, kind) : byAccountRef(objects, kind, namespace, name);
  const declared = (list: keyof Lists) =>
    usersOfLists.some((kind) => among(kind).some((user) => usedList(user) === list && isHere(user)));
  // What has left the source is still to be deleted.
  const leaving = recordsNear(fleet.store, account).flatMap((record): Referring[] => {
    const { kind, namespace: home } = parseObjectKey(record.key);
    if (kind === 'Account' || objects.has(record.key)) return [];
    return [{ kind, namespace: home, spec: fleet.planned(record).spec }];
  });
  const uses = (list: keyof Lists) =>
    declared(list) || leaving.some((user) => usedList(user) === list && isHere(user));
  return { templates: uses('templates'), registries: uses('registries') };
}

const usersOfLists = ['ImageRegistry', 'ServiceTemplate', 'ContainerService'] as const;
type UserOfLists = (typeof usersOfLists)[number];

function usedList({ kind, spec }: Referring): keyof Lists | undefined {
  if (kind === 'ImageRegistry') return 'registries';
  const isUser =
    kind !== 'Account' && kind !== 'ProtectedTask' && 'templateRef' in spec && spec.templateRef !== undefined;
  return kind === 'ServiceTemplate' || isUser ? 'templates' : undefined;
}

/** What of a list may be looked at; nothing of one that was not read. */
export function itemsOf<Item>(listing: Listing<Item> | undefined): ReadonlyMap<string, Item> {
  return listing?.kind === 'read' ? listing.items : new Map<string, Item>();
}

/** Public, the same for everybody, and not to be changed (§2 "Template"). */
export function isBuiltIn({ id, builtIn }: wire.Template, catalog: wire.Catalog | undefined): boolean {
  return builtIn ?? (catalog?.templates ?? []).some((template) => template['id'] === id);
}
