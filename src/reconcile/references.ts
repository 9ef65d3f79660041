/** What documents say of each other: services of their templates and registries, and these of their services. */
import type { wire } from '../api/index.ts';
import type { DesiredObject, DesiredSnapshot } from '../desired/index.ts';
import type { Listing, Lists } from '../observed/index.ts';
import {
  objectKey,
  parseObjectKey,
  type ContainerServiceSpec,
  type ManagedKind,
  type ObjectKey,
  type ProtectedTaskSpec,
} from '../resources/index.ts';
import type { AccountHandle, Accounts } from './accounts.ts';
import type { Fleet } from './fleet.ts';
import { recordsNear } from './members.ts';

/** Which lists a fleet has use for in an account. */
export function listsOf(fleet: Fleet, accounts: Accounts, account: AccountHandle): Lists {
  let [templates, registries] = [false, false];
  const ask = ({ kind, namespace, spec }: Referring) => {
    if (!usesLists(kind, spec)) return;
    const { accountRef } = spec as ContainerServiceSpec;
    const resolved = accounts.resolve(namespace, accountRef.name);
    if (resolved.kind !== 'usable' || resolved.handle.name !== account.name) return;
    if (kind === 'ImageRegistry') registries = true;
    else templates = true;
  };
  const [own = ''] = account.name.split('/');
  for (const [namespace, users] of listUsers(fleet.snapshot))
    if (account.isShared || namespace === own) for (const user of users) ask(user);
  // What has left the source is still to be deleted.
  for (const record of recordsNear(fleet.store, account)) {
    if (fleet.snapshot.objects.has(record.key)) continue;
    const { kind, namespace } = parseObjectKey(record.key);
    if (kind !== 'Account') ask({ kind, namespace, spec: fleet.planned(record).spec });
  }
  return { templates, registries };
}

function usesLists(kind: ManagedKind, spec: object): boolean {
  const uses = kind === 'ImageRegistry' || kind === 'ServiceTemplate';
  return (
    uses ||
    (kind !== 'Account' &&
      kind !== 'ProtectedTask' &&
      'templateRef' in spec &&
      spec.templateRef !== undefined)
  );
}

const usersOfLists = new WeakMap<DesiredSnapshot, ReadonlyMap<string, readonly DesiredObject[]>>();

/** By namespace. Asked before each account read: the few among the many objects are looked for once. */
function listUsers(snapshot: DesiredSnapshot): ReadonlyMap<string, readonly DesiredObject[]> {
  const known = usersOfLists.get(snapshot);
  if (known) return known;
  const users = Map.groupBy(
    [...snapshot.objects.values()].filter(({ kind, spec }) => usesLists(kind, spec)),
    ({ namespace }) => namespace,
  );
  usersOfLists.set(snapshot, users);
  return users;
}

/** What an object refers to by name: a service its volume and its template, a task its service. */
export function referredKeys({ kind, namespace, spec }: Referring): ObjectKey[] {
  if (kind === 'ProtectedTask') {
    return [objectKey('ContainerService', namespace, (spec as ProtectedTaskSpec).serviceRef.name)];
  }
  if (kind !== 'ContainerService') return [];
  const { storage, templateRef } = spec as ContainerServiceSpec;
  return [
    ...(storage?.volumeRef ? [objectKey('StorageVolume', namespace, storage.volumeRef.name)] : []),
    ...(templateRef ? [objectKey('ServiceTemplate', namespace, templateRef.name)] : []),
  ];
}

interface Referring {
  readonly kind: ManagedKind;
  readonly namespace: string;
  readonly spec: object;
}

/** What of a list may be looked at; nothing of one that was not read. */
export function itemsOf<Item>(listing: Listing<Item> | undefined): ReadonlyMap<string, Item> {
  return listing?.kind === 'read' ? listing.items : new Map<string, Item>();
}

/** Public, the same for everybody, and not to be changed (§2 "Template"). */
export function isBuiltIn({ id, builtIn }: wire.Template, catalog: wire.Catalog | undefined): boolean {
  return builtIn ?? (catalog?.templates ?? []).some((template) => template['id'] === id);
}
