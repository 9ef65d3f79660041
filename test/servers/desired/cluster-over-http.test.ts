/** The source and the protection of Jobs on a Kubernetes API over HTTP, in this process. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { systemClock, systemRandom } from '../../../src/base/index.ts';
import { createClusterSource, formatProblem, type DesiredSnapshot } from '../../../src/desired/index.ts';
import { JobProtection } from '../../../src/jobs/index.ts';
import { connect } from '../../../src/kubernetes/connect.ts';
import type { KubernetesApi, ResourceType } from '../../../src/kubernetes/index.ts';
import { apiVersion, managedKinds, resourceTypes } from '../../../src/resources/index.ts';
import { createLogger, createMetrics } from '../../../src/telemetry/index.ts';
import { KubernetesServer } from '../../support/kubernetes/server.ts';
import { base64, serviceSpec } from '../../support/memory-cluster.ts';
import { temporaryFile } from '../../support/temporary.ts';

const root = path.join(import.meta.dirname, '../../..');
const definitions: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
const secrets: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
};
const jobType: ResourceType = {
  group: 'batch',
  version: 'v1',
  plural: 'jobs',
  kind: 'Job',
  namespaced: true,
};

async function cluster(): Promise<{ server: KubernetesServer; api: KubernetesApi }> {
  const server = new KubernetesServer();
  await server.start();
  const api = await connect({
    kubeconfig: server.kubeconfig(temporaryFile('kubernetes')),
    environment: {},
    clock: systemClock,
    metrics: createMetrics(),
  });
  onTestFinished(async () => {
    await api.close();
    await server.stop();
  });
  for (const { plural } of managedKinds.map((kind) => resourceTypes[kind])) {
    await api.create(
      definitions,
      parse(readFileSync(path.join(root, 'crds', `${plural}.yaml`), 'utf8')) as object,
    );
  }
  return { server, api };
}

const eventually = (check: () => unknown) => vi.waitFor(check, 60_000);

const surroundings = { clock: systemClock, random: systemRandom, namespaces: [] } as const;

test('objects, their Secrets and their changes come over HTTP, and what they refer to is never listed', async () => {
  const { server, api } = await cluster();
  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'token', key: 'key' } } }];
  const metadata = { name: 'web', namespace: 'default' };
  const { ContainerService } = resourceTypes;
  const data = { key: base64('one') };
  await api.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, name: 'token' },
    data,
  });
  await api.create(ContainerService, {
    apiVersion,
    kind: 'ContainerService',
    metadata,
    spec: serviceSpec({ env }),
  });
  const source = createClusterSource({
    ...surroundings,
    api,
    shard: undefined,
    logger: createLogger('silent'),
    metrics: createMetrics(),
  });
  onTestFinished(() => source.stop());
  const snapshots: DesiredSnapshot[] = [];
  const first = await source.start((snapshot) => snapshots.push(snapshot));
  expect(first.problems.map(formatProblem)).toEqual([]);
  expect(first.complete).toBe(true);
  const service = first.objects.get('ContainerService/default/web');
  expect(service?.cluster?.generation).toBe(1);
  expect(first.secrets.get('default/token')?.get('key')?.reveal()).toBe('one');
  const target = { type: ContainerService, ...metadata };
  await api.patch(target, { kind: 'merge', body: { status: { id: 'x' } }, subresource: 'status' });
  await eventually(() => expect(service?.cluster?.status).toMatchObject({ id: 'x' }));
  expect(snapshots).toEqual([]);
  await api.patch(target, { kind: 'merge', body: { spec: { image: 'ghcr.io/acme/web:2' } } });
  await eventually(() => expect(snapshots).toHaveLength(1));
  expect(snapshots[0]?.objects.get('ContainerService/default/web')?.spec).toMatchObject({
    image: 'ghcr.io/acme/web:2',
  });
  const asked = server.requests().filter(({ path: url }) => url.includes('/secrets'));
  expect(new Set(asked.map(({ verb }) => verb))).toEqual(new Set(['create', 'get']));
});

test('a Job is protected over HTTP from its annotation to its end', async () => {
  const { api } = await cluster();
  const jobs = new JobProtection({
    ...surroundings,
    api,
    logger: createLogger('silent'),
    metrics: createMetrics(),
  });
  onTestFinished(() => jobs.stop());
  jobs.start();
  const metadata = { name: 'epoch', namespace: 'default' };
  const annotations = { 'fleetkeeper.dev/protects': 'trainer' };
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox' }] } };
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...metadata, annotations },
    spec: { template },
  };
  await api.create(jobType, job);
  const task = { type: resourceTypes.ProtectedTask, namespace: 'default', name: 'job-epoch' };
  await eventually(async () => {
    expect(await api.get(task)).toMatchObject({
      spec: { serviceRef: { name: 'trainer' }, until: { jobRef: { name: 'epoch' } }, released: false },
    });
  });
  const target = { type: jobType, ...metadata };
  await eventually(() => expect(jobs.answer('default', 'epoch')).toBe('running'));
  const status = { conditions: [{ type: 'Complete', status: 'True' }] };
  await api.patch(target, { kind: 'merge', body: { status }, subresource: 'status' });
  await eventually(() => expect(jobs.answer('default', 'epoch')).toBe('finished'));
  await api.patch(target, {
    kind: 'merge',
    body: { metadata: { annotations: { 'fleetkeeper.dev/protects': null } } },
  });
  await eventually(async () => expect(await api.get(task)).toBeUndefined());
  await api.remove(target);
  await eventually(() => expect(jobs.answer('default', 'epoch')).toBe('gone'));
});
