/** Jobs and Pods as far as they are of interest here: whether they are finished, and what they ask for. */
import type { KubernetesObject } from '../kubernetes/index.ts';
import { annotations } from '../resources/index.ts';

export const workloadTypes = {
  Job: { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true },
  Pod: { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true },
} as const;
export type WorkloadKind = keyof typeof workloadTypes;

/** `Kind/namespace/name`. */
export type WorkloadKey = `${WorkloadKind}/${string}/${string}`;

export function workloadKey(kind: WorkloadKind, namespace: string, name: string): WorkloadKey {
  return `${kind}/${namespace}/${name}`;
}

/** The service that it asks to be protected; undefined for nearly all. */
export function protectedService({ metadata }: KubernetesObject): string | undefined {
  const name = metadata.annotations?.[annotations.protects]?.trim();
  return name === '' ? undefined : name;
}

/**
 * A Job is finished when it is `Complete` or `Failed`; before that its pods may still be terminating. A Pod is, when
 * all its containers have ended and none is started again, whatever its restart policy.
 */
export function isFinished(kind: WorkloadKind, { status }: KubernetesObject): boolean {
  const { phase, conditions } = (status ?? {}) as { phase?: unknown; conditions?: unknown };
  if (kind === 'Pod') return phase === 'Succeeded' || phase === 'Failed';
  if (!Array.isArray(conditions)) return false;
  return (conditions as { type?: unknown; status?: unknown }[]).some(
    ({ type, status: isTrue }) => (type === 'Complete' || type === 'Failed') && isTrue === 'True',
  );
}
