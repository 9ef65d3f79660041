/**
 * Measures everything that should run, again and again: for metrics, and to report to the control plane which
 * services were in use. What should run and can't be measured is reported, too.
 */
import { messageOf } from '../../../base/user-error.ts';
import type { Timer } from '../../../base/clock.ts';
import type { RuntimeHost } from '../../domain/runtime.ts';
import { StatisticsHistory, type Statistics } from './statistics.ts';

/** On the platform's clock, but not more often than once per second of real time. */
const pauseMs = 15_000;
const shortestPauseMs = 1000;

/** Where the measurements come from. */
export interface Gauge {
  /** The container of each service that runs one. */
  running(): Promise<ReadonlyMap<string, string>>;
  /** Undefined when there is none of it. */
  statistics(containerId: string): Promise<Statistics | undefined>;
}

interface MeteredServices {
  /** Those that should run. */
  up(this: void): Iterable<string>;
  onMissing(this: void, serviceId: string): void;
}

export class Meter {
  readonly #gauge: Gauge;
  readonly #host: RuntimeHost;
  readonly #services: MeteredServices;
  readonly #history = new StatisticsHistory();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(gauge: Gauge, host: RuntimeHost, services: MeteredServices) {
    this.#gauge = gauge;
    this.#host = host;
    this.#services = services;
  }

  start(): void {
    const { time } = this.#host;
    const delayMs = Math.max(pauseMs, time.during(shortestPauseMs));
    this.#timer = time.after(delayMs, () => void this.#measureAll());
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** Measures one more time: whether the service was in use since the last time. */
  async isInUse(serviceId: string, containerId: string): Promise<boolean> {
    const statistics = await this.#gauge.statistics(containerId);
    if (!statistics) return false;
    return this.#history.add(serviceId, containerId, statistics, this.#host.clock.wallMs());
  }

  metrics(serviceId: string, minutes: number): object {
    return this.#history.metrics(serviceId, minutes, this.#host.clock.wallMs());
  }

  forget(serviceId: string): void {
    this.#history.forget(serviceId);
  }

  async #measureAll(): Promise<void> {
    const { logger, onUsed } = this.#host;
    try {
      const used = await this.#usedOnes();
      if (used.length > 0 && !this.#isClosed) onUsed(used);
    } catch (error) {
      logger.warn({ error: messageOf(error) }, 'the use of containers could not be measured');
    }
    if (!this.#isClosed) this.start();
  }

  async #usedOnes(): Promise<string[]> {
    const running = await this.#gauge.running();
    const used: string[] = [];
    for (const serviceId of this.#services.up()) {
      const containerId = running.get(serviceId);
      if (containerId === undefined) this.#services.onMissing(serviceId);
      else if (await this.isInUse(serviceId, containerId)) used.push(serviceId);
    }
    return used;
  }
}
