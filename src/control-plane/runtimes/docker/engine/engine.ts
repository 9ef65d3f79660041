/**
 * The Docker Engine API (of Docker, or of podman's service), as far as the runtime needs it. What isn't there any
 * more when it is to be stopped or removed is no failure. All others are of one of three kinds:
 *
 * | kind | what the engine did | what it means |
 * |---|---|---|
 * | `unreachable` | nothing that could be read, or not in time | whether it happened is unknown; look, and try again |
 * | `failed` | answered 5xx or 409 | its own trouble, or something is in the way. podman: also a wrong request |
 * | `refused` | answered another 4xx | the request can't be carried out as it is |
 */
import type { Readable } from 'node:stream';
import type { PullCredentials } from '../../../domain/runtime.ts';
import type { ImageName } from '../../containers/image.ts';
import type { Statistics } from '../../containers/statistics.ts';
import {
  EngineConnection,
  EngineError,
  type EngineAddress,
  type EngineRequest,
} from './engine-connection.ts';

export { EngineError, type EngineAddress };

type Labels = Readonly<Record<string, string>>;

/** A container as a list shows it. */
export interface ListedContainer {
  readonly id: string;
  readonly labels: Labels;
  readonly isRunning: boolean;
  /** It ran, and will not run again by itself. */
  readonly hasEnded: boolean;
}

export interface MachineInfo {
  readonly NCPU?: unknown;
  /** Bytes. */
  readonly MemTotal?: unknown;
  /** Where it keeps images and volumes, on its machine. */
  readonly DockerRootDir?: unknown;
}

export interface EngineEvent {
  readonly action: string;
  readonly labels: Labels;
}

/** From what a container is created, in the engine's own terms. */
export interface ContainerSpec {
  readonly Image: string;
  readonly Cmd?: readonly string[];
  readonly Env: readonly string[];
  readonly Labels: Labels;
  readonly StopTimeout: number;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly HostConfig: HostConfig;
}

/** What was asked of the host for a container; what an inspection shows may lack any of it. */
export interface HostConfig {
  readonly NanoCpus?: number;
  readonly Memory?: number;
  readonly MemorySwap?: number;
  readonly PidsLimit?: number;
  readonly DeviceRequests?: readonly DeviceRequest[];
  readonly NetworkMode?: string;
  readonly PortBindings?: Readonly<Record<string, readonly PortBinding[]>>;
  readonly Mounts?: readonly { readonly Type: 'volume'; readonly Source: string; readonly Target: string }[];
  readonly RestartPolicy?: { readonly Name: 'no' };
  readonly SecurityOpt?: readonly string[];
  readonly CapDrop?: readonly string[];
  readonly LogConfig?: { readonly Type: 'json-file'; readonly Config: Labels };
}

export interface DeviceRequest {
  readonly Count?: number;
  readonly DeviceIDs?: readonly string[];
  readonly Capabilities: readonly (readonly string[])[];
}

export interface PortBinding {
  readonly HostIp: string;
  readonly HostPort: string;
}

/** What is used of how a container stands. */
export interface Inspection {
  readonly State: {
    readonly Running: boolean;
    readonly ExitCode: number;
    readonly OOMKilled?: boolean;
    /** RFC 3339; of the year 1 when it was never started. */
    readonly StartedAt: string;
  };
  readonly HostConfig: HostConfig;
  readonly NetworkSettings: {
    readonly Ports?: Readonly<Record<string, readonly PortBinding[] | null>> | null;
  };
}

export interface ExecInspection {
  readonly Running: boolean;
  readonly ExitCode: number | null;
  /** On the engine's machine. */
  readonly Pid: number;
}

/** Docker's states of a container, and podman's. */
const ended = new Set(['exited', 'stopped', 'removing', 'dead']);
const isGone = 404;
const isForbidden = 403;
const alreadyIs = 304;

export class Engine {
  readonly #connection: EngineConnection;

  constructor(address: EngineAddress) {
    this.#connection = new EngineConnection(address);
  }

  async ping(): Promise<void> {
    const stream = await this.#connection.stream({ method: 'GET', path: ['_ping'] });
    stream.resume();
  }

  /** Of the machine that it is on; engines may leave out any of it. */
  async machine(): Promise<MachineInfo> {
    return (await this.#connection.json<MachineInfo>({ method: 'GET', path: ['info'] })) ?? {};
  }

  /** Those with all of these labels. */
  containers(labels: Labels): Promise<ListedContainer[]> {
    return this.#list(pairs(labels));
  }

  /** Those with this label, whatever its value. */
  containersWith(label: string): Promise<ListedContainer[]> {
    return this.#list([label]);
  }

  async #list(label: readonly string[]): Promise<ListedContainer[]> {
    const listed = await this.#connection.json<
      readonly { readonly Id: string; readonly Labels: Labels; readonly State: string }[]
    >({
      method: 'GET',
      path: ['containers', 'json'],
      query: { all: true, filters: { label } },
    });
    return (listed ?? []).map(({ Id, Labels: own, State }) => ({
      id: Id,
      labels: own,
      isRunning: State === 'running' || State === 'paused',
      hasEnded: ended.has(State),
    }));
  }

  /** Undefined when there is no such container. */
  inspect(id: string): Promise<Inspection | undefined> {
    return this.#connection.json({ method: 'GET', path: ['containers', id, 'json'], accept: [isGone] });
  }

  async createContainer(name: string, spec: ContainerSpec): Promise<string> {
    return this.#id({ method: 'POST', path: ['containers', 'create'], query: { name }, body: spec });
  }

  async start(id: string): Promise<void> {
    await this.#connection.json({ method: 'POST', path: ['containers', id, 'start'], accept: [alreadyIs] });
  }

  async stop(id: string, graceSeconds: number): Promise<void> {
    const path = ['containers', id, 'stop'];
    const query = { t: graceSeconds };
    await this.#connection.json({ method: 'POST', path, query, accept: [alreadyIs, isGone] });
  }

  /** Also a running one; with its anonymous volumes. */
  async remove(id: string): Promise<void> {
    const query = { force: true, v: true };
    await this.#connection.json({ method: 'DELETE', path: ['containers', id], query, accept: [isGone] });
  }

  /** Throws `refused`, too, when the engine began and then reported in its stream that it can't be done. */
  async pull(image: ImageName, credentials: PullCredentials | undefined, signal: AbortSignal): Promise<void> {
    const registry = image.repository.split('/')[0] ?? '';
    const stream = await this.#connection.stream({
      method: 'POST',
      path: ['images', 'create'],
      query: { fromImage: image.repository, tag: image.tag },
      credentials: credentials && { ...credentials, serveraddress: registry },
      signal,
    });
    for await (const line of this.#connection.lines<{ error?: string }>(stream)) {
      if (line.error !== undefined) throw new EngineError('refused', line.error);
    }
  }

  /**
   * Unless there is one already. That can't be asked for first: podman 4.3 answers by taking the isolation out of the
   * network that it shows. So what the engine `failed` at is missed only by the container that needs the network.
   */
  async ensureNetwork(name: string, bridge: string, labels: Labels): Promise<void> {
    // By default, podman lets its networks reach one another; Docker never does, and ignores the option.
    const Options = { isolate: 'true', 'com.docker.network.bridge.name': bridge };
    const body = { Name: name, Driver: 'bridge', CheckDuplicate: true, Options, Labels: labels };
    try {
      await this.#connection.json({ method: 'POST', path: ['networks', 'create'], body });
    } catch (error) {
      if (!(error instanceof EngineError) || error.kind !== 'failed') throw error;
    }
  }

  /** Unless somebody else has put a container into it. */
  async removeNetwork(name: string): Promise<void> {
    const accept = [isGone, isForbidden];
    await this.#connection.json({ method: 'DELETE', path: ['networks', name], accept });
  }

  /** Also when there is one already. */
  async createVolume(name: string, labels: Labels): Promise<void> {
    const body = { Name: name, Labels: labels };
    await this.#connection.json({ method: 'POST', path: ['volumes', 'create'], body });
  }

  async hasVolume(name: string): Promise<boolean> {
    const found = await this.#connection.json({ method: 'GET', path: ['volumes', name], accept: [isGone] });
    return found !== undefined;
  }

  async volumes(labels: Labels): Promise<Labels[]> {
    const listed = await this.#connection.json<{
      readonly Volumes?: readonly { readonly Labels?: Labels | null }[] | null;
    }>({ method: 'GET', path: ['volumes'], query: { filters: { label: pairs(labels) } } });
    return (listed?.Volumes ?? []).map((volume) => volume.Labels ?? {});
  }

  async removeVolume(name: string): Promise<void> {
    await this.#connection.json({ method: 'DELETE', path: ['volumes', name], accept: [isGone] });
  }

  /** Undefined when the container is gone or doesn't run. */
  async statistics(id: string): Promise<Statistics | undefined> {
    const path = ['containers', id, 'stats'];
    const query = { stream: false, 'one-shot': true };
    const statistics = await this.#connection.json<Statistics>({
      method: 'GET',
      path,
      query,
      accept: [isGone],
    });
    return statistics?.cpu_stats ? statistics : undefined;
  }

  /** What the container has written until now, in frames (frames.ts). */
  logs(id: string): Promise<Readable> {
    const query = { stdout: true, stderr: true };
    return this.#connection.stream({ method: 'GET', path: ['containers', id, 'logs'], query });
  }

  createExec(containerId: string, command: readonly string[]): Promise<string> {
    const body = { Cmd: command, AttachStdout: true, AttachStderr: true };
    return this.#id({ method: 'POST', path: ['containers', containerId, 'exec'], body });
  }

  /** What the command writes, in frames. `signal` ends the wait for its start, and the stream. */
  startExec(id: string, signal: AbortSignal): Promise<Readable> {
    const body = { Detach: false, Tty: false };
    return this.#connection.stream({ method: 'POST', path: ['exec', id, 'start'], body, signal });
  }

  async inspectExec(id: string): Promise<ExecInspection> {
    return whole(await this.#connection.json({ method: 'GET', path: ['exec', id, 'json'] }));
  }

  /** Endless, until the signal or the engine ends it. What happens after the call is in it. */
  async events(labels: Labels, signal: AbortSignal): Promise<AsyncIterable<EngineEvent>> {
    const query = { filters: { type: ['container'], label: pairs(labels) } };
    const stream = await this.#connection.stream({ method: 'GET', path: ['events'], query, signal });
    return this.#containerEvents(stream);
  }

  async *#containerEvents(stream: Readable): AsyncGenerator<EngineEvent> {
    for await (const { Action = '', Actor } of this.#connection.lines<EventLine>(stream)) {
      yield { action: Action, labels: Actor?.Attributes ?? {} };
    }
  }

  /** Of what was made. */
  async #id(asked: EngineRequest): Promise<string> {
    return whole(await this.#connection.json<{ readonly Id: string }>(asked)).Id;
  }
}

interface EventLine {
  readonly Action?: string;
  readonly Actor?: { readonly Attributes?: Labels };
}

function pairs(labels: Labels): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}

/** Throws where the engine answered nothing: what it did is unknown. */
function whole<Answer>(answer: Answer | undefined): Answer {
  if (answer === undefined) throw new EngineError('unreachable', 'the engine answered nothing');
  return answer;
}
