/**
 * A volume as a claim, and how far the cluster is with it.
 *
 *     absent ──(created)──> pending ──> bound ──(a larger size is asked for)──> growing ──> bound
 *                              │
 *                              └ its class waits for a Pod: that counts as ready, because a volume has to be ready before the
 *                                service is launched that uses it
 */
import type { ClusterPlace } from '../../domain/config.ts';
import type { RuntimeRequest } from '../../domain/runtime.ts';
import type { KubernetesObject } from '../../../kubernetes/index.ts';
import { accountLabels, labels, namespaceName, volumeName } from './names.ts';
import { amountOf } from './quantity.ts';
import { gigabyte } from './pod.ts';

export interface Claim extends KubernetesObject {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly resources?: { readonly requests?: { readonly storage?: string } };
  };
  readonly status?: {
    readonly phase?: string;
    readonly capacity?: { readonly storage?: string };
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
    readonly allocatedResourceStatuses?: Readonly<Record<string, string>>;
  };
}

export interface StorageClass extends KubernetesObject {
  readonly allowVolumeExpansion?: boolean;
  readonly volumeBindingMode?: string;
}

export function claimOf(
  installation: string,
  { accountId, subjectId }: RuntimeRequest,
  sizeGb: number,
  { storageClass, accessMode = 'ReadWriteOnce' }: ClusterPlace,
): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: volumeName(subjectId),
      namespace: namespaceName(installation, accountId),
      labels: { ...accountLabels(installation, accountId), [labels.volume]: subjectId },
    },
    spec: {
      accessModes: [accessMode],
      ...(storageClass !== undefined && { storageClassName: storageClass }),
      resources: { requests: { storage: sizeText(sizeGb) } },
    },
  };
}

/** A merge patch. */
export function grownClaim(sizeGb: number): object {
  return { spec: { resources: { requests: { storage: sizeText(sizeGb) } } } };
}

export function storageClassOf(claim: Claim): string | undefined {
  return claim.spec?.storageClassName;
}

/** Whether the volume exists, as far as that can be before a Pod uses it. */
export function isProvisioned(claim: Claim, storageClass: StorageClass | undefined): boolean {
  return claim.status?.phase === 'Bound' || storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
}

export function isLost(claim: Claim): boolean {
  return claim.status?.phase === 'Lost';
}

export function asksFor(claim: Claim, sizeGb: number): boolean {
  return amountOf(claim.spec?.resources?.requests?.storage) >= sizeGb * gigabyte;
}

/** `done` also when only the file system is still to grow, which happens when a Pod mounts it; one without a volume has its size when it gets one. */
export function growthOf(claim: Claim, sizeGb: number): 'done' | 'growing' | 'impossible' {
  const { phase, capacity, conditions = [], allocatedResourceStatuses } = claim.status ?? {};
  if (phase === 'Pending' || amountOf(capacity?.storage) >= sizeGb * gigabyte) return 'done';
  const waitsForPod = conditions.some(
    ({ type, status }) => type === 'FileSystemResizePending' && status === 'True',
  );
  if (waitsForPod) return 'done';
  return allocatedResourceStatuses?.['storage']?.endsWith('Infeasible') ? 'impossible' : 'growing';
}

function sizeText(sizeGb: number): string {
  return `${sizeGb}Gi`;
}
