/**
 * The public catalog (§4 GET /api/catalog), read when somebody asks for it, and again when it is older than ten minutes or
 * a refusal suggests that it has changed. It only ever helps: who asks waits a few seconds at most, and without an
 * answer there is no catalog.
 */
import { describeOutcome, type Outcome, type wire } from '../api/index.ts';
import { sleep, type Clock } from '../base/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface CatalogCacheOptions {
  readonly read: (signal: AbortSignal) => Promise<Outcome<wire.Catalog>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** As read before from the same API. */
  readonly regions?: wire.Catalog['regions'] | undefined;
}

export const catalogTtlMs = 600_000;
const retryMs = 60_000;
const patienceMs = 5000;

export class CatalogCache {
  readonly #options: CatalogCacheOptions;
  readonly #stopping = new AbortController();
  #catalog: wire.Catalog | undefined;
  #regions: wire.Catalog['regions'] | undefined;
  #staleAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: CatalogCacheOptions) {
    this.#options = options;
    this.#regions = options.regions;
  }

  /** As last read, unless the newest read failed. */
  get current(): wire.Catalog | undefined {
    return this.#catalog;
  }

  /** With their prices, as last read. A newer read that failed does not make them unknown. */
  get regions(): wire.Catalog['regions'] | undefined {
    return this.#regions;
  }

  /** Never rejects. */
  async get(): Promise<wire.Catalog | undefined> {
    const { clock } = this.#options;
    if (clock.monotonicMs() < this.#staleAtMs) return this.#catalog;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await Promise.race([this.#reading, sleep(clock, patienceMs, this.#stopping.signal)]);
    return this.#catalog;
  }

  /** Whoever asks next makes it be read again. */
  expire(): void {
    this.#staleAtMs = Number.NEGATIVE_INFINITY;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #read(): Promise<void> {
    const { read, clock, logger } = this.#options;
    const outcome = await read(this.#stopping.signal);
    const succeeded = outcome.kind === 'applied';
    this.#catalog = succeeded ? outcome.value : undefined;
    this.#regions = this.#catalog?.regions ?? this.#regions;
    this.#staleAtMs = clock.monotonicMs() + (succeeded ? catalogTtlMs : retryMs);
    if (!succeeded && !this.#stopping.signal.aborted) {
      logger.warn({ note: describeOutcome(outcome) }, 'catalog read failed');
    }
  }
}
