/** Reports of the runtime, written into the records. Each call is one transaction; a throw undoes all of it. */
import type { Lifecycle } from './lifecycle.ts';
import type { Report } from './runtime.ts';
import type { Store } from '../store/store.ts';
import type { Volumes } from './volumes.ts';

export class Settlement {
  readonly #store: Store;
  readonly #lifecycle: Lifecycle;
  readonly #volumes: Volumes;

  constructor(store: Store, lifecycle: Lifecycle, volumes: Volumes) {
    this.#store = store;
    this.#lifecycle = lifecycle;
    this.#volumes = volumes;
  }

  onReports(reports: readonly Report[]): void {
    this.#store.unit.run(() => {
      for (const report of reports) this.#settle(report);
    });
  }

  onEnded(serviceId: string, reason: string): void {
    this.#store.unit.run(() => this.#lifecycle.ended(serviceId, reason));
  }

  onUsed(serviceIds: readonly string[]): void {
    this.#store.unit.run(() => this.#lifecycle.used(serviceIds));
  }

  #settle(report: Report): void {
    const { services, volumes } = this.#store;
    const service = services.get(report.subjectId);
    if (service) return this.#lifecycle.settle(service, report);
    const volume = volumes.get(report.subjectId);
    if (!volume) return;
    this.#volumes.settle(volume, report);
    this.#lifecycle.volumeSettled(volume.serviceId);
  }
}
