/** Names that the whole project agrees on. */
export const group = 'fleetkeeper.dev';
export const apiVersion = `${group}/v1alpha1`;

export const annotations = {
  /** "true": observe and report, mutate nothing. */
  paused: `${group}/paused`,
  /** A new value asks for a look now; echoed in `status.lastHandledReconcileAt`. */
  reconcileAt: `${group}/reconcile-at`,
  /** The service's or volume's name, as the word that its data may be lost. */
  confirmDataLoss: `${group}/confirm-data-loss`,
  /** On an object that adopts: the id of the owner whose mark may be overridden. */
  adoptFrom: `${group}/adopt-from`,
  /** On an Account: an RFC 3339 time until which a mass change is wanted. */
  allowMassChangeUntil: `${group}/allow-mass-change-until`,
} as const;

/** The kinds that the manager reconciles. */
export const managedKinds = ['Account', 'ContainerService', 'StorageVolume'] as const;
export type ManagedKind = (typeof managedKinds)[number];

/** `Kind/namespace/name`: what the workqueue carries. */
export type ObjectKey = `${ManagedKind}/${string}/${string}`;

export function objectKey(kind: ManagedKind, namespace: string, name: string): ObjectKey {
  return `${kind}/${namespace}/${name}`;
}

export function parseObjectKey(key: ObjectKey): { kind: ManagedKind; namespace: string; name: string } {
  const [kind, namespace, name] = key.split('/') as [ManagedKind, string, string];
  return { kind, namespace, name };
}
