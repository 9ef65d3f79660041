/** What the kinds have in common, and where each differs, without a name of one. */
import { account } from '../kinds/account/declaration.ts';
import { declarations } from '../kinds/declarations.ts';
import type { BudgetInForce } from './parts/budget.ts';
import type { Asked, Traits } from './parts/declaration.ts';
import { objectKey, parseObjectKey, type ManagedKind, type ObjectKey } from './keys.ts';

export type { Asked };

export type KindTraits = Traits<ManagedKind, object, ManagedKind, object>;

export function traitsOf(kind: ManagedKind): KindTraits {
  return declarations[kind];
}

/** How the kind's part of the record of this object is stored and understood. */
export function stateTraitsOf(key: ObjectKey): KindTraits['state'] {
  return traitsOf(parseObjectKey(key).kind).state;
}

/** The kind's part of the record of a new object. */
export function newKindState(key: ObjectKey): object {
  return stateTraitsOf(key).schema.parse({});
}

/** The kind's part as it was stored, and the fields that can't be read and begin anew. */
export interface ReadKindState {
  readonly kind: object;
  readonly anew: readonly string[];
}

/**
 * The kind's part as it was stored. Fields of it that a later version added are kept; those of objects in it only where their schema keeps them. Undefined
 * if it is not readable, except for amounts that can be counted anew.
 */
export function readKindState(key: ObjectKey, stored: object): ReadKindState | undefined {
  const { schema, counted = [] } = stateTraitsOf(key);
  const whole = schema.safeParse(stored);
  if (whole.success) return { kind: { ...stored, ...whole.data }, anew: [] };
  const refused: ReadonlySet<unknown> = new Set(whole.error.issues.map(({ path }) => path[0]));
  const anew = counted.filter((field) => refused.has(field));
  const rest = Object.fromEntries(Object.entries(stored).filter(([field]) => !anew.includes(field)));
  const read = schema.safeParse(rest);
  return read.success ? { kind: { ...rest, ...read.data }, anew } : undefined;
}

/** Of a record: what a Budget limits now, whatever its document has by now. Undefined: it is no Budget. */
export function budgetInForce({
  key,
  kind,
  manifest,
}: {
  readonly key: ObjectKey;
  readonly kind: object;
  readonly manifest: { readonly spec: object };
}): BudgetInForce | undefined {
  return traitsOf(parseObjectKey(key).kind).budgetInForce?.(manifest.spec, kind);
}

/** What specs of several kinds have. */
export interface CommonSpec {
  readonly accountRef?: { readonly name: string };
  readonly adopt?: { readonly id: string } | undefined;
  readonly deletionPolicy?: 'Delete' | 'Retain';
  readonly driftPolicy?: 'Correct' | 'Report';
}

/** The kind whose objects are accounts. */
export const accountKind = account.name;

/** `name`: `namespace/name`, as accounts are called everywhere. */
export function accountKey(name: string): ObjectKey {
  const [namespace = '', own = ''] = name.split('/');
  return objectKey(accountKind, namespace, own);
}

/** Of the account of an object that names none. */
export const defaultAccount = 'default';

/** The account that the object is; undefined: it is none. */
export function accountNamed(key: ObjectKey): string | undefined {
  const { kind, namespace, name } = parseObjectKey(key);
  return traitsOf(kind).home === 'itself' ? `${namespace}/${name}` : undefined;
}

/** Where the account of an object is found: the account as `namespace/name`, or the object that has the same one. */
export type AccountPlace = { readonly account: string } | { readonly with: ObjectKey };

/** As it is written, whether the schema accepts the rest or not. Without a name it is `defaultAccount`. */
export function accountPlaceOf(key: ObjectKey, spec: unknown): AccountPlace {
  const { kind, namespace, name } = parseObjectKey(key);
  const { home } = traitsOf(kind);
  if (home === 'itself') return { account: `${namespace}/${name}` };
  if (home === 'accountRef') return { account: `${namespace}/${nameIn(spec, home) ?? defaultAccount}` };
  return { with: objectKey(home.kind, namespace, nameIn(spec, home.reference) ?? '') };
}

function nameIn(spec: unknown, field: string): string | undefined {
  const name = memberOf(memberOf(spec, field), 'name');
  return typeof name === 'string' ? name : undefined;
}

function memberOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined;
}
