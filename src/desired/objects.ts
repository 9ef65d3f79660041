/** The objects of a snapshot, indexed by kind, namespace, account and reference. */
import { canonicalId, VersionedMap } from '../base/index.ts';
import {
  accountKey,
  accountKind,
  objectKey,
  parseObjectKey,
  traitsOf,
  type ManagedKind,
  type ObjectKey,
} from '../resources/index.ts';
import { referencesOf, type DataId } from './references.ts';
import type { DesiredObject, DesiredObjects } from './source.ts';

/** A first version, related to no other snapshot. `with` and `become` make the next ones. */
export function desiredObjects(entries: Iterable<readonly [ObjectKey, DesiredObject]> = []): DesiredObjects {
  return VersionedMap.of(entries, termsOf);
}

export function byKind<Kind extends ManagedKind>(objects: DesiredObjects, kind: Kind): DesiredObject<Kind>[] {
  return withTerm(objects, kind) as DesiredObject<Kind>[];
}

export function byNamespace<Kind extends ManagedKind>(
  objects: DesiredObjects,
  kind: Kind,
  namespace: string,
): DesiredObject<Kind>[] {
  return withTerm(objects, inNamespace(kind, namespace)) as DesiredObject<Kind>[];
}

/** `name`: of the Account, as in `accountRef`. */
export function byAccountRef<Kind extends ManagedKind>(
  objects: DesiredObjects,
  kind: Kind,
  namespace: string,
  name: string,
): DesiredObject<Kind>[] {
  return withTerm(objects, ofAccount(kind, namespace, name)) as DesiredObject<Kind>[];
}

/**
 * Services that refer to a volume or template, tasks that refer to a service, and everything that refers to a
 * Secret or ConfigMap. Documents only: of one that was removed, nothing is shown, even while its removal is not admitted.
 */
export function referringTo(objects: DesiredObjects, referred: ObjectKey | DataId): DesiredObject[] {
  return withTerm(objects, referred);
}

/** Those of one kind: a kind that is added later may refer to the same thing in another way. */
export function referringOf<Kind extends ManagedKind>(
  objects: DesiredObjects,
  kind: Kind,
  referred: ObjectKey | DataId,
): DesiredObject<Kind>[] {
  return referringTo(objects, referred).filter((object) => object.kind === kind) as DesiredObject<Kind>[];
}

/** `id`: of a thing of the kind at the provider, in its canonical form. */
export function adoptersOf(objects: DesiredObjects, kind: ManagedKind, id: string): DesiredObject[] {
  return withTerm(objects, adopting(kind, id));
}

/** A list that is read beside the account, if an object has use for it. */
export type SeparateList = 'templates' | 'registries';

/** Objects that the list shows, or that refer to such things: of an account (`namespace/name`), or all. */
export function usersOfList(objects: DesiredObjects, list: SeparateList, account?: string): DesiredObject[] {
  return withTerm(objects, usingList(list, account));
}

/** The lists of which the object is a user. */
export function listsUsedBy(object: Referring): readonly SeparateList[] {
  if (traitsOf(object.kind).home !== 'accountRef') return [];
  const referred = referredKeys(object).map((key) => parseObjectKey(key).kind);
  const lists = new Set([object.kind, ...referred].map((kind) => traitsOf(kind).list));
  return separateLists.filter((list) => lists.has(list));
}

const separateLists: readonly SeparateList[] = ['templates', 'registries'];

export interface Referring {
  readonly kind: ManagedKind;
  readonly namespace: string;
  readonly spec: object;
}

/** The objects to which an object refers by name. */
export function referredKeys({ kind, namespace, spec }: Referring): ObjectKey[] {
  const references = traitsOf(kind).references?.(spec) ?? [];
  return references.map((reference) => objectKey(reference.kind, namespace, reference.name));
}

/** Undefined also if it is of another kind. */
export function objectOf<Kind extends ManagedKind>(
  objects: DesiredObjects,
  kind: Kind,
  key: ObjectKey,
): DesiredObject<Kind> | undefined {
  const object = objects.get(key);
  return object && isOf(object, kind) ? object : undefined;
}

function isOf<Kind extends ManagedKind>(object: DesiredObject, kind: Kind): object is DesiredObject<Kind> {
  return object.kind === kind;
}

export type AccountObject = DesiredObject<typeof accountKind>;

/** The Accounts of a namespace, or all. */
export function accountsIn(objects: DesiredObjects, namespace?: string): AccountObject[] {
  return namespace === undefined
    ? byKind(objects, accountKind)
    : byNamespace(objects, accountKind, namespace);
}

/** `name`: `namespace/name`. Undefined for the account of the environment, too. */
export function accountObject(objects: DesiredObjects, name: string): AccountObject | undefined {
  return objectOf(objects, accountKind, accountKey(name));
}

function withTerm(objects: DesiredObjects, term: string): DesiredObject[] {
  return [...objects.withTerm(term)].flatMap((key) => objects.get(key) ?? []);
}

/** Keys of objects and of data contain no space. */
function termsOf(object: DesiredObject): string[] {
  const { kind, namespace, spec } = object;
  const { name: account } = ('accountRef' in spec && spec.accountRef) || { name: undefined };
  const data = referencesOf(object).map(({ id }) => id);
  const adopts = 'adopt' in spec && spec.adopt ? [adopting(kind, canonicalId(spec.adopt.id))] : [];
  const home = account === undefined ? [] : [ofAccount(kind, namespace, account)];
  const used = listsUsedBy(object);
  const lists = used.map((list) => usingList(list));
  const listsHere =
    account === undefined ? [] : used.map((list) => usingList(list, `${namespace}/${account}`));
  return [
    kind,
    inNamespace(kind, namespace),
    ...home,
    ...adopts,
    ...referredKeys(object),
    ...data,
    ...lists,
    ...listsHere,
  ];
}

function inNamespace(kind: ManagedKind, namespace: string): string {
  return `${kind} in ${namespace}`;
}

function ofAccount(kind: ManagedKind, namespace: string, name: string): string {
  return `${kind} of ${namespace}/${name}`;
}

function usingList(list: SeparateList, account?: string): string {
  return account === undefined ? `users of ${list}` : `users of ${list} in ${account}`;
}

function adopting(kind: ManagedKind, id: string): string {
  return `${kind} adopts ${id}`;
}
