/** Read access to a fleet: a folder and its state file, or a cluster. Nothing is written to either. */
import { UserError, provisionalKey, messageOf } from '../base/index.ts';
import {
  ClusterOverlay,
  createClusterSource,
  readFolder,
  type DesiredSnapshot,
  type DesiredSource,
  type OverlayCheck,
} from '../desired/index.ts';
import { KubernetesError, readLease, type KubernetesApi, type LeaseHolder } from '../kubernetes/index.ts';
import { leaseName, watchedByStore } from '../manager/index.ts';
import { Admission, DerivedObjects, oneShotGrace } from '../engine/index.ts';
import { kinds } from '../kinds/index.ts';
import { ClusterStore, readClusterIdentity, readState, stateFacts, type StateStore } from '../state/index.ts';
import { createLogger, createMetrics } from '../telemetry/index.ts';
import { connectCluster, isCluster, shardOfFlags, type ClusterFlags } from './cluster.ts';
import type { Context } from './context.ts';
import { fleetIdentity } from './digest-key.ts';
import { stateFile } from './options.ts';
import type { SecretsFlags } from './secrets-dir.ts';
import { openSource } from './source.ts';
import { managerOfCluster, managerOfFolder, type ManagerState } from '../shown/manager-state.ts';

/** A cluster that can't be listed within that time is reported as an error. */
const answerMs = 30_000;

export interface FleetFlagsOf extends ClusterFlags, SecretsFlags {
  readonly source: string;
  readonly state?: string;
  readonly owner?: string;
  readonly digestKeyFile?: string;
  /** Of a cluster: a folder of documents that are taken as applied. */
  readonly with?: string;
}

export interface FleetAccess {
  /** Started by whoever uses it. */
  readonly source: DesiredSource;
  /** As last written down; what is saved stays in memory. */
  readonly store: StateStore;
  /** Who keeps the state up to date. */
  manager(): Promise<ManagerState>;
  /** How the documents on top of a cluster were checked. */
  readonly overlay?: OverlayCheck;
  /** After the source was stopped. */
  close(): Promise<void>;
}

/** `onNote`: for what is worth a line about `--secrets-dir`. */
export async function readFleet(
  context: Context,
  flags: FleetFlagsOf,
  onNote?: (line: string) => void,
): Promise<FleetAccess> {
  if (isCluster(flags.source)) return readCluster(context, flags);
  const file = stateFile(flags);
  return {
    source: openSource(flags, context, false, onNote),
    store: readState(file, context.random, await fleetIdentity(context, flags, file)),
    manager: async () => folderManager(context, file),
    close: async () => undefined,
  };
}

/** Who keeps a state file up to date. */
export function folderManager({ clock, hostname }: Context, file: string): ManagerState {
  return managerOfFolder(stateFacts(file), hostname, clock.wallMs());
}

export interface FleetNow {
  readonly snapshot: DesiredSnapshot;
  readonly store: StateStore;
  readonly manager: ManagerState;
}

/** Source and state as they are now. */
export async function observeOnce(context: Context, flags: FleetFlagsOf): Promise<FleetNow> {
  const access = await readFleet(context, flags);
  const { source, store } = access;
  try {
    const read = await source.start(() => undefined);
    // In a cluster, what an object owns is known by its resources.
    const snapshot = isCluster(flags.source) ? new DerivedObjects({ store, kinds }).merge(read) : read;
    if (isCluster(flags.source)) {
      const { clock } = context;
      const admission = new Admission({ store, clock, grace: oneShotGrace, massChangeAllowed: () => true });
      await admission.admit(snapshot).durable;
    }
    return { snapshot, store, manager: await access.manager() };
  } finally {
    await source.stop();
    await access.close();
  }
}

async function readCluster(context: Context, flags: FleetFlagsOf): Promise<FleetAccess> {
  const { clock, random } = context;
  const metrics = createMetrics();
  const api = await connectCluster(context, flags, metrics);
  const { known, namespace } = await identityIn(api, flags.owner);
  const identity = known ?? { ownerName: flags.owner ?? '', digestKey: provisionalKey(random) };
  const store = new ClusterStore({ api: undefined, reader: api, identity, clock, random });
  const { watchNamespaces: namespaces = [] } = flags;
  const shard = shardOfFlags(flags);
  const logger = createLogger('silent');
  const overlay =
    flags.with === undefined ? undefined : await overlayOf(context, api, flags.with, namespaces);
  const cluster = createClusterSource({
    api: overlay?.api ?? api,
    namespaces,
    shard,
    giveUpAfterMs: answerMs,
    clock,
    random,
    logger,
    metrics,
  });
  return {
    source: watchedByStore({
      source: overlay?.source(cluster) ?? cluster,
      store,
      onNoticed: () => undefined,
      onFailure: () => undefined,
      clock,
      random,
    }),
    store,
    manager: async () => managerOfCluster(await leaseOf(api, namespace, leaseName(shard)), clock.wallMs()),
    ...(overlay ? { overlay: overlay.checked } : {}),
    close: () => api.close(),
  };
}

/** That of manifests/. */
const operatorNamespace = 'fleetkeeper-system';

/** That of the operator in the namespace of the kubeconfig's context, or else of the one in its usual namespace. */
async function identityIn(api: KubernetesApi, owner: string | undefined) {
  const at = (namespace: string) =>
    readClusterIdentity({ api: { namespace, get: (target) => api.get(target) }, owner });
  const known = await at(api.namespace);
  if (known || api.namespace === operatorNamespace) return { known, namespace: api.namespace };
  try {
    const usual = await at(operatorNamespace);
    return { known: usual, namespace: usual ? operatorNamespace : api.namespace };
  } catch (error) {
    // Not everybody may look there.
    if (error instanceof KubernetesError && error.status === 403) return { known, namespace: api.namespace };
    throw error;
  }
}

async function overlayOf(
  { random }: Context,
  api: KubernetesApi,
  folder: string,
  namespaces: readonly string[],
): Promise<ClusterOverlay> {
  const documents = await readFolder(folder);
  const outside = [...documents.objects.values()].find(
    ({ namespace }) => namespaces.length > 0 && !namespaces.includes(namespace),
  );
  if (outside) {
    throw new UserError(
      `${outside.location.file}: ${outside.key} is in a namespace that --watch-namespaces leaves out`,
      'add the namespace, or leave the flag out',
    );
  }
  const overlay = new ClusterOverlay({ api, documents, uid: () => random.uuid() });
  try {
    await overlay.prepare();
  } catch (error) {
    await api.close();
    if (!(error instanceof KubernetesError)) throw error;
    const remedy = `check that ${api.description} answers, that the CRDs are installed, and that you may \`get\` and \`list\` the kinds`;
    throw new UserError(
      `the documents of ${folder} can't be compared with the cluster: ${error.message}`,
      remedy,
      error,
    );
  }
  return overlay;
}

/** A text if it can't be read: not everybody who may read the objects may read the Lease. */
async function leaseOf(
  api: KubernetesApi,
  namespace: string,
  name: string,
): Promise<LeaseHolder | string | undefined> {
  try {
    return (await readLease(api, { namespace, name })) ?? `there is no Lease ${name} in ${namespace}`;
  } catch (error) {
    return `the Lease ${name} in ${namespace} can't be read: ${messageOf(error)}`;
  }
}
