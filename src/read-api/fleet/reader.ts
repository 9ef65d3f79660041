/** Who reads: which namespaces, and so which objects and accounts, may be in an answer (GI2). Pure. */
import { accountKey, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { AccountNow } from './source.ts';

export interface Reader {
  /** Undefined: all. */
  readonly namespaces: ReadonlySet<string> | undefined;
  /** Of these, Events of Kubernetes are shown. Undefined: of all of them. */
  readonly eventsIn?: ReadonlySet<string> | undefined;
}

export const readsAll: Reader = { namespaces: undefined };

export function sees({ namespaces }: Reader, namespace: string): boolean {
  return namespaces === undefined || namespaces.has(namespace);
}

export function seesKey(reader: Reader, key: ObjectKey): boolean {
  return reader.namespaces === undefined || sees(reader, parseObjectKey(key).namespace);
}

export function seesEvents({ namespaces, eventsIn }: Reader, key: ObjectKey): boolean {
  return seesKey({ namespaces }, key) && (eventsIn?.has(parseObjectKey(key).namespace) ?? true);
}

/** The account of the environment holds things of all namespaces: only who may see all of them sees its amounts. */
export function seesAccount(
  reader: Reader,
  { name, isShared }: Pick<AccountNow, 'name' | 'isShared'>,
): boolean {
  if (reader.namespaces === undefined) return true;
  return !isShared && seesKey(reader, accountKey(name));
}

/** Equal for readers that see the same. */
export function scopeOf({ namespaces, eventsIn }: Reader): string {
  return `${namesOf(namespaces)} ${namesOf(eventsIn)}`;
}

function namesOf(names: ReadonlySet<string> | undefined): string {
  return names === undefined ? '*' : JSON.stringify([...names].sort());
}
