/**
 * Prices by account, learned from every snapshot. They are recorded, and kept for 30 days after they were last seen. The
 * table in engine/plan/prices.ts shows how they are used.
 *
 * - A price counts for the place that the API shows. For a managed thing, it also counts for the place in its document,
 *   because the API may show another name than the one that was requested.
 * - A thing that does not run yet may show a price of 0 for now. Only running things prove that a price is missing or 0.
 * - A price of 0, and a lower one of a thing that is being made, do not contradict a price that was shown before: a provider may charge later.
 * - A service that is paused or asleep shows what its storage costs (§1), which is no price of one that runs.
 * - An impossible price (negative, beyond 2^53-1) is ignored, with one line in the log for each of the first hundred things.
 */
import { wire } from '../../api/index.ts';
import { messageOf, type Clock } from '../../base/index.ts';
import type { CatalogCache, SnapshotChange } from '../../observed/index.ts';
import {
  catalogPrices,
  holdsCompute,
  priceKey,
  priceOf,
  type PriceBook,
  type UnitPrices,
} from '../plan/index.ts';
import { parseObjectKey, traitsOf, type Asked } from '../../resources/index.ts';
import type { Demand, ObjectRecord, ObservedPrice, StateStore } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { AccountHandle } from '../accounts.ts';

export interface PriceBooksOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

const keptMs = 30 * 86_400_000;
/** Interval in which all prices of an account are learned again, so that unchanged ones don't expire. */
const reviewMs = 3_600_000;
const dayMs = 86_400_000;
/** Only the newest are kept. */
const mostPrices = 1024;
/** So many ids with an impossible price are named in the log. */
const mostAbsurd = 100;

interface Book {
  observed: Map<string, ObservedPrice>;
  catalog: ReadonlyMap<string, UnitPrices>;
  /** Those that `catalog` was made of. */
  regions?: CatalogCache['regions'];
  reviewedAtMs: number;
}

/** The price of one demand in one place has changed. */
export interface PriceMove {
  readonly price: ObservedPrice;
  readonly beforeMicros: number;
}

export class PriceBooks {
  readonly #options: PriceBooksOptions;
  readonly #books = new Map<string, Book>();
  /** Ids with an impossible price. */
  readonly #absurd = new Set<string>();

  constructor(options: PriceBooksOptions) {
    this.#options = options;
  }

  /** The current prices. */
  book({ name, spec, catalog }: AccountHandle): PriceBook {
    const book = this.#bookOf(name);
    if (catalog.regions && catalog.regions !== book.regions) {
      book.catalog = catalogPrices(catalog.regions);
      book.regions = catalog.regions;
    }
    const sinceMs = this.#options.clock.wallMs() - keptMs;
    const observed = [...book.observed.values()].filter(({ at }) => at >= sinceMs);
    return { observed, declared: spec.prices ?? [], catalog: book.catalog };
  }

  /** Changes when something may have another cost. */
  edition({ name, spec, catalog }: AccountHandle): readonly unknown[] {
    return [this.#bookOf(name).observed, spec.prices, catalog.regions];
  }

  /** Newest first. */
  prices(account: string): readonly ObservedPrice[] {
    return newest(this.#bookOf(account).observed);
  }

  /** Learns the prices in a snapshot. Returns those that changed by more than one per cent. */
  observe({ name }: AccountHandle, { snapshot, changedIds }: SnapshotChange): PriceMove[] {
    const { clock } = this.#options;
    const book = this.#bookOf(name);
    const isDue = clock.monotonicMs() - book.reviewedAtMs >= reviewMs;
    if (isDue) book.reviewedAtMs = clock.monotonicMs();
    const { services, volumes } = snapshot;
    const ids = isDue ? [...services.keys(), ...volumes.keys()] : changedIds;
    const sighted = new Map<string, ObservedPrice>();
    for (const id of ids) {
      const service = services.get(id);
      const volume = volumes.get(id);
      const found = service ? this.#ofService(service) : volume ? this.#ofVolume(volume) : [];
      const isMade = service?.state === 'running' || volume?.status === 'ready';
      for (const price of found) {
        const known = this.#knownMicros(book, price);
        const shown = price.hourlyMicros ?? 0;
        if (known === 0 || shown >= known || (isMade && shown > 0)) keepDearest(sighted, price);
      }
    }
    return this.#take(name, book, sighted);
  }

  /** What counts now for the same demand in the same place. */
  #knownMicros(book: Book, price: ObservedPrice): number {
    const before = book.observed.get(priceKey(price));
    return before && price.at - before.at < keptMs ? (before.hourlyMicros ?? 0) : 0;
  }

  #take(account: string, book: Book, sighted: ReadonlyMap<string, ObservedPrice>): PriceMove[] {
    const { store, logger } = this.#options;
    const moved: PriceMove[] = [];
    let isNews = false;
    for (const [key, price] of sighted) {
      const before = book.observed.get(key);
      // A thing without a price does not contradict others that show one.
      if (before?.hourlyMicros !== undefined && price.hourlyMicros === undefined) continue;
      const beforeMicros = before?.hourlyMicros;
      const isMove = beforeMicros !== undefined && hasMoved(beforeMicros, price.hourlyMicros ?? 0);
      if (isMove) moved.push({ price, beforeMicros });
      const isNew = !before || beforeMicros !== price.hourlyMicros || Math.abs(price.at - before.at) >= dayMs;
      isNews ||= isNew;
      const last = isMove ? { at: price.at, beforeMicros } : before?.moved;
      if (isNew) book.observed.set(key, last ? { ...price, moved: last } : price);
    }
    if (!isNews) return moved;
    book.observed = new Map(newest(book.observed).map((price) => [priceKey(price), price]));
    store.savePrices(account, newest(book.observed)).catch((error: unknown) => {
      logger.warn({ account, note: messageOf(error) }, 'prices could not be recorded');
    });
    return moved;
  }

  #ofService(service: wire.Service): ObservedPrice[] {
    const record = this.#options.store.recordOf(service.id);
    const asked = askedBy(record);
    const shape = wire.wholeResources(service.resources) ?? asked?.compute;
    const price = this.#priceOf(service);
    const isRunning = service.state === 'running';
    const isPriced = isRunning || (price !== undefined && price > 0 && holdsCompute(service));
    if (!shape || !isPriced) return [];
    const { gpuCount, cpu, memoryGb } = shape;
    const gpuModel = typeof service['gpuModel'] === 'string' ? service['gpuModel'] : undefined;
    return this.#at(service, asked, { compute: { gpuCount, cpu, memoryGb } }, gpuModel, price);
  }

  #ofVolume(volume: wire.Volume): ObservedPrice[] {
    const asked = askedBy(this.#options.store.recordOf(volume.id));
    const storageGb = volume.sizeGb ?? asked?.storageGb;
    const price = this.#priceOf(volume);
    const isPriced =
      volume.status === 'ready' || (price !== undefined && price > 0 && volume.status !== 'deleting');
    if (storageGb === undefined || !(storageGb > 0) || !isPriced) return [];
    return this.#at(volume, asked, { storageGb }, undefined, price);
  }

  /** The place that the API shows, and the place in the document. */
  #at(
    shown: { readonly region?: string | null | undefined; readonly geography?: string | null | undefined },
    asked: Asked | undefined,
    demand: Demand,
    gpuModel: string | undefined,
    price: bigint | undefined,
  ): ObservedPrice[] {
    const region = shown.region ?? asked?.region;
    if (region === undefined) return [];
    const at = this.#options.clock.wallMs();
    const hourlyMicros = price === undefined ? undefined : Number(price);
    const names = new Set([shown.geography ?? 'auto', asked?.geography ?? shown.geography ?? 'auto']);
    return [...names].map((geography) => ({ region, geography, demand, gpuModel, hourlyMicros, at }));
  }

  #priceOf({
    id,
    hourlyMicros,
  }: {
    readonly id: string;
    readonly hourlyMicros?: unknown;
  }): bigint | undefined {
    const price = priceOf(hourlyMicros);
    if (price === undefined && hourlyMicros !== undefined && hourlyMicros !== null && !this.#absurd.has(id)) {
      // A provider may show as many ids as it likes.
      if (this.#absurd.size >= mostAbsurd) return price;
      this.#absurd.add(id);
      this.#options.logger.warn({ id, hourlyMicros }, 'an impossible price is ignored');
    }
    return price;
  }

  #bookOf(account: string): Book {
    const known = this.#books.get(account);
    if (known) return known;
    const stored = this.#options.store.prices(account).map((price) => [priceKey(price), price] as const);
    const book: Book = {
      observed: new Map(stored),
      catalog: new Map(),
      reviewedAtMs: Number.NEGATIVE_INFINITY,
    };
    this.#books.set(account, book);
    return book;
  }
}

function askedBy(record: ObjectRecord | undefined): Asked | undefined {
  return record && traitsOf(parseObjectKey(record.key).kind).asks?.(record.manifest.spec, record.kind);
}

/** Keeps the highest of several prices for the same demand. */
function keepDearest(sighted: Map<string, ObservedPrice>, price: ObservedPrice): void {
  const key = priceKey(price);
  const before = sighted.get(key);
  if (before?.hourlyMicros === undefined || (price.hourlyMicros ?? -1) > before.hourlyMicros)
    sighted.set(key, price);
}

function hasMoved(before: number, after: number): boolean {
  return Math.abs(after - before) > before / 100;
}

function newest(prices: ReadonlyMap<string, ObservedPrice>): ObservedPrice[] {
  return [...prices.values()].toSorted((left, right) => right.at - left.at).slice(0, mostPrices);
}
