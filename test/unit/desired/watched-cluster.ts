/** A cluster in memory with a source on it, on a clock made by hand. */
import { onTestFinished } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import {
  createClusterSource,
  type ClusterDesiredSource,
  type ClusterSourceOptions,
  type DesiredObject,
  type DesiredSnapshot,
} from '../../../src/desired/index.ts';
import { createLogger, createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryCluster, serviceSpec } from '../../support/memory-cluster.ts';

export class WatchedCluster {
  readonly clock = new ManualClock();
  readonly cluster = new MemoryCluster();
  readonly snapshots: DesiredSnapshot[] = [];
  readonly log: string[] = [];
  /** Objects of which only the status moved. */
  readonly statuses: string[] = [];
  source: ClusterDesiredSource | undefined;

  get latest(): DesiredSnapshot {
    const latest = this.snapshots.at(-1);
    if (!latest) throw new Error('no snapshot yet');
    return latest;
  }

  object(key: string): DesiredObject {
    const found = this.latest.objects.get(key as DesiredObject['key']);
    if (!found) throw new Error(`${key} is not in the snapshot`);
    return found;
  }

  /** Begins; the first snapshot is the first of `snapshots`, when it comes. */
  start(options: Partial<ClusterSourceOptions> = {}): Promise<DesiredSnapshot> {
    const source = createClusterSource({
      api: this.cluster,
      namespaces: [],
      shard: undefined,
      clock: this.clock,
      random: systemRandom,
      logger: createLogger('info', { write: (line) => void this.log.push(line) }),
      metrics: createMetrics(),
      onStatus: (key) => this.statuses.push(key),
      ...options,
    });
    this.source = source;
    onTestFinished(() => source.stop());
    const starting = source.start((snapshot) => this.snapshots.push(snapshot));
    starting.then((first) => this.snapshots.unshift(first)).catch(() => {});
    return starting;
  }

  /** With what is there already. */
  static async with(
    fill: (cluster: MemoryCluster) => void,
    options: Partial<ClusterSourceOptions> = {},
  ): Promise<WatchedCluster> {
    const world = new WatchedCluster();
    fill(world.cluster);
    const starting = world.start(options);
    await world.clock.advance(0);
    await starting;
    return world;
  }

  /** Long enough for what has changed to be in the latest snapshot. */
  async settle(): Promise<void> {
    await this.clock.advance(50);
  }
}

export function putService(
  cluster: MemoryCluster,
  name: string,
  more: object = {},
  metadata: object = {},
): void {
  cluster.put('ContainerService', { metadata: { name, ...metadata }, spec: serviceSpec(more) });
}

/** A variable from the key `key` of the Secret `name`. */
export function fromSecret(name: string, key = 'key'): object {
  return { name: 'TOKEN', valueFrom: { secretKeyRef: { name, key } } };
}
