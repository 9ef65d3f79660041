/**
 * Which GPUs of the machine a container gets. An engine that is asked for "one GPU" gives everybody the first one, so
 * each container is created with the ids of its own. They are written into a label of the container: what is taken is
 * read from the engine, which outlives this process and may serve several control planes.
 *
 *   free ──(reserved: its container is being created)──> taken (in the label of a container that has not ended) ──> free
 *
 * One launch at a time looks and reserves. A reservation ends when its container exists, or will not.
 */
import type { Engine } from './engine/engine.ts';
import { KeyedLock } from '../containers/keyed-lock.ts';
import { labels } from './names.ts';

export interface GpuDevice {
  /** As the engine knows it: its UUID (`GPU-…`), or its index. */
  readonly id: string;
  /** Of the GPU catalog. */
  readonly model: string;
}

export class Gpus {
  readonly #engine: Engine;
  readonly #devices: readonly GpuDevice[];
  readonly #lock = new KeyedLock();
  /** By service. */
  readonly #reserved = new Map<string, readonly string[]>();

  constructor(engine: Engine, devices: readonly GpuDevice[]) {
    this.#engine = engine;
    this.#devices = devices;
  }

  /** `count` free ones of a model, reserved for the service until `settle`; undefined when there are not so many. */
  reserve(serviceId: string, model: string | null, count: number): Promise<readonly string[] | undefined> {
    if (count === 0) return Promise.resolve([]);
    return this.#lock.run('gpus', async () => {
      const taken = new Set(await this.#takenBesides(serviceId));
      const free = this.#devices.filter((device) => device.model === model && !taken.has(device.id));
      if (free.length < count) return undefined;
      const ids = free.slice(0, count).map(({ id }) => id);
      this.#reserved.set(serviceId, ids);
      return ids;
    });
  }

  /** The container exists, and its label shows its GPUs; or there will be none. */
  settle(serviceId: string): void {
    this.#reserved.delete(serviceId);
  }

  async #takenBesides(serviceId: string): Promise<string[]> {
    const containers = await this.#engine.containersWith(labels.gpus);
    const held = containers
      .filter((container) => !container.hasEnded && container.labels[labels.service] !== serviceId)
      .flatMap((container) => (container.labels[labels.gpus] ?? '').split(','));
    const reserved = [...this.#reserved].flatMap(([service, ids]) => (service === serviceId ? [] : ids));
    return [...held, ...reserved];
  }
}
