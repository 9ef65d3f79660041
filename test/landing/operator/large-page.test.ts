/**
 * The page of a cluster with 10,000 objects in ten namespaces, divided among three operators of which one is not at work: within the memory
 * that its manifest gives it, and with what each reader may see. The statuses are written here, so no operator and no provider has to run.
 */
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { shardOf } from '../../../src/desired/cluster/cluster-shard.ts';
import type { KubernetesApi } from '../../../src/kubernetes/index.ts';
import { resourceTypes } from '../../../src/resources/index.ts';
import { applyRoles } from '../../support/manifests/apply.ts';
import { containerOf } from '../../support/manifests/pod-security.ts';
import { ofKind, plainFiles } from '../../support/manifests/render.ts';
import { allowReading, makeNamespace, openClusterPage } from '../../support/processes/cluster-page.ts';
import { service, type Json } from '../../support/processes/fleet.ts';
import { createOwn } from '../../support/processes/kubernetes.ts';
import { eventually, temporaryFolder } from '../../support/processes/processes.ts';

const objects = 10_000;
const namespaces = Array.from({ length: 10 }, (_, index) => `team-${index}`);
const shards = 3;
/** Of the operator that is not at work. */
const silent = 2;
const accountsPerNamespace = 4;
const atOnce = 50;

const since = '2026-01-01T00:00:00Z';
const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionTime: since,
  observedGeneration: 1,
});
const healthy = [condition('Ready', 'True', 'Running')];
const held = [condition('Ready', 'False', 'UnknownRegion'), condition('Stalled', 'True', 'UnknownRegion')];

interface Declared {
  readonly namespace: string;
  readonly name: string;
  readonly account: string;
  readonly isHeld: boolean;
}

const declared: readonly Declared[] = Array.from({ length: objects }, (_, index) => ({
  namespace: namespaces[index % namespaces.length] ?? '',
  name: `web-${index}`,
  account: `account-${Math.floor(index / namespaces.length) % accountsPerNamespace}`,
  isHeld: index % 97 === 0,
}));

const shardOfObject = ({ namespace, account }: Declared) => shardOf(`${namespace}/${account}`, shards);

async function create(api: KubernetesApi, each: Declared): Promise<void> {
  const { namespace, name, account, isHeld } = each;
  const target = { type: resourceTypes.ContainerService, namespace, name };
  const document: Json = service(name, { accountRef: { name: account } });
  await api.patch(target, {
    kind: 'apply',
    body: { ...document, metadata: { ...document.metadata, namespace } },
    force: true,
  });
  await setStatus(api, each, isHeld ? held : healthy);
}

async function setStatus(
  api: KubernetesApi,
  { namespace, name }: Declared,
  conditions: typeof healthy,
): Promise<void> {
  const status = { observedGeneration: 1, state: 'running', hourlyMicros: 10_000, conditions };
  const target = { type: resourceTypes.ContainerService, namespace, name };
  await api.patch(target, { kind: 'merge', body: { status }, subresource: 'status' });
}

async function forAll<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

const leases = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

/** Operators that are at work renew them. */
async function renewLeases(api: KubernetesApi): Promise<void> {
  for (let index = 0; index < shards; index++) {
    if (index === silent) continue;
    const name = `fleetkeeper-${index}-of-${shards}`;
    // A time of a Lease has microseconds.
    const at = new Date().toISOString().replace('Z', '000Z');
    const spec = {
      holderIdentity: `host_1_${index}`,
      leaseDurationSeconds: 15,
      acquireTime: at,
      renewTime: at,
    };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec };
    await api.patch({ type: leases, namespace: api.namespace, name }, { kind: 'apply', body, force: true });
  }
}

const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'everything' } };
/** Who may list all objects. */
const readsAll = [
  {
    ...rbac,
    kind: 'ClusterRole',
    rules: [{ apiGroups: ['fleetkeeper.dev'], resources: ['*'], verbs: ['list'] }],
  },
  {
    ...rbac,
    kind: 'ClusterRoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'everything' },
    subjects: [{ kind: 'ServiceAccount', name: 'everything', namespace: 'kube-system' }],
  },
];

/** As its manifest has them. */
function limits(): { readonly nodeOptions: string; readonly memoryMb: number } {
  const [deployment] = ofKind(plainFiles('components/page'), 'Deployment');
  if (!deployment) throw new Error('components/page has a Deployment');
  const { env = [], resources } = containerOf(deployment);
  const nodeOptions = env.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? '';
  return { nodeOptions, memoryMb: Number.parseInt(String((resources as Json).limits.memory), 10) };
}

test('10,000 objects of three operators are shown within the memory of the manifest, and a reader sees his thousand', async () => {
  const folder = await temporaryFolder();
  const { api, kubeconfig, server } = await createOwn(folder);
  for (const name of namespaces) await makeNamespace(api, name);
  await forAll(declared, (each) => create(api, each));
  await renewLeases(api);
  const renewing = setInterval(() => void renewLeases(api).catch(() => undefined), 3000);
  onTestFinished(() => clearInterval(renewing));
  await allowReading(api, { namespace: 'team-3', reader: 'reader' });
  const token = server?.tokenOf('team-3', 'reader') ?? '';
  const { nodeOptions, memoryMb } = limits();
  const flags = ['--source', 'kubernetes', '--kubeconfig', kubeconfig, '--shards', String(shards)];
  const { page, get } = await openClusterPage([...flags, '--page-kubernetes-auth'], true, {
    NODE_OPTIONS: nodeOptions,
  });
  const all = server?.tokenOf('kube-system', 'everything') ?? '';
  await applyRoles(api, readsAll);
  const summary = async (as: string) => (await get('/api/v1/summary', as)).body;
  // What is held is no good news, whoever is at work.
  const expected = (seen: readonly Declared[]) => ({
    Stale: seen.filter((each) => shardOfObject(each) === silent && !each.isHeld).length,
    Held: seen.filter(({ isHeld }) => isHeld).length,
  });
  const { health, objects: total, manager } = await summary(all);
  expect([total, manager.note]).toEqual([objects, expect.stringContaining(`part ${silent} of ${shards}`)]);
  expect(health).toMatchObject(expected(declared));
  expect(health.Healthy + health.Stale + health.Held).toBe(objects);
  const own = declared.filter(({ namespace }) => namespace === 'team-3');
  expect(await summary(token)).toMatchObject({ objects: own.length, health: expected(own) });

  // All pages of the reader have each of his objects once.
  const seen: string[] = [];
  for (let cursor = ''; ;) {
    const { body } = await get(`/api/v1/objects?limit=200${cursor}`, token);
    seen.push(...body.items.map(({ name }: Json) => name));
    if (body.next === null) break;
    cursor = `&cursor=${body.next}`;
  }
  expect(seen.toSorted()).toEqual(own.map(({ name }) => name).toSorted());
  const { nodes, omitted } = (await get('/api/v1/tree?depth=6', all)).body;
  expect([nodes.length, omitted]).toEqual([500, objects + namespaces.length * accountsPerNamespace - 500]);

  // A thousand changes: what is held is not any more, and other ones are.
  const changed = declared.filter((_, index) => index % 10 === 5);
  await forAll(changed, (each) => setStatus(api, each, held));
  const nowHeld = declared.filter((each) => each.isHeld || changed.includes(each)).length;
  await eventually('what has changed is shown', async () => (await summary(all)).health.Held === nowHeld);

  const status = await readFile(`/proc/${page.pid}/status`, 'utf8');
  const peakMb = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  expect(peakMb).toBeLessThan(memoryMb);
}, 600_000);
