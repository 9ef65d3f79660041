/**
 * Real containers, through the Docker Engine API. operations.ts carries out requests, one at a time for each service
 * and volume (containers/subjects.ts).
 *
 * The engine is watched at the same time. Whenever the stream of its events begins (at the start, and after the
 * engine was away), everything is checked at once: unwanted containers are removed, and those that should run and
 * don't are reported. After that an event only triggers a check of its service. So does the absence of statistics.
 *
 * Closing leaves all containers running. The next start finds them by their labels.
 */
import { backoffMs } from '../../../base/backoff.ts';
import { sleep } from '../../../base/clock.ts';
import { messageOf } from '../../../base/user-error.ts';
import type { ServiceRecord, VolumeRecord } from '../../store/records.ts';
import type {
  Execution,
  ExecutionResult,
  Runtime,
  RuntimeFactory,
  RuntimeHost,
  RuntimeRequest,
} from '../../domain/runtime.ts';
import { endReason, isReservedVariable } from './container-spec.ts';
import { EngineError, type Engine, type ListedContainer } from './engine/engine.ts';
import { runInContainer } from './exec.ts';
import { newestLogs } from './logs.ts';
import { Meter, type Gauge } from '../containers/meter.ts';
import { labels } from './names.ts';
import { Operations, type DockerOptions } from './operations.ts';
import { imageRefusal } from '../containers/registry-policy.ts';
import { retries, Subjects, type SubjectWork } from '../containers/subjects.ts';

const guardMs = 30_000;

export function dockerRuntime(engine: Engine, options: DockerOptions): RuntimeFactory {
  return (host) => new DockerRuntime(engine, options, host);
}

class DockerRuntime implements Runtime {
  readonly browser = 'endpoint';
  readonly #engine: Engine;
  readonly #options: DockerOptions;
  readonly #host: RuntimeHost;
  readonly #operations: Operations;
  readonly #meter: Meter;
  readonly #subjects: Subjects;
  readonly #closing = new AbortController();

  constructor(engine: Engine, options: DockerOptions, host: RuntimeHost) {
    this.#engine = engine;
    this.#options = options;
    this.#host = host;
    this.#operations = new Operations(engine, host.installation, options, host.logger);
    this.#subjects = new Subjects(host, this.#work());
    this.#meter = new Meter(this.#gauge(), host, {
      up: () => this.#subjects.ups(),
      onMissing: (serviceId) => this.#subjects.recheck(serviceId),
    });
  }

  resume(services: Iterable<ServiceRecord>, volumes: Iterable<VolumeRecord>): void {
    this.#subjects.resume(services, volumes);
    void this.#watch();
    void this.#guardEgress();
    this.#meter.start();
  }

  refusal(image: string, environmentNames: readonly string[]): string | undefined {
    const refusal = imageRefusal(image, this.#options.registries);
    if (refusal !== undefined) return refusal;
    const reserved = environmentNames.find(isReservedVariable);
    return reserved && `environment.${reserved}: names that begin with NVIDIA_ are set by the control plane`;
  }

  begin(request: RuntimeRequest): void {
    this.#subjects.begin(request);
  }

  async logs({ id }: ServiceRecord): Promise<string> {
    const [container] = await this.#operations.containersOf(id);
    return container ? newestLogs(await this.#engine.logs(container.id)) : '';
  }

  async exec({ id }: ServiceRecord, execution: Execution): Promise<ExecutionResult> {
    const running = await this.#runningContainer(id);
    if (!running) throw new EngineError('refused', `no container of service ${id} runs any more`);
    return runInContainer(this.#engine, this.#host.clock, running.id, execution);
  }

  metrics({ id }: ServiceRecord, minutes: number): Promise<object> {
    return Promise.resolve(this.#meter.metrics(id, minutes));
  }

  close(): void {
    this.#closing.abort();
    this.#meter.close();
    this.#subjects.close();
  }

  #work(): SubjectWork {
    return {
      carryOut: (request, failures, signal) => this.#operations.carryOut(request, failures, signal),
      isInUse: ({ subjectId }) => this.#isInUse(subjectId),
      endpointOf: ({ subjectId }) => this.#endpointOf(subjectId),
      whyDown: (serviceId, { endpoint }) => this.#whyDown(serviceId, endpoint),
      forget: (subjectId) => this.#meter.forget(subjectId),
      isFailure: (error) => error instanceof EngineError && error.kind === 'failed',
      onRetry: (error, details) =>
        this.#warn(error, 'the container engine did not do it, trying again', details),
    };
  }

  #gauge(): Gauge {
    return {
      running: async () => {
        const containers = await this.#engine.containers({ [labels.installation]: this.#host.installation });
        return new Map(
          containers
            .filter(({ isRunning }) => isRunning)
            .map((container) => [container.labels[labels.service] ?? '', container.id]),
        );
      },
      statistics: (containerId) => this.#engine.statistics(containerId),
    };
  }

  async #runningContainer(serviceId: string): Promise<ListedContainer | undefined> {
    const containers = await this.#operations.containersOf(serviceId);
    return containers.find(({ isRunning }) => isRunning);
  }

  /** Whether a service that is about to sleep was used since it was measured last. */
  async #isInUse(serviceId: string): Promise<boolean> {
    const running = await this.#runningContainer(serviceId);
    return running !== undefined && this.#meter.isInUse(serviceId, running.id);
  }

  async #endpointOf(serviceId: string): Promise<string | undefined> {
    const [container] = await this.#operations.containersOf(serviceId);
    const inspection = container && (await this.#engine.inspect(container.id));
    return inspection && this.#operations.endpointOf(inspection);
  }

  async #whyDown(serviceId: string, endpoint: string | null): Promise<string | undefined> {
    const [container] = await this.#operations.containersOf(serviceId);
    const inspection = container && (await this.#engine.inspect(container.id));
    if (!inspection) return 'the container was removed at the container engine';
    if (!inspection.State.Running) return endReason(inspection);
    const isWhereItWas = (this.#operations.endpointOf(inspection) ?? null) === endpoint;
    return isWhereItWas
      ? undefined
      : 'the container was restarted at the container engine, and answers elsewhere now';
  }

  /** Firewalls that start anew forget rules which are not theirs. */
  async #guardEgress(): Promise<void> {
    const { egress } = this.#options;
    if (!egress) return;
    const { installation, clock, logger } = this.#host;
    const { signal } = this.#closing;
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        const wasMissing = await egress.ensure(installation);
        if (wasMissing && !isFirst)
          logger.warn({}, 'the egress rules of containers were missing; they are back');
      } catch (error) {
        this.#warn(error, 'the egress rules of containers can not be set; nothing is launched meanwhile');
      }
      await sleep(clock, guardMs, signal);
    }
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    for (let tries = 0; !signal.aborted; tries += 1) {
      const attempt = new AbortController();
      try {
        await this.#watchOnce(AbortSignal.any([signal, attempt.signal]), () => {
          tries = 0;
        });
      } catch (error) {
        if (!signal.aborted) this.#warn(error, 'the container engine can not be watched, trying again');
      }
      attempt.abort();
      await sleep(this.#host.clock, backoffMs(tries, retries, this.#host.random), signal);
    }
  }

  async #watchOnce(signal: AbortSignal, onBegun: () => void): Promise<void> {
    const events = await this.#engine.events({ [labels.installation]: this.#host.installation }, signal);
    await this.#synchronize();
    onBegun();
    for await (const event of events) {
      if (event.action === 'die') this.#subjects.recheck(event.labels[labels.service] ?? '');
    }
  }

  async #synchronize(): Promise<void> {
    const installation = { [labels.installation]: this.#host.installation };
    for (const container of await this.#engine.containers(installation)) {
      if (!this.#subjects.has(container.labels[labels.service] ?? '')) await this.#removeOrphan(container);
    }
    for (const volume of await this.#engine.volumes(installation)) {
      const id = volume[labels.volume] ?? '';
      if (this.#subjects.has(id)) continue;
      this.#host.logger.warn({ volume: id }, 'a volume without a record is kept');
    }
    for (const id of this.#subjects.ups()) this.#subjects.recheck(id);
  }

  async #removeOrphan(container: ListedContainer): Promise<void> {
    this.#host.logger.warn({ container: container.id }, 'removing a container without a record');
    await this.#operations.retire(container);
    await this.#operations.tidyNetwork(container.labels[labels.account] ?? '');
  }

  #warn(error: unknown, message: string, details: object = {}): void {
    const failure = error instanceof EngineError ? { failure: error.kind, status: error.status } : {};
    this.#host.logger.warn({ error: messageOf(error), ...failure, ...details }, message);
  }
}
