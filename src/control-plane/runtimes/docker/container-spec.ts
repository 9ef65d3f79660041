/**
 * A launch as the engine is asked for it, and whether the engine did as asked. Resources are hard limits; a GB of
 * memory is 2^30 bytes, as for `docker run --memory`. The container is in its account's network only, can't gain
 * privileges, and its volume is at /workspace.
 */
import type { ServiceResources } from '../../../api/wire.ts';
import { bounds } from '../../domain/requests.ts';
import type { Launch, RuntimeRequest } from '../../domain/runtime.ts';
import type { ContainerSpec, Inspection } from './engine/engine.ts';
import { containerLabels, networkName, volumeName } from './names.ts';

export interface Publication {
  /** The address of this machine on which ports are published, and which endpoints show. */
  readonly host: string;
}

/** Between SIGTERM and SIGKILL, whoever stops the container. */
export const graceSeconds = 10;
const workspace = '/workspace';
const pidsLimit = 4096;
/** Of what Docker grants by default: raw sockets, device files, forged audit records, capabilities on files. */
const droppedCapabilities = ['NET_RAW', 'MKNOD', 'AUDIT_WRITE', 'SETFCAP'];
/** The newest 1 MiB is there also right after a rotation. */
const logLimits = { 'max-size': '10m', 'max-file': '2' };

export function containerSpec(
  installation: string,
  request: RuntimeRequest & { readonly launch: Launch },
  image: string,
  gpus: readonly string[],
  publication: Publication,
): ContainerSpec {
  const { launch, accountId } = request;
  const port = launch.httpPort === null ? undefined : portKey(launch.httpPort);
  return {
    Image: image,
    ...(launch.command && { Cmd: [...launch.command] }),
    Env: [...environmentOf(launch), `${gpuVariable}=${gpus.join(',') || 'void'}`],
    Labels: containerLabels(installation, request, gpus),
    StopTimeout: graceSeconds,
    ...(port && { ExposedPorts: { [port]: {} } }),
    HostConfig: {
      ...limitsOf(launch.resources, gpus),
      NetworkMode: networkName(accountId),
      // No port means: a free one.
      ...(port && { PortBindings: { [port]: [{ HostIp: publication.host, HostPort: '' }] } }),
      ...(launch.volumeId !== null && {
        Mounts: [{ Type: 'volume', Source: volumeName(launch.volumeId), Target: workspace }],
      }),
      RestartPolicy: { Name: 'no' },
      SecurityOpt: ['no-new-privileges'],
      CapDrop: droppedCapabilities,
      LogConfig: { Type: 'json-file', Config: logLimits },
    },
  };
}

/** Where the container answers; undefined when it publishes nothing. */
export function endpointOf({ NetworkSettings }: Inspection, publication: Publication): string | undefined {
  const [published] = Object.values(NetworkSettings.Ports ?? {}).flatMap((bindings) => bindings ?? []);
  if (!published) return undefined;
  const host = publication.host.includes(':') ? `[${publication.host}]` : publication.host;
  return `http://${host}:${published.HostPort}`;
}

/** Which limits the engine has dropped silently, as one without a feature of the kernel does. */
export function droppedLimits({ HostConfig: applied }: Inspection, resources: ServiceResources): string[] {
  const asked = limitsOf(resources, []);
  return [
    applied.NanoCpus !== asked.NanoCpus && `${resources.cpu} CPU`,
    applied.Memory !== asked.Memory && `${resources.memoryGb} GB of memory`,
    applied.PidsLimit !== asked.PidsLimit && `${pidsLimit} processes`,
    resources.gpuCount > 0 && !applied.DeviceRequests?.length && `${resources.gpuCount} GPU`,
  ].filter((limit) => typeof limit === 'string');
}

/** Why a container that doesn't run has ended. */
export function endReason({ State, HostConfig }: Inspection): string {
  const ended = `the container ended with exit code ${State.ExitCode}`;
  const memory = `${(HostConfig.Memory ?? 0) / gigabyte} GB of memory`;
  if (State.OOMKilled) return `${ended}: it ran out of its ${memory}`;
  if (State.ExitCode === killed) {
    return `${ended}: it was killed, for using more than its ${memory} or by somebody at the engine`;
  }
  return ended;
}

/** A container that was created and never started. */
export function isUnstarted({ State }: Inspection): boolean {
  return !State.Running && new Date(State.StartedAt).getTime() <= 0;
}

const gigabyte = 2 ** 30;
const leastBytes = bounds.leastMemoryGb * gigabyte;
const leastNanoCpus = bounds.leastCpu * 1e9;
const killed = 137;

/** Reserved: they pass to the container toolkit of NVIDIA which GPUs of the machine a container gets. */
export const isReservedVariable = (name: string) => /^NVIDIA_/i.test(name);
/** It is always set: an image may bring a value of its own, such as `all`. */
const gpuVariable = 'NVIDIA_VISIBLE_DEVICES';

function environmentOf({ environment }: Launch): string[] {
  const entries = Object.entries(environment.reveal()).filter(([name]) => !isReservedVariable(name));
  return entries.map(([name, value]) => `${name}=${value}`);
}

function limitsOf({ cpu, memoryGb }: ServiceResources, gpus: readonly string[]) {
  // The engine takes 0 for "unlimited", and services of before the minima (requests.ts) can round to it.
  const bytes = Math.max(leastBytes, Math.round(memoryGb * gigabyte));
  return {
    NanoCpus: Math.max(leastNanoCpus, Math.round(cpu * 1e9)),
    Memory: bytes,
    // No swap beside it.
    MemorySwap: bytes,
    PidsLimit: pidsLimit,
    ...(gpus.length > 0 && { DeviceRequests: [{ DeviceIDs: gpus, Capabilities: [['gpu']] }] }),
  };
}

function portKey(port: number): string {
  return `${port}/tcp`;
}
