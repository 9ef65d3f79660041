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
import Docker from 'dockerode';
import type { PullCredentials } from '../runtime.ts';
import { jsonLines } from './frames.ts';

type FailureKind = 'unreachable' | 'failed' | 'refused';

export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly kind: FailureKind;
  /** 0 when there was no answer. */
  readonly status: number;

  constructor(kind: FailureKind, message: string, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }

  /** The same failure in other words. */
  saying(message: string): EngineError {
    return new EngineError(this.kind, message, this.status);
  }
}

/** Where the engine listens. */
export type EngineAddress =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number };

type Labels = Readonly<Record<string, string>>;

/** A container as a list shows it. */
export interface ListedContainer {
  readonly id: string;
  readonly labels: Labels;
  readonly isRunning: boolean;
}

export interface EngineEvent {
  readonly action: string;
  readonly labels: Labels;
}

/** What to pull: a tag or a digest (`sha256:…`) of a repository. */
export interface ImageName {
  readonly repository: string;
  readonly tag: string;
}

/** What is used of a container's statistics. Engines leave out what their machine doesn't count. */
export interface Statistics {
  readonly read?: string;
  readonly cpu_stats?: { readonly cpu_usage: { readonly total_usage: number } };
  readonly memory_stats?: {
    readonly usage?: number;
    readonly stats?: { readonly total_inactive_file?: number; readonly inactive_file?: number };
  };
  readonly networks?: Readonly<Record<string, { readonly rx_bytes: number }>>;
}

export type ContainerSpec = Omit<Docker.ContainerCreateOptions, 'name'>;
export type Inspection = Docker.ContainerInspectInfo;
export type ExecInspection = Docker.ExecInspectInfo;

/** The longest that the engine may be silent while it answers; a stop takes its grace period. */
const silenceMs = 60_000;

export class Engine {
  /** For what is answered soon. */
  readonly #docker: Docker;
  /** For streams, which may be silent for long. */
  readonly #streaming: Docker;

  constructor(address: EngineAddress) {
    // An empty host keeps dockerode from looking into the environment by itself.
    const connection =
      'host' in address ? { ...address, protocol: 'http' as const } : { host: '', ...address };
    this.#docker = new Docker({ ...connection, timeout: silenceMs });
    this.#streaming = new Docker(connection);
  }

  async ping(): Promise<void> {
    await answered(this.#docker.ping());
  }

  async containers(labels: Labels): Promise<ListedContainer[]> {
    const listed = await answered(
      this.#docker.listContainers({ all: true, filters: { label: pairs(labels) } }),
    );
    return listed.map(({ Id, Labels: own, State }) => ({
      id: Id,
      labels: own,
      isRunning: State === 'running' || State === 'paused',
    }));
  }

  /** Undefined when there is no such container. */
  inspect(id: string): Promise<Inspection | undefined> {
    return unlessGone(this.#docker.getContainer(id).inspect());
  }

  async createContainer(name: string, spec: ContainerSpec): Promise<string> {
    // dockerode would put the whole specification into the URL, too, with the values of the environment.
    const options = { _query: { name }, _body: spec } as Docker.ContainerCreateOptions;
    return (await answered(this.#docker.createContainer(options))).id;
  }

  async start(id: string): Promise<void> {
    await answered(this.#docker.getContainer(id).start(), alreadyIs);
  }

  async stop(id: string, graceSeconds: number): Promise<void> {
    await answered(this.#docker.getContainer(id).stop({ t: graceSeconds }), alreadyIs, isGone);
  }

  /** Also a running one; with its anonymous volumes. */
  async remove(id: string): Promise<void> {
    await answered(this.#docker.getContainer(id).remove({ force: true, v: true }), isGone);
  }

  /** Throws `refused`, too, when the engine began and then said in its stream that it can't be done. */
  async pull(image: ImageName, credentials: PullCredentials | undefined, signal: AbortSignal): Promise<void> {
    const options = { fromImage: image.repository, tag: image.tag, abortSignal: signal };
    const registry = image.repository.split('/')[0] ?? '';
    const stream = await answered(
      credentials
        ? this.#streaming.createImage({ ...credentials, serveraddress: registry }, options)
        : this.#streaming.createImage(options),
    );
    for await (const line of read<{ error?: string }>(stream)) {
      if (line.error !== undefined) throw new EngineError('refused', line.error);
    }
  }

  /**
   * Unless there is one already. That can't be asked for first: podman 4.3 answers by taking the isolation out of the
   * network that it shows. So what the engine `failed` at is missed only by the container that needs the network.
   */
  async ensureNetwork(name: string, labels: Labels): Promise<void> {
    // podman lets its networks reach one another unless told so; Docker never does, and ignores the option.
    const Options = { isolate: 'true' };
    const network = { Name: name, Driver: 'bridge', CheckDuplicate: true, Options, Labels: labels };
    try {
      await answered(this.#docker.createNetwork(network));
    } catch (error) {
      if (!(error instanceof EngineError) || error.kind !== 'failed') throw error;
    }
  }

  /** Unless somebody else has put a container into it. */
  async removeNetwork(name: string): Promise<void> {
    await answered(this.#docker.getNetwork(name).remove(), isGone, isForbidden);
  }

  /** Also when there is one already. */
  async createVolume(name: string, labels: Labels): Promise<void> {
    await answered(this.#docker.createVolume({ Name: name, Labels: labels }));
  }

  async hasVolume(name: string): Promise<boolean> {
    return (await unlessGone(this.#docker.getVolume(name).inspect())) !== undefined;
  }

  async volumes(labels: Labels): Promise<Labels[]> {
    const listed = await answered(this.#docker.listVolumes({ filters: { label: pairs(labels) } }));
    return (listed.Volumes ?? []).map((volume) => volume.Labels ?? {});
  }

  async removeVolume(name: string): Promise<void> {
    await answered(this.#docker.getVolume(name).remove(), isGone);
  }

  /** Undefined when the container is gone or doesn't run. */
  async statistics(id: string): Promise<Statistics | undefined> {
    const options = { stream: false, 'one-shot': true } as const;
    const statistics: Statistics | undefined = await unlessGone(this.#docker.getContainer(id).stats(options));
    return statistics?.cpu_stats ? statistics : undefined;
  }

  /** What the container has written until now, in frames (frames.ts). */
  async logs(id: string): Promise<Readable> {
    // `follow` makes dockerode hand over a stream; the engine is not asked to follow.
    const options = { follow: true, _query: { stdout: true, stderr: true } } as const;
    return readable(await answered(this.#streaming.getContainer(id).logs(options)));
  }

  async createExec(containerId: string, command: readonly string[]): Promise<string> {
    const options = { Cmd: [...command], AttachStdout: true, AttachStderr: true };
    return (await answered(this.#docker.getContainer(containerId).exec(options))).id;
  }

  /** What the command writes, in frames. `signal` ends the wait for its start. */
  async startExec(id: string, signal: AbortSignal): Promise<Readable> {
    const options = { hijack: true, stdin: false, abortSignal: signal };
    return readable(await answered(this.#streaming.getExec(id).start(options)));
  }

  inspectExec(id: string): Promise<ExecInspection> {
    return answered(this.#docker.getExec(id).inspect());
  }

  /** Endless, until the signal or the engine ends it. What happens after the call is in it. */
  async events(labels: Labels, signal: AbortSignal): Promise<AsyncIterable<EngineEvent>> {
    const filters = { type: ['container' as const], label: pairs(labels) };
    const stream = await answered(this.#streaming.getEvents({ filters, abortSignal: signal }));
    return containerEvents(stream);
  }
}

interface EventLine {
  readonly Action?: string;
  readonly Actor?: { readonly Attributes?: Labels };
}

async function* containerEvents(stream: NodeJS.ReadableStream): AsyncGenerator<EngineEvent> {
  for await (const { Action = '', Actor } of read<EventLine>(stream)) {
    yield { action: Action, labels: Actor?.Attributes ?? {} };
  }
}

/** The lines of a stream; when it breaks off, the engine is `unreachable`. */
async function* read<Line>(stream: NodeJS.ReadableStream): AsyncGenerator<Line> {
  try {
    for await (const line of jsonLines(readable(stream))) yield line as Line;
  } catch (error) {
    throw failureOf(error);
  }
}

/** dockerode types its streams by an interface of old; they are those of Node. */
function readable(stream: NodeJS.ReadableStream): Readable {
  return stream as Readable;
}

function pairs(labels: Labels): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}

const isGone = 404;
const isForbidden = 403;
const alreadyIs = 304;
const isInTheWay = 409;

/** The answer, or undefined for one of the statuses that are `accepted`; otherwise throws an `EngineError`. */
async function answered<Answer>(call: Promise<Answer>): Promise<Answer>;
async function answered<Answer>(call: Promise<Answer>, ...accepted: number[]): Promise<Answer | undefined>;
async function answered<Answer>(call: Promise<Answer>, ...accepted: number[]): Promise<Answer | undefined> {
  try {
    return await call;
  } catch (error) {
    const failure = failureOf(error);
    if (accepted.includes(failure.status)) return undefined;
    throw failure;
  }
}

function unlessGone<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
  return answered(call, isGone);
}

function failureOf(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const { statusCode = 0, json, message } = error as { statusCode?: number; json?: unknown; message: string };
  if (statusCode === 0) return new EngineError('unreachable', message);
  const told =
    typeof json === 'object' && json !== null && 'message' in json ? String(json.message) : message;
  const isRefused = statusCode < 500 && statusCode !== isInTheWay;
  return new EngineError(isRefused ? 'refused' : 'failed', told, statusCode);
}
