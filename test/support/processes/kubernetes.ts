/**
 * A Kubernetes API for a test: the cluster of `KUBECONFIG`, or an API server out of `KUBEBUILDER_ASSETS`, or the one in
 * test/support/kubernetes, in this process. On a real one every test has a namespace of its own.
 */
import { randomUUID } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { KubernetesError, type KubernetesApi, type ResourceType } from '../../../src/kubernetes/index.ts';
import { managedKinds, resourceTypes } from '../../../src/resources/index.ts';
import { KubernetesServer } from '../kubernetes/server.ts';
import { world } from '../world.ts';
import type { Json } from './fleet.ts';
import { realCluster } from './real-cluster.ts';

export interface TestCluster {
  readonly api: KubernetesApi;
  readonly kubeconfig: string;
  /** To ask for faults; undefined on a real one. */
  readonly server: KubernetesServer | undefined;
}

const definitions: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
export const namespaceType: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};

/** With our kinds in it. Ends with the test. */
export async function createCluster(folder: string): Promise<TestCluster> {
  const real = world.network ? undefined : await realCluster();
  return real === undefined ? createOwn(folder) : createInReal(folder, real);
}

/** In this process, whatever else there is. Ends with the test. */
export async function createOwn(folder: string, given?: KubernetesServer): Promise<TestCluster> {
  const server =
    given ?? world.network?.openCluster((options) => new KubernetesServer(options)) ?? new KubernetesServer();
  if (!world.network) {
    await server.start();
    onTestFinished(() => server.stop());
  }
  const kubeconfig = server.kubeconfig(folder);
  const api = await open(kubeconfig);
  await applyDefinitions(api);
  return { api, kubeconfig, server };
}

async function createInReal(folder: string, real: string): Promise<TestCluster> {
  const namespace = `fleetkeeper-test-${randomUUID().slice(0, 8)}`;
  const kubeconfig = path.join(folder, 'kubeconfig');
  const config: Json = parse(await readFile(real, 'utf8'));
  for (const { context } of config.contexts) context.namespace = namespace;
  await writeFile(kubeconfig, stringify(config), { mode: 0o600 });
  const api = await open(kubeconfig);
  await applyDefinitions(api);
  await api.create(namespaceType, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  onTestFinished(() => endNamespace(api, namespace));
  return { api, kubeconfig, server: undefined };
}

/** With all of ours in it: no operator is left that would take the finalizers off, and on a real server it would never end. */
export async function endNamespace(api: KubernetesApi, namespace: string): Promise<void> {
  for (const type of managedKinds.map((kind) => resourceTypes[kind])) {
    const { items } = await api.list(type, { namespace });
    for (const { metadata } of items) {
      const target = { type, namespace, name: metadata.name };
      const gone = (error: unknown) => {
        if (!(error instanceof KubernetesError && error.status === 404)) throw error;
      };
      await api.patch(target, { kind: 'merge', body: { metadata: { finalizers: null } } }).catch(gone);
    }
  }
  await api.remove({ type: namespaceType, namespace: undefined, name: namespace });
}

async function open(kubeconfig: string): Promise<KubernetesApi> {
  const api = await world.connectCluster(kubeconfig);
  onTestFinished(() => api.close());
  return api;
}

async function applyDefinitions(api: KubernetesApi): Promise<void> {
  ours ??= readDefinitions();
  for (const body of await ours) {
    const target = { type: definitions, namespace: undefined, name: body.metadata.name };
    await api.patch(target, { kind: 'apply', body, force: true });
  }
  await Promise.all(managedKinds.map((kind) => untilServed(api, resourceTypes[kind])));
}

/** A real server serves a kind a moment after its definition, and not while the definition is changed. */
async function untilServed(api: KubernetesApi, type: ResourceType): Promise<void> {
  const untilMs = world.nowMs() + 30_000;
  for (;;) {
    try {
      await api.list(type, { limit: 1 });
      return;
    } catch (error) {
      const isSoon = error instanceof KubernetesError && [404, 429].includes(error.status ?? 0);
      if (!isSoon || world.nowMs() > untilMs) throw error;
      await world.sleep(100);
    }
  }
}

/** They are the same for every test. */
let ours: Promise<Json[]> | undefined;

async function readDefinitions(): Promise<Json[]> {
  const crds = path.resolve(import.meta.dirname, '../../../crds');
  const files = (await readdir(crds)).filter((file) => file !== 'kustomization.yaml');
  return Promise.all(files.map(async (file) => parse(await readFile(path.join(crds, file), 'utf8'))));
}
