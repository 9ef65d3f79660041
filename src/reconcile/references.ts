/** What documents say of each other: services of their templates and registries, and these of their services. */
import type { wire } from '../api/index.ts';
import type { DesiredObject, DesiredSnapshot } from '../desired/index.ts';
import type { AccountSnapshot, Listing, Lists } from '../observed/index.ts';
import { templateValues, type RegistryView, type TemplateView } from '../plan/index.ts';
import {
  normalRepository,
  objectKey,
  parseObjectKey,
  repositoryOf,
  shownRepository,
  type ContainerServiceSpec,
  type ImageRegistrySpec,
  type ManagedKind,
  type ObjectKey,
  type ProtectedTaskSpec,
} from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
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

// ---- templates ---------------------------------------------------------------------------------------

/** Public, the same for everybody, and not to be changed (§2 "Template"). */
export function isBuiltIn({ id, builtIn }: wire.Template, catalog: wire.Catalog | undefined): boolean {
  return builtIn ?? (catalog?.templates ?? []).some((template) => template['id'] === id);
}

/** The ServiceTemplate of that name in the namespace or, when there is none, the built-in template. */
export function templateView(
  fleet: Fleet,
  record: ObjectRecord,
  handle: AccountHandle | undefined,
  snapshot: AccountSnapshot | undefined,
): TemplateView {
  const { spec } = fleet.planned<'ContainerService'>(record);
  const name = spec.templateRef?.name;
  if (name === undefined) return { kind: 'none' };
  const key = objectKey('ServiceTemplate', parseObjectKey(record.key).namespace, name);
  const template = fleet.store.record(key);
  const path = ['spec', 'templateRef', 'name'];
  if (fleet.snapshot.unusable.has(key) && !template) {
    const message = `the document of ServiceTemplate ${name} can't be used; put that right first`;
    return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
  }
  if (template && template.deletionRequestedAt === undefined) {
    return ownTemplateView(fleet, record, template, snapshot, path);
  }
  return builtInView(fleet, record, handle, snapshot, path);
}

function ownTemplateView(
  fleet: Fleet,
  record: ObjectRecord,
  template: ObjectRecord,
  snapshot: AccountSnapshot | undefined,
  path: readonly (string | number)[],
): TemplateView {
  const service = fleet.planned<'ContainerService'>(record).spec;
  const { name, spec } = fleet.planned<'ServiceTemplate'>(template);
  if (spec.accountRef.name !== service.accountRef.name) {
    const message = `ServiceTemplate ${name} belongs to another account (${spec.accountRef.name}), and templates are not shared (§2); use one of ${service.accountRef.name}`;
    return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
  }
  const shown = itemsOf(snapshot?.templates).get(template.externalId ?? '');
  const { image, command, resources, httpPort, sleepAfterMinutes } = spec;
  const { requiredEnvironment, ...theirs } = shown
    ? templateValues(shown, shown.requiredEnvironment ?? [])
    : { requiredEnvironment: [] };
  const values = {
    ...theirs,
    image,
    ...(command ? { command } : {}),
    ...(resources ? { resources } : {}),
    ...(httpPort === undefined ? {} : { httpPort }),
    ...(sleepAfterMinutes === undefined ? {} : { sleepAfterMinutes }),
    requiredEnvironment: spec.requiredEnvironment ?? requiredEnvironment,
  };
  if (values.resources || service.resources || shown) return { kind: 'usable', values };
  const message = `ServiceTemplate ${name} is not there yet, and the API's default for its resources not known`;
  return { kind: 'not-ready', message };
}

function builtInView(
  fleet: Fleet,
  record: ObjectRecord,
  handle: AccountHandle | undefined,
  snapshot: AccountSnapshot | undefined,
  path: readonly (string | number)[],
): TemplateView {
  const name = fleet.planned<'ContainerService'>(record).spec.templateRef?.name ?? '';
  const listing = snapshot?.templates;
  if (listing?.kind !== 'read') {
    const message = listing?.kind === 'failed' ? listing.message : 'the templates have not been read yet';
    return { kind: 'not-ready', message };
  }
  const catalog = handle?.catalog.current;
  const builtIn = [...listing.items.values()].filter((item) => isBuiltIn(item, catalog));
  const found = builtIn.find((item) => item.id === name || referenceName(item) === name);
  if (found) return { kind: 'usable', values: templateValues(found, found.requiredEnvironment ?? []) };
  const offered = [
    ...ownTemplateNames(fleet, record).map((own) => `${own} (ServiceTemplate)`),
    ...builtIn.map((item) => `${referenceName(item)} (built-in)`),
  ];
  const message = `there is no ServiceTemplate ${name} in this namespace, and no built-in template of that name; there ${
    offered.length > 0 ? `are ${offered.join(', ')}` : 'are none at all'
  }`;
  return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
}

/** As a reference has to be written: `PyTorch 2.3` is `pytorch-2.3`. */
function referenceName({ id, name = id }: wire.Template): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
}

function ownTemplateNames(fleet: Fleet, record: ObjectRecord): string[] {
  const { namespace } = parseObjectKey(record.key);
  return [...fleet.snapshot.objects.values()]
    .filter((object) => object.kind === 'ServiceTemplate' && object.namespace === namespace)
    .map(({ name }) => name);
}

interface TemplateUser {
  readonly name: string;
  /** Variables that the template requires and the service does not have. */
  readonly missing: readonly string[];
}

/** The services that refer to a template, and what they lack of the environment that it requires now. */
export function usersOfTemplate(
  fleet: Fleet,
  template: ObjectRecord,
  required: readonly string[],
): TemplateUser[] {
  const { namespace, name } = parseObjectKey(template.key);
  const users: TemplateUser[] = [];
  for (const object of fleet.snapshot.objects.values()) {
    if (object.kind !== 'ContainerService' || object.namespace !== namespace) continue;
    const { templateRef, env } = object.spec as ContainerServiceSpec;
    if (templateRef?.name !== name) continue;
    const given = env?.map((variable) => variable.name);
    users.push({ name: object.name, missing: given ? required.filter((one) => !given.includes(one)) : [] });
  }
  return users;
}

// ---- registries --------------------------------------------------------------------------------------

/** The ImageRegistry that gives access to `image`, in the same namespace and account. */
export function registryView(
  fleet: Fleet,
  record: ObjectRecord,
  image: string | undefined,
  snapshot: AccountSnapshot | undefined,
): RegistryView {
  const repository = image === undefined ? undefined : repositoryOf(image);
  if (repository === undefined) return { kind: 'none' };
  const { namespace } = parseObjectKey(record.key);
  const { accountRef } = fleet.planned<'ContainerService'>(record).spec;
  const key = registriesIn(fleet.snapshot).get(registryIndex(namespace, accountRef.name, repository));
  if (key === undefined) return { kind: 'none' };
  const { name } = parseObjectKey(key);
  const isThere =
    fleet.store.record(key)?.externalId !== undefined ||
    [...itemsOf(snapshot?.registries).values()].some(
      (registry) => shownRepository(registry.repository) === repository,
    );
  return { kind: isThere ? 'usable' : 'not-ready', name };
}

const indexes = new WeakMap<DesiredSnapshot, ReadonlyMap<string, ObjectKey>>();

/** Asked for every service: the few registries among the many objects are looked for once. */
function registriesIn(snapshot: DesiredSnapshot): ReadonlyMap<string, ObjectKey> {
  const known = indexes.get(snapshot);
  if (known) return known;
  const index = new Map<string, ObjectKey>();
  for (const { kind, key, namespace, spec } of snapshot.objects.values()) {
    if (kind !== 'ImageRegistry') continue;
    const { repository, accountRef } = spec as ImageRegistrySpec;
    index.set(registryIndex(namespace, accountRef.name, normalRepository(repository) ?? repository), key);
  }
  indexes.set(snapshot, index);
  return index;
}

function registryIndex(namespace: string, account: string, repository: string): string {
  return `${namespace}/${account} ${repository}`;
}
