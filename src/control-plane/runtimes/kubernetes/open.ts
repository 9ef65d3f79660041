/** Whether the cluster can be used. */
import { UserError, messageOf } from '../../../base/user-error.ts';
import type { KubernetesApi } from '../../../kubernetes/index.ts';
import { resources } from './resources.ts';

export { withoutMadeUpGpus } from '../containers/made-up-gpus.ts';
export { firstBounds } from './capacity.ts';
export { kubernetesRuntime } from './runtime.ts';

/** Throws a `UserError` when the API does not answer, or does not let this control plane see Pods. */
export async function requireCluster(api: Pick<KubernetesApi, 'list' | 'description'>): Promise<void> {
  try {
    await api.list(resources.pods, { limit: 1 });
  } catch (error) {
    throw new UserError(
      `can't run services in the cluster (${api.description}): ${messageOf(error)}`,
      'name another one with --kubeconfig or --context; manifests/control-plane has the rights that are needed',
      error,
    );
  }
}
