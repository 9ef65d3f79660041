/**
 * The policies of examples/policies/ on a real API server: what each admits and refuses, and operators at work while all are active. They are
 * bound to the namespace of the test alone.
 */
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { resourceTypes, type ManagedKind } from '../../../src/resources/index.ts';
import { applyRoles, rolesAmong } from '../../support/manifests/apply.ts';
import { policyCases, policyFiles, policyOf, type PolicyCase } from '../../support/manifests/policies.ts';
import { plainFiles } from '../../support/manifests/render.ts';
import { apiServer, type Answer, type Asking } from '../../support/processes/api-server.ts';
import { service, volume, type Json } from '../../support/processes/fleet.ts';
import { createCluster } from '../../support/processes/kubernetes.ts';
import { createWorld, objectOf, remove, replica } from '../../support/processes/operator.ts';
import { eventually, temporaryFolder } from '../../support/processes/processes.ts';
import { realCluster } from '../../support/processes/real-cluster.ts';
import { fleetOf } from '../../support/processes/replicas.ts';
import { kubeconfigOf } from '../../support/processes/service-accounts.ts';

const isReal = (await realCluster()) !== undefined;
if (!isReal) {
  process.stderr.write(
    '\n*** SKIPPED: admission policies on a real API server: neither KUBEBUILDER_ASSETS nor KUBECONFIG is set ***\n',
  );
}

type Ask = (asking: Asking) => Promise<Answer>;

const admission = '/apis/admissionregistration.k8s.io/v1';
const rbac = 'rbac.authorization.k8s.io';
const merge = 'application/merge-patch+json';

/** The operator is the ServiceAccount `fleetkeeper` of the namespace. Returns what removes it. */
async function activate(ask: Ask, file: string, namespace: string): Promise<() => Promise<void>> {
  const { policy, binding } = policyOf(file);
  const name = `${policy.metadata.name}-${randomUUID().slice(0, 8)}`;
  const text = JSON.stringify(policy).replaceAll(
    'serviceaccount:fleetkeeper-system:',
    `serviceaccount:${namespace}:`,
  );
  const bound = { 'kubernetes.io/metadata.name': namespace };
  const matchLabels = { ...binding.spec.matchResources?.namespaceSelector.matchLabels, ...bound };
  const spec = { ...binding.spec, policyName: name, matchResources: { namespaceSelector: { matchLabels } } };
  const [policies, bindings] = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'];
  const made = [
    await ask({
      method: 'POST',
      path: `${admission}/${policies}`,
      body: { ...(JSON.parse(text) as object), metadata: { name } },
    }),
    await ask({
      method: 'POST',
      path: `${admission}/${bindings}`,
      body: { ...binding, metadata: { name }, spec },
    }),
  ];
  expect(made.map(({ status, body }) => [status, body.message])).toEqual([
    [201, undefined],
    [201, undefined],
  ]);
  return async () => {
    await ask({ method: 'DELETE', path: `${admission}/${bindings}/${name}` });
    await ask({ method: 'DELETE', path: `${admission}/${policies}/${name}` });
  };
}

async function labelAsProduction(ask: Ask, namespace: string): Promise<void> {
  const body = { metadata: { labels: { environment: 'production' } } };
  const { status } = await ask({
    method: 'PATCH',
    path: `/api/v1/namespaces/${namespace}`,
    type: merge,
    body,
  });
  expect(status).toBe(200);
}

function pathOf(kind: ManagedKind, namespace: string): string {
  const { group, version, plural } = resourceTypes[kind];
  return `/apis/${group}/${version}/namespaces/${namespace}/${plural}`;
}

/** `editor` writes all kinds; `treasurer` may also pass Budgets. */
async function createPeople(ask: Ask, namespace: string): Promise<void> {
  const verbs = ['get', 'list', 'create', 'update', 'patch', 'delete'];
  const base = `/apis/${rbac}/v1/namespaces/${namespace}`;
  for (const [user, more] of [
    ['editor', []],
    ['treasurer', [{ apiGroups: ['fleetkeeper.dev'], resources: ['budgets'], verbs: ['override'] }]],
  ] as const) {
    const rules = [{ apiGroups: ['fleetkeeper.dev'], resources: ['*'], verbs }, ...more];
    const roleRef = { apiGroup: rbac, kind: 'Role', name: user };
    const subjects = [{ apiGroup: rbac, kind: 'User', name: user }];
    const metadata = { name: user };
    await ask({ method: 'POST', path: `${base}/roles`, body: { metadata, rules } });
    await ask({ method: 'POST', path: `${base}/rolebindings`, body: { metadata, roleRef, subjects } });
  }
}

const nameOf = (index: number) => `case-${index}`;

/** Nothing is stored. */
async function tryCase(ask: Ask, namespace: string, index: number, each: PolicyCase): Promise<Answer> {
  const { kind, before, after, scale, isTreasurer } = each;
  const as = isTreasurer ? 'treasurer' : 'editor';
  const at = pathOf(kind, namespace);
  const written = after as Json;
  const metadata = { ...written.metadata, name: nameOf(index) };
  if (!before) return ask({ method: 'POST', path: `${at}?dryRun=All`, body: { ...written, metadata }, as });
  const one = `${at}/${nameOf(index)}`;
  if (scale !== undefined) {
    const body = { spec: { replicas: scale } };
    return ask({ method: 'PATCH', path: `${one}/scale?dryRun=All`, type: merge, body, as });
  }
  const { body: old } = await ask({ method: 'GET', path: one });
  const { resourceVersion } = old.metadata;
  const body = { ...written, metadata: { ...metadata, resourceVersion } };
  return ask({ method: 'PUT', path: `${one}?dryRun=All`, body, as });
}

test.skipIf(!isReal).each(policyFiles)(
  '%s admits and refuses on a real API server as README.md states it',
  { timeout: 180_000 },
  async (file) => {
    const { api, kubeconfig } = await createCluster(await temporaryFolder());
    const ask = await apiServer(kubeconfig);
    const { namespace } = api;
    await labelAsProduction(ask, namespace);
    await createPeople(ask, namespace);
    const cases = policyCases.filter((each) => each.file === file);
    for (const [index, { kind, before }] of cases.entries()) {
      if (!before) continue;
      const old = before as Json;
      const body = { ...old, metadata: { ...old.metadata, name: nameOf(index) } };
      const { status, body: answer } = await ask({ method: 'POST', path: pathOf(kind, namespace), body });
      expect([status, answer.message]).toEqual([201, undefined]);
    }
    onTestFinished(await activate(ask, file, namespace));
    const first = cases.findIndex(({ refused }) => refused !== undefined);
    const firstRefused = cases[first];
    if (!firstRefused) throw new Error(`no case of ${file} is refused`);
    await eventually(
      `${file} active`,
      async () => (await tryCase(ask, namespace, first, firstRefused)).status === 422,
      60_000,
    );
    for (const [index, each] of cases.entries()) {
      const { status, body } = await tryCase(ask, namespace, index, each);
      const { what, refused } = each;
      if (refused === undefined) expect([what, status < 300, body.message]).toEqual([what, true, undefined]);
      else expect([what, status, body.message]).toEqual([what, 422, expect.stringContaining(refused)]);
    }
  },
);

const unwanted = { 'fleetkeeper.dev/allow-overspend-until': '2030-01-01T00:00:00Z' };

/** Each policy refuses something of this. */
const fleetFrom = (name: string) =>
  fleetOf(name, {
    replicas: 2,
    template: {
      metadata: { annotations: unwanted },
      spec: { region: 'standard', image: 'ghcr.io/acme/llm:1', resources: { cpu: 1, memoryGb: 1 } },
    },
  });

async function activateAll(ask: Ask, namespace: string): Promise<void> {
  await labelAsProduction(ask, namespace);
  for (const file of policyFiles) onTestFinished(await activate(ask, file, namespace));
  const tried = async (index: number, each: PolicyCase) => {
    const { status, body } = await tryCase(ask, namespace, index, each);
    return status === 422 && String(body.message).includes(policyOf(each.file).policy.metadata.name);
  };
  for (const file of policyFiles) {
    const each = policyCases.find(
      (one) => one.file === file && one.refused !== undefined && one.before === undefined,
    );
    if (!each) throw new Error(`no case of ${file} is refused`);
    await eventually(`${file} active`, () => tried(0, each), 60_000);
  }
}

test.skipIf(!isReal)(
  'while all are active, an operator with another name continues with what was there: finalizers, status and deletion',
  { timeout: 240_000 },
  async () => {
    const { fleet } = await createWorld();
    const ask = await apiServer(fleet.cluster.kubeconfig);
    await fleet.write('fleet.yaml', [service('web', {}, unwanted), volume('data')]);
    await createPeople(ask, fleet.namespace);
    await activateAll(ask, fleet.namespace);
    const operator = fleet.run();
    await fleet.until('ContainerService/web', 'Ready', 'True', undefined, 60_000);
    await fleet.until('StorageVolume/data', 'Ready', 'True', undefined, 60_000);
    expect((await objectOf(fleet, 'ContainerService/web'))?.metadata.finalizers).toHaveLength(1);
    await remove(fleet, 'ContainerService/web');
    await eventually('it gone', async () => !(await objectOf(fleet, 'ContainerService/web')), 60_000);
    expect((await operator.kill('SIGTERM')).code).toBe(0);
    expect(operator.stderr).not.toContain('denied request');
  },
);

test.skipIf(!isReal)(
  'while all are active, the operator of the manifests makes, updates and removes replicas of a fleet that was there before',
  { timeout: 240_000 },
  async () => {
    const { fleet, folder } = await createWorld();
    const { namespace } = fleet;
    const ask = await apiServer(fleet.cluster.kubeconfig);
    const kubeconfig = await kubeconfigOf(
      fleet.cluster,
      { namespace, name: 'fleetkeeper' },
      `${folder}/operator`,
    );
    const text = JSON.stringify(
      rolesAmong([...plainFiles('overlays/single-namespace'), ...plainFiles('operator')], namespace),
    );
    await applyRoles(
      fleet.cluster.api,
      JSON.parse(text.replaceAll('"fleetkeeper-system"', `"${namespace}"`)),
    );
    await fleet.write('llm.yaml', [fleetFrom('llm')]);
    await createPeople(ask, namespace);
    await activateAll(ask, namespace);
    const flags = ['--source', 'kubernetes', '--kubeconfig', kubeconfig, '--watch-namespaces', namespace];
    const operator = replica({ flags }, ['--owner', namespace]);
    await fleet.until('ServiceFleet/llm', 'Ready', 'True', undefined, 60_000);
    expect((await objectOf(fleet, 'ContainerService/llm-1'))?.metadata.annotations).toMatchObject(unwanted);
    const at = `${pathOf('ServiceFleet', namespace)}/llm`;
    const scaled = await ask({
      method: 'PATCH',
      path: `${at}/scale`,
      type: merge,
      body: { spec: { replicas: 1 } },
      as: 'editor',
    });
    expect([scaled.status, scaled.body.message]).toEqual([200, undefined]);
    await eventually('one replica', async () => !(await objectOf(fleet, 'ContainerService/llm-1')), 60_000);
    await remove(fleet, 'ServiceFleet/llm');
    await eventually('no fleet', async () => !(await objectOf(fleet, 'ServiceFleet/llm')), 60_000);
    expect((await operator.kill('SIGTERM')).code).toBe(0);
    expect(operator.stderr).not.toContain('denied request');
  },
);
