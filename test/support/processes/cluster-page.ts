/** The page of a cluster, as a process of a test, and who reads it. */
import { readLease, type KubernetesApi } from '../../../src/kubernetes/index.ts';
import type { Json } from './fleet.ts';
import { eventually, fetch, launch, type Program } from './processes.ts';
import { namespaceType } from './kubernetes.ts';

export interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly text: string;
}

export interface OpenedPage {
  readonly page: Program;
  readonly url: string;
  readonly get: (target: string, token?: string) => Promise<Answer>;
}

/** Ends with the test. `flags`: which cluster, and who may read. */
export async function openClusterPage(
  flags: readonly string[],
  isReady = true,
  environment: Readonly<Record<string, string>> = {},
): Promise<OpenedPage> {
  const page = launch(['page', '--listen', '127.0.0.1:0', ...flags], environment);
  const [, url = ''] = await page.line(/^listening on (.*)$/);
  const get = async (target: string, token?: string) => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}${target}`, { headers });
    const text = await response.text();
    return { status: response.status, text, body: text.startsWith('{') ? JSON.parse(text) : text };
  };
  if (isReady) await eventually('the page is ready', async () => (await get('/readyz')).status === 200);
  return { page, url, get };
}

/** Its Lease shows with the next renewal what the leader has read. */
export async function untilRead(api: KubernetesApi): Promise<void> {
  await eventually('the Lease of a leader that has read', async () => {
    const lease = await readLease(api, { namespace: api.namespace, name: 'fleetkeeper' });
    return lease?.reads !== undefined && lease.reads.length > 0;
  });
}

const rbac = 'rbac.authorization.k8s.io';
const roleKinds = { Role: 'roles', RoleBinding: 'rolebindings' } as const;

async function applyTo(api: KubernetesApi, kind: keyof typeof roleKinds, body: Json): Promise<void> {
  const { name, namespace } = body.metadata;
  const type = { group: rbac, version: 'v1', plural: roleKinds[kind], kind, namespaced: true };
  const whole = { apiVersion: `${rbac}/v1`, kind, ...body };
  await api.patch({ type, namespace, name }, { kind: 'apply', body: whole, force: true });
}

export interface Reading {
  readonly namespace: string;
  /** Of a ServiceAccount of this namespace. */
  readonly reader: string;
  /** Default: every kind of ours. */
  readonly resources?: readonly string[];
  readonly events?: boolean;
}

/** Lets the ServiceAccount list objects of its namespace, and nothing else. */
export async function allowReading(
  api: KubernetesApi,
  { namespace, reader, resources = ['*'], events = false }: Reading,
): Promise<void> {
  const metadata = { name: `read-${reader}`, namespace };
  const rules = [{ apiGroups: ['fleetkeeper.dev'], resources, verbs: ['list'] }];
  const ofEvents = events ? [{ apiGroups: [''], resources: ['events'], verbs: ['list'] }] : [];
  await applyTo(api, 'Role', { metadata, rules: [...rules, ...ofEvents] });
  await applyTo(api, 'RoleBinding', {
    metadata,
    roleRef: { apiGroup: rbac, kind: 'Role', name: metadata.name },
    subjects: [{ kind: 'ServiceAccount', name: reader, namespace }],
  });
}

export async function forbidReading(api: KubernetesApi, { namespace, reader }: Reading): Promise<void> {
  const type = { group: rbac, version: 'v1', plural: 'rolebindings', kind: 'RoleBinding', namespaced: true };
  await api.remove({ type, namespace, name: `read-${reader}` });
}

export async function makeNamespace(api: KubernetesApi, name: string): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await api.patch({ type: namespaceType, namespace: undefined, name }, { kind: 'apply', body });
}
