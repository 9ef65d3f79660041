/**
 * What containers have written whose Pods are gone: a Pod takes its logs with it. They are read to their end while the
 * Pod ends, and kept in memory until the next launch writes something, so a restart of the control plane forgets them.
 */
import { sleep, type Clock } from '../../../base/clock.ts';
import type { PodApi, Target } from '../../../kubernetes/index.ts';
import { newestText } from '../containers/newest-text.ts';
import { containerName } from './names.ts';

/** Of all services together; the oldest are forgotten first. */
const keptCharacters = 64 * 1024 * 1024;
/** A node may hold a log open although its Pod is gone. */
const lingerMs = 2000;

export class KeptLogs {
  readonly #pods: PodApi;
  readonly #clock: Clock;
  readonly #texts = new Map<string, string>();
  #characters = 0;

  constructor(pods: PodApi, clock: Clock) {
    this.#pods = pods;
    this.#clock = clock;
  }

  /** Reads along while `ending` ends the Pod. */
  async during<Result>(serviceId: string, pod: Target, ending: () => Promise<Result>): Promise<Result> {
    const reading = new AbortController();
    const text = newestText(this.#pods.logs(pod, containerName, true, reading.signal)).catch(() => undefined);
    try {
      const result = await ending();
      const isRead = text.then(() => reading.abort());
      await Promise.race([isRead, sleep(this.#clock, lingerMs, reading.signal)]);
      return result;
    } finally {
      reading.abort();
      this.#keep(serviceId, await text);
    }
  }

  of(serviceId: string): string {
    return this.#texts.get(serviceId) ?? '';
  }

  forget(serviceId: string): void {
    this.#characters -= this.#texts.get(serviceId)?.length ?? 0;
    this.#texts.delete(serviceId);
  }

  #keep(serviceId: string, text: string | undefined): void {
    if (!text) return;
    this.forget(serviceId);
    this.#texts.set(serviceId, text);
    this.#characters += text.length;
    for (const oldest of this.#texts.keys()) {
      if (this.#characters <= keptCharacters) return;
      this.forget(oldest);
    }
  }
}
