/** What tests of the operator look at beside a fleet: its Lease, its Events, what it told its log, and who sent what. */
import { onTestFinished, test } from 'vitest';
import type { KubernetesObject, ResourceType } from '../../../src/kubernetes/index.ts';
import { resourceTypes, type ManagedKind } from '../../../src/resources/index.ts';
import type { KubernetesServer } from '../kubernetes/server.ts';
import { createClusterFleet, type ClusterFleet } from './cluster-fleet.ts';
import {
  ControlPlaneProcess,
  isMutation,
  type ControlPlane,
  type ControlPlaneFlags,
  type RecordedRequest,
} from './control-plane.ts';
import { account, testInCluster, type Json } from './fleet.ts';
import { launch, type Program, eventually, temporaryFolder } from './processes.ts';
import { realCluster } from './real-cluster.ts';
import { isSimulated } from '../world.ts';

const coordination: ResourceType = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};
const events: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};
export const secrets: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
};
export const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};
export const jobs: ResourceType = {
  group: 'batch',
  version: 'v1',
  plural: 'jobs',
  kind: 'Job',
  namespaced: true,
};

/** A real API server can't be asked to fail, and has no journal of its requests. */
export const withoutFaults = (await realCluster()) !== undefined;

/** In a cluster that can be asked to fail, and has a journal of its requests. */
export const testWithServer = withoutFaults && !isSimulated ? test.skip : testInCluster;

if (withoutFaults) {
  process.stderr.write('tests that make the API server fail are NOT run: a real one can not be asked to\n');
}

export interface World {
  readonly folder: string;
  readonly plane: ControlPlane;
  readonly fleet: ClusterFleet;
}

/** A control plane (a process of its own, so that the times in its journal are true) and a cluster with an Account for it. */
export async function createWorld(accountSpec: object = {}, flags: ControlPlaneFlags = {}): Promise<World> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlaneProcess(folder, flags).start();
  const fleet = await createClusterFleet(folder);
  await fleet.write('account.yaml', account(plane.url, accountSpec));
  return { folder, plane, fleet };
}

/** Of a fleet in a test that is skipped `withoutFaults`. */
export function serverOf({ cluster }: ClusterFleet): KubernetesServer {
  if (!cluster.server) throw new Error('this test needs faults: skip it withoutFaults');
  return cluster.server;
}

/** One more replica, with an environment of its own. */
export function replica(
  fleet: Pick<ClusterFleet, 'flags'>,
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Program {
  const given = ['--settle', '1s', '--lease', '3s', ...flags];
  return launch(['run', ...fleet.flags, ...given], environment);
}

export async function holderOf({ cluster: { api } }: ClusterFleet, name = 'fleetkeeper'): Promise<string> {
  const lease = await api.get({ type: coordination, namespace: api.namespace, name });
  return (lease?.spec as Json)?.holderIdentity ?? '';
}

/** Which process holds the Lease, once one of these does. */
export function untilLed(
  fleet: ClusterFleet,
  among: readonly Program[],
  timeoutMs?: number,
): Promise<Program> {
  return eventually(
    'a leader',
    async () => {
      const holder = await holderOf(fleet);
      return among.find(({ pid, running }) => running && holder.includes(`_${pid}_`));
    },
    timeoutMs,
  );
}

/** Writes as somebody who is not the operator. */
export async function steal(fleet: ClusterFleet, holder: string): Promise<void> {
  const { api } = fleet.cluster;
  const target = { type: coordination, namespace: api.namespace, name: 'fleetkeeper' };
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  const spec = { holderIdentity: holder, leaseDurationSeconds: 60, renewTime };
  await api.patch(target, { kind: 'merge', body: { spec } });
}

export function objectOf(
  { cluster: { api }, namespace }: ClusterFleet,
  name: string,
  within = namespace,
): Promise<KubernetesObject | undefined> {
  const [kind = '', own = ''] = name.split('/');
  return api.get({ type: resourceTypes[kind as ManagedKind], namespace: within, name: own });
}

/** Of an object that may have no bookkeeping; `Fleet.condition` needs it. */
export function conditionOf(object: KubernetesObject | undefined, type: string): Json {
  return (object?.status as Json)?.conditions?.find((condition: Json) => condition.type === type);
}

export async function annotate(
  { cluster: { api }, namespace }: ClusterFleet,
  name: string,
  annotations: Readonly<Record<string, string>>,
): Promise<void> {
  const [kind = '', own = ''] = name.split('/');
  const target = { type: resourceTypes[kind as ManagedKind], namespace, name: own };
  await api.patch(target, { kind: 'merge', body: { metadata: { annotations } } });
}

export async function remove(
  { cluster: { api }, namespace }: ClusterFleet,
  name: string,
  within = namespace,
): Promise<void> {
  const [kind = '', own = ''] = name.split('/');
  await api.remove({ type: resourceTypes[kind as ManagedKind], namespace: within, name: own });
}

/** `Reason: message` of the Events of an object, in the order of their creation. */
export async function eventsOf(
  { cluster: { api }, namespace }: ClusterFleet,
  name: string,
): Promise<string[]> {
  const [kind, own] = name.split('/');
  const { items } = await api.list(events, { namespace });
  return (items as Json[])
    .filter(({ involvedObject }) => involvedObject.kind === kind && involvedObject.name === own)
    .map(({ reason, message }) => `${reason}: ${message}`);
}

/** What the manager has written to its log, as objects. */
export function logOf({ stdout, stderr }: Program): Json[] {
  return `${stdout}\n${stderr}`
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
}

export async function mutations(plane: ControlPlane): Promise<RecordedRequest[]> {
  return (await plane.requests()).filter(isMutation);
}

/** Services and volumes at the provider, by name. */
export async function namesAt(plane: ControlPlane): Promise<string[]> {
  const { services, volumes } = await plane.account();
  const names = [...services, ...volumes].map(({ name }: { name: string }) => name);
  return names.sort();
}

/** Makes a namespace; it is removed after the test. */
export async function createNamespace({ cluster: { api } }: ClusterFleet, name: string): Promise<void> {
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  onTestFinished(() => api.remove({ type: namespaces, namespace: undefined, name }).catch(() => undefined));
}
