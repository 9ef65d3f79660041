/**
 * Control planes whose services are Pods of the cluster of `KUBECONFIG`. Its nodes have to have the image
 * `localhost/fixture:1` already: a program `serve`, and busybox (see podman.ts, which makes it for an engine).
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { systemClock } from '../../../src/base/index.ts';
import { connect } from '../../../src/kubernetes/connect.ts';
import type { KubernetesApi, KubernetesObject, ResourceType } from '../../../src/kubernetes/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { accounts, ContainerWorld, type Site } from './container-world.ts';
import { ControlPlaneProcess } from './control-plane.ts';
import { fixtureImage } from './podman.ts';
import { eventually, temporaryFolder } from './processes.ts';

const kubeconfig = process.env['KUBECONFIG'];
/** As whom the control plane acts: to try the rights of manifests/control-plane. */
const planeKubeconfig = process.env['CONTROL_PLANE_KUBECONFIG'] ?? kubeconfig;
const label = 'control-plane.fleetkeeper.dev/installation';

function type(plural: string, kind: string, namespaced = true): ResourceType {
  return { group: '', version: 'v1', plural, kind, namespaced };
}
const pods = type('pods', 'Pod');
const claims = type('persistentvolumeclaims', 'PersistentVolumeClaim');
const namespaces = type('namespaces', 'Namespace', false);
const nodes = type('nodes', 'Node', false);

const api: KubernetesApi | undefined = kubeconfig
  ? await connect({ kubeconfig, environment: {}, clock: systemClock, metrics: createMetrics() })
  : undefined;

/** Whether no Pod can be run here. That is reported loudly, and fails where a cluster is required. */
export const isWithoutCluster = await findOut();

async function findOut(): Promise<boolean> {
  const need = await whatIsMissing();
  if (need === undefined) return false;
  if (process.env['FLEETKEEPER_REQUIRE_CLUSTER'] === '1') throw new Error(`a cluster is required: ${need}`);
  process.stderr.write(`\n*** SKIPPED: no test runs a real Pod here: ${need} ***\n`);
  return true;
}

async function whatIsMissing(): Promise<string | undefined> {
  if (!api) return 'KUBECONFIG names no cluster';
  const { items } = await api.list(nodes, {});
  const images = (items as readonly Node[]).flatMap(({ status }) => status?.images ?? []);
  const hasImage = images.some(({ names = [] }) => names.includes(fixtureImage));
  return hasImage ? undefined : `no node of the cluster of KUBECONFIG has the image ${fixtureImage}`;
}

interface Node extends KubernetesObject {
  readonly status?: { readonly images?: readonly { readonly names?: readonly string[] }[] };
}

/** After each test nothing is left of its Pods. Only for a cluster that one may break. */
export function useCluster(): void {
  afterEach(async () => {
    for (const { metadata } of await all(namespaces)) {
      await api?.remove({ type: namespaces, namespace: undefined, name: metadata.name });
    }
    await eventually('an empty cluster', async () => (await all(namespaces)).length === 0, 60_000);
  });
}

async function all(of: ResourceType): Promise<readonly KubernetesObject[]> {
  return (await api?.list(of, { labelSelector: label }))?.items ?? [];
}

const site: Site = {
  keepsStopped: false,
  endpoint: /^http:\/\/\d+\.\d+\.\d+\.\d+:\d+$/,
  networkOf: () => expectNamespace,
  objects: async () => {
    const namesOf = async (of: ResourceType) => (await all(of)).map(({ metadata }) => metadata.name);
    return {
      containers: await namesOf(pods),
      volumes: await namesOf(claims),
      networks: (await all(namespaces))
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.name),
    };
  },
};
const expectNamespace = {
  asymmetricMatch: (name: unknown) => /^fleetkeeper-[0-9a-f]{24}$/.test(String(name)),
};

export async function startInCluster({ timeScale = 1 } = {}): Promise<ContainerWorld> {
  const file = join(await temporaryFolder(), 'config.yaml');
  await writeFile(
    file,
    'browserEnabled: true\ncontainers: {capacity: {cpu: null, memoryGb: null, storageGb: null}}\n',
  );
  const more = ['--runtime', 'kubernetes', '--kubeconfig', planeKubeconfig ?? '', '--config', file];
  const plane = new ControlPlaneProcess(await temporaryFolder(), { timeScale, accounts }, more);
  await plane.start();
  return new ContainerWorld(plane, site);
}
