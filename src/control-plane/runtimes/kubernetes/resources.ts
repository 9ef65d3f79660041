/** The resources of the API that this runtime uses. manifests/control-plane has a right for each. */
import type { ResourceType } from '../../../kubernetes/index.ts';

function type(group: string, kind: string, plural: string, namespaced = true): ResourceType {
  return { group, version: 'v1', plural, kind, namespaced };
}

export const resources = {
  pods: type('', 'Pod', 'pods'),
  secrets: type('', 'Secret', 'secrets'),
  services: type('', 'Service', 'services'),
  serviceAccounts: type('', 'ServiceAccount', 'serviceaccounts'),
  claims: type('', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  quotas: type('', 'ResourceQuota', 'resourcequotas'),
  limitRanges: type('', 'LimitRange', 'limitranges'),
  namespaces: type('', 'Namespace', 'namespaces', false),
  nodes: type('', 'Node', 'nodes', false),
  networkPolicies: type('networking.k8s.io', 'NetworkPolicy', 'networkpolicies'),
  ingresses: type('networking.k8s.io', 'Ingress', 'ingresses'),
  httpRoutes: type('gateway.networking.k8s.io', 'HTTPRoute', 'httproutes'),
  storageClasses: type('storage.k8s.io', 'StorageClass', 'storageclasses', false),
} as const;

/** What `metrics.k8s.io` serves, where it is served. */
export const podMetrics: ResourceType = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  plural: 'pods',
  kind: 'PodMetrics',
  namespaced: true,
};

const byKind = new Map(Object.values(resources).map((resource) => [resource.kind, resource]));

/** Of a manifest. */
export function resourceOf(manifest: object): ResourceType {
  const { kind } = manifest as { readonly kind: string };
  const resource = byKind.get(kind);
  if (!resource) throw new TypeError(`this runtime writes no ${kind}`);
  return resource;
}
