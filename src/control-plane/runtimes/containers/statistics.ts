/**
 * The use of containers, measured every few seconds and kept for 6 hours in memory. One measurement has the CPU time
 * and the received bytes of the container since its start; two of them give the use.
 *
 * A service counts as used when it has received more between two measurements than a network sends by itself. Without
 * an earlier measurement it counts as used, too, and where no network is measured: better awake for too long than asleep
 * too soon.
 */
/** In Docker's terms. Engines leave out what their machine doesn't count. */
export interface Statistics {
  readonly read?: string;
  readonly cpu_stats?: { readonly cpu_usage: { readonly total_usage: number } };
  readonly memory_stats?: {
    readonly usage?: number;
    readonly stats?: { readonly total_inactive_file?: number; readonly inactive_file?: number };
  };
  readonly networks?: Readonly<Record<string, { readonly rx_bytes: number }>>;
}

interface Measurement {
  readonly containerId: string;
  readonly atMs: number;
  readonly cpuNanos: number;
  /** Undefined: not measured. */
  readonly receivedBytes: number | undefined;
}

interface Sample {
  readonly atMs: number;
  readonly cpuCores: number;
  readonly memoryGb: number;
}

const keptMs = 6 * 60 * 60 * 1000;
/** Measurements may be more frequent; so many samples as this makes are enough. */
const betweenSamplesMs = 10_000;
const samplesShown = 60;
/** Address resolution and neighbour discovery are below, the smallest request over TCP is above. */
const housekeepingBytes = 256;

export class StatisticsHistory {
  readonly #latest = new Map<string, Measurement>();
  readonly #samples = new Map<string, Sample[]>();

  /** Whether the service was in use since it was measured before. `nowMs` is real time. */
  add(serviceId: string, containerId: string, statistics: Statistics, nowMs: number): boolean {
    const before = this.#latest.get(serviceId);
    const after = measurementOf(containerId, statistics, nowMs);
    this.#latest.set(serviceId, after);
    if (before?.containerId !== containerId) return true;
    if (statistics.cpu_stats) {
      this.#keep(serviceId, {
        atMs: nowMs,
        cpuCores: (after.cpuNanos - before.cpuNanos) / (1e6 * Math.max(1, after.atMs - before.atMs)),
        memoryGb: memoryBytesOf(statistics) / 2 ** 30,
      });
    }
    if (after.receivedBytes === undefined || before.receivedBytes === undefined) return true;
    return after.receivedBytes - before.receivedBytes > housekeepingBytes;
  }

  forget(serviceId: string): void {
    this.#latest.delete(serviceId);
    this.#samples.delete(serviceId);
  }

  /** At most 60 samples, oldest first: the average of each interval in which something was measured. */
  metrics(serviceId: string, minutes: number, nowMs: number): object {
    const intervalMs = (minutes * 60_000) / samplesShown;
    const lastMs = Math.floor(nowMs / intervalMs) * intervalMs;
    const kept = this.#samples.get(serviceId) ?? [];
    const intervals = Array.from({ length: samplesShown }, (_, index) => {
      const atMs = lastMs - (samplesShown - 1 - index) * intervalMs;
      return {
        atMs,
        within: kept.filter((sample) => sample.atMs > atMs - intervalMs && sample.atMs <= atMs),
      };
    });
    return {
      minutes,
      intervalSeconds: intervalMs / 1000,
      simulated: false,
      note: 'measured by the container engine since this server was started; it measures no GPUs',
      samples: intervals
        .filter(({ within }) => within.length > 0)
        .map(({ atMs, within }) => ({
          at: atMs,
          cpuCores: average(within.map((sample) => sample.cpuCores)),
          memoryGb: average(within.map((sample) => sample.memoryGb)),
          gpuPercent: null,
        })),
    };
  }

  #keep(serviceId: string, sample: Sample): void {
    let kept = this.#samples.get(serviceId);
    if (!kept) this.#samples.set(serviceId, (kept = []));
    const previous = kept.at(-1);
    if (previous && sample.atMs - previous.atMs < betweenSamplesMs) return;
    kept.push(sample);
    while (kept[0] && kept[0].atMs < sample.atMs - keptMs) kept.shift();
  }
}

function measurementOf(containerId: string, statistics: Statistics, nowMs: number): Measurement {
  const networks = statistics.networks && Object.values(statistics.networks);
  return {
    containerId,
    atMs: statistics.read === undefined ? nowMs : new Date(statistics.read).getTime(),
    cpuNanos: statistics.cpu_stats?.cpu_usage.total_usage ?? 0,
    receivedBytes: networks?.reduce((sum, network) => sum + network.rx_bytes, 0),
  };
}

/** Without the cache of files that the kernel can take back: as `docker stats` shows it. */
function memoryBytesOf({ memory_stats: memory }: Statistics): number {
  const cached = memory?.stats?.total_inactive_file ?? memory?.stats?.inactive_file ?? 0;
  return (memory?.usage ?? 0) - cached;
}

function average(values: readonly number[]): number {
  return Math.round((1000 * values.reduce((sum, value) => sum + value, 0)) / values.length) / 1000;
}
