/** Which Secrets and ConfigMaps objects refer to. Nothing else of that kind is ever read in a cluster. */
import type { AccountSpec, ContainerServiceSpec, ImageRegistrySpec, ObjectKey } from '../resources/index.ts';
import type { DesiredObject } from './source.ts';

export type DataKind = 'Secret' | 'ConfigMap';

export interface Referred {
  readonly kind: DataKind;
  readonly namespace: string;
  readonly name: string;
  /** What of it is used; the rest is not kept. */
  readonly keys: ReadonlySet<string>;
  /** An object that refers to it is being deleted. */
  readonly deleting: boolean;
  /** An object that refers to it has been edited. */
  readonly edited: boolean;
}

/** `Kind/namespace/name`. */
export type DataId = `${DataKind}/${string}/${string}`;

export interface Reference {
  readonly id: DataId;
  readonly kind: DataKind;
  readonly namespace: string;
  readonly name: string;
  readonly keys: readonly string[];
}

/** What an object refers to, and what is to be known of it for that. */
export interface Referring {
  readonly key: ObjectKey;
  /** None of an object that can't be read. */
  readonly references: readonly Reference[];
  readonly isDeleting: boolean;
}

export function referredData(
  objects: Iterable<Referring>,
  edited: ReadonlySet<ObjectKey>,
): Map<DataId, Referred> {
  const referred = new Map<DataId, Growing>();
  for (const { key, references, isDeleting } of objects) {
    for (const { id, kind, namespace, name, keys } of references) {
      let known = referred.get(id);
      if (!known) {
        known = { kind, namespace, name, keys: new Set(), deleting: false, edited: false };
        referred.set(id, known);
      }
      for (const each of keys) known.keys.add(each);
      known.deleting ||= isDeleting;
      known.edited ||= edited.has(key);
    }
  }
  return referred;
}

type Growing = Referred & { readonly keys: Set<string>; deleting: boolean; edited: boolean };

export function referencesOf({ kind, namespace, spec }: DesiredObject): Reference[] {
  const to = (dataKind: DataKind, name: string, keys: readonly string[]): Reference => ({
    id: `${dataKind}/${namespace}/${name}`,
    kind: dataKind,
    namespace,
    name,
    keys,
  });
  switch (kind) {
    case 'Account': {
      const { credentialsSecretRef } = spec as AccountSpec;
      return credentialsSecretRef
        ? [to('Secret', credentialsSecretRef.name, [credentialsSecretRef.key])]
        : [];
    }
    case 'ImageRegistry': {
      const { credentialsSecretRef } = spec as ImageRegistrySpec;
      if (!credentialsSecretRef) return [];
      const { name, usernameKey, passwordKey } = credentialsSecretRef;
      return [to('Secret', name, [usernameKey, passwordKey])];
    }
    case 'ContainerService':
      return ((spec as ContainerServiceSpec).env ?? []).flatMap(({ valueFrom }) => {
        const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
        if (secretKeyRef) return [to('Secret', secretKeyRef.name, [secretKeyRef.key])];
        return configMapKeyRef ? [to('ConfigMap', configMapKeyRef.name, [configMapKeyRef.key])] : [];
      });
    case 'StorageVolume':
    case 'ServiceTemplate':
    case 'ProtectedTask':
      return [];
  }
}
