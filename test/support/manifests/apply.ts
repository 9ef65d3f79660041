/** Roles and bindings of the manifests, in a cluster of a test. */
import type { KubernetesApi } from '../../../src/kubernetes/index.ts';
import type { Manifest } from './render.ts';

const group = 'rbac.authorization.k8s.io';

const plurals: Readonly<Record<string, string>> = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
};

/** As kustomize would place them in the namespace. */
export function rolesAmong(manifests: readonly Manifest[], namespace: string): Manifest[] {
  return manifests
    .filter(({ kind }) => kind in plurals)
    .map((manifest) => {
      const place = manifest.kind.startsWith('Cluster') ? {} : { namespace };
      return Object.assign({}, manifest, { metadata: { ...manifest.metadata, ...place } });
    });
}

export async function applyRoles(api: KubernetesApi, manifests: readonly Manifest[]): Promise<void> {
  for (const body of manifests) {
    const { kind, metadata } = body;
    const { name, namespace } = metadata;
    const type = {
      group,
      version: 'v1',
      plural: plurals[kind] ?? '',
      kind,
      namespaced: namespace !== undefined,
    };
    await api.patch({ type, namespace, name }, { kind: 'apply', body, force: true });
  }
}
