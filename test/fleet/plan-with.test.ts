/** `plan --source kubernetes --with DIR`: what a folder would change in a cluster, without a right to change anything. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import type { KubernetesApi } from '../../src/kubernetes/index.ts';
import { resourceTypes } from '../../src/resources/index.ts';
import type { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, task, testInCluster, volume } from '../support/processes/fleet.ts';
import { readPlanJson } from '../support/plan-form.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf } from '../support/processes/replicas.ts';
import { kubeconfigOf } from '../support/processes/service-accounts.ts';

const rbac = 'rbac.authorization.k8s.io';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = (await createFleet(folder)) as ClusterFleet;
  await fleet.write('account.yaml', account(plane.url));
  const { api } = fleet.cluster;
  const review = async (
    documents: readonly object[],
    kubeconfig = fleet.cluster.kubeconfig,
    output = 'json',
  ) => {
    const directory = path.join(folder, 'change');
    await mkdir(directory, { recursive: true });
    const inNamespace = documents.map((document) => {
      const { metadata } = document as { metadata: object };
      return stringify({ ...document, metadata: { namespace: fleet.namespace, ...metadata } });
    });
    await writeFile(path.join(directory, 'change.yaml'), inNamespace.join('---\n'));
    const flags = [
      '--source',
      'kubernetes',
      '--kubeconfig',
      kubeconfig,
      '--watch-namespaces',
      fleet.namespace,
    ];
    const finished = await fleetkeeper(['plan', ...flags, '--with', directory, '--output', output]);
    const isRead = output === 'json' && finished.stdout !== '';
    return { ...finished, plan: isRead ? readPlanJson(finished.stdout) : undefined };
  };
  /** Of somebody who may read, and what else is given. */
  const kubeconfigWith = async (...verbs: string[]) => {
    await allow(api, fleet.namespace, ['get', 'list', ...verbs]);
    const user = { namespace: fleet.namespace, name: 'reader' };
    return kubeconfigOf(fleet.cluster, user, path.join(folder, 'reader'));
  };
  return { fleet, api, folder, review, kubeconfigWith };
}

async function allow(api: KubernetesApi, namespace: string, verbs: readonly string[]): Promise<void> {
  const rules = [
    { apiGroups: ['fleetkeeper.dev'], resources: ['*'], verbs },
    { apiGroups: [''], resources: ['secrets', 'configmaps'], verbs: ['get'] },
    { apiGroups: ['apps'], resources: ['controllerrevisions'], verbs: ['get', 'list'] },
  ];
  const metadata = { name: 'reader', namespace };
  const roleRef = { apiGroup: rbac, kind: 'Role', name: 'reader' };
  const subjects = [{ kind: 'ServiceAccount', name: 'reader', namespace }];
  const role = { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules };
  const binding = { apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects };
  for (const [plural, body] of [
    ['roles', role],
    ['rolebindings', binding],
  ] as const) {
    const type = { group: rbac, version: 'v1', plural, kind: body.kind, namespaced: true };
    await api.patch({ type, namespace, name: 'reader' }, { kind: 'apply', body, force: true });
  }
}

async function specs(api: KubernetesApi, namespace: string): Promise<unknown[]> {
  const { items } = await api.list(resourceTypes.ContainerService, { namespace });
  return items.map(({ metadata, spec }) => ({
    name: metadata.name,
    version: metadata.resourceVersion,
    spec,
  }));
}

testInCluster(
  'what the folder has on top is planned, what it lacks stays, and nothing is written',
  async () => {
    const { fleet, api, review } = await world();
    await fleet.write('web.yaml', [service('web'), service('worker')]);
    await fleet.apply();
    const before = await specs(api, fleet.namespace);
    const { code, plan } = await review([
      service('web', { image: 'ghcr.io/acme/app:2' }),
      service('new'),
      volume('data'),
    ]);
    expect(code).toBe(2);
    expect(plan.overlay).toMatchObject({ documents: 3, dryRun: 3, builtIn: 0, unchanged: 0 });
    expect(plan.summary).toMatchObject({ create: 2, update: 1, delete: 0, unchanged: 1 });
    expect(plan.changes).toContainEqual(
      expect.objectContaining({
        name: 'web',
        action: 'update',
        differences: [expect.objectContaining({ path: 'image' })],
      }),
    );
    expect(await specs(api, fleet.namespace)).toEqual(before);
  },
);

testInCluster('the same is planned without the right to dry-run, and the output states which', async () => {
  const { fleet, review, kubeconfigWith } = await world();
  await fleet.write('web.yaml', [service('web'), service('worker')]);
  await fleet.apply();
  const documents = [service('web', { image: 'ghcr.io/acme/app:2' }), service('new')];
  const asked = await review(documents);
  expect(asked.plan.overlay).toMatchObject({ documents: 2, dryRun: 2, builtIn: 0 });
  const kubeconfig = await kubeconfigWith();
  const read = await review(documents, kubeconfig);
  expect([read.code, read.stderr]).toEqual([2, '']);
  expect(read.plan.overlay).toMatchObject({ documents: 2, dryRun: 0, builtIn: 2 });
  expect(read.plan.changes).toEqual(asked.plan.changes);
  const { stdout } = await review(documents, kubeconfig, 'text');
  expect(stdout).toMatch(
    /^With 2 document\(s\) of .* on top: 2 checked by the built-in schemas, without a right to patch\.$/m,
  );
});

testInCluster(
  'a rule of the definition is checked by the dry run, with the old value: its refusal is a problem with file and line',
  async () => {
    const { fleet, review, kubeconfigWith } = await world();
    await fleet.write('data.yaml', [volume('data', { sizeGb: 20 })]);
    await fleet.apply();
    const kubeconfig = await kubeconfigWith('patch', 'create');
    const { code, plan } = await review([volume('data', { sizeGb: 10 })], kubeconfig);
    expect(code).toBe(1);
    expect(plan.problems).toMatchObject([
      {
        file: 'change.yaml',
        line: 1,
        message: expect.stringContaining('refuses it in a dry run'),
        object: `StorageVolume/${fleet.namespace}/data`,
      },
    ]);
    expect(plan.changes).toEqual([]);
  },
);

testInCluster('a mistake in the folder is a problem, and all else is planned', async () => {
  const { fleet, review } = await world();
  await fleet.write('web.yaml', [service('web')]);
  await fleet.apply();
  const { code, plan } = await review([service('web', { imgae: 'x' }), service('new')]);
  expect(code).toBe(1);
  expect(plan.problems).toMatchObject([{ file: 'change.yaml', path: 'spec.imgae' }]);
  expect(plan.changes).toMatchObject([{ name: 'new', action: 'create' }]);
});

testInCluster(
  'fields that the document lacks: gone if they were applied last, kept if somebody else has set them',
  async () => {
    const { fleet, api, review } = await world();
    await fleet.write('web.yaml', [service('web')]);
    await fleet.apply();
    const target = { type: resourceTypes.ContainerService, namespace: fleet.namespace, name: 'web' };
    const written = service('web', { httpPort: 8080 }) as { spec: object };
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(written) };
    await api.patch(target, {
      kind: 'merge',
      body: { metadata: { annotations }, spec: { httpPort: 8080, sleepAfterMinutes: 30 } },
    });
    await fleet.apply();
    const { plan } = await review([service('web')]);
    expect(plan.changes).toEqual([]);
    expect(plan.held).toMatchObject([{ reason: 'FieldRemoved', differences: [{ path: 'httpPort' }] }]);
  },
);

testInCluster('the number of replicas that an autoscaler has set stays', async () => {
  const { fleet, api, review } = await world();
  await fleet.write('fleet.yaml', [fleetOf('llm', { replicas: 1 })]);
  await fleet.apply();
  const target = { type: resourceTypes.ServiceFleet, namespace: fleet.namespace, name: 'llm' };
  await api.patch(target, { kind: 'merge', subresource: 'scale', body: { spec: { replicas: 2 } } });
  await fleet.apply();
  const { spec, ...rest } = fleetOf('llm', { replicas: 1 }) as { spec: { replicas?: number } };
  const { replicas: _left, ...without } = spec;
  const { code, plan } = await review([{ ...rest, spec: without }]);
  expect(plan.changes).toEqual([]);
  expect(code).toBe(0);
});

testInCluster(
  'a Secret of the folder counts, and one of the cluster that nothing referred to before is read',
  async () => {
    const { fleet, review } = await world();
    const secret = (name: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name },
      stringData: { token: 'x' },
    });
    await fleet.write('there.yaml', [secret('there')]);
    const env = ['there', 'new'].map((name) => ({
      name: name.toUpperCase(),
      valueFrom: { secretKeyRef: { name, key: 'token' } },
    }));
    const { code, plan } = await review([secret('new'), service('web', { env })]);
    expect(plan.held).toEqual([]);
    expect(plan.changes).toMatchObject([
      { name: 'web', action: 'create', variables: { added: ['THERE', 'NEW'] } },
    ]);
    expect(code).toBe(2);
  },
);

testInCluster('a task of the folder and its service are planned together', async () => {
  const { review } = await world();
  const { plan } = await review([service('web'), task('nightly')]);
  expect(plan.changes).toMatchObject([{ action: 'create' }, { action: 'protect' }]);
});
