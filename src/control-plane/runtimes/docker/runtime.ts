/**
 * Real containers, through the Docker Engine API. operations.ts carries out requests, one at a time for each service
 * and volume (subject.ts), with growing pauses for as long as the engine is away. A request that is replaced is given
 * up between two steps.
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
  Report,
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
import { imageOf } from '../containers/image.ts';
import { Operations, type DockerOptions } from './operations.ts';
import { sentenceOf } from './reasons.ts';
import { Subject } from '../containers/subject.ts';

const guardMs = 30_000;
const retries = { firstMs: 500, longestMs: 30_000 };

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
  /** Every service and volume that has a record. */
  readonly #subjects = new Map<string, Subject>();
  readonly #closing = new AbortController();

  constructor(engine: Engine, options: DockerOptions, host: RuntimeHost) {
    this.#engine = engine;
    this.#options = options;
    this.#host = host;
    this.#operations = new Operations(engine, host.installation, options, host.logger);
    this.#meter = new Meter(this.#gauge(), host, {
      up: () => this.#upIds(),
      onMissing: (serviceId) => this.#recheck(this.#subject(serviceId)),
    });
  }

  resume(services: Iterable<ServiceRecord>, volumes: Iterable<VolumeRecord>): void {
    for (const { id, state, endpoint } of services) {
      if (state === 'running') this.#subject(id).up = { endpoint };
      else this.#subject(id);
    }
    for (const { id } of volumes) this.#subject(id);
    void this.#watch();
    void this.#guardEgress();
    this.#meter.start();
  }

  refusal(image: string, environmentNames: readonly string[]): string | undefined {
    const repository = imageOf(image)?.toPull?.repository;
    if (repository !== undefined && this.#options.registries.refusesByName(repository)) {
      return `image: ${sentenceOf('RegistryNotAllowed')}`;
    }
    const reserved = environmentNames.find(isReservedVariable);
    return reserved && `environment.${reserved}: names that begin with NVIDIA_ are set by the control plane`;
  }

  begin(request: RuntimeRequest): void {
    const subject = this.#subject(request.subjectId);
    subject.replace(request);
    this.#work(subject);
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
    for (const subject of this.#subjects.values()) subject.replace(undefined);
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

  #subject(id: string): Subject {
    let subject = this.#subjects.get(id);
    if (!subject) this.#subjects.set(id, (subject = new Subject(id)));
    return subject;
  }

  #work(subject: Subject): void {
    subject.work ??= this.#workOff(subject);
  }

  async #workOff(subject: Subject): Promise<void> {
    while (subject.request || subject.isDoubtful) {
      const { request, signal } = subject;
      const details = { subject: subject.id, operation: request?.kind ?? 'inspect' };
      await this.#untilDone(details, signal, (failures) =>
        request ? this.#carryOut(subject, request, failures, signal) : this.#inspect(subject),
      );
    }
    subject.work = undefined;
  }

  /**
   * Tries again for as long as `signal` allows. `work` gets the number of times that the engine has `failed` at it.
   */
  async #untilDone(
    details: object,
    signal: AbortSignal,
    work: (failures: number) => Promise<void>,
  ): Promise<void> {
    let failures = 0;
    for (let tries = 0; !signal.aborted; tries += 1) {
      try {
        return await work(failures);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof EngineError && error.kind === 'failed') failures += 1;
        const waitMs = Math.round(backoffMs(tries, retries, this.#host.random));
        this.#warn(error, 'the container engine did not do it, trying again', { ...details, waitMs });
        await sleep(this.#host.clock, waitMs, signal);
      }
    }
  }

  async #carryOut(
    subject: Subject,
    request: RuntimeRequest,
    failures: number,
    signal: AbortSignal,
  ): Promise<void> {
    const ownedVolumeId = request.kind === 'remove' ? request.ownedVolumeId : null;
    if (ownedVolumeId !== null) await this.#abandon(ownedVolumeId);
    const staysRunning = request.kind === 'sleep' && (await this.#isInUse(subject.id));
    const report = staysRunning
      ? await this.#keepRunning(request)
      : await this.#operations.carryOut(request, failures, signal);
    if (signal.aborted) return;
    this.#host.onReports([report]);
    // Taking the report may have led to the next request.
    if (subject.request !== request) return;
    subject.request = undefined;
    if ((request.kind === 'provision' && report.error === undefined) || report.staysRunning) {
      subject.up = { endpoint: report.endpoint ?? null };
      // It may have ended since it was inspected.
      subject.isDoubtful = true;
    }
    if (request.kind === 'remove') this.#meter.forget(subject.id);
    if (request.kind === 'remove' || request.kind === 'volume-delete') this.#subjects.delete(subject.id);
  }

  /** The volume is deleted with its service: its open work ends first. */
  async #abandon(volumeId: string): Promise<void> {
    const volume = this.#subject(volumeId);
    volume.replace(undefined);
    await volume.work;
    this.#subjects.delete(volumeId);
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

  async #keepRunning({ subjectId, id }: RuntimeRequest): Promise<Report> {
    const report = { subjectId, operationId: id, staysRunning: true } as const;
    const [container] = await this.#operations.containersOf(subjectId);
    const inspection = container && (await this.#engine.inspect(container.id));
    const endpoint = inspection && this.#operations.endpointOf(inspection);
    return endpoint === undefined ? report : { ...report, endpoint };
  }

  /** Reports when the container of a service that is up has ended. */
  async #inspect(subject: Subject): Promise<void> {
    subject.isDoubtful = false;
    const { up } = subject;
    if (!up) return;
    try {
      const reason = await this.#whyDown(subject.id, up.endpoint);
      if (reason === undefined || subject.up !== up) return;
      this.#host.onEnded(subject.id, reason);
      subject.up = undefined;
    } catch (error) {
      subject.isDoubtful = true;
      throw error;
    }
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
      const subject = this.#subjects.get(event.labels[labels.service] ?? '');
      if (subject && event.action === 'die') this.#recheck(subject);
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
    for (const subject of this.#subjects.values()) if (subject.up) this.#recheck(subject);
  }

  async #removeOrphan(container: ListedContainer): Promise<void> {
    this.#host.logger.warn({ container: container.id }, 'removing a container without a record');
    await this.#operations.retire(container);
    await this.#operations.tidyNetwork(container.labels[labels.account] ?? '');
  }

  #recheck(subject: Subject): void {
    subject.isDoubtful = true;
    this.#work(subject);
  }

  #upIds(): string[] {
    return Array.from(this.#subjects.values())
      .filter(({ up }) => up)
      .map(({ id }) => id);
  }

  #warn(error: unknown, message: string, details: object = {}): void {
    const failure = error instanceof EngineError ? { failure: error.kind, status: error.status } : {};
    this.#host.logger.warn({ error: messageOf(error), ...failure, ...details }, message);
  }
}
