/**
 * What is measured of Pods. The first source that serves it counts:
 *
 * | source | needs | has |
 * |---|---|---|
 * | the kubelets' summary | the right to `nodes/proxy`, which is a large one | CPU, memory, network |
 * | `metrics.k8s.io` | the metrics server | CPU, memory; so every service counts as used |
 * | none | | nothing: metrics have no samples, and every service counts as used |
 */
import {
  KubernetesError,
  type KubernetesApi,
  type KubernetesObject,
  type PodApi,
} from '../../../kubernetes/index.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Gauge } from '../containers/meter.ts';
import type { Statistics } from '../containers/statistics.ts';
import { labels, selectorOf } from './names.ts';
import type { Pod } from './pod-state.ts';
import { amountOf } from './quantity.ts';
import { podMetrics } from './resources.ts';

const notes = {
  summary: 'measured by the kubelets since this server was started; they measure no GPUs',
  metrics: 'measured by the metrics server of the cluster since this server was started; it measures no GPUs',
  none: 'this cluster serves no measurements to the control plane',
} as const;

/** How old a measurement may be that is used again. */
const freshMs = 1000;

interface UsageParts {
  readonly api: Pick<KubernetesApi, 'list'>;
  readonly pods: Pick<PodApi, 'nodeSummary'>;
  readonly installation: string;
  readonly clock: Clock;
  /** As observed. */
  readonly observed: () => Iterable<KubernetesObject>;
}

export class Usage implements Gauge {
  readonly #parts: UsageParts;
  #source: keyof typeof notes = 'summary';
  #measured: ReadonlyMap<string, Statistics> = new Map();
  #measuredAtMs = -Infinity;
  /** Of the metrics server, which measures rates: by uid, summed up. */
  readonly #cpuNanos = new Map<string, { nanos: number; atMs: number }>();

  constructor(parts: UsageParts) {
    this.#parts = parts;
  }

  get note(): string {
    return notes[this.#source];
  }

  /** The uid of the Pod of each service that runs. */
  running(): Promise<ReadonlyMap<string, string>> {
    const running = [...this.#runningPods()].map(
      ({ metadata }) => [metadata.labels?.[labels.service] ?? '', metadata.uid] as const,
    );
    return Promise.resolve(new Map(running));
  }

  async statistics(uid: string): Promise<Statistics | undefined> {
    const nowMs = this.#parts.clock.monotonicMs();
    if (nowMs - this.#measuredAtMs > freshMs) {
      this.#measured = await this.#measure();
      this.#measuredAtMs = nowMs;
    }
    // A Pod that nobody measures counts as used.
    return this.#measured.get(uid) ?? {};
  }

  *#runningPods(): Generator<Pod> {
    for (const pod of this.#parts.observed() as Iterable<Pod>) if (pod.status?.phase === 'Running') yield pod;
  }

  async #measure(): Promise<ReadonlyMap<string, Statistics>> {
    if (this.#source === 'summary') {
      const measured = await unlessMissing(() => this.#fromKubelets());
      if (measured) return measured;
    }
    const measured = await unlessMissing(() => this.#fromMetricsServer());
    this.#source = measured ? 'metrics' : 'none';
    return measured ?? new Map();
  }

  async #fromKubelets(): Promise<ReadonlyMap<string, Statistics>> {
    const nodes = new Set([...this.#runningPods()].flatMap(({ spec }) => spec?.nodeName ?? []));
    const measured = new Map<string, Statistics>();
    for (const node of nodes) {
      const { pods = [] } = (await this.#parts.pods.nodeSummary(node)) as Summary;
      for (const pod of pods)
        if (pod.podRef?.uid !== undefined) measured.set(pod.podRef.uid, statisticsOf(pod));
    }
    return measured;
  }

  async #fromMetricsServer(): Promise<ReadonlyMap<string, Statistics>> {
    const { api, installation, clock } = this.#parts;
    const labelSelector = selectorOf({ [labels.installation]: installation });
    const { items } = await api.list(podMetrics, { labelSelector });
    const uids = new Map([...this.#runningPods()].map(({ metadata }) => [keyOf(metadata), metadata.uid]));
    const nowMs = clock.monotonicMs();
    const measured = new Map<string, Statistics>();
    for (const item of items as readonly PodMetrics[]) {
      const uid = uids.get(keyOf(item.metadata));
      if (uid === undefined) continue;
      const usages = (item.containers ?? []).map(({ usage }) => usage);
      const cores = usages.reduce((sum, usage) => sum + amountOf(usage?.cpu), 0);
      const bytes = usages.reduce((sum, usage) => sum + amountOf(usage?.memory), 0);
      measured.set(uid, {
        cpu_stats: { cpu_usage: { total_usage: this.#sumUp(uid, cores, nowMs) } },
        memory_stats: { usage: bytes },
      });
    }
    for (const uid of this.#cpuNanos.keys()) if (!measured.has(uid)) this.#cpuNanos.delete(uid);
    return measured;
  }

  #sumUp(uid: string, cores: number, nowMs: number): number {
    const { nanos, atMs } = this.#cpuNanos.get(uid) ?? { nanos: 0, atMs: nowMs };
    const sum = nanos + cores * (nowMs - atMs) * 1e6;
    this.#cpuNanos.set(uid, { nanos: sum, atMs: nowMs });
    return sum;
  }
}

interface PodSummary {
  readonly podRef?: { readonly uid?: string };
  readonly cpu?: { readonly time?: string; readonly usageCoreNanoSeconds?: number };
  readonly memory?: { readonly workingSetBytes?: number };
  readonly network?: { readonly rxBytes?: number };
}

interface Summary {
  readonly pods?: readonly PodSummary[];
}

interface PodMetrics extends KubernetesObject {
  readonly containers?: readonly { readonly usage?: { readonly cpu?: string; readonly memory?: string } }[];
}

function statisticsOf({ cpu, memory, network }: PodSummary): Statistics {
  return {
    ...(cpu?.time !== undefined && { read: cpu.time }),
    cpu_stats: { cpu_usage: { total_usage: cpu?.usageCoreNanoSeconds ?? 0 } },
    memory_stats: { usage: memory?.workingSetBytes ?? 0 },
    ...(network?.rxBytes !== undefined && { networks: { all: { rx_bytes: network.rxBytes } } }),
  };
}

function keyOf({ namespace = '', name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** Undefined where the source is not served, or not to this control plane. */
async function unlessMissing<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof KubernetesError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}
