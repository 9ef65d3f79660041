/** The profile "restricted" of the Pod Security Standards: what a pod does against it. */
import type { Manifest } from './render.ts';

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly securityContext?: PodSecurity;
  readonly topologySpreadConstraints?: readonly { readonly topologyKey: string }[];
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Readonly<Record<string, unknown>>[];
}

interface PodSecurity {
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly seccompProfile?: { readonly type: string };
  readonly sysctls?: readonly unknown[];
  readonly seLinuxOptions?: unknown;
  readonly appArmorProfile?: { readonly type: string };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly { readonly hostPort?: number }[];
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
  readonly livenessProbe?: { readonly httpGet: { readonly path: string } };
  readonly readinessProbe?: { readonly httpGet: { readonly path: string } };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext?: PodSecurity & {
    readonly privileged?: boolean;
    readonly allowPrivilegeEscalation?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly procMount?: string;
    readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  };
}

export function podOf({ spec }: Manifest): PodSpec {
  return (spec as { template: { spec: PodSpec } }).template.spec;
}

/** Of a pod that has no other. */
export function containerOf(deployment: Manifest): Container {
  const [container, ...others] = podOf(deployment).containers;
  if (!container || others.length > 0) throw new Error('a pod has one container here');
  return container;
}

const volumeTypes = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);
const seccompTypes = new Set(['RuntimeDefault', 'Localhost']);

export function violations(pod: PodSpec): string[] {
  const containers = [...pod.containers, ...(pod.initContainers ?? [])];
  const found: readonly (readonly [boolean | undefined, string])[] = [
    [pod.hostNetwork || pod.hostPID || pod.hostIPC, 'namespaces of the host'],
    [(pod.securityContext?.sysctls ?? []).length > 0, 'sysctls'],
    ...(pod.volumes ?? []).flatMap((volume) =>
      Object.keys(volume).map(
        (key) => [key !== 'name' && !volumeTypes.has(key), `a volume of type ${key}`] as const,
      ),
    ),
    ...containers.flatMap((container) => violationsOf(container, pod.securityContext ?? {})),
  ];
  return found.filter(([is]) => is).map(([, what]) => what);
}

function violationsOf(
  { name, ports = [], securityContext: own = {} }: Container,
  ofPod: PodSecurity,
): (readonly [boolean | undefined, string])[] {
  const { capabilities } = own;
  const effective = { ...ofPod, ...own };
  return [
    [own.privileged, `${name} is privileged`],
    [own.allowPrivilegeEscalation !== false, `${name} may gain privileges`],
    [effective.runAsNonRoot !== true || effective.runAsUser === 0, `${name} may run as root`],
    [!seccompTypes.has(effective.seccompProfile?.type ?? ''), `${name} has no seccomp profile`],
    [!capabilities?.drop?.includes('ALL'), `${name} keeps capabilities`],
    [capabilities?.add?.some((added) => added !== 'NET_BIND_SERVICE'), `${name} adds capabilities`],
    [ports.some(({ hostPort }) => hostPort !== undefined), `${name} takes a port of the host`],
    [(own.procMount ?? 'Default') !== 'Default', `${name} unmasks /proc`],
    [effective.appArmorProfile?.type === 'Unconfined', `${name} is unconfined`],
    [effective.seLinuxOptions !== undefined, `${name} has SELinux options`],
  ];
}
