/**
 * Control planes whose services are Pods of a real cluster: that of `KUBECONFIG` if its nodes have the image
 * `localhost/fixture:1` already (see podman.ts, which makes it), or a node as node.ts finds one, into which it is loaded.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { systemClock } from '../../../src/base/index.ts';
import { connect } from '../../../src/kubernetes/connect.ts';
import { defaultLeaseMs } from '../../../src/kubernetes/election.ts';
import type { KubernetesApi, KubernetesObject, ResourceType } from '../../../src/kubernetes/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { accounts, ContainerWorld, type Site } from './container-world.ts';
import { ControlPlaneProcess } from './control-plane.ts';
import { ClusterNode, loadFixture, whatNodeNeeds } from './node.ts';
import { fixtureImage } from './podman.ts';
import { eventually, temporaryFolder } from './processes.ts';

const run = promisify(execFile);

const given = process.env['KUBECONFIG'];
const label = 'control-plane.fleetkeeper.dev/installation';

function type(plural: string, kind: string, namespaced = true): ResourceType {
  return { group: '', version: 'v1', plural, kind, namespaced };
}
const pods = type('pods', 'Pod');
const claims = type('persistentvolumeclaims', 'PersistentVolumeClaim');
const namespaces = type('namespaces', 'Namespace', false);
const nodes = type('nodes', 'Node', false);

let kubeconfig = '';
let api: KubernetesApi | undefined;

/** Whether no Pod can be run here. That is reported loudly, and fails where a cluster is required. */
export const isWithoutCluster = await findOut();

async function findOut(): Promise<boolean> {
  const need = (await hasFixture()) ? undefined : await whatNodeNeeds();
  if (need === undefined) return false;
  if (process.env['FLEETKEEPER_REQUIRE_CLUSTER'] === '1') throw new Error(`a cluster is required: ${need}`);
  process.stderr.write(`\n*** SKIPPED: no test runs a real Pod here: ${need} ***\n`);
  return true;
}

function connectTo(file: string): Promise<KubernetesApi> {
  return connect({ kubeconfig: file, environment: {}, clock: systemClock, metrics: createMetrics() });
}

/** Whether a node of the cluster of `KUBECONFIG` has the image of these tests. */
async function hasFixture(): Promise<boolean> {
  if (given === undefined || given === '') return false;
  const cluster = await connectTo(given);
  try {
    const { items } = await cluster.list(nodes, {});
    const images = (items as readonly Node[]).flatMap(({ status }) => status?.images ?? []);
    return images.some(({ names = [] }) => names.includes(fixtureImage));
  } finally {
    await cluster.close();
  }
}

interface Node extends KubernetesObject {
  readonly status?: { readonly images?: readonly { readonly names?: readonly string[] }[] };
}

/** For all tests of a `describe`. After each of them nothing is left of its Pods. Only for a cluster that one may break. */
export function useCluster(): void {
  let node: ClusterNode | undefined;
  beforeAll(async () => {
    if (!(await hasFixture())) {
      node = await ClusterNode.start();
      await loadFixture(node);
    }
    kubeconfig = node?.kubeconfig ?? given ?? '';
    api = await connectTo(kubeconfig);
  }, 180_000);
  afterEach(async () => {
    for (const { metadata } of await all(namespaces)) {
      await api?.remove({ type: namespaces, namespace: undefined, name: metadata.name });
    }
    await eventually('an empty cluster', async () => (await all(namespaces)).length === 0, 60_000);
  });
  afterAll(async () => {
    await api?.close();
    await node?.[Symbol.asyncDispose]();
  });
}

/** As whom the control plane acts; another one than the tests, to try the rights of manifests/control-plane. */
export function clusterKubeconfig(): string {
  return process.env['CONTROL_PLANE_KUBECONFIG'] ?? kubeconfig;
}

/** As an administrator of the cluster; its output. */
export async function kubectl(...args: string[]): Promise<string> {
  const { stdout } = await run('kubectl', ['--kubeconfig', kubeconfig, ...args], { timeout: 180_000 });
  return stdout;
}

async function all(of: ResourceType): Promise<readonly KubernetesObject[]> {
  return (await api?.list(of, { labelSelector: label }))?.items ?? [];
}

const site: Site = {
  keepsStopped: false,
  // The Lease of the one that was killed.
  takeoverMs: defaultLeaseMs,
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
  const more = ['--runtime', 'kubernetes', '--kubeconfig', clusterKubeconfig(), '--config', file];
  const plane = new ControlPlaneProcess(await temporaryFolder(), { timeScale, accounts }, more);
  await plane.start();
  return new ContainerWorld(plane, site);
}
