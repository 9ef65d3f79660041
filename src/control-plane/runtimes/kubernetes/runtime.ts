/**
 * Services as Pods of a Kubernetes cluster, volumes as claims. operations.ts carries out requests, one at a time for each
 * service and volume (containers/subject.ts), with growing pauses for as long as the API server is away. A request that is
 * replaced is given up between two steps.
 *
 * The cluster is observed at the same time (cluster.ts). When everything was read once, and whenever a Pod changes,
 * services that should run are checked, and an end is reported. Pods without a record are removed once: after all records
 * are there, everything was read, and this process holds the Lease (office.ts).
 *
 * Closing leaves all Pods running. The next start finds them by their labels.
 */
import { backoffMs } from '../../../base/backoff.ts';
import { sleep } from '../../../base/clock.ts';
import { messageOf } from '../../../base/user-error.ts';
import { KubernetesError } from '../../../kubernetes/index.ts';
import type { ServiceRecord, VolumeRecord } from '../../store/records.ts';
import type { ControlPlaneConfig } from '../../domain/config.ts';
import type {
  Execution,
  ExecutionResult,
  Report,
  Runtime,
  RuntimeFactory,
  RuntimeHost,
  RuntimeRequest,
} from '../../domain/runtime.ts';
import { imageOf } from '../containers/image.ts';
import { Meter } from '../containers/meter.ts';
import { newestText } from '../containers/newest-text.ts';
import { RegistryPolicy } from '../containers/registry-policy.ts';
import { Subject } from '../containers/subject.ts';
import { Cluster, type ClusterParts } from './cluster.ts';
import { runInPod } from './exec.ts';
import { failureOf } from './failures.ts';
import { KeptLogs } from './kept-logs.ts';
import { containerName, labels } from './names.ts';
import { Operations } from './operations.ts';
import { variableRefusal } from './pod.ts';
import { sentenceOfAbsence, stateOf, type Bounds, type Pod } from './pod-state.ts';
import { sentenceOf } from './reasons.ts';
import { Usage } from './usage.ts';

const retries = { firstMs: 500, longestMs: 30_000 };

export function kubernetesRuntime(parts: ClusterParts, config: ControlPlaneConfig): RuntimeFactory {
  return (host) => new KubernetesRuntime(parts, config, host);
}

/** Of a service that should run, what a check needs. */
type Up = Pick<ServiceRecord, 'id' | 'accountId'> & { readonly memoryGb: number };

class KubernetesRuntime implements Runtime {
  readonly browser = 'endpoint';
  readonly #host: RuntimeHost;
  readonly #cluster: Cluster;
  readonly #operations: Operations;
  readonly #registries: RegistryPolicy;
  readonly #kept: KeptLogs;
  readonly #usage: Usage;
  readonly #meter: Meter;
  /** Every service and volume that has a record. */
  readonly #subjects = new Map<string, Subject>();
  readonly #ups = new Map<string, Up>();
  /** Pods as they were seen before they vanished, by service. */
  readonly #last = new Map<string, Pod>();
  readonly #closing = new AbortController();

  constructor(parts: ClusterParts, config: ControlPlaneConfig, host: RuntimeHost) {
    this.#host = host;
    this.#cluster = new Cluster(parts, host, (subjectId, { kind, object }) => {
      if (kind === 'deleted' && this.#ups.has(subjectId)) this.#last.set(subjectId, object as Pod);
      this.#recheck(subjectId);
    });
    this.#registries = new RegistryPolicy(config.containers.registries);
    this.#kept = new KeptLogs(parts.pods, host.clock);
    this.#operations = new Operations({
      cluster: this.#cluster,
      config,
      host,
      registries: this.#registries,
      kept: this.#kept,
    });
    this.#usage = new Usage({
      ...parts,
      installation: host.installation,
      clock: host.clock,
      observed: () => this.#cluster.pods.items.values(),
    });
    this.#meter = new Meter(this.#usage, host, {
      up: () => [...this.#subjects.values()].filter(({ up }) => up).map(({ id }) => id),
      onMissing: (serviceId) => this.#recheck(serviceId),
    });
  }

  resume(services: Iterable<ServiceRecord>, volumes: Iterable<VolumeRecord>): void {
    for (const service of services) {
      const subject = this.#subject(service.id);
      if (service.state !== 'running') continue;
      const { id, accountId, endpoint, resources } = service;
      subject.up = { endpoint };
      this.#ups.set(id, { id, accountId, memoryGb: resources.memoryGb });
    }
    for (const { id } of volumes) this.#subject(id);
    this.#cluster.start();
    this.#meter.start();
    void this.#synchronize();
  }

  refusal(image: string, environmentNames: readonly string[]): string | undefined {
    const repository = imageOf(image)?.toPull?.repository;
    if (repository !== undefined && this.#registries.refusesByName(repository)) {
      return `image: ${sentenceOf('RegistryNotAllowed')}`;
    }
    for (const name of environmentNames) {
      const refusal = variableRefusal(name);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  growthRefusal(volume: VolumeRecord): string | undefined {
    return this.#operations.growthRefusal(volume);
  }

  begin(request: RuntimeRequest): void {
    const subject = this.#subject(request.subjectId);
    subject.replace(request);
    this.#work(subject);
  }

  async logs(service: ServiceRecord): Promise<string> {
    const ids = { accountId: service.accountId, subjectId: service.id };
    const pod = await this.#operations.podOf(ids);
    if (!pod) return this.#kept.of(service.id);
    const target = this.#operations.podTarget(ids);
    try {
      const { signal } = this.#closing;
      return await newestText(this.#cluster.podApi.logs(target, containerName, false, signal));
    } catch (error) {
      // Its container has not begun, or the Pod was removed a moment ago.
      if (error instanceof KubernetesError && (error.status === 400 || error.status === 404)) {
        return this.#kept.of(service.id);
      }
      throw error;
    }
  }

  async exec({ id, accountId }: ServiceRecord, execution: Execution): Promise<ExecutionResult> {
    const ids = { accountId, subjectId: id };
    const pod = await this.#operations.podOf(ids);
    if (!pod || stateOf(pod, this.#boundsOf(id)).kind !== 'running') {
      throw new Error(`no container of service ${id} runs any more`);
    }
    return runInPod(this.#cluster.podApi, this.#host.clock, this.#operations.podTarget(ids), execution);
  }

  metrics({ id }: ServiceRecord, minutes: number): Promise<object> {
    return Promise.resolve({ ...this.#meter.metrics(id, minutes), note: this.#usage.note });
  }

  close(): void {
    this.#closing.abort();
    this.#meter.close();
    for (const subject of this.#subjects.values()) subject.replace(undefined);
    void this.#cluster
      .close()
      .catch((error: unknown) => this.#warn(error, 'the cluster was not left in order'));
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
   * Tries again for as long as `signal` allows. `work` gets the number of times that the cluster has `failed` at it.
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
        if (failureOf(error) === 'failed') failures += 1;
        const waitMs = Math.round(backoffMs(tries, retries, this.#host.random));
        this.#warn(error, 'the cluster did not do it, trying again', { ...details, waitMs });
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
    await this.#cluster.office.whenActing(signal);
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
      if (request.kind === 'provision') {
        const { accountId, launch } = request;
        this.#ups.set(subject.id, { id: subject.id, accountId, memoryGb: launch.resources.memoryGb });
      }
      // It may have ended since it was inspected.
      subject.isDoubtful = true;
    }
    if (request.kind === 'remove') this.#meter.forget(subject.id);
    if (request.kind === 'remove' || request.kind === 'volume-delete') this.#forget(subject.id);
  }

  #forget(subjectId: string): void {
    this.#subjects.delete(subjectId);
    this.#ups.delete(subjectId);
    this.#last.delete(subjectId);
  }

  /** The volume is deleted with its service: its open work ends first. */
  async #abandon(volumeId: string): Promise<void> {
    const volume = this.#subject(volumeId);
    volume.replace(undefined);
    await volume.work;
    this.#forget(volumeId);
  }

  /** Whether a service that is about to sleep was used since it was measured last. */
  async #isInUse(serviceId: string): Promise<boolean> {
    const uid = (await this.#usage.running()).get(serviceId);
    return uid !== undefined && this.#meter.isInUse(serviceId, uid);
  }

  async #keepRunning(request: RuntimeRequest): Promise<Report> {
    const report = { subjectId: request.subjectId, operationId: request.id, staysRunning: true } as const;
    const pod = await this.#operations.podOf(request);
    const endpoint = pod && (await this.#operations.endpointOf(request, pod));
    return endpoint === undefined ? report : { ...report, endpoint };
  }

  /** Reports when the container of a service that is up has ended. */
  async #inspect(subject: Subject): Promise<void> {
    subject.isDoubtful = false;
    const { up } = subject;
    const ids = this.#ups.get(subject.id);
    if (!up || !ids) return;
    try {
      const reason = await this.#whyDown(ids);
      if (reason === undefined || subject.up !== up) return;
      this.#host.onEnded(subject.id, reason);
      subject.up = undefined;
    } catch (error) {
      subject.isDoubtful = true;
      throw error;
    }
  }

  async #whyDown({ id, accountId }: Up): Promise<string | undefined> {
    const pod = await this.#operations.podOf({ accountId, subjectId: id });
    if (!pod) return sentenceOfAbsence(this.#last.get(id), this.#boundsOf(id));
    const state = stateOf(pod, this.#boundsOf(id));
    if (state.kind === 'ended' || state.kind === 'leaving') return state.sentence;
    return state.kind === 'failed' ? sentenceOf(state.reason) : undefined;
  }

  #boundsOf(serviceId: string): Bounds {
    return this.#operations.boundsOf(this.#ups.get(serviceId)?.memoryGb ?? 0);
  }

  async #synchronize(): Promise<void> {
    const { signal } = this.#closing;
    try {
      await this.#cluster.whenSynced();
      for (const subject of this.#subjects.values()) if (subject.up) this.#recheck(subject.id);
      await this.#cluster.office.whenActing(signal);
      for (const pod of this.#cluster.pods.items.values()) await this.#removeIfOrphan(pod as Pod);
      for (const { metadata } of this.#cluster.claims.items.values()) {
        const id = metadata.labels?.[labels.volume] ?? '';
        if (this.#subjects.has(id)) continue;
        this.#host.logger.warn({ volume: id }, 'a volume without a record is kept');
      }
    } catch (error) {
      if (!signal.aborted) this.#warn(error, 'what has no record could not be examined');
    }
  }

  async #removeIfOrphan(pod: Pod): Promise<void> {
    if (this.#subjects.has(pod.metadata.labels?.[labels.service] ?? '')) return;
    this.#host.logger.warn({ pod: pod.metadata.name }, 'removing a Pod without a record');
    await this.#operations.removeOrphan(pod, this.#closing.signal);
  }

  #recheck(subjectId: string): void {
    const subject = this.#subjects.get(subjectId);
    if (!subject?.up) return;
    subject.isDoubtful = true;
    this.#work(subject);
  }

  #warn(error: unknown, message: string, details: object = {}): void {
    const failure = error instanceof KubernetesError ? { status: error.status } : {};
    this.#host.logger.warn({ error: messageOf(error), ...failure, ...details }, message);
  }
}
