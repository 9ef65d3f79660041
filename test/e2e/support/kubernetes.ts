/**
 * A Kubernetes API for a test: the cluster of `KUBECONFIG`, or an API server out of `KUBEBUILDER_ASSETS`, or the one in
 * test/support/kubernetes, in this process. On a real one every test has a namespace of its own.
 */
import { randomUUID } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { systemClock } from '../../../src/base/index.ts';
import { connect } from '../../../src/kubernetes/connect.ts';
import type { KubernetesApi, ResourceType } from '../../../src/kubernetes/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { KubernetesServer } from '../../support/kubernetes/server.ts';
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
  const real = await realCluster();
  return real === undefined ? createOwn(folder) : createInReal(folder, real);
}

/** In this process, whatever else there is. Ends with the test. */
export async function createOwn(folder: string, server = new KubernetesServer()): Promise<TestCluster> {
  await server.start();
  onTestFinished(() => server.stop());
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
  onTestFinished(() => api.remove({ type: namespaceType, namespace: undefined, name: namespace }));
  return { api, kubeconfig, server: undefined };
}

async function open(kubeconfig: string): Promise<KubernetesApi> {
  const api = await connect({
    kubeconfig,
    environment: {},
    clock: systemClock,
    metrics: createMetrics(),
  });
  onTestFinished(() => api.close());
  return api;
}

async function applyDefinitions(api: KubernetesApi): Promise<void> {
  ours ??= readDefinitions();
  for (const body of await ours) {
    const target = { type: definitions, namespace: undefined, name: body.metadata.name };
    await api.patch(target, { kind: 'apply', body, force: true });
  }
}

/** They are the same for every test. */
let ours: Promise<Json[]> | undefined;

async function readDefinitions(): Promise<Json[]> {
  const crds = path.resolve(import.meta.dirname, '../../../crds');
  const files = (await readdir(crds)).filter((file) => file !== 'kustomization.yaml');
  return Promise.all(files.map(async (file) => parse(await readFile(path.join(crds, file), 'utf8'))));
}
