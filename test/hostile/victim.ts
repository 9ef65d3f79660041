/** The other tenant: reads all the time, writes now and then, and knows what it was promised. */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Tenant, type Json } from './tenant.ts';

export interface Latencies {
  readonly reads: number;
  readonly failed: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly longestMs: number;
}

/** A read that failed took for ever. */
export function summary(latenciesMs: readonly number[]): Latencies {
  const sorted = latenciesMs.toSorted((left, right) => left - right);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const failed = sorted.filter((ms) => ms === Infinity).length;
  return { reads: sorted.length, failed, medianMs: at(0.5), p99Ms: at(0.99), longestMs: at(1) };
}

const pauseMs = 10;
const writeEveryMs = 500;

/** Of the services whose images are changed. */
export interface Prepared {
  readonly services: number;
  readonly spec: object;
}

export class Victim extends Tenant {
  /** Images of services and names of volumes, by id, as they were answered last. */
  readonly #promised = new Map<string, string>();
  readonly #ids: string[] = [];
  #writes = 0;

  /** Their ids. */
  async prepare({ services, spec }: Prepared): Promise<readonly string[]> {
    for (let index = 0; index < services; index += 1) {
      const service = await this.ok('POST', '/api/services', { name: `service ${index}`, ...spec });
      this.#ids.push(service.id);
      this.#promised.set(service.id, service.image);
    }
    const volume = await this.ok('POST', '/api/volumes', { name: 'data', region: 'standard', sizeGb: 10 });
    this.#promised.set(volume.id, 'data');
    return this.#ids;
  }

  /** Reads, one after the other, for so long; `isWriting`: and writes. Returns how long each read took, in milliseconds. */
  async live(forMs: number, isWriting: boolean): Promise<number[]> {
    const latencies: number[] = [];
    const endMs = performance.now() + forMs;
    let nextWriteMs = 0;
    for (let round = 0; performance.now() < endMs; round += 1) {
      const id = this.#ids[round % this.#ids.length] ?? '';
      const path = ['/api/account', `/api/services/${id}`, '/api/volumes', '/api/me'][round % 4] ?? '';
      const startedMs = performance.now();
      const { status } = await this.send('GET', path);
      latencies.push(status === 200 ? performance.now() - startedMs : Infinity);
      if (isWriting && performance.now() >= nextWriteMs) {
        await this.#write(id);
        nextWriteMs = performance.now() + writeEveryMs;
      }
      await delay(pauseMs);
    }
    return latencies;
  }

  /** What is not there as it was promised. */
  async missing(): Promise<string[]> {
    const { services, volumes } = await this.ok('GET', '/api/account');
    const seen = new Map<string, string>([
      ...services.map(({ id, image }: Json) => [id, image]),
      ...volumes.map(({ id, name }: Json) => [id, name]),
    ]);
    return Array.from(this.#promised)
      .filter(([id, value]) => seen.get(id) !== value)
      .map(([id, value]) => `${id} should have ${value}, and has ${seen.get(id) ?? 'gone'}`);
  }

  async #write(id: string): Promise<void> {
    const { service } = await this.ok('GET', `/api/services/${id}`);
    const image = `registry.example/app:${(this.#writes += 1)}`;
    await this.ok('PATCH', `/api/services/${id}`, { revision: service.revision, patch: { image } });
    this.#promised.set(id, image);
  }
}
