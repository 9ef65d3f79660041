/**
 * Names and labels in the cluster. There is one name per service, so the API server itself refuses a second Pod for it,
 * whoever asks. Namespaces are named by a digest, because several installations may share a cluster, and an account may
 * have any id. Only objects with this installation's label are ever read.
 */
import { createHash } from 'node:crypto';
import type { RuntimeRequest } from '../../domain/runtime.ts';

const prefix = 'control-plane.fleetkeeper.dev';

export const labels = {
  installation: `${prefix}/installation`,
  account: `${prefix}/account`,
  service: `${prefix}/service`,
  volume: `${prefix}/volume`,
  /** The operation that made the object. */
  operation: `${prefix}/operation`,
} as const;

/** Of every object: the term of the control plane that wrote it (office.ts). */
export const fenceAnnotation = `${prefix}/fence`;

/** The container of a Pod. */
export const containerName = 'service';
/** The ServiceAccount of tenants' Pods: it has no rights, and no token is mounted. */
export const tenantName = 'fleetkeeper-tenant';

const digestLength = 24;

/** Of an account, in a cluster that other installations may use, too. */
export function namespaceName(installation: string, accountId: string): string {
  return `fleetkeeper-${digest(`${installation}/${accountId}`)}`;
}

/** Of the Pod, and of what leads to it: Service, Ingress, HTTPRoute. */
export function serviceName(serviceId: string): string {
  return `fleetkeeper-${serviceId}`;
}

/** Of the claim. */
export function volumeName(volumeId: string): string {
  return `fleetkeeper-${volumeId}`;
}

/** Of what one launch alone uses. */
export function secretName(kind: 'environment' | 'registry', { subjectId, id }: LaunchIds): string {
  return `fleetkeeper-${kind}-${digest(`${subjectId}/${id}`)}`;
}

type LaunchIds = Pick<RuntimeRequest, 'subjectId' | 'id'>;

export function accountLabels(installation: string, accountId: string): Record<string, string> {
  return { [labels.installation]: installation, [labels.account]: accountId };
}

export function serviceLabels(
  installation: string,
  { accountId, subjectId }: Pick<RuntimeRequest, 'accountId' | 'subjectId'>,
): Record<string, string> {
  return { ...accountLabels(installation, accountId), [labels.service]: subjectId };
}

export function launchLabels(installation: string, request: RuntimeRequest): Record<string, string> {
  return { ...serviceLabels(installation, request), [labels.operation]: request.id };
}

export function selectorOf(selected: Readonly<Record<string, string>>): string {
  return Object.entries(selected)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digestLength);
}
