/**
 * Finds the Kubernetes API to talk to: `--kubeconfig`, `KUBECONFIG`, the ServiceAccount of the pod that this runs in,
 * `~/.kube/config`. The library for kubeconfigs is big, and loaded only for one.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Dispatcher } from 'undici';
import { UserError, type Clock } from '../base/index.ts';
import type { Metrics } from '../telemetry/index.ts';
import type { ClusterAccess } from './access.ts';
import { createClient } from './client.ts';
import { inClusterAccess, isInCluster, serviceAccountFolder } from './in-cluster.ts';
import { createPodClient } from './pod-client.ts';
import type { KubernetesApi, PodApi } from './types.ts';

export interface ConnectOptions {
  /** A file; it has precedence over the environment. */
  readonly kubeconfig?: string | undefined;
  /** Of the kubeconfig; default: its current one. */
  readonly context?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** A simulation's network. */
  readonly dispatcher?: Dispatcher | undefined;
}

/** Nothing is sent yet. Rejects with a `UserError`, which names the searched places. */
export async function connect(options: ConnectOptions): Promise<KubernetesApi> {
  const access = await findAccess(options);
  refuseOpenHttp(access);
  const { clock, metrics, dispatcher } = options;
  return createClient({ access, clock, metrics, dispatcher });
}

/** As `connect`, and what else the API serves of Pods. */
export async function connectWithPods(
  options: ConnectOptions,
): Promise<{ readonly api: KubernetesApi; readonly pods: PodApi }> {
  const access = await findAccess(options);
  refuseOpenHttp(access);
  const { clock, metrics, dispatcher } = options;
  const parts = { access, clock, metrics, dispatcher };
  return { api: createClient(parts), pods: createPodClient(parts) };
}

/** Of the context of a kubeconfig, as kubectl has it. Undefined: there is no kubeconfig, or none that can be read. */
export async function namespaceOfContext(
  options: Omit<ConnectOptions, 'metrics' | 'dispatcher'>,
): Promise<string | undefined> {
  const found = findFiles(options);
  if (found === 'of the pod' || found.length === 0) return undefined;
  const { kubeconfigAccess } = await import('./kubeconfig.ts');
  try {
    return kubeconfigAccess({ files: found, context: options.context, clock: options.clock }).namespace;
  } catch (error) {
    // Whoever connects reports it.
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

type Searched = Pick<ConnectOptions, 'kubeconfig' | 'context' | 'environment'>;

function findFiles({ kubeconfig, context, environment }: Searched): readonly string[] | 'of the pod' {
  const named = kubeconfig ? [kubeconfig] : listed(environment['KUBECONFIG']);
  if (named.length > 0) return named;
  const isOfPod = context === undefined && isInCluster({ environment, folder: serviceAccountFolder });
  return isOfPod ? 'of the pod' : inHome(environment['HOME']);
}

async function findAccess(options: Omit<ConnectOptions, 'metrics' | 'dispatcher'>): Promise<ClusterAccess> {
  const { context, environment, clock } = options;
  const files = findFiles(options);
  if (files === 'of the pod') return inClusterAccess({ environment, clock, folder: serviceAccountFolder });
  if (files.length === 0) {
    throw new UserError(
      'no Kubernetes API to talk to: no --kubeconfig, no KUBECONFIG in the environment, no ~/.kube/config, and this is no pod',
      'give a kubeconfig with --kubeconfig FILE',
    );
  }
  const { kubeconfigAccess } = await import('./kubeconfig.ts');
  return kubeconfigAccess({ files, context, clock });
}

/** As kubectl does: files that are missing in a list are passed over, unless all are. */
function listed(value: string | undefined): string[] {
  const files = (value ?? '').split(path.delimiter).filter((file) => file !== '');
  const present = files.filter((file) => existsSync(file));
  return present.length > 0 ? present : files;
}

function inHome(home: string | undefined): string[] {
  const file = path.join(home ?? '', '.kube', 'config');
  return home && existsSync(file) ? [file] : [];
}

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

function refuseOpenHttp({ server, description }: ClusterAccess): void {
  if (!URL.canParse(server))
    throw new UserError(`${description}: ${server} is no address`, 'correct the kubeconfig');
  const { protocol, hostname } = new URL(server);
  if (protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))) return;
  throw new UserError(
    `${description}: credentials are not sent over ${protocol}// to ${hostname}`,
    'use https; plain http is for this machine itself only',
  );
}
