/** What reaches an owned object when its turn comes, as digests; and the values of Secrets and ConfigMaps in it. */
import type { DigestKey } from '../../base/index.ts';
import type { DesiredSnapshot } from '../../desired/index.ts';
import { valueLimits, type DataReference } from '../../resources/index.ts';
import type { OwnerRevision, StateStore } from '../../state/index.ts';

export type Data = Pick<DesiredSnapshot, 'secrets' | 'configMaps'>;
type Source = { readonly store: Pick<StateStore, 'digestKey'>; readonly snapshot: Data };

/** Digests of what reaches an owned object when its turn comes, and of the values of Secrets and ConfigMaps in it. */
export function contentDigests(
  { store, snapshot }: Source,
  namespace: string,
  content: object,
  references: readonly DataReference[],
): { readonly digest: string; readonly values: string } {
  const values = valuesOf(references, namespace, snapshot);
  return {
    digest: digestOf(store.digestKey, content, values),
    values: valuesDigest(store.digestKey, values),
  };
}

/** By `Kind/name/key`; without those that are missing. */
export function contentValues(
  { snapshot }: Pick<Source, 'snapshot'>,
  namespace: string,
  references: readonly DataReference[],
): Record<string, string> {
  const values = valuesOf(references, namespace, snapshot);
  return Object.fromEntries(values.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** The values are those with which the revision was made. */
export function hasSameValues(
  { store, snapshot }: Source,
  namespace: string,
  { data, values }: Pick<OwnerRevision, 'data' | 'values'>,
): boolean {
  return valuesDigest(store.digestKey, valuesOf(data, namespace, snapshot)) === values;
}

export type Values = readonly (readonly [name: string, value: string | undefined])[];

/** Of more than an environment may have, none is given: whatever refers to them is held. */
export function valuesOf(references: readonly DataReference[], namespace: string, data: Data): Values {
  let length = 0;
  const found = references.flatMap((reference) => {
    const values = reference.kind === 'Secret' ? data.secrets : data.configMaps;
    const source = values.get(`${namespace}/${reference.name}`);
    return reference.keys.map((key) => {
      const value = source?.get(key)?.reveal();
      length += value?.length ?? 0;
      return [`${reference.kind}/${reference.name}/${key}`, value] as const;
    });
  });
  return length <= valueLimits.environmentBytes ? found : found.map(([name]) => [name, undefined]);
}

function digestOf(digestKey: DigestKey, content: object, values: Values): string {
  return digestKey.digest({ content, values: values.map(([name, value]) => [name, value ?? null]) });
}

function valuesDigest(digestKey: DigestKey, values: Values): string {
  return digestOf(digestKey, {}, values);
}
