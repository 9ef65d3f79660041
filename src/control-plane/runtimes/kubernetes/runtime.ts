/**
 * Services as Pods of a Kubernetes cluster, volumes as claims. operations.ts carries out requests, one at a time for each
 * service and volume (containers/subjects.ts).
 *
 * The cluster is observed at the same time (cluster.ts). When everything was read once, and whenever a Pod changes,
 * services that should run are checked, and an end is reported. Pods without a record are removed once: after all records
 * are there, everything was read, and this process holds the Lease (office.ts).
 *
 * Closing leaves all Pods running. The next start finds them by their labels.
 */
import { messageOf } from '../../../base/user-error.ts';
import { KubernetesError } from '../../../kubernetes/index.ts';
import type { ServiceRecord, VolumeRecord } from '../../store/records.ts';
import type { ControlPlaneConfig } from '../../domain/config.ts';
import type {
  Execution,
  ExecutionResult,
  Runtime,
  RuntimeFactory,
  RuntimeHost,
  RuntimeRequest,
} from '../../domain/runtime.ts';
import { Meter } from '../containers/meter.ts';
import { newestText } from '../containers/newest-text.ts';
import { imageRefusal, RegistryPolicy } from '../containers/registry-policy.ts';
import { sentenceOf } from '../containers/reasons.ts';
import type { Up } from '../containers/subject.ts';
import { Subjects, type SubjectWork } from '../containers/subjects.ts';
import { NodeBounds } from './capacity.ts';
import { Cluster, type ClusterParts } from './cluster.ts';
import { runInPod } from './exec.ts';
import { failureOf } from './failures.ts';
import { KeptLogs } from './kept-logs.ts';
import { containerName, labels } from './names.ts';
import { Operations } from './operations.ts';
import { variableRefusal } from './pod.ts';
import { sentenceOfAbsence, stateOf, type Bounds, type Pod } from './pod-state.ts';
import { Usage } from './usage.ts';

export function kubernetesRuntime(parts: ClusterParts, config: ControlPlaneConfig): RuntimeFactory {
  return (host) => new KubernetesRuntime(parts, config, host);
}

class KubernetesRuntime implements Runtime {
  readonly browser = 'endpoint';
  readonly #host: RuntimeHost;
  readonly #cluster: Cluster;
  readonly #operations: Operations;
  readonly #registries: RegistryPolicy;
  readonly #kept: KeptLogs;
  readonly #usage: Usage;
  readonly #meter: Meter;
  readonly #subjects: Subjects;
  readonly #nodeBounds: NodeBounds;
  readonly #firstBounds: ClusterParts['bounds'];
  /** Pods as they were seen before they vanished, by service. */
  readonly #last = new Map<string, Pod>();
  readonly #closing = new AbortController();

  constructor(parts: ClusterParts, config: ControlPlaneConfig, host: RuntimeHost) {
    this.#host = host;
    this.#firstBounds = parts.bounds;
    const nodes = () => this.#cluster.nodes.items.values();
    this.#nodeBounds = new NodeBounds({ ...host, api: parts.api, config, nodes });
    const onNodes = () => this.#nodeBounds.noticed();
    this.#cluster = new Cluster(parts, host, onNodes, (subjectId, { kind, object }) => {
      if (kind === 'deleted' && this.#subjects.upOf(subjectId)) this.#last.set(subjectId, object as Pod);
      this.#subjects.recheck(subjectId);
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
    this.#subjects = new Subjects(host, this.#work());
    this.#usage = new Usage({
      ...parts,
      installation: host.installation,
      clock: host.clock,
      observed: () => this.#cluster.pods.items.values(),
    });
    this.#meter = new Meter(this.#usage, host, {
      up: () => this.#subjects.ups(),
      onMissing: (serviceId) => this.#subjects.recheck(serviceId),
    });
  }

  resume(services: Iterable<ServiceRecord>, volumes: Iterable<VolumeRecord>): void {
    this.#subjects.resume(services, volumes);
    this.#cluster.start();
    this.#meter.start();
    if (this.#firstBounds) this.#host.onBounds(this.#firstBounds);
    void this.#nodeBounds.start();
    void this.#synchronize();
  }

  refusal(image: string, environmentNames: readonly string[]): string | undefined {
    const imageRefused = imageRefusal(image, this.#registries);
    if (imageRefused !== undefined) return imageRefused;
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
    this.#subjects.begin(request);
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
    this.#nodeBounds.close();
    this.#meter.close();
    this.#subjects.close();
    void this.#cluster
      .close()
      .catch((error: unknown) => this.#warn(error, 'the cluster was not left in order'));
  }

  #work(): SubjectWork {
    const { office } = this.#cluster;
    return {
      mayBegin: (signal) => office.whenActing(signal),
      carryOut: (request, failures, signal) => this.#operations.carryOut(request, failures, signal),
      isInUse: ({ subjectId }) => this.#isInUse(subjectId),
      endpointOf: async (request) => {
        const pod = await this.#operations.podOf(request);
        return pod && this.#operations.endpointOf(request, pod);
      },
      whyDown: (serviceId, up) => this.#whyDown(serviceId, up),
      forget: (subjectId) => {
        this.#meter.forget(subjectId);
        this.#last.delete(subjectId);
      },
      isFailure: (error) => failureOf(error) === 'failed',
      onRetry: (error, details) => this.#warn(error, 'the cluster did not do it, trying again', details),
    };
  }

  /** Whether a service that is about to sleep was used since it was measured last. */
  async #isInUse(serviceId: string): Promise<boolean> {
    const uid = (await this.#usage.running()).get(serviceId);
    return uid !== undefined && this.#meter.isInUse(serviceId, uid);
  }

  async #whyDown(id: string, { accountId }: Up): Promise<string | undefined> {
    const pod = await this.#operations.podOf({ accountId, subjectId: id });
    if (!pod) return sentenceOfAbsence(this.#last.get(id), this.#boundsOf(id));
    const state = stateOf(pod, this.#boundsOf(id));
    if (state.kind === 'ended' || state.kind === 'leaving') return state.sentence;
    return state.kind === 'failed' ? sentenceOf(state.reason) : undefined;
  }

  #boundsOf(serviceId: string): Bounds {
    return this.#operations.boundsOf(this.#subjects.upOf(serviceId)?.memoryGb ?? 0);
  }

  async #synchronize(): Promise<void> {
    const { signal } = this.#closing;
    try {
      await this.#cluster.whenSynced();
      for (const id of this.#subjects.ups()) this.#subjects.recheck(id);
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

  #warn(error: unknown, message: string, details: object = {}): void {
    const failure = error instanceof KubernetesError ? { status: error.status } : {};
    this.#host.logger.warn({ error: messageOf(error), ...failure, ...details }, message);
  }
}
