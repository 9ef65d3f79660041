/**
 * A launch as a Pod and its Secrets. Resources are requested and limited alike; a GB of memory is 2^30 bytes. A Pod
 * can't gain privileges, has no token of the cluster, and is started once: an end is an event of the domain.
 *
 * Values of the environment and credentials are in Secrets of this launch only. The Pod names their keys, which are
 * numbers: a name of a variable need not be a key of a Secret. The cluster would replace `$(NAME)` in arguments, so each
 * dollar is doubled, which stands for one.
 */
import type { ServiceResources } from '../../../api/wire.ts';
import { bounds } from '../../domain/requests.ts';
import type { ClusterPlace, KubernetesConfig } from '../../domain/config.ts';
import type { Launch, RuntimeRequest } from '../../domain/runtime.ts';
import type { Image } from '../containers/image.ts';
import {
  containerName,
  launchLabels,
  namespaceName,
  secretName,
  serviceName,
  tenantName,
  volumeName,
} from './names.ts';

/** Between SIGTERM and SIGKILL, whoever stops the container. */
export const graceSeconds = 10;
const workspace = '/workspace';
/** As in the Docker runtime: raw sockets, device files, forged audit records, capabilities on files. */
const droppedCapabilities = ['NET_RAW', 'MKNOD', 'AUDIT_WRITE', 'SETFCAP'];
const defaultGpuResource = 'nvidia.com/gpu';

export const gigabyte = 2 ** 30;
const leastBytes = bounds.leastMemoryGb * gigabyte;
const leastMillicores = bounds.leastCpu * 1000;

export type Provision = RuntimeRequest & { readonly kind: 'provision' };

interface PodParts {
  readonly installation: string;
  readonly request: Provision;
  readonly image: Image;
  readonly place: ClusterPlace;
  readonly config: KubernetesConfig;
  /** Whether every node can give a Pod users of its own. */
  readonly hasUserNamespaces: boolean;
}

export function podOf(parts: PodParts): object {
  const { installation, request, place, hasUserNamespaces } = parts;
  const { launch, accountId, subjectId } = request;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: serviceName(subjectId),
      namespace: namespaceName(installation, accountId),
      labels: launchLabels(installation, request),
    },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: graceSeconds,
      serviceAccountName: tenantName,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...(hasUserNamespaces && { hostUsers: false }),
      ...(place.runtimeClass !== undefined && { runtimeClassName: place.runtimeClass }),
      ...selectorsOf(launch, place),
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      ...(launch.credentials && { imagePullSecrets: [{ name: secretName('registry', request) }] }),
      ...(launch.volumeId !== null && {
        volumes: [{ name: 'workspace', persistentVolumeClaim: { claimName: volumeName(launch.volumeId) } }],
      }),
      containers: [containerOf(parts)],
    },
  };
}

function containerOf({ request, image, place, config }: PodParts): object {
  const { launch } = request;
  const { command, httpPort, volumeId } = launch;
  return {
    name: containerName,
    image: image.reference,
    // An image that one account may pull must not be had from a node's cache by another.
    imagePullPolicy: image.toPull ? 'Always' : 'Never',
    ...(command && { args: command.map((word) => word.replaceAll('$', '$$$$')) }),
    env: environmentOf(request),
    ...(httpPort !== null && { ports: [{ name: 'http', containerPort: httpPort, protocol: 'TCP' }] }),
    resources: resourcesOf(launch, place, config),
    ...(volumeId !== null && { volumeMounts: [{ name: 'workspace', mountPath: workspace }] }),
    securityContext: {
      privileged: false,
      allowPrivilegeEscalation: false,
      capabilities: { drop: droppedCapabilities },
    },
  };
}

/** Those of a GPU model decide beside those of the place. */
function selectorsOf({ gpuModel }: Launch, { nodeSelector, tolerations, gpus }: ClusterPlace): object {
  const ofModel = gpuModel === null ? undefined : gpus?.[gpuModel]?.nodeSelector;
  const selector = { ...nodeSelector, ...ofModel };
  return {
    ...(Object.keys(selector).length > 0 && { nodeSelector: selector }),
    ...(tolerations && { tolerations }),
  };
}

/** Of the container. */
export interface PodResources {
  readonly limits: Readonly<Record<string, string>>;
  readonly requests: Readonly<Record<string, string>>;
}

export function resourcesOf(
  { resources, gpuModel }: Launch,
  place: ClusterPlace,
  config: KubernetesConfig,
): PodResources {
  const limits = limitsOf(resources);
  const { gpuCount } = resources;
  const gpuResource =
    (gpuModel === null ? undefined : place.gpus?.[gpuModel]?.resource) ?? defaultGpuResource;
  const gpus = gpuCount > 0 ? { [gpuResource]: String(gpuCount) } : {};
  return {
    limits: { ...limits, ...gpus, 'ephemeral-storage': `${config.ephemeralStorageGb}Gi` },
    // The disk of a node is shared: what nobody writes is not kept free for anybody.
    requests: { ...limits, ...gpus, 'ephemeral-storage': '0' },
  };
}

function limitsOf({ cpu, memoryGb }: ServiceResources): { cpu: string; memory: string } {
  return {
    cpu: `${Math.max(leastMillicores, Math.round(cpu * 1000))}m`,
    memory: String(Math.max(leastBytes, Math.round(memoryGb * gigabyte))),
  };
}

/** Reserved: they show the container toolkit of NVIDIA which GPUs of a node a container gets. */
const isReservedVariable = (name: string) => /^NVIDIA_/i.test(name);
const variableForm = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;

/** Why a variable can't be one of a Pod, as `FIELD: sentence`. */
export function variableRefusal(name: string): string | undefined {
  if (isReservedVariable(name)) {
    return `environment.${name}: names that begin with NVIDIA_ are set by the control plane`;
  }
  if (variableForm.test(name) && name !== '.' && !name.startsWith('..')) return undefined;
  return 'environment: a name must have letters, digits, "-", "_" and "." only, and not begin with a digit or ".."';
}

function entriesOf({ environment }: Launch): [string, string][] {
  return Object.entries(environment.reveal()).filter(([name]) => variableRefusal(name) === undefined);
}

/** An image may bring a value such as `all`, with which a container without GPUs would see those of others. */
const noGpu = { name: 'NVIDIA_VISIBLE_DEVICES', value: 'void' };

function environmentOf(request: Provision): object[] {
  const name = secretName('environment', request);
  const variables = entriesOf(request.launch).map(([variable], index) => ({
    name: variable,
    valueFrom: { secretKeyRef: { name, key: String(index) } },
  }));
  return request.launch.resources.gpuCount > 0 ? variables : [...variables, noGpu];
}

/** What the launch keeps secret: the environment, and the credentials of a registry, if there are any. */
export function secretsOf(installation: string, request: Provision, image: Image): object[] {
  const { launch, accountId } = request;
  const secret = (kind: 'environment' | 'registry', type: string, data: object) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: secretName(kind, request),
      namespace: namespaceName(installation, accountId),
      labels: launchLabels(installation, request),
    },
    type,
    immutable: true,
    data,
  });
  const values = entriesOf(launch).map(([, value], index) => [String(index), base64(value)] as const);
  const environment = secret('environment', 'Opaque', Object.fromEntries(values));
  const { credentials } = launch;
  if (!credentials) return [environment];
  const { username, password } = credentials.reveal();
  const auths = { [registryOf(image)]: { username, password, auth: base64(`${username}:${password}`) } };
  const dockerConfig = { '.dockerconfigjson': base64(JSON.stringify({ auths })) };
  return [environment, secret('registry', 'kubernetes.io/dockerconfigjson', dockerConfig)];
}

const dockerHub = 'docker.io';

/** As kubelets compare it with the name of the image. */
function registryOf({ toPull }: Image): string {
  const host = toPull?.repository.split('/', 1)[0] ?? '';
  return host === dockerHub ? 'https://index.docker.io/v1/' : host;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
